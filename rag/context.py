"""More text around what was found: the section that a chunk was cut from, the chunks before and after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.options import Options
    from rag.records import Chunk


def widen(
    found: Sequence[Chunk], positions: Sequence[int], chunks: Sequence[Chunk], options: Options
) -> tuple[Chunk, ...]:
    """The chunks found, in their order, with more text each; nothing else of them changes.

    Args:
        found: The final ranking.
        positions: Their positions in the index.
        chunks: All chunks of the index, those of a file side by side and in its order.
        options: `parent_context` adds the chunks of the same file with the same page, or the same heading path where
            there are no pages; `neighbor_context` the file's chunk before and the one after.
    """
    pairs = zip(found, positions, strict=True)
    return tuple(replace(chunk, text=_text(position, chunks, options)) for chunk, position in pairs)


def _text(position: int, chunks: Sequence[Chunk], options: Options) -> str:
    own = chunks[position]
    first = last = position
    while first > 0 and chunks[first - 1].file == own.file:
        first -= 1
    while last + 1 < len(chunks) and chunks[last + 1].file == own.file:
        last += 1
    kept = {position}
    if options.parent_context:
        kept.update(at for at in range(first, last + 1) if _place(chunks[at]) == _place(own))
    if options.neighbor_context:
        kept.update(at for at in (position - 1, position + 1) if first <= at <= last)
    return "\n\n".join(chunks[at].text for at in sorted(kept))


def _place(chunk: Chunk) -> tuple[object, ...]:
    return chunk.pages or chunk.heading
