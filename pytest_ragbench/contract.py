"""What a pipeline must offer to be measured, and the ranked chunk as the bench sees it.

A pipeline is any object with `search(query, **overrides)`, or a callable of the same shape. It returns ranked chunks,
best first. The rest of `SearchResult` is optional; each field unlocks its own analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """One retrieved passage.

    Attributes:
        file: Path of its document below the corpus root, as the index spells it.
        pages: Inclusive range of physical pages, counted from 1, or None.
        heading: Heading path, outermost first; empty where the document has none.
        id: The index's own name of the chunk, or None.
        score: The pipeline's score, kept for display; the order of the list is authoritative.
        text: The passage.
    """

    file: str
    pages: tuple[int, int] | None = None
    heading: tuple[str, ...] = ()
    id: str | None = None
    score: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A ranking and what the pipeline chose to report about it.

    Attributes:
        chunks: The final ranking, best first.
        timings: Stage name to milliseconds.
        lanes_run: Names of the lanes that searched, in order.
        cold: True when this search paid for loading something.
        cached: Names of stages that were answered from a cache (their first, real time stands in `timings`).
        stages: Stage name to the ranking after it, in pipeline order.
        gate: What a relevance gate removed.
        walk: What a graph walk added.
        route: What routing decided.
        answer: A generated answer.
        hyde_cache: `hit`, `miss` or None.
    """

    chunks: Sequence[Chunk]
    timings: Mapping[str, float] = field(default_factory=dict)
    lanes_run: Sequence[str] = ()
    cold: bool = False
    cached: Sequence[str] = ()
    stages: Mapping[str, Sequence[Chunk]] | None = None
    gate: Any = None
    walk: Any = None
    route: Any = None
    answer: Any = None
    hyde_cache: str | None = None


@runtime_checkable
class Pipeline(Protocol):
    """Anything that can be measured. A plain callable `(query, **overrides)` serves as well."""

    def search(self, query: str, /, **overrides: Any) -> Any:
        """Return ranked chunks: a list, or an object or mapping with `chunks` and any field of `SearchResult`.

        List elements may be `Chunk`s, mappings or objects with the same fields, file names, LangChain or Haystack
        `Document`s, LlamaIndex `NodeWithScore`s, or `(document, score)` pairs.
        """


class Describes(Protocol):
    """Optional: a pipeline that can say what it is; the answers stand in the run record."""

    def describe(self) -> Mapping[str, Any]:
        """Return `{"config_digest": str, "index": str, ...}`, strict JSON."""


class ChecksOverrides(Protocol):
    """Optional: a pipeline that can refuse overrides before the first search."""

    def check_overrides(self, **overrides: Any) -> None:
        """Raise ValueError with a text for the user when these overrides could not be honoured."""
