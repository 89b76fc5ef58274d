"""The state of the repository that a run measured: its commit, and whether the working tree differs from it."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_SECONDS = 15.0

# A hook or a rebase exports these for a repository that need not be the measured one.
_FOREIGN = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_EXTERNAL_DIFF",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class GitState(TypedDict):
    """`sha`: the commit, or None without one. `dirty`: whether anything differs or is untracked, or None if unknown."""

    sha: str | None
    dirty: bool | None


def git_state(folder: Path) -> GitState:
    """Ask git about a folder. It never raises: no git, no repository, no commit and a timeout give None."""
    sha = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=none")
    found = (sha or "").strip()
    return {
        "sha": found if _SHA.fullmatch(found) else None,
        "dirty": None if changes is None else bool(changes.strip()),
    }


def is_ancestor(folder: Path, sha: str) -> bool:
    """Whether a commit is HEAD or an ancestor of it; an unknown one is not."""
    return bool(_SHA.fullmatch(sha)) and _git(folder, "merge-base", "--is-ancestor", sha, "HEAD") is not None


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None when it fails; it asks nothing and takes no lock."""
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        said = subprocess.run(  # noqa: S603 - fixed commands; the one value from outside is checked to be a hash
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the git that the user has
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return said.stdout.decode("utf-8", "replace") if said.returncode == 0 else None
