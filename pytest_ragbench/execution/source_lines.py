"""Lines of foreign collection files, plain or gzipped, and the problems found in them.

Knows encodings and where a line stands; what a line means is left to the readers of each format.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections import Counter
from typing import IO, TYPE_CHECKING, cast

from pytest_ragbench.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SHOWN = 20
"""Problems of one kind that are written out for one file; the rest are counted."""

ANNOUNCED = 200_000
"""Lines between two updates of the progress line."""

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Findings:
    """Problems of one or more files, in the order found; of one kind in one file only the first `SHOWN` are kept."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, line: int | None, message: str, code: str, *, record: str | None = None) -> None:
        """Note one problem."""
        self._counts[file, code] += 1
        if self._counts[file, code] <= SHOWN:
            self._problems.append(Problem(file, line, record, None, message, code))

    def __len__(self) -> int:
        """How many problems were found, written out or not."""
        return sum(self._counts.values())

    def raise_any(self) -> None:
        """Raise what was found.

        Raises:
            InputError: There is at least one problem.
        """
        if not self._problems:
            return
        hidden = [
            Problem(file, None, None, None, f"{count - SHOWN} more problems of this kind are not shown", code)
            for (file, code), count in self._counts.items()
            if count > SHOWN
        ]
        raise InputError([*self._problems, *hidden])


def numbered_lines(path: Path, findings: Findings, *, progress: bool = False) -> Iterator[tuple[int, str]]:
    r"""Lines that are not blank, with their 1-based numbers, without `\n` or `\r\n`; gzip is known by its first bytes.

    A byte order mark is dropped where the file begins and is a problem where another line does: it would be an unseen
    part of an id. A line that is no UTF-8, a file that cannot be read, and a damaged archive are added to `findings`.
    With `progress`, and where standard error is a terminal, long files show how far they are read.
    """
    shown = path.as_posix()
    try:
        with _opened(path) as stream:
            lines = _announced(stream, shown) if progress and sys.stderr.isatty() else stream
            for number, raw in enumerate(lines, start=1):
                if number == 1 and raw.startswith(_WIDE):
                    findings.add(shown, 1, "the file is UTF-16; save it as UTF-8", "not-utf8")
                    return
                text = _decoded(raw.removeprefix(_BOM) if number == 1 else raw, shown, number, findings)
                if text is not None and not text.isspace() and text:
                    yield number, text.rstrip("\r\n")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        findings.add(shown, None, f"the gzip archive is damaged ({error}); fetch it again", "bad-gzip")
    except OSError as error:
        findings.add(shown, None, f"cannot be read: {error.strerror or type(error).__name__}", "unreadable")


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as probe:
        zipped = probe.read(2) == _GZIP
    return cast("IO[bytes]", gzip.open(path, "rb")) if zipped else path.open("rb")


def _decoded(raw: bytes, shown: str, number: int, findings: Findings) -> str | None:
    if raw.startswith(_BOM):
        message = "the line begins with a byte order mark, as where two files were joined; remove it"
        findings.add(shown, number, message, "byte-order-mark")
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{raw[error.start]:02x} (column {error.start + 1}) is not UTF-8; save the file as UTF-8"
        findings.add(shown, number, message, "not-utf8")
        return None


def _announced(stream: Iterable[bytes], shown: str) -> Iterator[bytes]:
    number = 0
    for number, line in enumerate(stream, start=1):
        if number % ANNOUNCED == 0:
            sys.stderr.write(f"\r{shown}: {number:,} lines read")
            sys.stderr.flush()
        yield line
    if number >= ANNOUNCED:
        sys.stderr.write("\r\x1b[K")
