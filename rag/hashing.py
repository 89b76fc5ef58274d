"""The hashing lane: words folded into a fixed number of buckets, an embedding without a model.

All sums are of integers, and a score takes one product, one square root and one division, which IEEE 754 rounds in one
way only: rankings are the same on every machine, for any number of threads.
"""

from __future__ import annotations

import hashlib
import itertools
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from rag.ranking import top
from rag.text import content_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rag.cache import Lazy, Meter
    from rag.records import Ranking
    from rag.stages import Request
    from rag.text import Tokenizer

BUCKETS = 4_096
"""Length of a vector; a passage fills some hundred of its places."""


@lru_cache(maxsize=262_144)
def place(feature: str) -> tuple[int, int]:
    """A feature's bucket and its sign, from the first eight bytes of its BLAKE2b digest, little-endian.

    The lowest bits give the bucket and the highest one the sign, so that features that meet in a bucket cancel as often
    as they add up, and a dot product of two texts is right in the mean. Python's own hash differs from process to
    process. Source: Weinberger, Dasgupta, Langford, Smola and Attenberg, "Feature Hashing for Large Scale Multitask
    Learning", ICML 2009, section 2.
    """
    number = int.from_bytes(hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return number % BUCKETS, -1 if number >> 63 else 1


def features(text: str, tokenize: Tokenizer) -> list[str]:
    """A text's content words, and its pairs of neighbours among them, each as often as it stands there."""
    words = content_words(text, tokenize)
    return words + [f"{first} {second}" for first, second in itertools.pairwise(words)]


class HashedTexts:
    """A signed count for each bucket of each text, `(n_texts, BUCKETS)` integers."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        """Count the features of every text."""
        rows: list[int] = []
        places: list[tuple[int, int]] = []
        count = 0
        for row, found in enumerate(texts):
            places.extend(map(place, found))
            rows.extend([row] * len(found))
            count = row + 1
        columns, signs = np.array(places, dtype=np.int64).reshape(-1, 2).T
        self._vectors = sparse.csr_array((signs, (rows, columns)), shape=(count, BUCKETS))
        self._lengths = _dot(self._vectors * self._vectors, np.ones(BUCKETS, dtype=np.int64))

    def search(self, asked: Sequence[str], k: int, among: NDArray[np.intp] | None = None) -> Ranking:
        """The `k` largest cosines above zero, of all texts or of some positions; equal ones by position."""
        vector = np.zeros(BUCKETS, dtype=np.int64)
        for bucket, sign in map(place, asked):
            vector[bucket] += sign
        shared = _dot(self._vectors, vector)
        held = np.flatnonzero(shared > 0)
        if among is not None:
            held = np.intersect1d(held, among, assume_unique=True)
        scores = shared[held] / np.sqrt(self._lengths[held] * int(vector @ vector))
        return top(scores, k, 0.0, among=held)


def _dot(matrix: sparse.csr_array, vector: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(matrix @ vector, dtype=np.int64)


class Hashing:
    """The lane that the option `hashing` switches on.

    Args:
        index: The vectors of the chunks.
        tokenize: Makes words of a question as they were made of the chunks.
        key: Digest of what is indexed, for the cache.
    """

    def __init__(self, index: Lazy[HashedTexts], tokenize: Tokenizer, key: str) -> None:
        self._index = index
        self._tokenize = tokenize
        self._key = key

    def search(self, request: Request, meter: Meter) -> Ranking:
        """The nearest chunks; none for a text without content words."""
        index = self._index.get(meter)

        def find() -> Ranking:
            return index.search(features(request.text, self._tokenize), request.pool, request.among)

        return meter.stage("hashing", request.key(self._key), find)
