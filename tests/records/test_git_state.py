"""REC-03: the git state in a record is right or null, and never fatal."""

import subprocess

import pytest

from pytest_ragbench.records import git as git_module
from pytest_ragbench.records.git import git_state, is_ancestor


def git(folder, *arguments):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.md").write_text("a")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


def test_rec_03_a_clean_repository(repository):
    assert git_state(repository) == {"sha": git(repository, "rev-parse", "HEAD"), "dirty": False}


def test_rec_03_no_git(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert git_state(repository) == {"sha": None, "dirty": None}


def test_rec_03_no_repository(tmp_path):
    assert git_state(tmp_path) == {"sha": None, "dirty": None}
    assert git_state(tmp_path / "missing") == {"sha": None, "dirty": None}


def test_rec_03_an_empty_repository(tmp_path):
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path) == {"sha": None, "dirty": False}


def test_rec_03_a_detached_head(repository):
    git(repository, "checkout", "-q", "--detach")
    assert git_state(repository) == {"sha": git(repository, "rev-parse", "HEAD"), "dirty": False}


@pytest.mark.parametrize("file", ["golden/sets/new.yaml", "a.md"])
def test_rec_03_an_untracked_set_and_a_changed_file_are_dirty(repository, file):
    (repository / file).parent.mkdir(parents=True, exist_ok=True)
    (repository / file).write_text("changed")
    assert git_state(repository)["dirty"] is True


def test_rec_03_git_dir_of_another_repository_is_ignored(repository, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    right = git_state(repository)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    assert git_state(repository) == right


def test_a_git_that_hangs_gives_null(repository, monkeypatch):
    monkeypatch.setattr(git_module, "TIMEOUT_SECONDS", 0.0)
    assert git_state(repository) == {"sha": None, "dirty": None}


def test_asking_writes_nothing(repository):
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    (repository / "a.md").touch()
    git_state(repository)
    after = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    assert {path for path in after if after[path] != before.get(path)} == {repository / "a.md"}


def test_ancestors_are_told_from_other_branches_and_from_nonsense(repository):
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-qb", "side")
    git(repository, "commit", "-qm", "side", "--allow-empty")
    side = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "main")
    assert is_ancestor(repository, first)
    assert [is_ancestor(repository, sha) for sha in (side, "0" * 40, "--version", "HEAD")] == [False] * 4
