"""Rewriting sets: the lock that every writer takes, and replacing a file so that nobody sees half of it."""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from pytest_ragbench.durable import stage, sync_folder
from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.loading import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LOCK = Path(".ragbench", "sets.lock")
"""Below the folder of the sets. The operating system holds the lock: the file alone, left behind, locks nothing."""

PATIENCE = 30.0
"""Seconds that a writer waits for another."""


@contextmanager
def sets_lock(root: Path, *, patience: float = PATIENCE, say: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the lock of a folder of sets (or of the folder that a set lies in).

    Args:
        root: The folder, or one set.
        patience: Seconds to wait for another writer.
        say: Called once, before waiting, with a sentence for the user.

    Raises:
        UsageError: Another writer held the lock for all that time, or the folder cannot be written.
    """
    folder = root if root.is_dir() else root.parent
    lock = FileLock(folder / LOCK)
    try:
        _make_hidden((folder / LOCK).parent)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if say is not None:
                say(f"another process is writing {shown_path(folder)}; waiting up to {patience:g} s for it")
            lock.acquire(timeout=patience)
    except Timeout:
        text = f"{shown_path(folder)} is still locked after {patience:g} s, because another process is writing its sets"
        raise UsageError(f"{text}; let it end or stop it, then try again; nothing was changed") from None
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield
    finally:
        lock.release()


def _make_hidden(folder: Path) -> None:
    """Make a folder of which git takes no notice."""
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def replace_all(texts: Mapping[Path, str]) -> None:
    """Replace files by texts (UTF-8, line ends as given): all new files are on disk before the first is swapped in.

    Permissions are kept, and a symbolic link stays a link to its replaced target. Interrupted between two swaps, each
    file is the old one or the new one, and no other file is left behind.

    Raises:
        UsageError: A folder cannot be written; it says whether a file was changed before that was known.
    """
    staged: list[tuple[Path, Path]] = []
    swapped = 0
    folder = Path()
    try:
        for path, text in texts.items():
            target = path.resolve()
            folder = target.parent
            mode = target.stat().st_mode & 0o7777
            staged.append((stage(target, [text.encode()], mode=mode), target))
        for temporary, target in staged:
            folder = target.parent
            temporary.replace(target)
            swapped += 1
    except OSError as error:
        changed = f"{swapped} of {len(texts)} files were changed" if swapped else "nothing was changed"
        raise _unwritable(folder, error, changed) from None
    finally:
        for temporary, _ in staged:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    for folder in {target.parent for _, target in staged}:
        sync_folder(folder)


def _unwritable(folder: Path, error: OSError, changed: str = "nothing was changed") -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"{shown_path(folder)} cannot be written: {reason}; make it writable; {changed}")
