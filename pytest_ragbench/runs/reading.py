"""What a record says of its plan and its rows, as values. What is made of them is left to the other modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.plan import CONFIDENCE, RESAMPLES, SEED, Plan
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.errors import UsageError
from pytest_ragbench.records.record import CellKey, RunRecord, row_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ragbench.questions.model import Question


def plan_of(record: RunRecord, questions: Sequence[Question] | None = None) -> Plan:
    """What a run set out to measure, with its own questions or with others.

    Raises:
        RecordError: `questions.jsonl` is damaged.
    """
    run = record.run
    bootstrap = run["bootstrap"] or {}
    return Plan(
        questions=record.questions() if questions is None else tuple(questions),
        configurations=tuple(map(configuration_of, run["configurations"])),
        experiments=tuple(
            Experiment(entry["name"], *(tuple(entry[key]) for key in ("arms", "judged_by", "guarded_by")))
            for entry in run["experiments"]
        ),
        k=run["k"],
        seed=bootstrap.get("seed", SEED),
        resamples=bootstrap.get("resamples", RESAMPLES),
        confidence=bootstrap.get("confidence", CONFIDENCE),
        cluster="none" if bootstrap.get("cluster") == "none" else "file",
    )


def configuration_of(entry: dict[str, Any]) -> Configuration:
    """A configuration as `run.json` tells it."""
    return Configuration(
        name=entry["name"],
        marker=entry["marker"] or entry["name"],
        overrides=entry["overrides"],
        factors=tuple(entry["factors"]),
        pairs=tuple(entry["pairs"]),
        searches=entry["searches"],
    )


def last_rows(record: RunRecord) -> Iterator[dict[str, Any]]:
    """One row for each cell, by question and configuration; of several attempts the last.

    Raises:
        RecordError: A line of `per_query.jsonl` is damaged.
    """
    if record.status in {"done", "failed"}:
        yield from record.rows()  # the end of a session has sorted them
        return
    last: dict[CellKey, dict[str, Any]] = {row_key(row): row for row in record.rows()}
    yield from (last[key] for key in sorted(last))


def whole(record: RunRecord) -> str | None:
    """Why a run does not stand for all that it planned, and what to do about it; None when it does."""
    run, status = record.run, record.status
    name = run["run_id"]
    if status == "running":
        return f"{name} is still running; wait for its end"
    if status == "aborted" or not run["complete"]:
        return f"{name} is incomplete ({status}): planned cells have no row; finish it with --rag-resume={name}"
    return None


def metrics_version(record: RunRecord) -> int:
    """The version of the metric definitions that a run's rows were scored by.

    Raises:
        UsageError: There is no summary to say so.
    """
    summary = record.summary()
    version = (summary or {}).get("metrics_version")
    if not isinstance(version, int):
        raise UsageError(f"{record.run['run_id']} does not say by which metric definitions it scored; run it again")
    return version
