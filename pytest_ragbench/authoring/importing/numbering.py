"""Ids of imported questions: sorted by the source's ids at first, kept for ever, new ones appended behind the highest.

A question that is there already is never touched: it may have been split, edited or rejected since.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError
from pytest_ragbench.execution.document_ids import document_file
from pytest_ragbench.questions.model import GoldSource, Locator, Provenance, Question
from pytest_ragbench.questions.suites import check_suite

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pytest_ragbench.authoring.importing.judgments import Judged
    from pytest_ragbench.questions.model import Split, Tier


@dataclass(frozen=True, slots=True)
class Labels:
    """What every new question of an import gets.

    Attributes:
        suite: Its suite, which also names the set and gives the prefix of the ids.
        tier: Its tier.
        split: Its split, or None.
    """

    suite: str
    tier: Tier = "T2"
    split: Split | None = "dev"

    @property
    def prefix(self) -> str:
        """The prefix of the ids: the suite in lower case, other characters as `-`, beginning with a letter."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.suite.lower()).strip("-")
        return slug if slug[:1].isalpha() else f"q-{slug}"


@dataclass(frozen=True, slots=True)
class Merged:
    """The questions of a suite after an import.

    Attributes:
        kept: Those that were there, as they stand.
        added: The new ones, in the order of their ids.
        changed: Ids of those whose text or gold the source now has otherwise.
        gone: Ids of those that the source no longer has.
    """

    kept: tuple[Question, ...]
    added: tuple[Question, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]


def labels_of(suite: str, tier: Tier, split: Split | None, min_grade: int) -> Labels:
    """Check what an import was asked for.

    Raises:
        UsageError: The suite's name cannot be a marker, or the least grade is below 1.
    """
    complaint = check_suite(suite)
    if complaint is not None:
        raise UsageError(f"the suite {suite!r}: {complaint}; name it with --suite")
    if min_grade < 1:
        raise UsageError(f"--min-grade {min_grade}: a relevant document has a grade of 1 or more")
    return Labels(suite, tier, split)


def merge(judged: Sequence[Judged], existing: Sequence[Question], labels: Labels) -> Merged:
    """Keep what is there and number what is new.

    Args:
        judged: The source's queries.
        existing: Every question of the project, of whatever suite; no id of them is given again.
        labels: What new questions get.
    """
    kept = {q.source_id: q for q in existing if q.source_id is not None and q.suite == labels.suite}
    by_source = {query.source_id: query for query in judged}
    number = _highest({question.id for question in existing}, labels.prefix)
    added = []
    for source_id in sorted(by_source.keys() - kept.keys()):
        number += 1
        added.append(question_of(by_source[source_id], f"{labels.prefix}-{number:04d}", labels))
    changed = [q.id for source, q in kept.items() if source in by_source and _differs(q, by_source[source])]
    gone = [q.id for source, q in kept.items() if source not in by_source]
    return Merged(tuple(kept.values()), tuple(added), tuple(sorted(changed)), tuple(sorted(gone)))


def question_of(query: Judged, name: str, labels: Labels) -> Question:
    """A query as a question: each relevant document is a required source, the collection's assessors verified it."""
    return Question(
        id=name,
        text=query.text,
        suite=labels.suite,
        tier=labels.tier,
        split=labels.split,
        gold=tuple(GoldSource(Locator(document_file(document))) for document in query.documents),
        provenance=Provenance(author="owner", status="verified"),
        source_id=query.source_id,
    )


def _highest(ids: Collection[str], prefix: str) -> int:
    numbers = (re.fullmatch(rf"{re.escape(prefix)}-([0-9]{{4,}})", name) for name in ids)
    return max((int(found[1]) for found in numbers if found), default=0)


def _differs(question: Question, query: Judged) -> bool:
    files = {document_file(document) for document in query.documents}
    return question.text != query.text or {source.locator.file for source in question.gold} != files
