"""What a pipeline must offer to be measured, and the ranked chunk as the bench sees it.

A pipeline is any object with `search(query, **overrides)`, or a callable of the same shape. It returns ranked chunks,
best first. The rest of `SearchResult` is optional; each field unlocks its own analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable

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


class GateReport(TypedDict, total=False):
    """What a relevance gate did to the ranking. Keys of your own are kept in the row.

    Attributes:
        scorer: What judged the chunks; thresholds of two scorers are not on one scale.
        threshold: The score below which a chunk was removed.
        confidence: How sure the pipeline is of its answer: as a rule the best score before anything was removed; None
            where there was nothing to judge. Only its order counts, question against question.
        removed: The chunks that it took out, ranked, in any form that `Pipeline.search` may return.
    """

    scorer: str
    threshold: float
    confidence: float | None
    removed: Sequence[Any]


Addition = TypedDict(
    "Addition",
    {"chunk": Any, "edge": str, "hop": int, "from": "str | None", "generated": bool},
    total=False,
)
"""One chunk that a walk brought: `chunk` in any form that `Pipeline.search` may return, the kind of `edge` that led to
it, how many edges it is away (`hop`), the id of the chunk that it was reached `from`, and whether it is generated."""


class WalkReport(TypedDict, total=False):
    """What a walk over a graph brought. Keys of your own are kept in the row.

    Attributes:
        search: The ranking that the same search returns without the walk; without it no find can be credited.
        added: Chunks that the walk brought, whether or not they reached the final ranking. What `search` holds in its
            first k, and a repeat, is no addition and is left out of the row.
        query_seeds: Seeds that the walk took from the query itself, beside those that the search found.
    """

    search: Sequence[Any]
    added: Sequence[Addition]
    query_seeds: int


class RouteReport(TypedDict, total=False):
    """What routing decided. Keys of your own are kept in the row; leave out what did not run.

    Attributes:
        course: The course that it took the question to be about, None where it looked and saw none.
        area: The area, likewise.
        kind: The sort of document, likewise.
        scope: The name of the part of the corpus that was searched apart, None where none was; what follows its last
            `/` or `:` is held against the course that the question expects.
        router_hits: Generated chunks that were found and followed.
        routed: Those of them that led to a primary chunk.
        unrouted: Those that led to none.
        targets: Places that they cite.
        targets_missing: Cited places that are not in the index.
        new: Chunks that came by this way alone.
    """

    course: str | None
    area: str | None
    kind: str | None
    scope: str | None
    router_hits: int
    routed: int
    unrouted: int
    targets: int
    targets_missing: int
    new: int


ROUTE_COUNTS = ("router_hits", "routed", "unrouted", "targets", "targets_missing", "new")
"""The counts of a `RouteReport`, in display order."""


class Dropped(TypedDict, total=False):
    """A sub-query that is not searched: its `text`, and `why`."""

    text: str
    why: str


class DecomposedReport(TypedDict, total=False):
    """What became of a question that was split. Keys of your own are kept in the row.

    Attributes:
        parts: The sub-queries that were searched.
        dropped: What was taken for one and was not searched.
    """

    parts: Sequence[str]
    dropped: Sequence[Dropped]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A ranking and what the pipeline chose to report about it.

    Attributes:
        chunks: The final ranking, best first.
        timings: Stage name to milliseconds.
        lanes_run: Names of the lanes that searched, in order.
        cold: True when this search paid for loading something.
        cached: Names of stages that were answered from a cache (their first, real time stands in `timings`).
        stages: Stage name to the ranking after it, in pipeline order; a lane by the name that `lanes_run` gives it. The
            row keeps how long each was, the rank at which each gold source was first satisfied, and which stage lost
            what. A stage `answer` is what a generated answer cites.
        gate: What a relevance gate removed: a mapping or an object with the fields of `GateReport`.
        walk: What a graph walk added: likewise, `WalkReport`.
        route: What routing decided: likewise, `RouteReport`.
        decomposed: How the question was split: likewise, `DecomposedReport`.
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
    decomposed: Any = None
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


class ListsIndexed(Protocol):
    """Optional: a pipeline that can say what its index holds. Without it, "not indexed" and "not found" are one."""

    def indexed_chunks(self, file: str, /) -> Any:
        """The chunks that the index holds of a file, in any order and any form that `search` may return.

        Asked once for each file of a question's gold, as its author spelled it, when a source was in no stage.
        """
