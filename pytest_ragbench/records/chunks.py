"""The chunk table of a run: what names a chunk, and its line in `chunks.jsonl`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical

if TYPE_CHECKING:
    from pytest_ragbench.contract import Chunk


def chunk_name(chunk: Chunk) -> str:
    """The chunk's own id, or, without one, the first 16 hex digits of a digest of its place and text."""
    if chunk.id is not None:
        return chunk.id
    return canonical.digest([chunk.file, chunk.pages, chunk.heading, chunk.text])[:16]


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
