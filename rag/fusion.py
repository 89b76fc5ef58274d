"""Reciprocal rank fusion: several rankings into one, by ranks alone, so that no two scores need a common scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.records import Ranking, Scored

if TYPE_CHECKING:
    from collections.abc import Sequence


def fuse(rankings: Sequence[Ranking], k: int = 60) -> Ranking:
    """Order by the sum of 1 / (k + rank) over the rankings that hold a chunk; ties by position.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009, equation 1; k = 60 is theirs.
    """
    sums: dict[int, float] = {}
    for ranking in rankings:
        for rank, (position, _) in enumerate(ranking, start=1):
            sums[position] = sums.get(position, 0.0) + 1.0 / (k + rank)
    # Twelve decimals: the order of the summands must not decide between equal sums.
    best_first = sorted(sums.items(), key=lambda item: (-round(item[1], 12), item[0]))
    return tuple(Scored(position, score) for position, score in best_first)
