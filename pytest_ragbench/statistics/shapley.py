"""Contrasts of a complete factorial: exact Shapley values, main effects, leave-one-out deltas, pairwise interactions.

Each is a sum of the subsets' scores with fixed weights, so it can be taken question by question: a resample's mean of
the questions' contrasts is the contrast of the resample's means. Weights are whole numbers over one divisor, which
keeps the sums exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, fsum, lcm
from typing import TYPE_CHECKING

import numpy as np

from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.paired import compare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.statistics.paired import Comparison
    from pytest_ragbench.statistics.resampling import Resamples

EFFICIENCY = 1e-12
"""How far the shares may sum from the worth of all minus the worth of none, in units of the metric."""


@dataclass(frozen=True, slots=True)
class Contrasts:
    """Sums of the scores of the 2**f subsets of f factors; the subset at index s holds the factors of its set bits.

    Attributes:
        weights: `(2**f, m)` whole numbers, float64, each column a contrast.
        divisor: By which the weighted sums are to be divided.
    """

    weights: NDArray[np.float64]
    divisor: int

    def of(self, worth: NDArray[np.float64]) -> NDArray[np.float64]:
        """`(n, m)` contrasts of `(n, 2**f)` quantised scores, not yet divided: whole numbers, exact in any order."""
        return worth @ self.weights


def shapley(worth: Mapping[frozenset[str], float], factors: Sequence[str]) -> dict[str, float]:
    """Shares of the factors; they sum to the worth of all of them minus the worth of none.

    Source: Shapley, A value for n-person games (1953): the mean over the sizes s of the mean, over the subsets of size
    s of the other factors, of what the factor adds.

    Args:
        worth: The mean score of every subset of the factors, the empty one included.
        factors: Names, each once.

    Raises:
        StatisticsError: A subset is missing; nothing is filled in for it.
    """
    subsets = [frozenset(chosen) for size in range(len(factors) + 1) for chosen in combinations(factors, size)]
    missing = [subset for subset in subsets if subset not in worth]
    if missing:
        names = ", ".join("{" + " + ".join(f for f in factors if f in subset) + "}" for subset in missing)
        raise StatisticsError(f"exact shares need every subset of {', '.join(factors)}; missing: {names}")
    others = len(factors) - 1
    return {
        factor: fsum(
            (worth[subset | {factor}] - worth[subset]) / comb(others, len(subset))
            for subset in subsets
            if factor not in subset
        )
        / len(factors)
        for factor in factors
    }


def shapley_contrasts(count: int) -> Contrasts:
    """The Shapley value of each of `count` factors, as `shapley` defines it.

    The divisor is the least common multiple of 1 to `count`, of which every `count * comb(count - 1, s)` is a divisor
    (Farhi, An identity involving the least common multiple of binomial coefficients, Am. Math. Monthly 116:9, 2009).
    """
    divisor = lcm(*range(1, count + 1))
    shares = [divisor // (count * comb(count - 1, size)) for size in range(count)]
    return Contrasts(_switching(count, [float(share) for share in shares]), divisor)


def main_effect_contrasts(count: int) -> Contrasts:
    """What each factor adds, a mean over all settings of the others.

    Source: main effects of a two-level factorial: Box, Hunter and Hunter, Statistics for Experimenters (2005), ch. 5.
    """
    return Contrasts(_switching(count, [1.0] * count), 1 << (count - 1))


def leave_one_out_contrasts(count: int) -> Contrasts:
    """What each factor adds when all the others are on."""
    return Contrasts(_switching(count, [0.0] * (count - 1) + [1.0]), 1)


def _switching(count: int, by_size: Sequence[float]) -> NDArray[np.float64]:
    """Weights of what switching on each factor adds, by the number of the others that are on."""
    weights = np.zeros((1 << count, count))
    for subset in range(1 << count):
        for factor in range(count):
            on = subset >> factor & 1
            weight = by_size[subset.bit_count() - on]
            weights[subset, factor] = weight if on else -weight
    return weights


def interaction_contrasts(count: int) -> Contrasts:
    """`v(ij) - v(i) - v(j) + v(0)` of every pair of factors, in the order of `itertools.combinations`."""
    pairs = list(combinations(range(count), 2))
    weights = np.zeros((1 << count, len(pairs)))
    for column, (one, two) in enumerate(pairs):
        for subset, weight in ((1 << one | 1 << two, 1.0), (1 << one, -1.0), (1 << two, -1.0), (0, 1.0)):
            weights[subset, column] += weight
    return Contrasts(weights, 1)


def total_contrast(count: int) -> Contrasts:
    """The worth of all the factors minus the worth of none: one column."""
    weights = np.zeros((1 << count, 1))
    weights[-1], weights[0] = 1.0, -1.0
    return Contrasts(weights, 1)


def compare_contrasts(
    contrasts: Sequence[Contrasts],
    worths: Sequence[NDArray[np.float64]],
    resamples: Resamples,
    confidence: float = 0.95,
) -> list[list[list[Comparison]]]:
    """Estimate every contrast of every metric and test it against none, in units of the metric.

    To exchange "with the factor" and "without it" in all subsets at once turns the sign of what it adds, so the
    sign-flip test asks for shares and effects what it asks for pairs; for an interaction likewise, one factor's
    settings being exchanged.

    Args:
        contrasts: Of the same f factors.
        worths: Of each metric `(n, 2**f)` quantised scores, no NaN.
        resamples: Of the n questions.
        confidence: Of the intervals.

    Returns:
        For each of the `worths`, for each of the `contrasts`, a comparison for each of its columns.

    Raises:
        StatisticsError: NaN, or a shape that does not fit.
    """
    found: dict[tuple[int, int], list[Comparison]] = {}
    for divided in (False, True):  # whole sums fit float64 as they are, and cost half of those that are to be divided
        places = [
            (metric, kind)
            for metric in range(len(worths))
            for kind, held in enumerate(contrasts)
            if (held.divisor > 1) == divided
        ]
        if not places:
            continue
        columns = [contrasts[kind].of(worths[metric]) for metric, kind in places]
        values = np.concatenate(columns, axis=1)
        compared = iter(compare(values, np.zeros(values.shape[1], dtype=np.bool_), resamples, confidence))
        for (metric, kind), held in zip(places, columns, strict=True):
            divisor = contrasts[kind].divisor
            found[metric, kind] = [_divided(next(compared), divisor) for _ in range(held.shape[1])]
    return [[found[metric, kind] for kind in range(len(contrasts))] for metric in range(len(worths))]


def _divided(found: Comparison, divisor: int) -> Comparison:
    return replace(
        found,
        delta=found.delta / divisor,
        low=found.low / divisor,
        high=found.high / divisor,
        mde=None if found.mde is None else found.mde / divisor,
    )


def check_efficiency(shares: Contrasts, worths: Sequence[NDArray[np.float64]], resamples: Resamples) -> None:
    """See that the shares of every metric sum to the worth of all minus the worth of none in every single resample.

    Raises:
        StatisticsError: They do not, to `EFFICIENCY`; the weights or the sums are wrong.
    """
    count = shares.weights.shape[1]
    total = total_contrast(count)
    parts = resamples.means(np.concatenate([shares.of(worth) for worth in worths], axis=1))
    whole = resamples.means(np.concatenate([total.of(worth) for worth in worths], axis=1))
    summed = parts.reshape(len(worths), count, -1).sum(axis=1) / shares.divisor
    apart = float(np.abs(summed - whole).max())
    if not apart <= EFFICIENCY:
        raise StatisticsError(
            f"the shares of {count} factors miss what all of them add by up to {apart:.3g}; this is a defect of the "
            "bench, not of the data"
        )
