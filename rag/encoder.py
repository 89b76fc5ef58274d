"""One sentence-transformers model for two uses: a vector a text (dense lane) and a vector a word piece (rerank)."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.models import Model, prepare_torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class SentenceEncoder:
    """A loaded model.

    Attributes:
        counts: How many texts went through the model, by use (`question`, `embed`, `tokens`).
    """

    def __init__(self, model: Model, *, device: str = "cpu", threads: int | None = None, batch_size: int = 32) -> None:
        prepare_torch(threads)
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(str(model.path), device=device, local_files_only=True)
        self._batch_size = batch_size
        self.counts: Counter[str] = Counter()
        self._model.encode(["one text, so that no search pays for the first"], show_progress_bar=False)

    @property
    def limit(self) -> int:
        """How many word pieces it reads of a text, its own marks included."""
        return int(self._model.max_seq_length or sys.maxsize)

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Word pieces of each text, its own marks included, beyond the limit too."""
        return [len(ids) for ids in self._model.tokenizer(list(texts), truncation=False)["input_ids"]] if texts else []

    def question(self, query: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """A question's unit vector and those of its word pieces; the model's prompt for questions, if any, is used."""
        self.counts["question"] += 1
        outputs: Any = self._model.encode_query([query], output_value=None, show_progress_bar=False)
        return self._vectors(outputs)[0], self._pieces(outputs)[0]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of passages, `(n_texts, dimension)`; batches are of texts of like length."""
        self.counts["embed"] += len(texts)
        vectors = self._model.encode_document(
            list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Unit vectors of each text's word pieces, `(n_pieces, dimension)`, without the model's own marks.

        A text of nothing but such marks keeps them, so that no matrix is empty.
        """
        self.counts["tokens"] += len(texts)
        return self._pieces(self._forward(texts))

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """`embed` and `token_vectors` in one pass."""
        self.counts["embed"] += len(texts)
        self.counts["tokens"] += len(texts)
        outputs = self._forward(texts)
        return self._vectors(outputs), self._pieces(outputs)

    def _forward(self, texts: Sequence[str]) -> list[Mapping[str, Any]]:
        outputs: Any = self._model.encode_document(
            list(texts), batch_size=self._batch_size, output_value=None, show_progress_bar=False
        )
        return list(outputs)

    @staticmethod
    def _vectors(outputs: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
        return _normalised(np.stack([np.asarray(output["sentence_embedding"], np.float32) for output in outputs]))

    def _pieces(self, outputs: list[Mapping[str, Any]]) -> list[NDArray[np.float32]]:
        tokenizer = self._model.tokenizer
        marks = [mark for mark in tokenizer.all_special_ids if mark != tokenizer.unk_token_id]
        return [_own_pieces(output, marks) for output in outputs]


def _own_pieces(output: Mapping[str, Any], marks: list[int]) -> NDArray[np.float32]:
    vectors = np.asarray(output["token_embeddings"], dtype=np.float32)
    read = np.asarray(output["attention_mask"], dtype=bool)
    own = ~np.isin(np.asarray(output["input_ids"]), marks)
    return _normalised(vectors[read & own] if (read & own).any() else vectors[read])


def _normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit
