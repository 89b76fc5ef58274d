"""BIS-05 and the ends of a range: what git knows of them, and what is refused before anything is measured."""

from __future__ import annotations

import re

import pytest

from pytest_ragbench.bisection.repository import Repository, git
from pytest_ragbench.errors import UsageError

GOOD = '[f"g{query[1:]}.md", "x.md"]'
BAD = '["x.md", f"g{query[1:]}.md"]'


def between(toy, good, bad="HEAD"):
    """Subjects of the commits of a range."""
    return [commit.subject for commit in Repository.of(toy.folder).commits(good, bad)]


def refused(toy, good, bad="HEAD"):
    """Why a range is none."""
    with pytest.raises(UsageError) as error:
        Repository.of(toy.folder).commits(good, bad)
    return str(error.value)


def clone(toy, tmp_path, depth):
    """Go on in a clone of so many commits."""
    toy.git("clone", "-q", "--depth", str(depth), toy.folder.as_uri(), str(tmp_path / "clone"))
    toy.folder = tmp_path / "clone"


@pytest.mark.parametrize("depth", [1, 3])
def test_bis_05_a_shallow_clone_is_refused_and_the_remedy_named(toy, tmp_path, depth):
    toy.answers(*[GOOD] * 4, *[BAD] * 6)
    good = toy.commits()[0]
    clone(toy, tmp_path, depth)
    for ref in (good, "HEAD~9"):
        told = refused(toy, ref)
        assert "shallow clone" in told
        assert "git fetch --unshallow" in told
        assert "fetch-depth: 0" in told
    found = toy.bisect(good=good)
    assert (found.status, found.probes) == (4, [])
    assert "fetch-depth: 0" in found.err


def test_bis_05_a_range_that_a_shallow_clone_holds_whole_is_searched(toy, tmp_path):
    toy.answers(GOOD, GOOD, GOOD, BAD)
    clone(toy, tmp_path, 3)
    assert between(toy, "HEAD~2") == ["commit 2", "commit 3", "commit 4"]


def test_bis_05_a_side_branch_does_not_lead_around_the_boundary(toy, tmp_path):
    # The good end is reached by the merged branch alone; the first parents end at the boundary of the clone.
    toy.answers(GOOD, GOOD, BAD)
    toy.git("checkout", "-q", "-b", "side", "HEAD~2")
    toy.history_after({"README": "side"})
    side = toy.git("rev-parse", "HEAD")
    toy.git("checkout", "-q", "main")
    toy.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    clone(toy, tmp_path, 2)
    assert "shallow clone" in refused(toy, side)


def test_unknown_refs_are_told_with_their_neighbours(toy):
    toy.answers(GOOD, BAD)
    toy.git("tag", "v1.0")
    assert "--good v1.00: git knows no commit of that name; did you mean v1.0?" in refused(toy, "v1.00")
    assert "--bad --all: git knows no commit of that name" in refused(toy, "HEAD~1", "--all")


def test_a_tag_is_followed_to_its_commit_and_one_of_a_file_is_told(toy):
    toy.answers(GOOD, BAD)
    toy.git("tag", "-a", "v1", "-m", "first", "HEAD~1")
    toy.git("tag", "-a", "file", "-m", "a file", "HEAD:conftest.py")
    assert between(toy, "v1") == ["commit 1", "commit 2"]
    assert refused(toy, "file") == "--good file: that names something else than a commit"


def test_ends_in_the_wrong_order_are_told(toy):
    toy.answers(GOOD, BAD)
    assert "--bad HEAD~1 is an ancestor of --good HEAD: wrong order" in refused(toy, "HEAD", "HEAD~1")
    assert "are the same commit" in refused(toy, "main")


def test_a_good_end_on_another_branch_is_told_with_the_fork(toy):
    toy.answers(GOOD, BAD)
    fork = toy.git("rev-parse", "HEAD~1")
    toy.git("checkout", "-q", "-b", "side", fork)
    toy.history_after({"README": "side"})
    told = refused(toy, "side", "main")
    assert f"--good side is no ancestor of --bad main: they parted at {fork[:10]}" in told
    toy.git("checkout", "-q", "--orphan", "other")
    toy.history_after({"README": "another beginning"})
    assert "have no history in common" in refused(toy, "side", "other")


def test_outside_of_a_repository_nothing_is_searched(tmp_path):
    with pytest.raises(UsageError, match=re.escape(f"{tmp_path} lies in no git working tree")):
        Repository.of(tmp_path)


def test_a_repository_of_another_user_is_refused_with_what_git_asks_for(toy, monkeypatch):
    toy.answers(GOOD)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # git's own switch for its tests
    with pytest.raises(UsageError, match="belongs to another user") as error:
        Repository.of(toy.folder)
    assert str(toy.folder) in str(error.value)
    assert "git config --global --add safe.directory" in str(error.value)


def test_an_author_in_an_encoding_of_their_own_is_told_as_they_write_it(toy):
    toy.answers(GOOD)
    toy.git("config", "i18n.logOutputEncoding", "latin1")
    (toy.folder / "README").write_text("x")
    toy.git("add", "README")
    toy.git("commit", "-qm", "x", "--author", "Zoë <z@example.org>")
    assert Repository.of(toy.folder).commits("HEAD~1", "HEAD")[1].author == "Zoë"


def test_a_folder_that_is_named_like_a_pattern_is_that_folder_alone(toy):
    toy.answers(GOOD)
    for name in ("notes*", "notes1"):
        (toy.folder / name).mkdir()
        (toy.folder / name / "note.md").write_text("x")
    toy.git("add", "--all")
    assert git(toy.folder, "ls-files", "--", "notes*") == "notes*/note.md\n"


def test_without_git_nothing_is_searched(toy, monkeypatch):
    monkeypatch.setenv("PATH", str(toy.scratch))
    with pytest.raises(UsageError, match="git is not on the PATH"):
        Repository.of(toy.folder)


def test_a_changed_submodule_is_refused(toy, tmp_path):
    toy.answers(GOOD)
    toy.add_submodule(tmp_path / "part")
    toy.history_after({"README": "later"})
    (toy.folder / "part" / "file.txt").write_text("changed")
    found = toy.bisect(good="HEAD~1")
    assert (found.status, found.probes) == (4, [])
    assert "submodule part has changes" in found.err
    assert "git submodule update" in found.err
