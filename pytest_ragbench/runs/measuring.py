"""A run without pytest: every question under every configuration, into a record like any other.

It measures in this process, one search after the other, and knows no test split: that is opened by pytest alone.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.plan import CONFIDENCE, RESAMPLES, SEED, Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.execution.cell import measure as measure_cell
from pytest_ragbench.execution.pipelines import describe, refuse_overrides
from pytest_ragbench.execution.warmup import warm_up
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.records.chunks import chunk_line
from pytest_ragbench.records.git import git_state
from pytest_ragbench.records.rowline import row_line
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.reports.commands import render_record
from pytest_ragbench.runs.declared import declared

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from pytest_ragbench.configurations.selection import Selection
    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.chunks import LineKey
    from pytest_ragbench.records.record import RunRecord


def measure_all(
    pipeline: Any,
    questions: Sequence[Question],
    selection: Selection,
    *,
    k: int,
    root: Path,
    runs_dir: Path,
    facts: Mapping[str, Any],
    warm_up_keys: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> RunRecord:
    """Measure and record.

    Args:
        pipeline: Anything with `search(query, **overrides)`, or a callable of that shape.
        questions: The questions of the run, by id.
        selection: The configurations and experiments.
        k: Depth of the rankings.
        root: The folder that absolute paths of chunks are read below; its commit is the one measured.
        runs_dir: Where the record goes.
        facts: Further keys of `run.json`.
        warm_up_keys: Overrides of which each distinct value gets one discarded search.
        progress: Called after each row with the number of rows and the number planned.

    Returns:
        The finished record. A search that raised is an errored row of it.

    Raises:
        UsageError: The pipeline refuses the overrides of a configuration; nothing was searched.
        RecordError: The record cannot be written.
        KeyboardInterrupt: As it came; the rows up to then stand in a record with the status `failed`.
    """
    refuse_overrides(pipeline, selection.configurations)
    git = git_state(root)
    bootstrap = {"seed": SEED, "resamples": RESAMPLES, "confidence": CONFIDENCE, "cluster": "file"}
    run = {**facts, **declared(selection.configurations, selection.experiments), "k": k, "bootstrap": bootstrap}
    writer = RunWriter.create(
        runs_dir, started_at=datetime.now(UTC), sha=git["sha"], run=run | {"git": git}, questions=questions
    )
    table = RowTable(metric_names(k))
    reason = "broke off"
    try:
        description = describe(pipeline)
        warmed = warm_up(pipeline, questions[0], selection.configurations, warm_up_keys)
        writer.update(pipeline=description, index=(description or {}).get("index"), warm_up=list(warmed))
        _rows(pipeline, questions, selection, writer, table, k=k, root=str(root), cold=not warmed, progress=progress)
        reason = ""
    except KeyboardInterrupt:
        reason = "interrupted"
        raise
    finally:
        plan = Plan(tuple(questions), selection.configurations, selection.experiments, k=k)
        complete = writer.rows_kept == len(questions) * len(selection.configurations)
        record = writer.finish(
            status="failed" if reason else "done",
            reason=reason or None,
            finished_at=datetime.now(UTC),
            summary=summarise(table, plan, complete=complete),
            render=render_record,
            complete=complete,
            partial=False,
        )
    return record


def _rows(
    pipeline: Any,
    questions: Collection[Question],
    selection: Selection,
    writer: RunWriter,
    table: RowTable,
    *,
    k: int,
    root: str,
    cold: bool,
    progress: Callable[[int, int], None] | None,
) -> None:
    planned = len(questions) * len(selection.configurations)
    sent: set[LineKey] = set()
    for question in questions:
        for configuration in selection.configurations:
            first = cold and configuration.searches  # without a warm-up it pays for loading
            cold = cold and not first
            measured = measure_cell(pipeline, question, configuration, k=k, root=root, cold=first)
            new = {key: chunk for key, chunk in measured.told.items() if key not in sent}
            sent |= new.keys()
            writer.add(row_line(measured.row), map(chunk_line, new.values()))
            table.add(measured.row)
            if progress is not None:
                progress(writer.rows_kept, planned)
