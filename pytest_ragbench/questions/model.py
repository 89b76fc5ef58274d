"""A golden question and its gold sources, as values: no files, no YAML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Split = Literal["dev", "test"]
Tier = Literal["T1", "T2", "T3", "T4"]
Author = Literal["draft", "owner"]
Status = Literal["draft", "verified", "edited", "rejected"]
Strategy = Literal["fact", "explain", "prerequisites", "compare", "synthesis", "procedure", "history"]


@dataclass(frozen=True, slots=True)
class Locator:
    """Where an answer stands: a file, and within it an inclusive page range or the start of a heading path."""

    file: str
    pages: tuple[int, int] | None = None
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldSource:
    """One source that answers a question, or a part of it.

    Attributes:
        locator: The source as its author wrote it.
        required: Whether hit, recall, completeness, MRR and nDCG ask for it.
        hop: Which step of a multi-hop question it serves, from 1, or None.
        alternatives: Locators that serve as well; any one satisfies the entry.
    """

    locator: Locator
    required: bool = True
    hop: int | None = None
    alternatives: tuple[Locator, ...] = ()

    @property
    def locators(self) -> tuple[Locator, ...]:
        """The locator and its alternatives, in the order written."""
        return (self.locator, *self.alternatives)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who wrote a question and who looked at it."""

    author: Author = "owner"
    status: Status = "draft"
    reviewed_at: str | None = None
    drafted_by: str | None = None
    seed_chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One golden record.

    Attributes:
        id: Lowercase prefix, `-`, four digits or more; unique, never reused.
        text: The question as a user would type it (key `question` in files).
        suite: What it stresses.
        tier: How hard it is meant to be.
        split: `dev`, `test`, or None while nobody has split it.
        answerable: False when the corpus holds no answer; `gold` is then empty.
        gold: Its sources, in the order written; rows refer to them by index.
    """

    id: str
    text: str
    suite: str
    tier: Tier
    split: Split | None = None
    answerable: bool = True
    gold: tuple[GoldSource, ...] = ()
    nuggets: tuple[str, ...] = ()
    expect_course: str | None = None
    domain: str | None = None
    provenance: Provenance = field(default_factory=Provenance)
    notes: str | None = None
    strategy: Strategy | None = None
    difficulty: str | None = None
    answer: str | None = None
    source_id: str | None = None

    @property
    def required(self) -> tuple[int, ...]:
        """Indexes into `gold` of the required sources."""
        return tuple(index for index, source in enumerate(self.gold) if source.required)

    @property
    def rejected(self) -> bool:
        """Whether review threw it out; it then never runs."""
        return self.provenance.status == "rejected"
