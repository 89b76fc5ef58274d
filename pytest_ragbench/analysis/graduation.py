"""The rule by which a configuration becomes the default: measured differences to clauses, and clauses to a verdict.

Where the differences come from, and what to run for one that is missing, is left to others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_ragbench.analysis.means import MIN_SCORED
from pytest_ragbench.analysis.pairs import compared
from pytest_ragbench.canonical import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.analysis.cells import Cells

State = Literal["met", "failed", "missing"]

_DOUBTS = {
    "indeterminate": "it has no width, so it says nothing of other questions",
    "unresolvable": "too few questions or files differ for any outcome to tell; ask more",
}
"""Verdicts of differences whose interval proves nothing, wherever it lies."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One paired difference by the main metric, of the questions of one split that both arms scored.

    Attributes:
        run: The record that shows it.
        split: `dev` or `test`.
        name: A configuration.
        other: The one that it is compared with; the delta is `name` minus `other`.
        metric: The main metric.
        delta: Mean difference, or None where no question was shared.
        low: Lower end of its interval.
        high: Upper end.
        n: Questions.
        confidence: Of the interval.
        verdict: Of the comparison.
        suite: Where it is of one suite alone, its name.
    """

    run: str
    split: str
    name: str
    other: str
    metric: str
    delta: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float
    verdict: str
    suite: str | None = None

    @property
    def sized(self) -> bool:
        """Whether a suite is large enough to be held against the tolerance."""
        return self.n >= MIN_SCORED


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition of the rule.

    Attributes:
        key: `dev`, `test`, `suites`, or `loo:` and a factor.
        asks: What it asks for, in words.
        state: Whether it is met; `missing` where no record can tell.
        found: What was found, in words.
        evidence: The differences that it rests on.
    """

    key: str
    asks: str
    state: State
    found: str
    evidence: tuple[Difference, ...] = ()


def differences(
    cells: Cells, name: str, other: str, *, run: str, split: str, suites: bool = False
) -> tuple[Difference, ...]:
    """The main metric of one configuration against another in one split: of all questions, then of each suite.

    Args:
        cells: Of a record.
        name: A configuration of it.
        other: Another.
        run: The record's name.
        split: `dev` (with what has no split, which runs as dev) or `test`.
        suites: Whether to add the suites.
    """
    inside = np.array([(question.split or "dev") == split for question in cells.questions], dtype=np.bool_)
    groups: list[str | None] = [None]
    if suites:
        groups += sorted({question.suite for question in cells.questions if question.answerable})
    metric = f"ndcg@{cells.plan.k}"
    column = cells.table.metric_names.index(metric)
    found = []
    for suite in groups:
        members = inside & np.array([suite in (None, question.suite) for question in cells.questions], dtype=np.bool_)
        entry = compared(cells, [(name, other)], [column], members)[name][other][metric]
        if suite is not None and not entry["n"]:
            continue
        numbers = (entry["delta"], entry["low"], entry["high"], entry["n"], cells.plan.confidence, entry["verdict"])
        found.append(Difference(run, split, name, other, metric, *numbers, suite))
    return tuple(found)


def decide(
    dev: Sequence[Difference],
    test: Sequence[Difference],
    left_out: Mapping[str, Difference | None],
    added: Sequence[str],
    tolerance: float,
) -> tuple[Clause, ...]:
    """Every clause of the rule.

    1. On dev the candidate beats the default: the interval of the difference lies above zero, and it is one that can
       tell: not without width, not of fewer differing clusters than any outcome could show an effect with.
    2. On test it holds: the difference is not below zero.
    3. Every factor that is on by default once it graduates, brought by it or on already, is worth its place: with the
       others on, leaving it out gains nothing on test, so `full` against the arm without it is not below zero.
    4. No suite of 30 or more scored questions, on dev or on test, falls by more than the tolerance.

    Args:
        dev: The candidate against the default on dev, all questions first and then suite by suite; empty when missing.
        test: The same on test.
        left_out: Factor that is on in the candidate to `full` against the arm without it, on test; None when missing.
        added: The factors of `left_out` that are off in the default; they come first.
        tolerance: How far a suite may fall.
    """
    factors = [*added, *(factor for factor in left_out if factor not in added)]
    return (
        _beats(dev),
        _holds(test),
        *(_worth(factor, left_out[factor], new=factor in added) for factor in factors),
        _suites(dev, test, tolerance),
    )


