"""The records of a `corpus.jsonl` as documents, as far as `validate` needs them: their ids, and their text when asked.

Memory holds ids and offsets, never texts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

COLLECTION = "corpus.jsonl"
"""A file of this name is no document but a collection: each line has `_id`, `title` and `text`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one record of a collection stands: its file, first byte and length in bytes."""

    path: Path
    start: int
    length: int

    def text(self) -> str:
        """Title and text, as they are indexed: `title + " " + text`."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            record = _record(file.read(self.length)) or {}
        return f"{record.get('title') or ''} {record.get('text') or ''}".strip()


def read_entries(path: Path) -> dict[str, Entry]:
    """Id to entry, in the order of the file; of two records with one id the first counts, as in an index.

    Lines that are no record are passed over: the import refuses them, and an index lists them.

    Raises:
        OSError: The file cannot be read.
    """
    entries: dict[str, Entry] = {}
    start = 0
    with path.open("rb") as file:
        for line in file:
            record = _record(line)
            if record is not None:
                entries.setdefault(record["_id"], Entry(path, start, len(line)))
            start += len(line)
    return entries


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    is_record = isinstance(record, dict) and isinstance(record.get("_id"), str) and record["_id"]
    return record if is_record else None
