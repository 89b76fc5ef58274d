"""How scores become a ranking: best first, near-ties by the chunks' own order, so that last digits decide nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rag.records import Ranking, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def _contenders(scores: NDArray[np.floating], k: int, tolerance: float) -> NDArray[np.intp]:
    """Indexes of the best `k` and of whatever is chained to the last of them by ties."""
    lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
    found = np.flatnonzero(scores >= lowest - tolerance)
    while True:
        wider = np.flatnonzero(scores >= scores[found].min() - tolerance)
        if len(wider) == len(found):
            return found
        found = wider
