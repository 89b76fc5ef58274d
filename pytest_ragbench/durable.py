"""Files that are there whole or not at all, also after a crash: written beside their place, synced, renamed into it.

Raises what the system raises; what a failure means, and how it is told, is for the callers.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def stage(path: Path, parts: Iterable[bytes], *, mode: int | None = None) -> Path:
    """Write a hidden file beside `path` that is on the disk and waits to be renamed to it.

    Args:
        path: The file that is to be written or replaced.
        parts: Its content.
        mode: Its permissions; those of any new file by default.

    Raises:
        OSError: It cannot be written; nothing is left behind then, nor when `parts` raises.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~umask() if mode is None else mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def write_atomic(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file so that readers see the old one or the new.

    A symbolic link stays one: what it leads to is written. A pipe, a terminal or another thing that is no file of
    a disk cannot be replaced without being destroyed: it is written to, part by part.

    Raises:
        OSError: It cannot be written; the old file, if any, is still there.
    """
    if _takes_a_stream(path):
        with path.open("wb") as stream:
            stream.writelines(parts)
        return
    target = path.resolve()
    temporary = stage(target, parts)
    try:
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _takes_a_stream(path: Path) -> bool:
    """Whether something is there that is no regular file.

    Raises:
        OSError: It leads through links that never end, or through a folder that may not be entered.
    """
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a name made in it survives a power cut; where a system cannot, it does nothing."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def umask() -> int:
    """The process's umask; the system tells it only by setting another."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
