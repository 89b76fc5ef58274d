"""Holds means against floors and against a baseline: numbers and rules to lines. What may be compared comes before."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import TOLERANCE, number
from pytest_ragbench.configurations.hard_gates import OVERALL
from pytest_ragbench.gates.model import Flip, GateLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_ragbench.baselines.model import Baseline
    from pytest_ragbench.configurations.hard_gates import GateRule
    from pytest_ragbench.gates.falls import Fall
    from pytest_ragbench.gates.model import Outcome

    Results = Mapping[str, Mapping[str, Any]]
    """Configuration to its sections, as a summary and a baseline have them."""
    Judge = Callable[[str, str, str], Fall | None]

SECTIONS = {"suite": "by_suite", "domain": "by_domain", "difficulty": "by_difficulty"}
"""What the first part of a scope says, and the section of a summary that it means."""


def floors_of(rules: Sequence[GateRule]) -> tuple[GateRule, ...]:
    """The rules as far as they need no baseline: their floors, and what is enforced elsewhere."""
    kept = [rule for rule in rules if rule.floor is not None or rule.enforced_by is not None]
    return tuple(replace(rule, allowed=None, significant=False) for rule in kept)


def judge(
    rules: Sequence[GateRule],
    current: Results,
    baseline: Results | None = None,
    falls: Judge | None = None,
) -> tuple[GateLine, ...]:
    """Every line of a gate: what the rules judge, then what is only shown.

    Args:
        rules: Of `hard_gates`; those of one metric and scope that name a configuration stand in place of one that does
            not.
        current: The run's results.
        baseline: The baseline's; None where floors alone are judged, or where there is none.
        falls: Judges falls of rules that ask for significance; None counts every fall.

    Returns:
        In the order of rules and configurations; then, unjudged, the other metrics over all questions, and the rules'
        metrics in every suite, domain and difficulty.
    """
    elsewhere = [_elsewhere(rule) for rule in rules if rule.enforced_by is not None]
    judged = [rule for rule in rules if rule.enforced_by is None]
    lines = [
        _judged(rule, name, current, baseline, falls)
        for rule in judged
        for name in ([rule.configuration] if rule.configuration is not None else _unnamed(rule, judged, current))
    ]
    taken = {(line.configuration, line.scope, line.metric) for line in lines}
    shown = [
        _shown(name, scope, metric, current, baseline)
        for name, scope, metric in _others(judged, current, baseline)
        if (name, scope, metric) not in taken
    ]
    return (*lines, *elsewhere, *shown)


def _unnamed(rule: GateRule, rules: Sequence[GateRule], current: Results) -> list[str]:
    """The configurations that a rule without one judges: those that no rule of the same metric and scope names."""
    named = {other.configuration for other in rules if (other.metric, other.scope) == (rule.metric, rule.scope)}
    return [name for name in current if name not in named]


def _judged(rule: GateRule, name: str, current: Results, baseline: Results | None, falls: Judge | None) -> GateLine:
    entry = lookup(current, name, rule.scope, rule.metric)
    before = None if baseline is None else lookup(baseline, name, rule.scope, rule.metric)
    mean, was = _value(entry), _value(before)
    outcome, note = _outcome(rule, name, entry, before, compares=baseline is not None)
    if outcome == "regressed" and rule.significant and falls is not None:
        outcome, note = _by_chance(falls(name, rule.scope, rule.metric))
    return GateLine(
        configuration=name,
        scope=rule.scope,
        metric=rule.metric,
        current=mean,
        baseline=was,
        delta=_delta(mean, was),
        floor=rule.floor,
        allowed=rule.allowed,
        n=_n(entry),
        gated=True,
        outcome=outcome,
        note=note,
    )


def _outcome(
    rule: GateRule,
    name: str,
    entry: Mapping[str, Any] | None,
    before: Mapping[str, Any] | None,
    *,
    compares: bool,
) -> tuple[Outcome, str]:
    if entry is None:
        place = name if rule.scope == OVERALL else f"{name} in {rule.scope}"
        return "missing", f"the run has no {rule.metric} for {place}"
    mean = _value(entry)
    if mean is None:
        return "no value", f"no value (n = {_n(entry)})"
    fell, note = _against(rule, entry, before, compares=compares)
    if rule.floor is not None and mean < rule.floor - TOLERANCE:
        return "below floor", "it fell by more than is allowed as well" if fell == "regressed" else ""
    return fell, note


def _against(
    rule: GateRule, entry: Mapping[str, Any] | None, before: Mapping[str, Any] | None, *, compares: bool
) -> tuple[Outcome, str]:
    """What a number amounts to beside the baseline's, its floor left aside."""
    mean, was = _value(entry), _value(before)
    if rule.allowed is None or mean is None:
        return "ok", ""
    if was is None:
        return "no baseline", "the baseline has no such number: floors alone" if compares else ""
    if _n(before) != _n(entry):
        return "no baseline", f"the baseline has {_n(before)} questions here, this run {_n(entry)}: floors alone"
    return ("regressed" if was - mean > rule.allowed + TOLERANCE else "ok"), ""


