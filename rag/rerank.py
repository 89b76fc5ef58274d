"""How a reranker's scores become a ranking: the head in their order, fused with its old one or not, then the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rag.fusion import fuse
from rag.ranking import order
from rag.records import Chunk, Ranking, Scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.cache import Meter
    from rag.stages import Request, Reranker

TIES = 1e-6
"""Scores that differ by less come from batch sizes and machines, not from the passages."""


def rerank(request: Request, ranking: Ranking, chunks: Sequence[Chunk], reranker: Reranker, meter: Meter) -> Ranking:
    """The first `rerank_pool` of the ranking by the reranker's scores; what lies behind them follows as it was."""
    options = request.options
    head, rest = ranking[: options.rerank_pool], ranking[options.rerank_pool :]
    scores = reranker.scores(request.text, [chunks[scored.position].indexed_text for scored in head], meter)
    positions = np.array([scored.position for scored in head], dtype=np.intp)
    best = order(positions, np.array(scores, dtype=np.float64), TIES)
    reordered = tuple(Scored(int(positions[index]), scores[index]) for index in best)
    if reranker.fuses and options.fuse_rerank:
        reordered = fuse([head, reordered], options.rrf_k)
    return reordered + rest
