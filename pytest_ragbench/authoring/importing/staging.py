"""A folder that appears whole or not at all; into one that exists, finished files are moved one by one."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.durable import umask
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

LAST = "golden/sets"
"""Sets are moved last: a question never stands beside a corpus or a run that lacks it."""


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """A temporary folder whose content becomes that of `target` when the block ends without an error.

    Raises:
        UsageError: `target` is a file, or cannot be written.
    """
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target.as_posix()} is no folder; name another with --to")
    home = target if target.is_dir() else _existing(target.absolute().parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=".importing-", dir=home))
    except OSError as error:
        raise _unwritable(home, error) from None
    try:
        yield folder
        _move(folder, target)
    except OSError as error:
        raise _unwritable(target, error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(folder: Path, target: Path) -> None:
    if not target.is_dir():
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777 & ~umask())  # mkdtemp's folders are for their owner alone
        folder.rename(target)
        return
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    for file in sorted(files, key=lambda file: (file.as_posix().startswith(LAST), file)):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).replace((target / file).resolve())


def _existing(folder: Path) -> Path:
    """The nearest folder that exists, so that nothing is left behind when the import fails."""
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _unwritable(folder: Path, error: OSError) -> UsageError:
    reason = error.strerror or type(error).__name__
    return UsageError(f"{folder.as_posix()} cannot be written: {reason}; name another folder with --to")
