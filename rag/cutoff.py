"""The last stage: how many chunks of one file stay, and how many at all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.records import Chunk, Ranking, Scored


def cut(ranking: Ranking, chunks: Sequence[Chunk], top_k: int, max_per_file: int | None) -> Ranking:
    """The first `top_k` of the ranking, passing over a file's chunks beyond `max_per_file`."""
    if max_per_file is None:
        return ranking[:top_k]
    kept: list[Scored] = []
    taken: Counter[str] = Counter()
    for scored in ranking:
        if len(kept) == top_k:
            break
        file = chunks[scored.position].file
        if taken[file] < max_per_file:
            taken[file] += 1
            kept.append(scored)
    return tuple(kept)
