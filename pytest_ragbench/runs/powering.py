"""`ragbench power`: which pairs and metrics of a record are asked for, and what they would need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.pairs import planned_pairs
from pytest_ragbench.analysis.power import power
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import headline, metric_names
from pytest_ragbench.runs.reading import cells_of, configuration_named, plan_of, whole
from pytest_ragbench.statistics.verdicts import LEVEL, level_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.records.record import RunRecord

SCHEMA_VERSION = 1
"""Of what `ragbench power --json` prints."""

_ASKED = 3
"""Headline metrics asked for unless others are named: nDCG, recall and hit@1; each is a line for every suite."""


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
        Strict JSON values: `schema_version`, `run_id`, `split`, `sealed` (questions of the test split), `looks` (how
        often it was opened by then), `k`, `effect`, `level` (of all that is told here), `judged_at` (the level at which
        the run itself is judged), `cluster`, `entries`.

    Raises:
        UsageError: The run is unfinished, or has no such configuration, metric or pair.
        RecordError: A file of the record is damaged, or rows of it are missing.
    """
    if complaint := whole(record):
        raise UsageError(complaint)
    run = record.run
    plan = plan_of(record)
    names = metric_names(plan.k)
    wanted = tuple(dict.fromkeys(metrics)) or headline(plan.k)[:_ASKED]
    if unknown := [metric for metric in wanted if metric not in names]:
        raise UsageError(f"--metric {unknown[0]}: {run['run_id']} has no such metric; it has: {', '.join(names)}")
    pairs = _pairs(plan, run, configurations, against)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run["run_id"],
        "split": run["split"],
        "sealed": sum(question.split == "test" for question in plan.questions),
        "looks": (run["ledger"] or {}).get("count", 0),
        "k": plan.k,
        "effect": effect,
        "level": LEVEL,
        "judged_at": level_of(plan.confidence),
        "cluster": plan.cluster,
        "entries": power(cells_of(record, plan), pairs, wanted, effect),
    }


def _pairs(plan: Plan, run: Mapping[str, Any], typed: Sequence[str], against: str | None) -> list[tuple[str, str]]:
    names = [configuration_named(run, name, "--config") for name in dict.fromkeys(typed)]
    if against is not None:
        other = configuration_named(run, against, "--against")
        pairs = [(name, other) for name in names if name != other]
        if not pairs:
            raise UsageError("--against needs another configuration beside it: give --config NAME with it")
        return pairs
    pairs = [pair for pair in planned_pairs(plan) if not names or set(names) & set(pair)]
    if not pairs:
        raise UsageError(_unpaired(plan, run, names))
    return pairs


def _unpaired(plan: Plan, run: Mapping[str, Any], names: Sequence[str]) -> str:
    """Why there is no pair to tell of, and what to do about it."""
    has = [configuration.name for configuration in plan.configurations]
    if len(has) < 2:
        return (
            f"{run['run_id']} measured {' and '.join(has) or 'nothing'} alone, and the spread is that of differences; "
            "run two configurations with --rag-configs=A,B"
        )
    what = f"declares no partner of {' and '.join(names)}" if names else "declares no pair of its configurations"
    return f"{run['run_id']} {what}; pair two with --config NAME --against NAME (it has: {', '.join(has)})"
