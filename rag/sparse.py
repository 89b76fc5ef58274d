"""The sparse lane: BM25 with rank_bm25's statistics and scores, read from a term x chunk matrix of finished weights."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from rag.ranking import top

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rag.cache import Lazy, Meter
    from rag.records import Ranking
    from rag.stages import Request
    from rag.text import Tokenizer

K1 = 1.5
B = 0.75
EPSILON = 0.25
TIES = 1e-9


class Bm25:
    """Okapi BM25 over a fixed set of chunks.

    Weights are those of rank_bm25's `BM25Okapi` to the last bit: a term in more than half of the chunks, whose inverse
    document frequency would be negative, gets EPSILON times the mean frequency of all terms instead. Source: Trotman,
    Puurula and Burgess, "Improvements to BM25 and Language Models Examined", ADCS 2014, section 3 (ATIRE).
    """

    def __init__(self, vocabulary: dict[str, int], weights: sparse.csr_array) -> None:
        self._vocabulary = vocabulary
        self._chunks = int(weights.shape[1])
        # numpy's bincount wants machine integers; converting them at every query would cost more than the sum.
        self._starts: list[int] = weights.indptr.tolist()
        self._positions = weights.indices.astype(np.intp)
        self._weights = weights.data
        self._positive = bool((self._weights > 0).all())

    @classmethod
    def build(cls, chunks: Iterable[Sequence[str]]) -> Bm25:
        """Count the terms of tokenised chunks; a chunk without a term counts in the means and is never found."""
        vocabulary: dict[str, int] = {}
        columns: list[list[int]] = []
        counts: list[list[int]] = []
        lengths: list[int] = []
        for position, tokens in enumerate(chunks):
            lengths.append(len(tokens))
            for token, count in Counter(tokens).items():
                term = vocabulary.setdefault(token, len(vocabulary))
                if term == len(columns):
                    columns.append([])
                    counts.append([])
                columns[term].append(position)
                counts[term].append(count)
        return cls(vocabulary, _weigh(columns, counts, lengths))

    @property
    def terms(self) -> int:
        """Size of the vocabulary."""
        return len(self._vocabulary)

    def scores(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """BM25 of every chunk, `(n_chunks,)`; a token that repeats counts each time, as in rank_bm25."""
        postings = self._postings(tokens)
        return np.zeros(self._chunks) if postings is None else self._sum(*postings)

    def search(self, tokens: Sequence[str], k: int, among: NDArray[np.intp] | None = None) -> Ranking:
        """The best `k` of the chunks that hold a token, of all or of some positions; none where no chunk does."""
        postings = self._postings(tokens)
        if postings is None:
            return ()
        positions, weights = postings
        scores = self._sum(positions, weights)
        if among is not None or not self._positive:  # a term in just half of the chunks weighs nothing, and is a match
            held = self._holding(positions, among)
            return top(scores[held], k, TIES, among=held)
        if len(positions) < len(scores) // 4:
            held = np.flatnonzero(scores)
            return top(scores[held], k, TIES, among=held)
        return tuple(scored for scored in top(scores, k, TIES) if scored.score > 0.0)

    def _postings(self, tokens: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.float64]] | None:
        spans = [
            slice(self._starts[term], self._starts[term + 1])
            for token in tokens
            if (term := self._vocabulary.get(token)) is not None
        ]
        if not spans:
            return None
        return (
            np.concatenate([self._positions[span] for span in spans]),
            np.concatenate([self._weights[span] for span in spans]),
        )

    def _holding(self, positions: NDArray[np.intp], among: NDArray[np.intp] | None) -> NDArray[np.intp]:
        """The chunks of postings, ascending, once each; by a mask, since sorting them takes ten times as long."""
        found = np.zeros(self._chunks, dtype=np.bool_)
        found[positions] = True
        if among is not None:
            inside = np.zeros(self._chunks, dtype=np.bool_)
            inside[among] = True
            found &= inside
        return np.flatnonzero(found)

    def _sum(self, positions: NDArray[np.intp], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        # bincount adds in the order given, which is the order of the query's terms: the same sums as rank_bm25's.
        return np.bincount(positions, weights, minlength=self._chunks)  # type: ignore[return-value]  # floats, by weights

    def save(self, folder: Path) -> None:
        """Write `vocabulary.json` and `weights.npz`."""
        (folder / "vocabulary.json").write_text(
            json.dumps(list(self._vocabulary), ensure_ascii=False), encoding="utf-8"
        )
        shape = (len(self._vocabulary), self._chunks)
        sparse.save_npz(folder / "weights.npz", sparse.csr_array((self._weights, self._positions, self._starts), shape))

    @classmethod
    def load(cls, folder: Path) -> Bm25:
        """Read what `save` wrote."""
        terms = json.loads((folder / "vocabulary.json").read_text(encoding="utf-8"))
        return cls(
            {term: row for row, term in enumerate(terms)}, sparse.csr_array(sparse.load_npz(folder / "weights.npz"))
        )


def _weigh(columns: list[list[int]], counts: list[list[int]], lengths: list[int]) -> sparse.csr_array:
    """Term x chunk matrix of weights, in rank_bm25's order of operations, on which the last bits depend."""
    frequencies = _inverse_frequencies([len(row) for row in columns], len(lengths))
    starts = np.concatenate(([0], np.cumsum([len(row) for row in columns], dtype=np.int64)))
    positions = np.fromiter((position for row in columns for position in row), np.int64, int(starts[-1]))
    tf = np.fromiter((count for row in counts for count in row), np.int64, int(starts[-1]))
    mean_length = sum(lengths) / len(lengths) if sum(lengths) else 1.0
    norms = K1 * (1 - B + B * np.array(lengths) / mean_length)
    idf = np.repeat(np.array(frequencies), np.diff(starts))
    weights = idf * (tf * (K1 + 1) / (tf + norms[positions]))
    return sparse.csr_array((weights, positions, starts), (len(columns), len(lengths)))


def _inverse_frequencies(held_by: list[int], chunks: int) -> list[float]:
    # math.log and a running sum in order of first occurrence, since numpy's log and pairwise sum round differently.
    plain = [math.log(chunks - held + 0.5) - math.log(held + 0.5) for held in held_by]
    total = 0.0
    for frequency in plain:
        total += frequency
    floor = EPSILON * (total / len(plain)) if plain else 0.0
    return [floor if frequency < 0 else frequency for frequency in plain]


class Sparse:
    """BM25 as a lane: over all chunks by words, or over code by identifiers.

    Args:
        index: The matrix.
        tokenize: Makes terms of a question as they were made of the chunks.
        key: Digest of what is indexed, for the cache.
        name: The stage that its time is charged to.
    """

    def __init__(self, index: Lazy[Bm25], tokenize: Tokenizer, key: str, name: str = "sparse") -> None:
        self._name = name
        self._index = index
        self._tokenize = tokenize
        self._key = key

    def search(self, request: Request, meter: Meter) -> Ranking:
        """BM25's best chunks; none for a text without an indexed term."""
        index = self._index.get(meter)

        def find() -> Ranking:
            return index.search(self._tokenize(request.text), request.pool, request.among)

        return meter.stage(self._name, request.key(self._key), find)
