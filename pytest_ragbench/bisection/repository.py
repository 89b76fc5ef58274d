"""The user's repository as git tells it, without touching it: its trees, the commits of a range, its submodules."""

from __future__ import annotations

import difflib
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.bisection.model import Commit
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SHALLOW = (
    "this is a shallow clone, and its history ends before the good end; fetch the rest with `git fetch --unshallow`, "
    "in a workflow with `fetch-depth: 0` of actions/checkout"
)

# No hook of the user's repository runs, no configured monitor is started, no index is rewritten for being looked at.
_QUIETLY = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "advice.detachedHead=false")
# Text and names as they are: an author in another encoding is no riddle, a corpus called `notes*` no pattern.
_PLAINLY = ("-c", "i18n.logOutputEncoding=UTF-8", "--literal-pathspecs")

_NO_GIT = "git is not on the PATH; a bisect needs it"


class GitError(UsageError):
    """git would not do what it was asked; the text is its own."""


def git(folder: Path, *arguments: str) -> str:
    """What git prints.

    Raises:
        GitError: It failed.
        UsageError: There is no git.
    """
    command = ["git", *_QUIETLY, *_PLAINLY, "-C", str(folder), *arguments]
    try:
        said = subprocess.run(  # noqa: S603 - a list, never a shell; refs stand behind --end-of-options
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=git_free() | {"LC_ALL": "C.UTF-8"},
            check=False,
            start_new_session=True,  # Ctrl-C goes to whoever waits for git, not to git as well
        )
    except FileNotFoundError:
        raise UsageError(_NO_GIT) from None
    if said.returncode != 0:
        lines = said.stderr.decode("utf-8", "replace").strip().splitlines()
        told = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines[-1:]
        raise GitError(told[0] if told else f"git {arguments[0]} ended with exit status {said.returncode}")
    return said.stdout.decode("utf-8", "replace")


def git_free() -> dict[str, str]:
    """The environment without what binds git to one repository: a hook exports that for another than is probed."""
    kept = {name: value for name, value in os.environ.items() if name not in _binding()}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


@cache
def _binding() -> frozenset[str]:
    """Names of the variables that bind git to a repository, but for those that configure it for any."""
    try:
        said = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=False)  # noqa: S607
    except FileNotFoundError:
        raise UsageError(_NO_GIT) from None
    return frozenset(name for name in said.stdout.split() if not name.startswith("GIT_CONFIG"))


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a working tree.

    Attributes:
        top: The top folder of the user's working tree.
        common: The folder that all working trees share (`.git`).
        trees: Every working tree, the user's included.
    """

    top: Path
    common: Path
    trees: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path) -> Repository:
        """The repository in which a folder lies.

        Raises:
            UsageError: There is none, or it has no working tree.
        """
        try:
            top = Path(git(folder, "rev-parse", "--show-toplevel").rstrip("\n")).resolve()
            common = git(folder, "rev-parse", "--git-common-dir").rstrip("\n")
        except GitError as error:
            if "dubious ownership" in str(error):
                remedy = "`git config --global --add safe.directory PATH` with that path tells git that you trust it"
                raise UsageError(f"git does not read what belongs to another user ({error}); {remedy}") from None
            raise UsageError(f"{folder} lies in no git working tree ({error}); run bisect in a clone") from None
        trees = {tree.resolve() for tree in worktrees(folder)}
        return cls(top, (folder / common).resolve(), tuple(sorted({top, *trees})))

    def commits(self, good: str, bad: str) -> tuple[Commit, ...]:
        """The good end, then the first-parent commits up to the bad end.

        Raises:
            UsageError: A ref is unknown, the good end is no ancestor of the bad one, or a shallow clone hides it.
        """
        ends = self._named("--good", good), self._named("--bad", bad)
        if ends[0] == ends[1]:
            raise UsageError(f"--good {good} and --bad {bad} are the same commit ({ends[0][:10]})")
        if not self._is_ancestor(*ends):
            raise UsageError(self._unrelated(good, bad, *ends))
        (first,) = self._listed("--no-walk", ends[0])
        others = tuple(self._listed("--first-parent", "--reverse", f"{ends[0]}..{ends[1]}"))
        if self.is_shallow and not others[0].parents:
            raise UsageError(SHALLOW)
        return first, *others

    @property
    def is_shallow(self) -> bool:
        """Whether history ends before its beginning."""
        return git(self.top, "rev-parse", "--is-shallow-repository").strip() == "true"

    def is_dirty(self) -> bool:
        """Whether anything in the user's tree differs from its commit or is untracked."""
        return bool(git(self.top, "status", "--porcelain", "--untracked-files=normal").strip())

    def changed_submodules(self) -> list[str]:
        """Submodules whose commit is not the recorded one, or that have changed files."""
        told = git(self.top, "status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=untracked")
        changed = (line.split(" ", 8) for line in told.split("\0") if line.startswith("1 "))
        return [fields[8] for fields in changed if fields[2].startswith("S") and fields[2][1:3] != ".."]

    def _named(self, option: str, ref: str) -> str:
        try:
            return git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").strip()
        except GitError:
            if self.is_shallow:
                raise UsageError(f"{option} {ref}: no such commit here; {SHALLOW}") from None
            known = git(self.top, "for-each-ref", "--format=%(refname:short)").split()
            if ref in known:
                raise UsageError(f"{option} {ref}: that names something else than a commit") from None
            near = difflib.get_close_matches(ref, known, n=2, cutoff=0.6)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise UsageError(f"{option} {ref}: git knows no commit of that name{hint}") from None

    def _is_ancestor(self, older: str, younger: str) -> bool:
        # `merge-base --is-ancestor` tells a stranger from a mistake by its exit status alone.
        return git(self.top, "rev-list", "--max-count=1", older, f"^{younger}") == ""

    def _unrelated(self, good: str, bad: str, good_sha: str, bad_sha: str) -> str:
        if self._is_ancestor(bad_sha, good_sha):
            return f"--bad {bad} is an ancestor of --good {good}: wrong order; the good end must be the older one"
        if self.is_shallow:
            return SHALLOW
        try:
            base = git(self.top, "merge-base", good_sha, bad_sha).strip()
        except GitError:
            return f"--good {good} and --bad {bad} have no history in common"
        return (
            f"--good {good} is no ancestor of --bad {bad}: they parted at {base[:10]}; measure that, or another commit "
            "of the bad end's own history, as the good end"
        )

    def _listed(self, *arguments: str) -> Iterator[Commit]:
        told = git(self.top, "rev-list", "--format=%H%x00%P%x00%an%x00%cs%x00%s", *arguments)
        for line in told.split("\n"):
            if "\0" in line:  # between them stand headings of git's own
                sha, parents, author, date, subject = line.split("\0")
                yield Commit(sha, subject, author, date, tuple(parents.split()))


def worktrees(folder: Path) -> list[Path]:
    """Every registered working tree of a repository, there or not."""
    lines = git(folder, "worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree ")]


def submodules(tree: Path, sha: str) -> list[tuple[str, str]]:
    """Path and recorded commit of each submodule of a commit."""
    entries = git(tree, "ls-tree", "-r", "-z", sha).split("\0")
    told = (entry.partition("\t") for entry in entries if entry.startswith("160000 "))
    return [(path, meta.split()[2]) for meta, _, path in told]
