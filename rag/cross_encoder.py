"""Rerank by a cross-encoder: a model that reads question and passage together and answers with one number."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from rag.cache import in_batches
from rag.errors import ModelMissingError
from rag.models import Model, prepare_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.cache import Lazy, Meter, PairScores

VERSION = "1"
"""Raised when the arithmetic changes, so that no stored score outlives it."""

_BATCH = 16


class PairModel(Protocol):
    """A loaded cross-encoder."""

    def predict(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, all in one batch."""


class SentencePairs:
    """A sentence-transformers `CrossEncoder`.

    Attributes:
        counts: How many `pairs` went through the model.

    Raises:
        ModelMissingError: The model gives more than one number a pair.
    """

    def __init__(self, model: Model, *, device: str = "cpu", threads: int | None = None) -> None:
        prepare_torch(threads)
        import torch
        from sentence_transformers import CrossEncoder

        self._model = CrossEncoder(str(model.path), device=device, local_files_only=True)
        if self._model.num_labels != 1:
            raise ModelMissingError(
                f"cross_encoder {model.name!r} gives {self._model.num_labels} numbers a pair; a reranker gives 1"
            )
        # Raw logits: a sigmoid turns high scores into equal ones.
        self._activation = torch.nn.Identity()
        self.counts: Counter[str] = Counter()

    def predict(self, query: str, texts: Sequence[str]) -> list[float]:
        """Raw logits."""
        self.counts["pairs"] += len(texts)
        scores = self._model.predict(
            [(query, text) for text in texts],
            batch_size=len(texts),
            activation_fn=self._activation,
            show_progress_bar=False,
        )
        return [float(score) for score in scores]


class CrossEncoderRerank:
    """Scores of a cross-encoder, kept for each pair."""

    fuses = False

    def __init__(self, pairs_model: Lazy[PairModel], model: str, pairs: PairScores) -> None:
        self._model = pairs_model
        self._implementation = ("cross-encoder", VERSION, model)
        self._pairs = pairs

    def scores(self, query: str, texts: Sequence[str], meter: Meter) -> list[float]:
        """One raw logit a text."""
        if not texts:
            return []

        def compute(missing: Sequence[str]) -> list[tuple[float, float]]:
            model = self._model.get(meter)
            return in_batches(lambda batch: model.predict(query, batch), missing, _BATCH)

        return self._pairs.scores(self._implementation, query, texts, compute, meter)
