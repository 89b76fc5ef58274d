"""Tests of no difference between paired arms, and Holm's adjustment. What a p amounts to is left to `verdicts`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.exact import QUANTUM, ExactSums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.statistics.clusters import Clusters

ENUMERATED = 16
"""Up to this many differing clusters, every pattern of signs is tried; beyond, a random sample of them."""

_BLOCK = 1 << 20
_COLUMNS = 32  # of 32,768 patterns each: 8 MB
_FLIP_STREAM = 1  # keeps the flips apart from the resamples, which draw from the bare seed


@dataclass(frozen=True, slots=True)
class SignFlips:
    """Result of a two-sided sign-flip test of m columns of paired differences.

    Attributes:
        p: `(m,)` share of sign patterns whose mean difference is at least as far from zero as the one observed.
        differing: `(m,)` clusters whose summed difference is not zero.
        smallest: `(m,)` the smallest p that so many differing clusters could have given.
    """

    p: NDArray[np.float64]
    differing: NDArray[np.int64]
    smallest: NDArray[np.float64]


def sign_flip(differences: NDArray[np.float64], clusters: Clusters, *, seed: int, flips: int = 10_000) -> SignFlips:
    """Test whether the arms are exchangeable, by swapping them in whole clusters.

    Exact up to 16 differing clusters; beyond, `p = (b + 1) / (flips + 1)` with `b` random patterns at least as extreme.
    Means within 1e-9 of each other are ties. Clusters that do not differ drop out: their sign changes nothing.
    Source: Fisher's randomisation test; Phipson and Smyth, Permutation p-values should never be zero (2010).

    Args:
        differences: `(n, m)` quantised differences, no NaN.
        clusters: The partition of the n questions.
        seed: Of the random patterns.
        flips: Number of random patterns.

    Raises:
        StatisticsError: NaN, or a shape that does not fit.
    """
    exact = ExactSums(clusters, differences, reach=clusters.n)
    sums = exact.sums
    tie = TOLERANCE * clusters.n / QUANTUM
    differing = (np.abs(sums) > TOLERANCE / QUANTUM).sum(axis=0)
    p = np.ones(differences.shape[1])
    for count in range(1, ENUMERATED + 1):
        columns = np.flatnonzero(differing == count)
        for start in range(0, columns.size, _COLUMNS):
            block = columns[start : start + _COLUMNS]
            p[block] = _enumerate(sums[:, block], count, tie)
    many = differing > ENUMERATED
    if many.any():
        sampled = ExactSums(clusters, differences[:, many], reach=clusters.n)
        p[many] = (_count_extreme(sampled, clusters.count, flips, seed, tie) + 1.0) / (flips + 1.0)
    smallest = np.where(many, 1.0 / (flips + 1.0), 2.0 ** np.minimum(1 - differing, 0))
    return SignFlips(p, differing, smallest)


def _enumerate(sums: NDArray[np.float64], count: int, tie: float) -> NDArray[np.float64]:
    """Exact p of columns in which `count` clusters differ."""
    # The largest `count` of each column are those that differ; the rest is zero within the tolerance.
    top = np.argsort(-np.abs(sums), axis=0, kind="stable")[:count]
    differing = np.take_along_axis(sums, top, axis=0)
    # Every pattern's total, by doubling. The first sign stays: a pattern and its mirror image are equally extreme.
    totals = differing[:1]
    for cluster in differing[1:]:
        totals = np.concatenate([totals + cluster, totals - cluster])
    extreme: NDArray[np.int64] = (np.abs(totals) >= np.abs(totals[0]) - tie).sum(axis=0)
    return extreme / len(totals)


def _count_extreme(exact: ExactSums, clusters: int, flips: int, seed: int, tie: float) -> NDArray[np.int64]:
    """How many of the random patterns are at least as extreme as the data, `(m,)`."""
    generator = np.random.default_rng([seed, _FLIP_STREAM])
    threshold = np.abs(exact.times(np.ones((1, clusters)))) - tie
    extreme = np.zeros(len(threshold), dtype=np.int64)
    rows = max(1, _BLOCK // max(clusters, len(threshold)))
    for start in range(0, flips, rows):
        signs = generator.integers(0, 2, size=(min(rows, flips - start), clusters), dtype=np.int64).astype(np.float64)
        signs *= 2.0
        signs -= 1.0
        extreme += (np.abs(exact.times(signs)) >= threshold).sum(axis=1)
    return extreme


@lru_cache(maxsize=4096)
def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p of McNemar's test, from the discordant pairs; 1.0 when there are none.

    Source: the sign test of Dixon and Mood (JASA 41, 1946) on McNemar's table: `min(1, 2 * P(X <= min(b, c)))` with X
    binomial (b + c, 1/2).

    Raises:
        StatisticsError: A negative count.
    """
    if gained < 0 or lost < 0:
        raise StatisticsError(f"expected counts of discordant pairs, found {gained} and {lost}")
    pairs = gained + lost
    tail, term = 0, 1  # term runs through the binomial coefficients, exact as integers
    for chosen in range(min(gained, lost) + 1):
        tail += term
        term = term * (pairs - chosen) // (chosen + 1)
    return min(1.0, 2 * tail / (1 << pairs))


def holm(values: Sequence[float]) -> list[float]:
    """Holm-adjusted p of one family, in the order given.

    Source: Holm, A simple sequentially rejective multiple test procedure (Scand. J. Stat. 6, 1979).

    Raises:
        StatisticsError: A value outside 0 to 1.
    """
    if any(not 0.0 <= value <= 1.0 for value in values):
        raise StatisticsError("expected p values between 0 and 1")
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    highest = 0.0
    for place, index in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = highest
    return adjusted
