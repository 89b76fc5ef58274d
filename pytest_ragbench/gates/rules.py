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
    Entry = Mapping[str, Any]
    """`{mean, n, …}` of one number."""
    Judge = Callable[[str, str, str], Fall | None]

SHOWN_DIGIT = 0.001
"""The last digit of a table: what misses by less may look as if it held."""

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
    shown = [_shown(place, current, baseline) for place in _others(judged, current, baseline) if place not in taken]
    return (*lines, *elsewhere, *shown)


def _unnamed(rule: GateRule, rules: Sequence[GateRule], current: Results) -> list[str]:
    """The configurations that a rule without one judges: those that no rule of the same metric and scope names."""
    named = {other.configuration for other in rules if (other.metric, other.scope) == (rule.metric, rule.scope)}
    return [name for name in current if name not in named]


def _judged(rule: GateRule, name: str, current: Results, baseline: Results | None, falls: Judge | None) -> GateLine:
    entry = lookup(current, name, rule.scope, rule.metric)
    before = None if baseline is None else lookup(baseline, name, rule.scope, rule.metric)
    outcome, note = _outcome(rule, name, entry, before, compares=baseline is not None)
    if outcome == "regressed" and rule.significant and falls is not None:
        outcome, note = _by_chance(falls(name, rule.scope, rule.metric))
    return _line((name, rule.scope, rule.metric), entry, before, outcome, note, rule)


def _line(
    place: tuple[str, str, str],
    entry: Entry | None,
    before: Entry | None,
    outcome: Outcome,
    note: str,
    rule: GateRule | None = None,
) -> GateLine:
    """A line of (configuration, scope, metric): judged where a rule is given, else shown."""
    mean, was = _value(entry), _value(before)
    name, scope, metric = place
    return GateLine(
        configuration=name,
        scope=scope,
        metric=metric,
        current=mean,
        baseline=was,
        delta=_delta(mean, was),
        floor=None if rule is None else rule.floor,
        allowed=None if rule is None else rule.allowed,
        n=_n(entry),
        gated=rule is not None,
        outcome=outcome,
        note=note,
    )


def _outcome(
    rule: GateRule,
    name: str,
    entry: Entry | None,
    before: Entry | None,
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
        as_well = "it fell by more than is allowed as well" if fell == "regressed" else ""
        return "below floor", as_well or _narrowly(rule.floor - mean)
    return fell, note


def _against(rule: GateRule, entry: Entry | None, before: Entry | None, *, compares: bool) -> tuple[Outcome, str]:
    """What a number amounts to beside the baseline's, its floor left aside."""
    mean, was = _value(entry), _value(before)
    if rule.allowed is None or mean is None:
        return "ok", ""
    if was is None:
        return "no baseline", "the baseline has no such number: floors alone" if compares else ""
    if _n(before) != _n(entry):
        return "no baseline", f"the baseline has {_n(before)} questions here, this run {_n(entry)}: floors alone"
    beyond = was - mean - rule.allowed
    return ("regressed", _narrowly(beyond)) if beyond > TOLERANCE else ("ok", "")


def _narrowly(beyond: float) -> str:
    """A miss that three decimal places, as tables have, would show as none."""
    return f"it misses by {beyond:.1g}" if beyond < SHOWN_DIGIT else ""


def _by_chance(fall: Fall | None) -> tuple[Outcome, str]:
    """A fall beyond what is allowed, where only a real one counts."""
    if fall is None:
        return "regressed", "no question was scored in both"
    if fall.counts:
        alike = "every question fell alike; " if fall.verdict == "indeterminate" else ""
        return "regressed", f"{alike}sign-flip p = {fall.p:.4g} over {fall.n} questions"
    unsure = f"{fall.n} questions cannot tell it from chance"
    hopeless = "" if fall.fewest is None else f"; about fewer than {fall.fewest} files no fall is ever told from it"
    if fall.needs is None:
        return "inconclusive", f"{unsure}, and have no spread to reckon with{hopeless}"
    return "inconclusive", (
        f"{unsure} (sign-flip p = {fall.p:.4g}); {fall.needs.questions} questions of {fall.needs.clusters} files would "
        f"decide{hopeless}"
    )


def _elsewhere(rule: GateRule) -> GateLine:
    """What another suite enforces, for every configuration alike."""
    note = f"enforced by {rule.enforced_by}"
    return _line(("", rule.scope, rule.metric), None, None, "enforced elsewhere", note)


def _others(rules: Sequence[GateRule], current: Results, baseline: Results | None) -> Iterator[tuple[str, str, str]]:
    """(configuration, scope, metric) of what is worth showing beside the lines that are judged."""
    gated = tuple(dict.fromkeys(rule.metric for rule in rules))
    for name, sections in current.items():
        then = (baseline or {}).get(name) or {}
        yield from ((name, OVERALL, metric) for metric in {**sections["overall"], **(then.get("overall") or {})})
        for grouping, section in SECTIONS.items():
            groups = sorted({*(sections.get(section) or {}), *(then.get(section) or {})})
            yield from ((name, f"{grouping}:{group}", metric) for group in groups for metric in gated)


def _shown(place: tuple[str, str, str], current: Results, baseline: Results | None) -> GateLine:
    entry = lookup(current, *place)
    before = None if baseline is None else lookup(baseline, *place)
    if entry is None:
        return _line(place, entry, before, "missing", "the baseline has it, the run has not")
    return _line(place, entry, before, "shown", "")


def lookup(results: Results, name: str, scope: str, metric: str) -> Entry | None:
    """One number, or None where the results have no such configuration, group or metric."""
    sections = results.get(name) or {}
    grouping, _, group = scope.partition(":")
    means = sections.get(OVERALL) if scope == OVERALL else (sections.get(SECTIONS[grouping]) or {}).get(group)
    found: Entry | None = (means or {}).get(metric)
    return found


def _value(entry: Entry | None) -> float | None:
    """The mean; None too where it is no number, which compares false with everything and would clear every bar."""
    mean = None if entry is None else entry.get("mean")
    return None if mean is None or not math.isfinite(mean) else float(mean)


def _n(entry: Entry | None) -> int:
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
