"""How a reranker's scores become a ranking: the head in their order, fused with its old one or not, then the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.fusion import fuse
from rag.ranking import order
from rag.records import Chunk, Ranking, Scored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag.cache import Meter
    from rag.stages import Request, Reranker

TIES = 1e-6
"""Scores that differ by less come from batch sizes and machines, not from the passages."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a rerank made of a ranking.

    Attributes:
        ranking: The reordered head, then what lay behind it.
        scores: The reranker's own score of each position of the head, whatever the ranking's scores are.
    """

    ranking: Ranking
    scores: Mapping[int, float]


def rerank(request: Request, ranking: Ranking, chunks: Sequence[Chunk], reranker: Reranker, meter: Meter) -> Reranked:
    """The head of the ranking, as long as the request's pool, by the reranker's scores; the rest follows as it was."""
    options = request.options
    head, rest = ranking[: request.pool], ranking[request.pool :]
    scores = reranker.scores(request.text, [chunks[scored.position].indexed_text for scored in head], meter)
    positions = np.array([scored.position for scored in head], dtype=np.intp)
    best = order(positions, np.array(scores, dtype=np.float64), TIES)
    reordered = tuple(Scored(int(positions[index]), scores[index]) for index in best)
    own = dict(reordered)
    if reranker.fuses and options.fuse_rerank:
        reordered = fuse([head, reordered], options.rrf_k)
    return Reranked(reordered + rest, own)
