"""The chunk table of a run: what names a chunk, and its line in `chunks.jsonl`."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.contract import Chunk
from pytest_ragbench.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

LineKey = tuple[str, str, str]
"""Name, file and digest of the text of a chunk: what a line of `chunks.jsonl` is kept by."""

REMEMBERED_CHARACTERS = 4_000
"""Length of a text beyond which its digest is not kept in memory with it."""

REMEMBERED_TEXTS = 8_192
"""Texts whose digests are kept."""


def chunk_name(chunk: Chunk) -> str:
    """The chunk's own id, or, without one, the first 16 hex digits of a digest of its place and text."""
    if chunk.id is not None:
        return chunk.id
    digest = _digest if len(chunk.text) <= REMEMBERED_CHARACTERS else _digest.__wrapped__
    return digest(chunk.file, chunk.pages, chunk.heading, chunk.text)


@lru_cache(maxsize=8_192)
def _digest(file: str, pages: tuple[int, int] | None, heading: tuple[str, ...], text: str) -> str:
    return canonical.digest([file, pages, heading, text])[:16]


def text_digest(text: str) -> str:
    """The first 16 hex digits of a text's sha256; under one id a pipeline may return a chunk, its section, a window."""
    return _digests[text]


def _digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_digests = Remembered(_digest_of_text, most=REMEMBERED_TEXTS, longest=REMEMBERED_CHARACTERS)


def named(chunk: Chunk) -> Chunk:
    """The chunk with its name as its id."""
    if chunk.id is not None:
        return chunk
    return Chunk(chunk.file, chunk.pages, chunk.heading, chunk_name(chunk), chunk.score, chunk.text)


def chunk_key(chunk: Chunk) -> tuple[str, str]:
    """What tells the chunks of a run apart: name and file, since an index may count its chunks file by file."""
    return chunk_name(chunk), chunk.file


def line_key(chunk: Chunk) -> LineKey:
    """What tells the lines of `chunks.jsonl` apart: each text that was returned under a chunk's name has its own."""
    return chunk_name(chunk), chunk.file, text_digest(chunk.text)


def line_keys(chunks: Sequence[Chunk]) -> list[LineKey]:
    """`line_key` of each of several chunks, at the cost of a look-up for those that have an id."""
    return [(chunk.id or chunk_name(chunk), chunk.file, _digests[chunk.text]) for chunk in chunks]


def chunk_line(chunk: Chunk) -> str:
    """The chunk as a line of `chunks.jsonl`, without the newline; its score belongs to a row and stays out."""
    return canonical.dumps(chunk_mapping(chunk))


def chunk_mapping(chunk: Chunk) -> dict[str, Any]:
    """The keys of a line of `chunks.jsonl`: `id`, `file`, `pages`, `heading`, `text`."""
    return {
        "id": chunk_name(chunk),
        "file": chunk.file,
        "pages": None if chunk.pages is None else list(chunk.pages),
        "heading": list(chunk.heading),
        "text": chunk.text,
    }
