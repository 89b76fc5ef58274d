"""The dense lane: exact or approximate search among the chunks' unit vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rag.ranking import top

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rag.cache import Lazy, Meter
    from rag.embedding import QuestionVectors
    from rag.options import Options
    from rag.records import Ranking
    from rag.stages import Neighbours, Request

TIES = 1e-6
"""Cosines that differ by less come from batch sizes and machines, not from meaning."""


def exact(
    vectors: NDArray[np.float32], vector: NDArray[np.float32], k: int, among: NDArray[np.intp] | None = None
) -> Ranking:
    """The `k` largest cosines by matrix product, of all chunks or of some positions; fewer where fewer exist."""
    return top(vectors @ vector if among is None else vectors[among] @ vector, k, TIES, among=among)


def approximate(vectors: NDArray[np.float32], neighbours: Neighbours, vector: NDArray[np.float32], k: int) -> Ranking:
    """The neighbours' answer, scored again by the vectors themselves."""
    found = np.sort(neighbours.nearest(vector, k))
    return exact(vectors, vector, k, among=found)


class Dense:
    """The lane that the factor `dense` switches on."""

    def __init__(
        self,
        vectors: Lazy[NDArray[np.float32]],
        neighbours: Lazy[Neighbours],
        questions: QuestionVectors,
        key: tuple[str, str],
        hnsw_from: int,
    ) -> None:
        """Take the parts, none of them loaded yet.

        Args:
            vectors: Unit vectors, `(n_chunks, dimension)`.
            neighbours: The approximate index over them.
            questions: The vectors of questions, by the model that made the chunks'.
            key: Digests of the index and of the model, for the cache.
            hnsw_from: Chunks from which on `auto` means hnsw.
        """
        self._vectors = vectors
        self._neighbours = neighbours
        self._questions = questions
        self._key = key
        self._hnsw_from = hnsw_from

    def search(self, request: Request, meter: Meter) -> Ranking:
        """The nearest chunks; none for a blank text, whose vector would have confident neighbours.

        Inside a scope the search is exact: an approximate index that is filtered finds too few.
        """
        query, options, scope = request.text, request.options, request.scope
        if not query.strip():
            return ()
        vectors = self._vectors.get(meter)
        vector, _ = self._questions.get(query, meter)
        mode, k = self._mode(options, len(vectors)) if scope is None else "exact", request.pool

        def find() -> Ranking:
            if mode == "hnsw":
                return approximate(vectors, self._neighbours.get(meter), vector, k)
            return exact(vectors, vector, k, None if scope is None else scope.positions)

        return meter.stage("dense", (*self._key, mode, k, request.scope_name, query), find)

    def _mode(self, options: Options, chunks: int) -> str:
        if options.dense_search == "auto":
            return "hnsw" if chunks >= self._hnsw_from else "exact"
        return options.dense_search
