"""`ragbench power`: which pairs and metrics of a record are asked for, and what they would need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.pairs import planned_pairs
from pytest_ragbench.analysis.power import power
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.reports.commands import as_written
from pytest_ragbench.runs.reading import last_rows, plan_of, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.records.record import RunRecord

SCHEMA_VERSION = 1
"""Of what `ragbench power --json` prints."""


def power_of(
    record: RunRecord,
    effect: float,
    *,
    metrics: Sequence[str] = (),
    configurations: Sequence[str] = (),
    against: str | None = None,
) -> dict[str, Any]:
    """What a run could find and what an effect would need.

    Args:
        record: A complete run, of whatever part of the questions.
        effect: Difference of means, above 0 and at most 1.
        metrics: Names; without any nDCG@k, recall@k and hit@1.
        configurations: Names or markers of those whose pairs are asked for; without any, every pair of the run.
        against: Name or marker of what they are paired with, declared or not.

    Returns:
        Strict JSON values: `schema_version`, `run_id`, `split`, `k`, `effect`, `cluster`, `entries`.

    Raises:
        UsageError: The run is unfinished, or has no such configuration, metric or pair.
        RecordError: A file of the record is damaged.
    """
    if complaint := whole(record):
        raise UsageError(complaint)
    run = record.run
    plan = plan_of(record)
    names = metric_names(plan.k)
    wanted = tuple(dict.fromkeys(metrics)) or (f"ndcg@{plan.k}", f"recall@{plan.k}", "hit@1")
    if unknown := [metric for metric in wanted if metric not in names]:
        raise UsageError(f"--metric {unknown[0]}: {run['run_id']} has no such metric; it has: {', '.join(names)}")
    pairs = _pairs(plan, run["run_id"], configurations, against)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run["run_id"],
        "split": run["split"],
        "k": plan.k,
        "effect": effect,
        "cluster": plan.cluster,
        "entries": power(cells_of(record, plan), pairs, wanted, effect),
    }


def cells_of(record: RunRecord, plan: Plan) -> Cells:
    """The cells of a record under its plan.

    Raises:
        RecordError: A row is damaged.
    """
    table = RowTable(metric_names(plan.k))
    with as_written(record):
        for row in last_rows(record):
            table.add(row)
        return Cells(table, plan)


def _pairs(plan: Plan, run_id: str, typed: Sequence[str], against: str | None) -> list[tuple[str, str]]:
    names = [_known(plan, run_id, "--config", name) for name in dict.fromkeys(typed)]
    if against is not None:
        other = _known(plan, run_id, "--against", against)
        pairs = [(name, other) for name in names if name != other]
        if not pairs:
            raise UsageError("--against needs another configuration beside it: give --config NAME with it")
        return pairs
    pairs = [pair for pair in planned_pairs(plan) if not names or set(names) & set(pair)]
    if not pairs:
        has = ", ".join(configuration.name for configuration in plan.configurations)
        raise UsageError(f"{run_id} pairs none of these; pair two with --config NAME --against NAME (it has: {has})")
    return pairs


def _known(plan: Plan, run_id: str, flag: str, typed: str) -> str:
    for configuration in plan.configurations:
        if typed in {configuration.name, configuration.marker}:
            return configuration.name
    has = ", ".join(configuration.name for configuration in plan.configurations)
    raise UsageError(f"{flag} {typed}: {run_id} has no such configuration; it has: {has}")
