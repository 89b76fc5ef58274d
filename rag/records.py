"""The values that the parts of the pipeline hand to each other; no behaviour beyond what follows from their fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a file that a reader could not take as it is.

    Attributes:
        file: Path below the corpus root.
        kind: `failed` and `empty` (nothing was read), `failed-page`, `no-text` (pages without text), `fallback` (read
            another way), `dangling-edge`, `bad-record` or `skipped`.
        detail: The reason, for people.
    """

    file: str
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document that a chunk never leaves.

    Attributes:
        blocks: Its text, cut where a reader may break it: paragraphs, cells, definitions.
        heading: Heading path, outermost first.
        pages: Inclusive range of physical pages from 1, or None.
        anchor: The id of the canvas node that it is the text of; empty elsewhere.
    """

    blocks: tuple[str, ...]
    heading: tuple[str, ...] = ()
    pages: tuple[int, int] | None = None
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One file, or one record of a collection, as its reader understood it.

    Attributes:
        file: Path below the corpus root; of a collection's record, its `_id`.
        title: What the document calls itself; empty where nothing should stand before its text.
        passages: Its text in order; empty for an empty file.
        metadata: Fields of its front matter (`course`, `area`, `kind`, `title`, `generated`).
        findings: What its reader could not take as it is.
    """

    file: str
    title: str = ""
    passages: tuple[Passage, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """What a document says of itself, in its front matter or by its place; empty where it says nothing.

    Attributes:
        course: The course that it belongs to.
        area: The field within or beside a course.
        kind: What sort of document it is (`note`, `lab`, `code`, `canvas`, `book`, `daily`).
        generated: Whether a machine wrote it from other documents.
    """

    course: str = ""
    area: str = ""
    kind: str = ""
    generated: bool = False


NO_LABELS = Labels()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One unit of retrieval.

    Attributes:
        id: Digest of its file, place and text: it survives changes elsewhere in the file.
        file: Path of its document below the corpus root.
        text: The passage as it stands in the document.
        pages: Inclusive range of physical pages from 1, or None.
        heading: Heading path, outermost first.
        title: The document's title.
        labels: What its document is about and of which sort it is.
        anchor: The id of the canvas node that it stands in; empty elsewhere.
        score: What the last stage gave it, or None in the index.
    """

    id: str
    file: str
    text: str
    pages: tuple[int, int] | None = None
    heading: tuple[str, ...] = ()
    title: str = ""
    labels: Labels = field(default_factory=lambda: NO_LABELS)
    anchor: str = ""
    score: float | None = None

    @property
    def indexed_text(self) -> str:
        """What the lanes and rerankers read: title and heading path on a line of their own, then the passage."""
        context = [part for part in self.heading if part]
        if self.title and self.title not in context:
            context.insert(0, self.title)
        return f"{' > '.join(context)}\n{self.text}" if context else self.text


class Scored(NamedTuple):
    """A chunk's position in the index, and its score."""

    position: int
    score: float


Ranking = tuple[Scored, ...]
"""Positions, best first; the order is authoritative."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one search found and what it cost.

    Attributes:
        chunks: The final ranking, best first.
        timings: Stage to milliseconds; a stage answered from a cache is charged what it took the first time. `search`
            is the sum of the others. Reporting the stages' rankings is on nobody's bill.
        lanes_run: Lanes that searched, in order.
        cold: Whether this search paid for building or loading something (`load` in the timings).
        cached: Stages that were answered, wholly or in part, from a cache.
        stages: Stage to the ranking after it, in order; stages that did not run are absent.
        hyde_cache: `hit` or `miss` where a draft took the question's place in the dense lanes, else None.
        decomposed: `{"parts": [...], "dropped": [{"text", "why"}]}` where the question was split: the sub-queries that
            were searched beside it, and the lines of the language model that were not.
        gate: `{"scorer", "threshold", "confidence", "removed": chunks}` where a gate judged; `confidence` is the
            scorer's highest score before the gate, None for an empty ranking.
        walk: `{"search": chunks, "added": [{"chunk", "edge", "hop", "from", "generated"}], "query_seeds": n}` where a
            walk ran; `search` is what the same search returns without it.
        route: `{"course", "area", "kind", "scope"}` where routing ran, and the six counts of `rag.generated` where
            generated hits were followed.
    """

    chunks: Sequence[Chunk]
    timings: Mapping[str, float] = field(default_factory=dict)
    lanes_run: Sequence[str] = ()
    cold: bool = False
    cached: Sequence[str] = ()
    stages: Mapping[str, Sequence[Chunk]] = field(default_factory=dict)
    hyde_cache: str | None = None
    decomposed: Mapping[str, Any] | None = None
    gate: Mapping[str, Any] | None = None
    walk: Mapping[str, Any] | None = None
    route: Mapping[str, Any] | None = None