def graduates(clauses: Sequence[Clause]) -> bool:
    """Whether every clause is met."""
    return all(clause.state == "met" for clause in clauses)


def _beats(dev: Sequence[Difference]) -> Clause:
    asks = "it has to beat the default on dev: the interval of the difference has to lie above zero"
    if not dev:
        return Clause("dev", asks, "missing", "no record shows it")
    whole = dev[0]
    if whole.delta is None or whole.low is None:
        return Clause("dev", asks, "failed", "the two scored no question in common", (whole,))
    if whole.low > TOLERANCE:
        doubt = _DOUBTS.get(whole.verdict)
        found = "the interval lies above zero"
        return Clause("dev", asks, "failed" if doubt else "met", f"{found}, but {doubt}" if doubt else found, (whole,))
    found = "the whole interval lies below zero" if _below(whole.high) else "the interval reaches down to zero or below"
    return Clause("dev", asks, "failed", found, (whole,))


def _holds(test: Sequence[Difference]) -> Clause:
    asks = "it has to hold on test: the difference must not be below zero"
    return _not_below("test", asks, test[0] if test else None)


def _worth(factor: str, difference: Difference | None, *, new: bool) -> Clause:
    place = "which it brings" if new else "on by default already"
    asks = f"{factor}, {place}, has to be worth its place: leaving it out must gain nothing on test"
    return _not_below(f"loo:{factor}", asks, difference)


def _not_below(key: str, asks: str, difference: Difference | None) -> Clause:
    if difference is None:
        return Clause(key, asks, "missing", "no record shows it")
    if difference.delta is None:
        return Clause(key, asks, "failed", "the two scored no question in common", (difference,))
    below = _below(difference.delta)
    found = "the difference is below zero" if below else "the difference is not below zero"
    return Clause(key, asks, "failed" if below else "met", found, (difference,))


def _below(value: float | None, bound: float = 0.0) -> bool:
    return value is not None and value < bound - TOLERANCE


def _suites(dev: Sequence[Difference], test: Sequence[Difference], tolerance: float) -> Clause:
    asks = f"no suite of {MIN_SCORED} or more scored questions may fall by more than {tolerance:g}, on dev or on test"
    held = tuple(difference for difference in (*dev, *test) if difference.suite is not None)
    fallen = [difference for difference in held if falls(difference, tolerance)]
    if fallen:
        names = ", ".join(f"{difference.suite} on {difference.split}" for difference in fallen)
        return Clause("suites", asks, "failed", f"falls too far: {names}", held)
    if missing := [split for split, found in (("dev", dev), ("test", test)) if not found]:
        return Clause("suites", asks, "missing", f"no record shows the suites of {' and '.join(missing)}", held)
    return Clause("suites", asks, "met", "; ".join(_sizes(held)), held)


def falls(difference: Difference, tolerance: float) -> bool:
    """Whether a suite is large enough and falls by more than the tolerance."""
    return difference.sized and _below(difference.delta, -tolerance)


def _sizes(held: Sequence[Difference]) -> Iterator[str]:
    """How many suites of each split could be held against the tolerance; a small one proves nothing."""
    for split in ("dev", "test"):
        suites = [difference for difference in held if difference.split == split]
        sized = sum(difference.sized for difference in suites)
        yield f"{split}: {sized} of {len(suites)} suites are that large" + (", and none falls so far" if sized else "")
