"""Files of a record: read strictly, written atomically. What stands in them is for the modules above."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical, durable
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.records.strict import parse_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def encode(text: str) -> bytes:
    r"""JSON text as UTF-8; a lone surrogate becomes its JSON escape (`\ud800`), which reads back as itself."""
    return text.encode("utf-8", "backslashreplace")


def read_text(path: Path) -> str:
    """A file as text.

    Raises:
        RecordError: It is missing, unreadable, or no UTF-8.
    """
    with reading(path):
        data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise RecordError(f"{path}:{line}:{column}: this is no UTF-8 (byte {data[error.start]:#04x})") from None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a file.

    Raises:
        RecordError: It is missing, unreadable, no strict JSON, or something other than an object.
    """
    return parse_object(read_text(path), str(path))


def write_object(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object, indented, atomically.

    Raises:
        RecordError: It cannot be written.
    """
    write_atomic(path, [encode(canonical.dumps_pretty(value))])


def write_atomic(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file beside its place, sync it, and rename it into place, so that readers see the old one or the new.

    Raises:
        RecordError: It cannot be written; the old file, if any, is still there.
    """
    with writing(path):
        durable.write_atomic(path, parts)


def check_target(path: Path, option: str) -> None:
    """Refuse, before anything is measured, a path whose place no file may take.

    Args:
        path: Where a file is to go.
        option: What asked for it, as the user typed it.

    Raises:
        UsageError: A folder lies there, or it is a device, as `/dev/stdout`: where that leads to a file, the rest of
            the output would be lost with it. A pipe is written to.
    """
    if os.path.isdir(path):  # noqa: PTH112 - a folder that may not be searched is told when the file is written
        raise UsageError(f"{option}: {path} is a folder; name a file")
    if path.as_posix().startswith("/dev/"):
        raise UsageError(f"{option}: {path} is a device; name a file")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the system says about a failed read into one sentence.

    Raises:
        RecordError: The block raised OSError.
    """
    try:
        yield
    except FileNotFoundError:
        raise RecordError(f"{path}: the file is missing") from None
    except OSError as error:
        raise RecordError(f"{path}: it cannot be read ({error.strerror or error})") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about a failed write into one sentence.

    Raises:
        RecordError: The block raised OSError.
    """
    try:
        yield
    except OSError as error:
        raise unwritten(path, error) from error


def unwritten(path: Path, error: OSError) -> RecordError:
    """What the system says about a failed write, in one sentence."""
    return RecordError(f"{path}: it cannot be written ({error.strerror or error})")