def _by_chance(fall: Fall | None) -> tuple[Outcome, str]:
    """A fall beyond what is allowed, where only a real one counts."""
    if fall is None:
        return "regressed", "no question was scored in both"
    if fall.counts:
        alike = "every question fell alike; " if fall.verdict == "indeterminate" else ""
        return "regressed", f"{alike}sign-flip p = {fall.p:.4g} over {fall.n} questions"
    if fall.needs is None:
        return "inconclusive", f"{fall.n} questions cannot tell it from chance, and have no spread to reckon with"
    return "inconclusive", (
        f"{fall.n} questions cannot tell it from chance (sign-flip p = {fall.p:.4g}); {fall.needs.questions} questions "
        f"of {fall.needs.clusters} files would decide"
    )


def _elsewhere(rule: GateRule) -> GateLine:
    """What another suite enforces, for every configuration alike."""
    note = f"enforced by {rule.enforced_by}"
    return GateLine(
        "",
        rule.scope,
        rule.metric,
        None,
        None,
        None,
        None,
        None,
        0,
        gated=False,
        outcome="enforced elsewhere",
        note=note,
    )


def _others(rules: Sequence[GateRule], current: Results, baseline: Results | None) -> Iterator[tuple[str, str, str]]:
    """(configuration, scope, metric) of what is worth showing beside the lines that are judged."""
    gated = tuple(dict.fromkeys(rule.metric for rule in rules))
    for name, sections in current.items():
        then = (baseline or {}).get(name) or {}
        yield from ((name, OVERALL, metric) for metric in {**sections["overall"], **(then.get("overall") or {})})
        for grouping, section in SECTIONS.items():
            groups = sorted({*(sections.get(section) or {}), *(then.get(section) or {})})
            yield from ((name, f"{grouping}:{group}", metric) for group in groups for metric in gated)


def _shown(name: str, scope: str, metric: str, current: Results, baseline: Results | None) -> GateLine:
    entry = lookup(current, name, scope, metric)
    before = None if baseline is None else lookup(baseline, name, scope, metric)
    mean, was = _value(entry), _value(before)
    outcome: Outcome = "shown" if entry is not None else "missing"
    note = "" if entry is not None else "the baseline has it, the run has not"
    return GateLine(
        name,
        scope,
        metric,
        mean,
        was,
        _delta(mean, was),
        None,
        None,
        _n(entry),
        gated=False,
        outcome=outcome,
        note=note,
    )


def lookup(results: Results, name: str, scope: str, metric: str) -> Mapping[str, Any] | None:
    """`{mean, n, …}` of one number, or None where the results have no such configuration, group or metric."""
    sections = results.get(name) or {}
    grouping, _, group = scope.partition(":")
    means = sections.get(OVERALL) if scope == OVERALL else (sections.get(SECTIONS[grouping]) or {}).get(group)
    found: Mapping[str, Any] | None = (means or {}).get(metric)
    return found


def _value(entry: Mapping[str, Any] | None) -> float | None:
    """The mean; None too where it is no number, which compares false with everything and would clear every bar."""
    mean = None if entry is None else entry.get("mean")
    return None if mean is None or not math.isfinite(mean) else float(mean)


def _n(entry: Mapping[str, Any] | None) -> int:
    return 0 if entry is None else int(entry.get("n") or 0)


def _delta(mean: float | None, was: float | None) -> float | None:
    return None if mean is None or was is None else number(mean - was)


def flips(
    rules: Sequence[GateRule], baseline: Baseline, rows: Mapping[tuple[str, str], Mapping[str, float | None]]
) -> tuple[Flip, ...]:
    """Questions whose value of a judged metric differs from the baseline's, the greatest losses first.

    Args:
        rules: Of `hard_gates`.
        baseline: With its rows.
        rows: Of the run, (question, configuration) to metric to value.
    """
    metrics = tuple(dict.fromkeys(rule.metric for rule in rules if rule.enforced_by is None))
    found = [
        Flip(row.question, row.configuration, metric, before, float(number(after) or 0.0))
        for row in baseline.rows
        for metric in metrics
        if (before := row.metrics.get(metric)) is not None
        and (after := rows.get((row.question, row.configuration), {}).get(metric)) is not None
        and abs(after - before) > TOLERANCE
    ]
    order = {metric: place for place, metric in enumerate(metrics)}
    found.sort(
        key=lambda flip: (round(flip.after - flip.before, 9), flip.question, flip.configuration, order[flip.metric])
    )
    return tuple(found)
