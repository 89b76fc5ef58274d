"""How scores become a ranking: best first, near-ties by the chunks' own order, so that last digits decide nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rag.records import Chunk, Ranking, Scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rag.cache import Memo


def order(positions: NDArray[np.intp], scores: NDArray[np.floating], tolerance: float) -> NDArray[np.intp]:
    """Indexes into `positions`, best score first; scores that lie within `tolerance` of the next tie by position.

    The tie is a chain: in 0.9, 0.8999995, 0.899999 all three tie at a tolerance of 1e-6. Positions follow the sorted
    file names of the index, so the order is the same wherever the scores differ in their last digits only.
    """
    by_score = np.lexsort((positions, -scores))
    steps = np.diff(scores[by_score])
    group = np.concatenate(([0], np.cumsum(-steps > tolerance))) if len(by_score) else by_score
    return by_score[np.lexsort((positions[by_score], group))]


def top(scores: NDArray[np.floating], k: int, tolerance: float, among: NDArray[np.intp] | None = None) -> Ranking:
    """The best `k` of `scores` (one a position, or one for each of `among`), fewer where fewer exist."""
    candidates = np.arange(len(scores)) if k >= len(scores) else _contenders(scores, k, tolerance)
    positions = candidates if among is None else among[candidates]
    values = scores[candidates]
    chosen = order(positions, values, tolerance)[:k]
    pairs = zip(positions[chosen].tolist(), values[chosen].tolist(), strict=True)
    return tuple(Scored(position, score) for position, score in pairs)


class Same:
    """A ranking as a part of a cache key: equal by its values, hashed by its ends.

    Hashing every score would cost more than what is looked up; comparing a ranking with itself costs nothing.
    """

    __slots__ = ("_hash", "_ranking")

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._hash = hash((len(ranking), *ranking[:1], *ranking[-1:]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and (self._ranking is other._ranking or self._ranking == other._ranking)

    def __hash__(self) -> int:
        return self._hash


def shown(ranking: Ranking, chunks: Sequence[Chunk], memo: Memo) -> tuple[Chunk, ...]:
    """The chunks of a ranking with their scores, made once: the arms of a question share most of their rankings."""
    known: tuple[Chunk, ...] | None = memo.get(Same(ranking))
    if known is None:
        known = tuple(replace(chunks[position], score=score) for position, score in ranking)
        memo.put(Same(ranking), known, weight=1 + len(known))
    return known


def _contenders(scores: NDArray[np.floating], k: int, tolerance: float) -> NDArray[np.intp]:
    """Indexes of the best `k` and of whatever is chained to the last of them by ties."""
    lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
    found = np.flatnonzero(scores >= lowest - tolerance)
    while True:
        wider = np.flatnonzero(scores >= scores[found].min() - tolerance)
        if len(wider) == len(found):
            return found
        found = wider
