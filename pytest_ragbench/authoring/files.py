"""Rewriting sets: the lock that every writer takes, and replacing a file so that nobody sees half of it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

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
        (folder / LOCK).parent.mkdir(exist_ok=True)
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


def replace_all(texts: Mapping[Path, str]) -> None:
    """Replace files by texts (UTF-8, line ends as given): all new files are on disk before the first is swapped in.

    Permissions are kept, and a symbolic link stays a link to its replaced target.

    Raises:
        UsageError: A folder cannot be written; no file was changed then.
    """
    staged: list[tuple[str, Path]] = []
    try:
        for path, text in texts.items():
            target = path.resolve()
            try:
                staged.append((_stage(target, text), target))
            except OSError as error:
                raise _unwritable(target.parent, error) from None
        for temporary, target in staged:
            Path(temporary).replace(target)
    finally:
        for temporary, _ in staged:
            with contextlib.suppress(OSError):
                Path(temporary).unlink(missing_ok=True)


def _stage(target: Path, text: str) -> str:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return name


def _unwritable(folder: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"{shown_path(folder)} cannot be written: {reason}; make it writable; nothing was changed")
