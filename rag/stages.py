"""The seams: what a search may ask of a lane, a reranker, a model, an index or an oracle, and how it asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rag.cache import Meter
    from rag.options import Options
    from rag.records import Chunk, Ranking


@dataclass(frozen=True, slots=True)
class Scope:
    """Chunks among which a lane may search.

    Attributes:
        name: Tells it from every other scope of the same corpus, for cache keys.
        positions: Their positions in the index, ascending.
    """

    name: str
    positions: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Request:
    """What a lane is asked.

    Attributes:
        text: The question, a part of it, or a draft of its answer.
        pool: How many chunks the lane may hand on.
        options: The options of the search.
        scope: Where it may search; None for everywhere.
    """

    text: str
    pool: int
    options: Options
    scope: Scope | None = None

    @property
    def scope_name(self) -> str:
        """For cache keys; empty for everywhere."""
        return self.scope.name if self.scope else ""

    @property
    def among(self) -> NDArray[np.intp] | None:
        """Positions that may be found; None for all."""
        return None if self.scope is None else self.scope.positions

    def key(self, index: str) -> tuple[str, int, str, str]:
        """What a lane's answer depends on, beside the lane itself: what is indexed, the pool, the scope, the text."""
        return index, self.pool, self.scope_name, self.text


class Lane(Protocol):
    """Finds chunks for a text, within the request's scope and no more of them than its pool."""

    def search(self, request: Request, meter: Meter) -> Ranking:
        """Positions in the index, best first; none for a blank text, fewer than the pool where fewer exist."""


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


class Llm(Protocol):
    """The one seam to a language model.

    One that writes down what it cannot answer, so that it is answered later, may say so by `records = True`: the build
    of an index then asks for everything that it needs before it gives up.

    Attributes:
        model: The label under which its answers are kept.
        source: Where answers come from, for cache keys: it differs where they may differ for one label.
    """

    model: str
    source: str

    def complete(self, system: str, user: str) -> str:
        """The completion; raises whatever says that there is none."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What an oracle knows of a question; only the probes may ask.

    Attributes:
        sources: How many required sources there are.
        satisfied: Indexes of the required sources that a chunk satisfies.
        course: The course that the question is about, or empty.
    """

    sources: int
    satisfied: Callable[[Chunk], frozenset[int]]
    course: str = ""


Oracle = Callable[[str], "Gold | None"]
"""A question's text to what is known of it; None for a question that is not among the golden ones."""
