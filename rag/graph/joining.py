"""How walked chunks come before the reranker, and what a result says of the walk."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.fusion import fuse
from rag.records import Scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.graph.walking import Walked
    from rag.options import Options
    from rag.records import Chunk, Ranking


def with_walk(ranking: Ranking, walked: Walked, options: Options, *, fused: bool) -> Ranking:
    """The rerank pool and the walked chunks in one order, then the rest of the ranking without them.

    The walk is one more lane of the search's own reciprocal rank fusion, no less and no more: its j-th chunk has
    1 / (k + j) on top of what the lanes gave it, where they found it behind the pool. A reranker that fuses its order
    with the one it is given so hears of a walked chunk what it hears of any lane's sole find. At the end of the pool
    no walked chunk would ever be kept; one for one with the search's hits, the walk would weigh as much as all lanes
    together. To a reranker that does not fuse, the order is nothing.

    Args:
        ranking: What the search found.
        walked: What the walk adds to it.
        options: Of the search.
        fused: Whether the ranking's scores are those of a fusion; else its ranks are one lane's.
    """
    lanes = ranking if fused else fuse([ranking], options.rrf_k)
    head, rest = lanes[: options.rerank_pool], lanes[options.rerank_pool :]
    behind, lane = dict(rest), fuse([walked.ranking], options.rrf_k)
    walk = [Scored(position, behind.get(position, 0.0) + score) for position, score in lane]
    added = {position for position, _ in lane}
    walk.sort(key=lambda item: (-round(item.score, 12), item.position))
    together = heapq.merge(head, walk, key=lambda item: -round(item.score, 12))  # the head's own order stays
    return (*together, *(item for item in rest if item.position not in added))


def told(walked: Walked, own: Ranking, chunks: Sequence[Chunk]) -> dict[str, Any]:
    """What a row keeps: see `SearchResult.walk`.

    What the search returns by itself, wherever the walk met it too, is no addition.

    Args:
        walked: What the walk brought.
        own: What the same search returns without it, cut to its length.
        chunks: The corpus, in index order.
    """
    returned = {position for position, _ in own}
    added = [
        {
            "chunk": replace(chunks[step.position], score=score),
            "edge": step.edge,
            "hop": step.hop,
            "from": chunks[step.origin].id,
            "generated": chunks[step.position].labels.generated,
        }
        for step, (_, score) in zip(walked.steps, walked.ranking, strict=True)
        if step.position not in returned
    ]
    return {
        "search": tuple(replace(chunks[position], score=score) for position, score in own),
        "added": added,
        "query_seeds": len(walked.query_seeds),
    }
