"""The seams: what a lane, a reranker, an encoder and an approximate index must offer. One module implements each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rag.cache import Meter
    from rag.options import Options
    from rag.records import Ranking


@dataclass(frozen=True, slots=True)
class Request:
    """What a lane is asked.

    Attributes:
        text: The question, or a part of it.
        options: The options of the search.
    """

    text: str
    options: Options


class Lane(Protocol):
    """Finds chunks for a question. Its name is the option that switches it on, and stands in timings and stages."""

    def search(self, request: Request, meter: Meter) -> Ranking:
        """Positions in the index, best first, at most the lane's pool; none for a blank text."""


class Reranker(Protocol):
    """Scores passages against a question."""

    @property
    def fuses(self) -> bool:
        """Whether its order is to be fused with the order it was given, unless the search says otherwise."""

    def scores(self, query: str, texts: Sequence[str], meter: Meter) -> list[float]:
        """One score a text, higher is better; nothing is loaded for an empty pool."""


class Encoder(Protocol):
    """A loaded embedding model."""

    @property
    def limit(self) -> int:
        """How many word pieces it reads of a text."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Word pieces of each text, beyond the limit too."""

    def question(self, query: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """A question's unit vector `(dimension,)`, and those of its word pieces, `(n_pieces, dimension)`."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of passages, `(n_texts, dimension)`."""

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Unit vectors of each passage's word pieces, `(n_pieces, dimension)`, without the model's own marks."""

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
        """`embed` and `token_vectors` in one pass."""


class Neighbours(Protocol):
    """An approximate index over vectors."""

    def nearest(self, vector: NDArray[np.float32], k: int) -> NDArray[np.intp]:
        """Positions of about the `k` nearest, fewer where fewer exist, in no particular order."""
