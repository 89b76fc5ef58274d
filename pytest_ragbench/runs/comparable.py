"""Whether two runs asked the same of their pipelines, so that their rows may be paired."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from pytest_ragbench.questions.model import Provenance
from pytest_ragbench.reports.text import plural
from pytest_ragbench.runs.reading import metrics_version, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.record import RunRecord

NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run asked.

    Attributes:
        name: How the run is called in a refusal.
        split: Its split.
        k: Depth of its rankings.
        metrics_version: Of the definitions that scored it.
        questions: Its planned questions.
    """

    name: str
    split: str | None
    k: int
    metrics_version: int
    questions: tuple[Question, ...]


def asked_by(record: RunRecord) -> Asked:
    """What a recorded run asked.

    Raises:
        UsageError: It does not say by which definitions it scored.
        RecordError: The record is damaged.
    """
    run = record.run
    return Asked(run["run_id"], run["split"], run["k"], metrics_version(record), record.questions())


def unfit(record: RunRecord) -> str | None:
    """Why a run stands for less than it planned and so cannot be compared, and what to do; None when it can."""
    run = record.run
    if complaint := whole(record):
        return complaint
    if run["shard"] is not None:
        return f"{run['run_id']} is one shard of {run['shard']['of']}; join all of them with `ragbench merge`"
    if run["partial"]:
        return (
            f"{run['run_id']} is partial: its selection left planned cells out; run it again without -k, -m and paths"
        )
    return None


def obstacles(one: Asked, other: Asked) -> list[str]:
    """What keeps two runs from being compared: what differs, and what to do about it; empty when nothing does."""
    found = []
    for what, remedy in (("split", "--rag-split"), ("k", "--rag-k")):
        mine, theirs = getattr(one, what), getattr(other, what)
        if mine != theirs:
            found.append(f"{what}: {mine} in {one.name}, {theirs} in {other.name}; run one of them again with {remedy}")
    if one.metrics_version != other.metrics_version:
        found.append(
            f"metric definitions: version {one.metrics_version} in {one.name}, {other.metrics_version} in "
            f"{other.name}; run the older one again"
        )
    found.extend(_questions(one, other))
    return found


def _questions(one: Asked, other: Asked) -> Iterator[str]:
    mine, theirs = ({question.id: _essence(question) for question in asked.questions} for asked in (one, other))
    for asked, ids in ((one, sorted(mine.keys() - theirs.keys())), (other, sorted(theirs.keys() - mine.keys()))):
        if ids:
            yield (
                f"questions: {len(ids)} only in {asked.name} ({some(ids)}); run both over the same sets, suites, "
                "domains and limit"
            )
    both = sorted(mine.keys() & theirs.keys())
    changed = [f"{name}: {', '.join(told)}" for name in both if (told := _changed(mine[name], theirs[name]))]
    if changed:
        yield (
            f"questions: {plural(len(changed), 'was', 'were')} changed between {one.name} and {other.name} "
            f"({some(changed)}); run the older one again over the questions as they are now"
        )


def _essence(question: Question) -> Question:
    """The question without what changes no score and no table: notes, and who wrote and reviewed it."""
    return replace(question, notes=None, provenance=Provenance(), source_id=None)


def _changed(one: Question, other: Question) -> list[str]:
    """Names of the fields in which two questions differ."""
    return [field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)]


def some(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
