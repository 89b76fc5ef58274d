"""The growing files of a run: lines appended at once, their places remembered, rewritten sorted at the end.

Rows stay text on the disk; memory holds a key and two numbers a row.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ragbench.records.files import encode, unwritten, write_atomic, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Key = tuple[str, ...]
"""(question, configuration) of a row; the digest of a chunk's line."""


class LineLog:
    """An append-only file of JSON lines. A key that comes again replaces its earlier line in the sorted file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[Key, tuple[int, int]] = {}
        self._end = 0
        with writing(path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(path, flags, 0o666)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    @property
    def keys(self) -> Iterable[Key]:
        """The keys of the lines that count."""
        return self._places.keys()

    def append(self, key: Key, text: str) -> None:
        """Hand one line to the system at once: a process that is killed afterwards cannot lose it.

        Raises:
            RecordError: The disk is full, or the file has gone.
        """
        line = encode(text) + b"\n"
        try:
            self._write(line)
        except OSError as error:
            raise unwritten(self.path, error) from error
        self._places[tuple(map(sys.intern, key))] = (self._end, len(line))
        self._end += len(line)

    def _write(self, line: bytes) -> None:
        """Write a whole line or, when that fails or is interrupted, nothing."""
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except BaseException:
            os.ftruncate(self._descriptor, self._end)
            raise

    def close(self) -> None:
        """Stop appending."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def rewrite_sorted(self) -> None:
        """Make the file its lines in the order of their keys, one line a key; nothing can be appended after.

        It may be called again, as when the disk was full for the next file of the record.

        Raises:
            RecordError: It cannot be written; the unsorted file is then still there.
        """
        self.close()
        if self._is_sorted():
            with writing(self.path), self.path.open("rb+") as file:
                os.fsync(file)
            return
        write_atomic(self.path, self._sorted_lines())
        self._end = 0
        for key, (_, length) in sorted(self._places.items()):
            self._places[key] = (self._end, length)
            self._end += length

    def _is_sorted(self) -> bool:
        """Whether the file is by now what it would be rewritten to, as after a serial session."""
        counting = sum(length for _, length in self._places.values())
        return counting == self._end and all(one < other for one, other in pairwise(self._places))

    def _sorted_lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            for _, (start, length) in sorted(self._places.items()):
                file.seek(start)
                yield file.read(length)
