"""Approximate nearest neighbours by hnswlib: built on one thread from a fixed seed, so that every build is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

M = 16
EF_CONSTRUCTION = 200
SEED = 100
_PROBES = 200
_TIES = 1e-6


class Hnsw:
    """A navigable small-world graph over unit vectors.

    Source: Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable
    Small World graphs", IEEE TPAMI 42(4), 2020.
    """

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, vectors: NDArray[np.float32]) -> Hnsw:
        """Add all vectors, in order, on one thread."""
        import hnswlib

        index = hnswlib.Index(space="ip", dim=vectors.shape[1])
        index.init_index(max_elements=len(vectors), ef_construction=EF_CONSTRUCTION, M=M, random_seed=SEED)
        index.add_items(vectors, np.arange(len(vectors)), num_threads=1)
        return cls(index)

    def save(self, path: Path) -> None:
        """Write the graph."""
        self._index.save_index(str(path))

    @classmethod
    def load(cls, path: Path, dimension: int) -> Hnsw:
        """Read what `save` wrote."""
        import hnswlib

        index = hnswlib.Index(space="ip", dim=dimension)
        index.load_index(str(path))
        return cls(index)

    def nearest(self, vector: NDArray[np.float32], k: int) -> NDArray[np.intp]:
        """About the `k` nearest, with ef = max(200, 2k).

        hnswlib refuses when its walk meets fewer than `k`; then it walks wider, and last it is asked for fewer.
        """
        count = int(self._index.get_current_count())
        k, ef = min(k, count), max(200, 2 * k)
        while k > 0:
            self._index.set_ef(ef)
            try:
                labels, _ = self._index.knn_query(vector.reshape(1, -1), k=k, num_threads=1)
            except RuntimeError:
                k, ef = (k, count) if ef < count else (k // 2, ef)
            else:
                return np.asarray(labels[0], dtype=np.intp)
        return np.empty(0, dtype=np.intp)

    def recall(self, vectors: NDArray[np.float32], k: int = 10) -> float:
        """Share of the exact `k` nearest that the graph finds, over 200 of the vectors themselves as questions."""
        k = min(k, len(vectors))
        generator = np.random.default_rng(SEED)
        probes = generator.choice(len(vectors), size=min(_PROBES, len(vectors)), replace=False)
        found = 0.0
        for probe in probes:
            cosines = vectors @ vectors[probe]
            bar = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
            found += min(1.0, float((cosines[self.nearest(vectors[probe], k)] >= bar - _TIES).sum()) / k)
        return found / len(probes)
