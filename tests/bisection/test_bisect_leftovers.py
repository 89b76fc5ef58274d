"""BIS-04: no worktree and no temporary folder is left, whatever ends a bisect, and leftovers are no obstacle."""

from __future__ import annotations

import json
import platform
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from pytest_ragbench.bisection.model import UnscorableError
from pytest_ragbench.bisection.repository import Repository
from pytest_ragbench.bisection.worktrees import Workspace
from pytest_ragbench.records.process import process_started

GOOD = '[f"g{query[1:]}.md", "x.md"]'


@pytest.fixture
def probe(toy, monkeypatch):
    """Make a worktree of HEAD as a probe does, look at it, and see that nothing is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(toy.scratch))

    def made(look=None):
        repository = Repository.of(toy.folder)
        with Workspace(repository) as workspace, workspace.worktree(toy.git("rev-parse", "HEAD")) as tree:
            assert (tree / "src" / "toy" / "__init__.py").exists()
            if look is not None:
                look(tree)
        assert list(toy.scratch.iterdir()) == []

    return made


def registered_alone(toy):
    """A look that sees that the probe's worktree is the only one beside the user's."""

    def look(tree):
        assert [line.split()[0] for line in toy.git("worktree", "list").splitlines()] == [str(toy.folder), str(tree)]

    return look


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of a terminal")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_bis_04_an_interrupted_bisect_leaves_nothing(toy, number, status):
    toy.answers(GOOD, toy.waits)
    before = toy.state()
    process = toy.start()
    assert len(toy.git("worktree", "list").splitlines()) == 2
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == status, out
    assert "Traceback" not in out
    assert toy.state() == before
    assert list(toy.scratch.iterdir()) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no list of processes with their environment")
def test_bis_04_what_a_killed_bisect_left_is_ended_and_removed_by_the_next(toy, probe):
    toy.answers(GOOD, toy.waits)
    before = toy.state()
    process = toy.start()
    process.kill()
    process.communicate(timeout=60)
    left = int(toy.started.read_text())
    assert process_started(left) is not None
    assert len(list(toy.scratch.iterdir())) == 1
    assert len(toy.git("worktree", "list").splitlines()) == 2
    probe(registered_alone(toy))
    assert process_started(left) is None
    assert toy.state() == before


def test_bis_04_a_bisect_that_runs_beside_another_leaves_it_its_worktrees(toy, probe):
    toy.answers(GOOD)
    with Workspace(Repository.of(toy.folder)) as other, other.worktree(toy.git("rev-parse", "HEAD")) as tree:
        with Workspace(Repository.of(toy.folder)):
            assert tree.exists()
        assert len(toy.git("worktree", "list").splitlines()) == 2


def test_bis_04_a_registered_worktree_whose_folder_is_gone_is_no_obstacle(toy, probe):
    toy.answers(GOOD)
    before = toy.state()
    stale = toy.scratch / "ragbench-bisect-abcdefgh"
    toy.git("worktree", "add", "-q", "--detach", str(stale / "01-0123456789"))
    shutil.rmtree(stale)
    assert len(toy.git("worktree", "list").splitlines()) == 2
    probe(registered_alone(toy))
    assert toy.state() == before


def test_bis_04_an_unregistered_folder_of_a_bisect_that_is_gone_is_no_obstacle(toy, probe):
    toy.answers(GOOD)
    folder = toy.scratch / "ragbench-bisect-abcdefgh"
    (folder / "01-0123456789").mkdir(parents=True)
    owner = {"host": platform.node(), "pid": 2**22 + 1, "started": "never"}  # beyond the pids of any system
    (folder / "owner.json").write_text(json.dumps(owner | {"repository": str(toy.folder / ".git")}))
    probe()
    assert not folder.exists()


def test_bis_04_a_folder_whose_owner_is_unknown_or_another_repository_stays(toy, probe):
    toy.answers(GOOD)
    for name, note in (("unknown", ""), ("foreign", json.dumps({"repository": "elsewhere", "pid": 2**22 + 1}))):
        folder = toy.scratch / f"ragbench-bisect-{name}"
        folder.mkdir()
        (folder / "owner.json").write_text(note)
    with pytest.raises(AssertionError):  # of the probe, which looks whether the temporary folder is empty
        probe()
    assert sorted(folder.name[-7:] for folder in toy.scratch.iterdir()) == ["foreign", "unknown"]


def test_bis_04_a_worktree_of_the_users_own_is_left_alone_though_its_folder_is_away(toy, probe, tmp_path):
    toy.answers(GOOD)
    toy.git("worktree", "add", "-q", "--detach", str(tmp_path / "stick"))
    (tmp_path / "stick").rename(tmp_path / "unplugged")
    before = toy.state()
    probe()
    assert toy.state() == before
    assert len(toy.git("worktree", "list").splitlines()) == 2


def test_bis_04_a_worktree_goes_with_what_a_pipeline_left_in_it(toy, probe, tmp_path):
    toy.answers(GOOD)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept.txt").write_text("mine")

    def spoil(tree):
        (tree / "link").symlink_to(tmp_path / "mine", target_is_directory=True)
        (tree / "index").mkdir()
        (tree / "index" / "part").write_text("x")
        (tree / "index").chmod(0o500)
        toy.git("worktree", "lock", str(tree))

    before = toy.state()
    probe(spoil)
    assert toy.state() == before
    assert (tmp_path / "mine" / "kept.txt").read_text() == "mine"


def test_bis_04_the_files_of_a_submodule_are_there_at_the_commits_own_state(toy, probe, tmp_path):
    toy.answers(GOOD)
    toy.add_submodule(tmp_path / "part")

    def look(tree):
        assert (tree / "part" / "file.txt").read_text() == "one"

    probe(look)
    # A commit that only somebody else has cannot be measured here, and is no reason to ask a network.
    toy.git("update-index", "--cacheinfo", f"160000,{'1' * 40},part")
    toy.git("commit", "-qm", "their part")
    with pytest.raises(UnscorableError, match="submodule part: its commit 1111111111 is not here"):
        probe()
    assert list(toy.scratch.iterdir()) == []


def test_no_hook_of_the_users_repository_runs(toy, probe):
    toy.answers(GOOD)
    hook = toy.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{toy.started}'\n")
    hook.chmod(0o755)
    probe()
    assert not toy.started.exists()
