"""What a record says of its plan and its rows, as values, and whether it has all that it says.

What is made of them is left to the other modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.plan import CONFIDENCE, RESAMPLES, SEED, Plan
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.records.record import CellKey, RunRecord, row_key
from pytest_ragbench.reports.commands import as_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


def configuration_named(run: Mapping[str, Any], typed: str, flag: str) -> str:
    """The configuration of a run that was typed by its name or its marker.

    Raises:
        UsageError: It has none such; `flag` is where it was typed.
    """
    for entry in run["configurations"]:
        if typed in {entry["name"], entry["marker"]}:
            return str(entry["name"])
    has = ", ".join(entry["name"] for entry in run["configurations"])
    raise UsageError(f"{flag} {typed}: {run['run_id']} has no such configuration; it has: {has}")


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


def complete_rows(record: RunRecord) -> Iterator[dict[str, Any]]:
    """One row for each planned cell of a run that says it is complete.

    Raises:
        RecordError: A line is damaged, or the rows are not those of the plan: the file was cut or edited after the run.
    """
    names = [entry["name"] for entry in record.run["configurations"]]
    waiting = {(question.id, name) for question in record.questions() for name in names}
    planned = len(waiting)
    for row in last_rows(record):
        key = row_key(row)
        if key not in waiting:
            raise RecordError(
                f"{record.folder}: per_query.jsonl has a row of {key[0]} under {key[1]} that was not planned, or has "
                "it twice; the record was edited after the run"
            )
        waiting.remove(key)
        yield row
    if waiting:
        found = f"{planned - len(waiting):,} of {planned:,} rows, none of {' under '.join(min(waiting))}"
        raise RecordError(
            f"{record.folder}: run.json says that the run is complete, and per_query.jsonl has {found}"
            f"{''.join(f'; {words}' for words in record.missing)}; copy the record again from where it was made"
        )


def cells_of(record: RunRecord, plan: Plan) -> Cells:
    """The cells of a complete record under its plan.

    Raises:
        RecordError: A row is damaged or missing.
    """
    table = RowTable(metric_names(plan.k))
    with as_written(record):
        for row in complete_rows(record):
            table.add(row)
        return Cells(table, plan)


def whole(record: RunRecord) -> str | None:
    """Why a run does not stand for all that it planned, and what to do about it; None when it does."""
    run, status = record.run, record.status
    name = run["run_id"]
    if status == "running":
        return f"{name} is still running; wait for its end"
    if status == "done" and not run["complete"] and run["partial"]:
        return (
            f"{name} is incomplete: its selection (-k, -m, --lf or a path) left planned cells out; run it again "
            f"without, or let --rag-resume={name} run the rest"
        )
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
