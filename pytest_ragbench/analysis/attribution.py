"""What each factor of a complete factorial carries: Shapley values, main effects, leave-one-out deltas, interactions.

Decides which experiment is a factorial and which questions count; the arithmetic is left to `statistics.shapley`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.canonical import number
from pytest_ragbench.metrics.catalogue import headline
from pytest_ragbench.statistics.shapley import (
    check_efficiency,
    compare_contrasts,
    interaction_contrasts,
    leave_one_out_contrasts,
    main_effect_contrasts,
    shapley_contrasts,
    total_contrast,
)
from pytest_ragbench.statistics.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.configurations.model import Configuration
    from pytest_ragbench.statistics.paired import Comparison
    from pytest_ragbench.statistics.resampling import Resamples

Entry = dict[str, Any]
"""`{value, low, high, n, differing, verdict, p_sign_flip, p_holm, mde}`."""

_PER_FACTOR = ("shapley", "main_effects", "leave_one_out")

_HELD = 1 << 21
"""Scores held at once for all subsets of some metrics: 16 MB."""


@dataclass(frozen=True, slots=True)
class Factorial:
    """An experiment whose arms are all the subsets of some factors.

    Attributes:
        experiment: Its name.
        factors: Those that vary, in declared order.
        base: Those that are on in every arm.
        arms: Configuration of every subset; the one at index s holds the factors of its set bits.
    """

    experiment: str
    factors: tuple[str, ...]
    base: tuple[str, ...]
    arms: tuple[str, ...]


def find_factorial(plan: Plan) -> Factorial | None:
    """The complete factorial of the run with the most factors, at least two; the first where several have as many."""
    known = {configuration.name: configuration for configuration in plan.configurations}
    found = [
        factorial
        for experiment in plan.experiments
        if all(arm in known for arm in experiment.arms)
        and (factorial := _as_factorial(experiment.name, [known[arm] for arm in experiment.arms])) is not None
    ]
    return max(found, key=lambda factorial: len(factorial.factors), default=None)


def _as_factorial(name: str, arms: Sequence[Configuration]) -> Factorial | None:
    """Complete when every subset of the factors that vary is one arm, and factors are all that the arms differ in."""
    by_factors = {frozenset(arm.factors): arm for arm in arms}
    if not by_factors:
        return None
    everything, base = frozenset().union(*by_factors), frozenset.intersection(*by_factors)
    if len(everything - base) < 2 or len(arms) != 1 << len(everything - base) or len(by_factors) != len(arms):
        return None
    full = by_factors[everything].factors
    factors = tuple(factor for factor in full if factor not in base)
    subsets = [
        base | {factor for place, factor in enumerate(factors) if mask >> place & 1}
        for mask in range(1 << len(factors))
    ]
    ordered = [by_factors[subset] for subset in subsets]
    if not _differ_in_factors_alone(ordered, len(factors)):
        return None
    return Factorial(
        name, factors, tuple(factor for factor in full if factor in base), tuple(arm.name for arm in ordered)
    )


def _differ_in_factors_alone(arms: Sequence[Configuration], count: int) -> bool:
    """Whether each arm has the overrides that the arms of its single factors foretell: none of its own."""
    missing = object()
    keys = {key for arm in arms for key in arm.overrides}
    for key in keys:
        values = [arm.overrides.get(key, missing) for arm in arms]
        for mask, value in enumerate(values):
            set_by = [values[1 << place] for place in range(count) if mask >> place & 1]
            changed = [single for single in set_by if single != values[0]]
            if value != (changed[0] if changed else values[0]):
                return False
    return True


def attribution(cells: Cells) -> dict[str, Any]:
    """What the factors of a complete factorial carry, by the headline metrics; empty without one.

    Only questions that every arm scored count; where there is none, `factorial` alone stands, so that the report can
    say why nothing is attributed. A subset without a lane scored 0 on them, by the rule for arms that do
    not search, and enters as that.

    Returns:
        `factorial`: `experiment`, `factors`, `base`, `without_lane` (arms that do not search), `total` (metric to all
        factors against none). `shapley`, `main_effects`, `leave_one_out`: metric to factor to an entry.
        `interactions`: metric to factor to a later factor to an entry. An entry has `value`, `low`, `high`, `n`,
        `differing`, `verdict`, `p_sign_flip`, `p_holm` (over the factors, or the pairs, of the metric) and `mde`.
    """
    factorial = find_factorial(cells.plan)
    if factorial is None:
        return {}
    silent = {configuration.name for configuration in cells.plan.configurations if not configuration.searches}
    found: dict[str, Any] = {
        "factorial": {
            "experiment": factorial.experiment,
            "factors": list(factorial.factors),
            "base": list(factorial.base),
            "without_lane": [arm for arm in factorial.arms if arm in silent],
            "total": {},
        },
        "interactions": {},
        **{kind: {} for kind in _PER_FACTOR},
    }
    for metrics, worths, resamples in _worths(cells, factorial):
        told = _metrics(factorial.factors, worths, resamples, cells.plan.confidence)
        for metric, entries in zip(metrics, told, strict=True):
            found["factorial"]["total"][metric] = entries.pop("total")
            for kind, held in entries.items():
                found[kind][metric] = held
    return found if found["shapley"] else {"factorial": found["factorial"]}


def _worths(cells: Cells, factorial: Factorial) -> Iterator[tuple[list[str], list[NDArray[np.float64]], Resamples]]:
    """Metrics, the quantised scores of each, `(n, subsets)`, over the questions that all arms scored, and resamples.

    Metrics over the same questions come together, so that these are resampled once, but no more than memory bears.
    """
    names = cells.table.metric_names
    sets: dict[bytes, list[str]] = {}
    for metric in (name for name in headline(cells.plan.k) if name in names):
        sets.setdefault((~_missing(cells, factorial, names.index(metric))).tobytes(), []).append(metric)
    for mask, metrics in sets.items():
        questions = np.flatnonzero(np.frombuffer(mask, dtype=np.bool_))
        if not questions.size:
            continue
        resamples = cells.resamples(questions)
        step = max(1, _HELD // (questions.size * len(factorial.arms)))
        for start in range(0, len(metrics), step):
            block = metrics[start : start + step]
            columns = [names.index(metric) for metric in block]
            yield block, [_scores(cells, factorial, column)[questions] for column in columns], resamples


def _missing(cells: Cells, factorial: Factorial, column: int) -> NDArray[np.bool_]:
    """Questions that some arm did not score, `(n_questions,)`."""
    found = np.zeros(len(cells.questions), dtype=np.bool_)
    for arm in factorial.arms:
        found |= np.isnan(cells.metric(arm, column))
    return found


def _scores(cells: Cells, factorial: Factorial, column: int) -> NDArray[np.float64]:
    return np.stack([cells.metric(arm, column) for arm in factorial.arms], axis=1)


def _metrics(
    factors: Sequence[str], worths: Sequence[NDArray[np.float64]], resamples: Resamples, confidence: float
) -> list[dict[str, Any]]:
    """For each metric `total`, the kinds by factor, and `interactions`."""
    count = len(factors)
    shares = shapley_contrasts(count)
    check_efficiency(shares, worths, resamples)
    kinds = (
        total_contrast(count),
        shares,
        main_effect_contrasts(count),
        leave_one_out_contrasts(count),
        interaction_contrasts(count),
    )
    found = []
    for compared in compare_contrasts(kinds, worths, resamples, confidence):
        total, *per_factor, pairs = map(_entries, compared)
        interactions: dict[str, dict[str, Entry]] = {}
        for (one, two), entry in zip(combinations(factors, 2), pairs, strict=True):
            interactions.setdefault(one, {})[two] = entry
        by_kind = zip(_PER_FACTOR, per_factor, strict=True)
        named = {kind: dict(zip(factors, entries, strict=True)) for kind, entries in by_kind}
        found.append({"total": total[0], "interactions": interactions, **named})
    return found


def _entries(found: Sequence[Comparison]) -> list[Entry]:
    """Each contrast of one metric, with p adjusted for all of them."""
    adjusted = holm([one.p_sign_flip for one in found])
    return [
        {
            "value": number(one.delta),
            "low": number(one.low),
            "high": number(one.high),
            "n": one.n,
            "differing": one.differing,
            "verdict": one.verdict,
            "p_sign_flip": number(one.p_sign_flip),
            "p_holm": number(p),
            "mde": number(one.mde),
        }
        for one, p in zip(found, adjusted, strict=True)
    ]
