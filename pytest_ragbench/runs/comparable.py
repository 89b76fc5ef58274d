"""Whether two runs asked the same of their pipelines, so that their rows may be paired; and what else differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.questions.model import Provenance
from pytest_ragbench.runs.reading import metrics_version, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.record import RunRecord

IDS_SHOWN = 3


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
                f"questions: {len(ids)} only in {asked.name} ({_some(ids)}); run both over the same sets, suites, "
                "domains and limit"
            )
    changed = sorted(name for name in mine.keys() & theirs.keys() if mine[name] != theirs[name])
    if changed:
        yield (
            f"questions: {len(changed)} were changed between {one.name} and {other.name} ({_some(changed)}); "
            "run the older one again over the questions as they are now"
        )


def _essence(question: Question) -> Question:
    """The question without what changes no score and no table: notes, and who wrote and reviewed it."""
    return replace(question, notes=None, provenance=Provenance(), source_id=None)


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
    return ", ".join(ids[:IDS_SHOWN]) + more


def differences(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was not alike in comparable runs, as `what` and the `values`, one for each run: what is compared."""
    facts = [dict(_facts(run)) for run in runs]
    names = dict.fromkeys(name for found in facts for name in found)
    rows = [{"what": name, "values": [found.get(name) for found in facts]} for name in names]
    return [row for row in rows if len({canonical.dumps(value) for value in row["values"]}) > 1]


def _facts(run: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "commit", run["git"]["sha"]
    yield "uncommitted changes", run["git"]["dirty"]
    yield "question sets, where these runs did not ask", run["questions_digest"]
    yield "declared configurations", run["config_digest"]
    yield "index", run["index"]
    for key, value in sorted((run["pipeline"] or {}).items()):
        if key != "index":
            yield f"pipeline: {key}", value
    for key in ("model", "digest"):
        yield f"language model: {key}", (run["llm"] or {}).get(key)
    yield "clusters", (run["bootstrap"] or {}).get("cluster")
    for key, value in sorted(run["versions"].items()):
        yield f"version: {key}", value
