"""A finished record under the gate: its verdict, and the baseline that it would make. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ragbench.analysis.cells import cluster_label
from pytest_ragbench.baselines.projection import measured_digest, project
from pytest_ragbench.canonical import number
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.gates.comparable import (
    Measured,
    command,
    measured_by,
    obstacles,
    remarks,
    taken_over,
    unfit,
    unjudged,
    unusable,
)
from pytest_ragbench.gates.falls import judge_of
from pytest_ragbench.gates.model import Verdict
from pytest_ragbench.gates.rules import flips, floors_of, judge
from pytest_ragbench.runs.reading import last_rows, plan_of
from pytest_ragbench.statistics.resampling import Draws

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pytest_ragbench.baselines.model import Baseline
    from pytest_ragbench.configurations.hard_gates import GateRule
    from pytest_ragbench.errors import BaselineError
    from pytest_ragbench.gates.model import Flip, GateLine, Refusal
    from pytest_ragbench.records.record import RunRecord

GATE, FLOORS, UPDATE = "--rag-gate", "--rag-gate=floors", "--rag-update-baseline"


UNASKED = "the floor holds; not held against the baseline"


@dataclass(frozen=True, slots=True)
class Held:
    """What a run is held against.

    Attributes:
        shown: The path of `main.json`, as it is shown.
        baseline: The baseline; None where there is none, or none that can be used.
        error: Why it cannot be used, or None.
    """

    shown: str
    baseline: Baseline | None = None
    error: BaselineError | None = None


def judge_run(record: RunRecord, rules: Sequence[GateRule], held: Held | None) -> Verdict:
    """The verdict on a finished run.

    Args:
        record: The run.
        rules: Of `hard_gates`.
        held: The baseline and what is wrong with it; None to judge by the floors alone.

    Returns:
        Refused where the run stands for less than it planned, which then has no lines, or where it cannot be held
        against the baseline, with the lines of the floors; failed where a line fails; else passed.

    Raises:
        RecordError: The record is damaged.
    """
    measured = measured_in(record)
    if refusals := whole(record, command(measured, GATE if held else FLOORS)):
        return _verdict(held, refusals=refusals)
    results, notes = summary_of(record)["results"], list(taken_over(record.run))
    if held is None:
        return _verdict(held, judge(floors_of(rules), results), notes=notes)
    refusals = not_against(measured, rules, held)
    if held.baseline is not None and not refusals:
        return _against(record, rules, held, held.baseline, measured, notes)
    if not refusals:
        notes += [f"There is no {held.shown}: floors alone are judged; `{command(measured, UPDATE)}` captures it."]
    return _verdict(held, judge(rules, results), refusals, notes=notes)


def not_against(measured: Measured, rules: Sequence[GateRule], held: Held) -> list[Refusal]:
    """Why what was measured, or will be, cannot be held against the baseline, or without one against nothing.

    Args:
        measured: By a run, or what the session is about to measure.
        rules: Of `hard_gates`.
        held: The baseline and what is wrong with it.
    """
    if held.error is not None:
        return [unusable(held.error, measured, held.shown)]
    if held.baseline is None:
        return [] if any(rule.floor is not None for rule in rules) else [unjudged(measured, held.shown)]
    return list(obstacles(measured, measured_by(held.baseline), held.shown))


def _against(
    record: RunRecord,
    rules: Sequence[GateRule],
    held: Held,
    baseline: Baseline,
    measured: Measured,
    notes: Sequence[str],
) -> Verdict:
    """The verdict on a run that may be held against its baseline."""
    rows = {
        (row["question"], row["configuration"]): {metric: number(value) for metric, value in row["metrics"].items()}
        for row in last_rows(record)
    }
    plan = plan_of(record, ())
    falls = judge_of(baseline, rows, Draws(plan.seed, plan.resamples), plan.confidence)
    lines = judge(rules, summary_of(record)["results"], baseline.results, falls)
    refusals = [] if any(line.judged for line in lines) else [unjudged(measured, held.shown)]
    told = [*notes, *remarks(measured, baseline, held.shown)]
    return _verdict(held, lines, refusals, notes=told, changed=flips(rules, baseline, rows))


def check_rules(rules: Sequence[GateRule], shown: str, *, floors: bool) -> None:
    """Refuse a gate that would let every run pass.

    Args:
        rules: Of `hard_gates`.
        shown: What messages write for `thresholds.yaml`.
        floors: Whether floors alone are judged.

    Raises:
        UsageError: No rule is left to judge by.
    """
    judged = floors_of(rules) if floors else rules
    if all(rule.enforced_by is not None for rule in judged):
        what = "floor" if floors else "rule"
        raise UsageError(f"{shown} has no {what} under hard_gates that this gate judges, so that every run would pass")


def _verdict(
    held: Held | None,
    lines: Sequence[GateLine] = (),
    refusals: Sequence[Refusal] = (),
    *,
    notes: Sequence[str] = (),
    changed: Sequence[Flip] = (),
) -> Verdict:
    there = held is not None and (held.baseline is not None or held.error is not None)
    failed = any(line.failed for line in lines)
    if refusals and there:  # a baseline is there, and was not asked
        lines = [replace(one, outcome="ok", note=UNASKED) if one.outcome == "no baseline" else one for one in lines]
    return Verdict(
        status="refused" if refusals else "failed" if failed else "passed",
        mode="floors" if held is None else "full",
        baseline=held.shown if held is not None and there else None,
        lines=tuple(lines),
        refusals=tuple(refusals),
        flips=tuple(changed),
        notes=tuple(notes),
    )


def whole(record: RunRecord, again: str) -> list[Refusal]:
    """Why a run stands for less than it planned; empty where it stands for all of it.

    Args:
        record: The run.
        again: The command that measures it whole.
    """
    return list(unfit(record.run, list(record.errored_rows()), again))


def summary_of(record: RunRecord) -> dict[str, Any]:
    """`summary.json`.

    Raises:
        RecordError: It is missing or damaged.
    """
    summary = record.summary()
    if summary is None:
        raise RecordError(f"{record.folder / 'summary.json'}: the file is missing; there is nothing to judge")
    return summary


def measured_in(record: RunRecord) -> Measured:
    """What a run measured.

    Raises:
        RecordError: The record is damaged.
    """
    run, questions = record.run, record.questions()
    summary = record.summary() or {}
    configurations = {entry["name"]: entry["overrides"] for entry in run["configurations"]}
    asked = (run["selection"] or {}).get("configs") or configurations
    suites, domains = (tuple(sorted(run[key])) if run[key] else None for key in ("suites", "domains"))
    return Measured(
        metrics_version=summary.get("metrics_version"),
        split=run["split"],
        suites=suites,
        domains=domains,
        limit=run["limit"],
        k=run["k"],
        questions_digest=measured_digest(questions),
        questions=frozenset(question.id for question in questions if question.answerable),
        configurations=configurations,
        asked=tuple(asked),
    )


def baseline_of_run(record: RunRecord, forced: Sequence[str] = ()) -> Baseline:
    """The baseline that a run makes.

    Args:
        record: The run.
        forced: What is wrong with it, where it is kept all the same.

    Raises:
        RecordError: The record is damaged.
    """
    plan = plan_of(record)
    clusters = {question.id: cluster_label(question, plan.cluster) for question in plan.questions}
    return project(record.run, summary_of(record), last_rows(record), plan.questions, clusters, forced=forced)
