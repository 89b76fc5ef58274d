"""Throwaway worktrees: each probe gets a fresh one, and none is left, whatever ends the bisect.

All lie in one temporary folder with a note of its owner, so that what a killed bisect left is known for what it is and
removed by the next. Worktrees of anybody else are never touched.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pytest_ragbench.bisection.interruption import undisturbed
from pytest_ragbench.bisection.model import UnscorableError
from pytest_ragbench.bisection.processes import end_all
from pytest_ragbench.bisection.repository import GitError, git, submodules, worktrees
from pytest_ragbench.errors import UsageError
from pytest_ragbench.records.process import host, process_started

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from pytest_ragbench.bisection.repository import Repository

PREFIX = "ragbench-bisect-"
_OWNER = "owner.json"


class Workspace:
    """The temporary folder of one bisect and the worktrees in it.

    Attributes:
        folder: The folder; it goes when the context ends.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._count = 0
        self.folder = Path()

    def __enter__(self) -> Self:
        """Remove what earlier bisects left, and make the folder."""
        remove_leftovers(self._repository)
        owner = {"host": host(), "pid": os.getpid(), "started": process_started(os.getpid())}
        note = json.dumps(owner | {"repository": str(self._repository.common)})
        try:
            with undisturbed():
                self.folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
                (self.folder / _OWNER).write_text(note, encoding="utf-8")
        except BaseException:
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the worktrees and the folder; a second Ctrl-C does not interrupt it."""
        with undisturbed():
            for tree in worktrees(self._repository.top):
                if tree.resolve().is_relative_to(self.folder):
                    _remove(self._repository, tree)
            self._clear()

    def _clear(self) -> None:
        if self.folder != Path():
            _delete(self.folder)

    def scratch(self) -> Path:
        """An empty folder for the temporary files of the next probe; that of the one before goes."""
        folder = self.folder / "tmp"
        _delete(folder)
        folder.mkdir()
        return folder

    @contextmanager
    def worktree(self, sha: str) -> Iterator[Path]:
        """A worktree of a commit, with its submodules, that goes when the context ends.

        Raises:
            UsageError: git cannot make it.
            UnscorableError: A submodule's commit is not on this machine.
        """
        self._count += 1
        tree = self.folder / f"{self._count:02}-{sha[:10]}"
        try:
            try:
                git(self._repository.top, "worktree", "add", "--quiet", "--detach", str(tree), sha)
            except GitError as error:
                raise UsageError(f"git cannot make a worktree of {sha[:10]}: {error}") from None
            _fill_submodules(self._repository.top, tree, sha)
            yield tree
        finally:
            with undisturbed():
                _remove(self._repository, tree)


def remove_leftovers(repository: Repository) -> None:
    """Remove what bisects of this repository left whose process is gone: running probes, worktrees and folders."""
    for tree in worktrees(repository.top):
        owner = next((folder for folder in tree.parents if folder.name.startswith(PREFIX)), None)
        if owner is not None and not _lives(owner):
            end_all(owner)
            _remove(repository, tree)
    for folder in Path(tempfile.gettempdir()).resolve().glob(f"{PREFIX}*"):
        if _owner(folder).get("repository") == str(repository.common) and not _lives(folder):
            end_all(folder)
            _delete(folder)


def _remove(repository: Repository, tree: Path) -> None:
    """Remove a worktree: registered or not, whole, half made or gone."""
    for _ in range(2):  # the first time git refuses a half-made one; without its folder it forgets it
        with suppress(GitError):
            git(repository.top, "worktree", "remove", "--force", "--force", str(tree))
        _delete(tree)
        if tree not in worktrees(repository.top):
            return


def _delete(folder: Path) -> None:
    """Delete a folder, what a pipeline made read-only included; a link to elsewhere is not followed."""

    def again(function: object, path: str, _: object) -> None:
        with suppress(OSError):
            Path(path).parent.chmod(0o700)
            Path(path).chmod(0o700)
            function(path)  # type: ignore[operator]

    shutil.rmtree(folder, onerror=again) if folder.exists() else None


def _owner(folder: Path) -> dict[str, object]:
    try:
        found = json.loads((folder / _OWNER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _lives(folder: Path) -> bool:
    """Whether the bisect that made a folder still runs; on another machine it may."""
    owner = _owner(folder)
    pid = owner.get("pid")
    if not isinstance(pid, int):
        return False
    return owner.get("host") != host() or process_started(pid) == owner.get("started")


def _fill_submodules(source: Path, tree: Path, sha: str) -> None:
    """Check out the submodules of a commit from those of the user's tree, without a network and without touching them.

    A submodule that the user has not initialised stays empty here too.
    """
    for path, recorded in submodules(tree, sha):
        theirs = source / path
        if not (theirs / ".git").exists():
            continue
        ours = tree / path
        try:
            git(tree, "clone", "--quiet", "--shared", "--no-checkout", "--", str(theirs), str(ours))
            git(ours, "checkout", "--quiet", "--detach", recorded)
        except GitError as error:
            raise UnscorableError(f"submodule {path}: its commit {recorded[:10]} is not here ({error})") from None
        _fill_submodules(theirs, ours, recorded)
