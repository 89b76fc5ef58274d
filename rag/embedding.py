"""What the embedding model made of each text, kept on disk by digest: builds resume, unchanged text is free."""

from __future__ import annotations

import struct
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from rag.errors import RagError
from rag.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rag.cache import DiskCache, Lazy, Meter
    from rag.stages import Encoder

_HEADER = struct.Struct("<dI")  # milliseconds, dimension


class VectorCache:
    """Texts to unit vectors of one model."""

    def __init__(self, disk: DiskCache, model: str) -> None:
        self._disk = disk
        self._model = model

    def put(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep vectors, `(n_texts, dimension)`; they are on disk when this returns."""
        rows = zip(texts, vectors, strict=True)
        self._disk.put_many({self._key(text): vector.tobytes() for text, vector in rows})

    def get(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are there."""
        keys = {text: self._key(text) for text in texts}
        found = self._disk.get_many(list(keys.values()))
        return {text: np.frombuffer(found[key], np.float32) for text, key in keys.items() if key in found}

    def _key(self, text: str) -> str:
        return digest([self._model, text])


class TokenCache:
    """Texts to the unit vectors of their word pieces, in half precision, and what computing them took.

    Without a disk it keeps nothing.
    """

    def __init__(self, disk: DiskCache | None, model: str) -> None:
        self._disk = disk
        self._model = model

    def missing(self, texts: Sequence[str]) -> list[str]:
        """The texts that are not there."""
        if self._disk is None:
            return list(texts)
        keys = {text: self._key(text) for text in texts}
        there = self._disk.known(list(keys.values()))
        return [text for text, key in keys.items() if key not in there]

    def put(self, entries: Mapping[str, tuple[NDArray[np.float16], float]]) -> None:
        """Keep (vectors, ms) of texts; 0 ms where building the index paid."""
        if self._disk is None:
            return
        self._disk.put_many(
            {
                self._key(text): _HEADER.pack(ms, vectors.shape[1]) + vectors.tobytes()
                for text, (vectors, ms) in entries.items()
            }
        )

    def get(self, texts: Sequence[str]) -> dict[str, tuple[NDArray[np.float16], float]]:
        """The (vectors, ms) that are there; vectors are `(n_pieces, dimension)`."""
        if self._disk is None:
            return {}
        keys = {text: self._key(text) for text in texts}
        found = self._disk.get_many(list(keys.values()))
        return {text: _unpack(found[key]) for text, key in keys.items() if key in found}

    def _key(self, text: str) -> str:
        return digest(["tokens", self._model, text])


def _unpack(value: bytes) -> tuple[NDArray[np.float16], float]:
    ms, dimension = _HEADER.unpack_from(value)
    return np.frombuffer(value, np.float16, offset=_HEADER.size).reshape(-1, dimension), ms


def encode_all(
    texts: Sequence[str],
    encoder: Encoder,
    vectors: VectorCache,
    tokens: TokenCache | None,
    progress: Callable[[int], object],
    batch_size: int = 32,
) -> NDArray[np.float32]:
    """Unit vectors of all texts, `(n_texts, dimension)`; and their word pieces' vectors into `tokens`, in one pass.

    What the caches know is not encoded again. Each batch is on disk before the next begins, so that an interrupted
    build goes on where it stopped.

    Args:
        texts: Passages, which may repeat.
        encoder: The model.
        vectors: Knows a vector a text, and learns the others.
        tokens: Learns a vector a word piece, or None where nothing needs them.
        progress: Called with how many more distinct texts are done.
        batch_size: Texts a batch.
    """
    distinct = list(dict.fromkeys(texts))
    known = vectors.get(distinct)
    bare = set() if tokens is None else set(tokens.missing(distinct))
    waiting = [text for text in distinct if text not in known or text in bare]
    progress(len(distinct) - len(waiting))
    for batch in batches(waiting, encoder, batch_size):
        if tokens is None:
            whole = encoder.embed(batch)
        else:
            whole, pieces = encoder.embed_with_tokens(batch)
            tokens.put({text: (piece.astype(np.float16), 0.0) for text, piece in zip(batch, pieces, strict=True)})
        vectors.put(batch, whole)
        known.update(zip(batch, whole, strict=True))
        progress(len(batch))
    return np.stack([known[text] for text in texts])


def batches(texts: Sequence[str], encoder: Encoder, size: int) -> Iterator[list[str]]:
    """The texts by their number of word pieces, so that little is padded: formulas have many to few characters.

    Short and long batches take turns, so that the time gone tells the time left.
    """
    lengths = dict(zip(texts, encoder.lengths(texts), strict=True))
    ordered = sorted(texts, key=lengths.__getitem__)
    waiting = deque(ordered[start : start + size] for start in range(0, len(ordered), size))
    while waiting:
        yield waiting.popleft()
        waiting.reverse()


class QuestionVectors:
    """The stage `embed`: a question's vectors, for whichever stages ask.

    Args:
        encoder: The model, loaded only for a question that was never asked before.
        model: Its digest.
        disk: Where the vectors outlive the process, or None.
    """

    def __init__(self, encoder: Lazy[Encoder], model: str, disk: DiskCache | None = None) -> None:
        self._encoder = encoder
        self._model = model
        self._disk = disk

    def get(self, query: str, meter: Meter) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The question's unit vector `(dimension,)`, and those of its word pieces, `(n_pieces, dimension)`.

        Raises:
            RagError: The model gave a vector that is none.
        """

        def compute() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            whole, pieces = self._encoder.get(meter).question(query)
            if not (np.isfinite(whole).all() and np.isfinite(pieces).all()):
                raise RagError("the embedding model gave a vector that holds no number; the model is broken")
            return whole, pieces

        shelf = None if self._disk is None else _QuestionShelf(self._disk, digest(["question", self._model, query]))
        return meter.stage("embed", (self._model, query), compute, shelf)


class _QuestionShelf:
    """One question's vectors on disk, in full precision: header, whole, pieces."""

    def __init__(self, disk: DiskCache, key: str) -> None:
        self._disk = disk
        self._key = key

    def take(self) -> tuple[tuple[NDArray[np.float32], NDArray[np.float32]], float] | None:
        value = self._disk.get_many([self._key]).get(self._key)
        if value is None:
            return None
        ms, dimension = _HEADER.unpack_from(value)
        rows = np.frombuffer(value, np.float32, offset=_HEADER.size).reshape(-1, dimension)
        return (rows[0], rows[1:]), ms

    def put(self, value: tuple[NDArray[np.float32], NDArray[np.float32]], ms: float) -> None:
        whole, pieces = value
        rows = np.concatenate([whole[np.newaxis], pieces]).astype(np.float32, copy=False)
        self._disk.put_many({self._key: _HEADER.pack(ms, len(whole)) + rows.tobytes()})
