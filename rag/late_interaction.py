"""Rerank by late interaction: each word piece of the question looks for its best match in the passage (MaxSim)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from rag.embedding import batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rag.cache import Lazy, Meter, PairScores
    from rag.embedding import QuestionVectors, TokenCache
    from rag.stages import Encoder

VERSION = "1"
"""Raised when the arithmetic changes, so that no stored score outlives it."""

_BATCH = 32


class LateInteraction:
    """MaxSim over the token vectors of the dense lane's own model, so that no further weights are needed.

    Source: Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction
    over BERT", SIGIR 2020, equation 3, divided by the number of the question's word pieces to lie in [-1, 1].
    """

    fuses = True
    """Word pieces alone are weaker than the lanes' order; both together are stronger than either."""

    def __init__(
        self,
        encoder: Lazy[Encoder],
        questions: QuestionVectors,
        passages: Lazy[TokenCache],
        model: str,
        pairs: PairScores,
    ) -> None:
        self._encoder = encoder
        self._questions = questions
        self._passages = passages
        self._implementation = ("late-interaction", VERSION, model)
        self._pairs = pairs

    def scores(self, query: str, texts: Sequence[str], meter: Meter) -> list[float]:
        """Mean best cosine of the question's word pieces, one a text."""
        if not texts:
            return []
        _, question = self._questions.get(query, meter)
        return self._pairs.scores(
            self._implementation, query, texts, lambda missing: self._compute(question, missing, meter), meter
        )

    def _compute(self, question: NDArray[np.float32], texts: Sequence[str], meter: Meter) -> list[tuple[float, float]]:
        passages = self._passages.get(meter)
        started = time.perf_counter()
        known = passages.get(texts)
        share = _ms_since(started) / len(texts)
        absent = [text for text in texts if text not in known]
        if absent:
            known |= self._encode(absent, self._encoder.get(meter), passages)
        pairs = []
        for text in texts:
            vectors, encoding_ms = known[text]
            started = time.perf_counter()
            score = float((question @ vectors.astype(np.float32).T).max(axis=1).mean())
            pairs.append((score, share + encoding_ms + _ms_since(started)))
        return pairs

    def _encode(
        self, texts: Sequence[str], encoder: Encoder, passages: TokenCache
    ) -> dict[str, tuple[NDArray[np.float16], float]]:
        """Passages that the index does not hold. A pair is charged what encoding its passage took, whenever it was.

        Every score goes through half precision, so that a kept passage scores as a fresh one.
        """
        entries: dict[str, tuple[NDArray[np.float16], float]] = {}
        for batch in batches(texts, encoder, _BATCH):
            started = time.perf_counter()
            encoded = encoder.token_vectors(batch)
            ms = _ms_since(started) / len(batch)
            fresh = {text: (piece.astype(np.float16), ms) for text, piece in zip(batch, encoded, strict=True)}
            passages.put(fresh)
            entries |= fresh
        return entries


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
