"""How many questions an effect needs, from the spread that a comparison has shown. What to ask for is left to others.

All of it is for a two-sided test at 5 % that is to find the effect four times in five, by normal approximation.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import NamedTuple

from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.verdicts import LEVEL, POWER_80, fewest_differing

MIN_SHARING = 10
"""Fewest questions beyond the first of their cluster from which an intraclass correlation is worth telling."""

_Z_LEVEL = NormalDist().inv_cdf(1.0 - LEVEL / 2.0)
_Z_POWER = NormalDist().inv_cdf(0.8)


@dataclass(frozen=True, slots=True)
class Spread:
    """The paired differences of n questions in clusters, as far as their mean's precision goes.

    Attributes:
        n: Questions.
        clusters: Clusters (gold files, or single questions).
        error: Bootstrap standard error of the mean difference, clusters resampled whole.
        independent: What it would be if every question were a cluster: standard deviation (over n) / sqrt(n).
        size: Cluster size that a question sees on average, `sum of sizes^2 / n`.
        differing: Clusters whose summed difference is not zero.
    """

    n: int
    clusters: int
    error: float
    independent: float
    size: float
    differing: int

    @property
    def design_effect(self) -> float | None:
        """How many times the variance is that of independent questions; None without a spread.

        Source: Kish, Survey Sampling (1965), section 5.4 (`deff`).
        """
        return None if self.independent <= TOLERANCE else (self.error / self.independent) ** 2

    @property
    def icc(self) -> float | None:
        """Intraclass correlation that the design effect amounts to, from 0 to 1; None where too few share a cluster.

        Source: `deff = 1 + (size - 1) * icc` with the size weighted by questions, for clusters of unequal size:
        Eldridge, Ashby and Kerry, Sample size for cluster randomized trials (Int. J. Epidemiology 35, 2006).
        """
        effect = self.design_effect
        if effect is None or self.n - self.clusters < MIN_SHARING:
            return None
        return min(max((effect - 1.0) / (self.size - 1.0), 0.0), 1.0)


class Needed(NamedTuple):
    """What an effect needs, both numbers in all and not on top, with as many questions a cluster as now."""

    questions: int
    clusters: int


class Reachable(NamedTuple):
    """Whether questions about the present clusters alone could find an effect, and how many in all; None: not known."""

    possible: bool | None
    questions: int | None


def needed(spread: Spread, effect: float) -> Needed | None:
    """Questions, and clusters for them, when new clusters come with as many questions each as the present ones.

    The standard error falls with the root of the number of clusters, so `(2.80 * error / effect)^2` times as many are
    needed; and in any case so many that six of them can be expected to differ, without which no p reaches 0.05.

    Args:
        spread: Of the comparison.
        effect: The difference of means that is to be found.

    Returns:
        None without a spread: there is nothing to scale.

    Raises:
        StatisticsError: An effect of 0 or less.
    """
    _check(effect)
    if spread.error <= TOLERANCE or not spread.differing:
        return None
    factor = max((POWER_80 * spread.error / effect) ** 2, fewest_differing() / spread.differing)
    return Needed(_up(spread.n * factor), _up(spread.clusters * factor))


def reachable(spread: Spread, effect: float) -> Reachable:
    """Questions that an effect needs, when all are asked about the present clusters in the present proportions.

    With t times the questions in every cluster the variance is `v (1 - icc) / t + v icc size`, v being that of
    independent questions now: the first part shrinks, the second stays. With an icc held at 0, v shrinks, though the
    present variance is less; with one held at 1 all of that stays, though it is more than `v size`. Source: the sizes
    of Eldridge, Ashby and Kerry (2006), solved for t; Donner and Klar, Design and Analysis of Cluster Randomization
    Trials (2000), section 5.2, on the limit that a fixed number of clusters sets.

    Returns:
        Impossible with fewer than six clusters, or when they are so alike inside that more questions add too little.
        Not known without a spread, where too few questions share a cluster, or where fewer than six clusters differ.

    Raises:
        StatisticsError: An effect of 0 or less.
    """
    _check(effect)
    icc = spread.icc
    if spread.clusters < fewest_differing():
        return Reachable(possible=False, questions=None)
    if icc is None or spread.error <= TOLERANCE or spread.differing < fewest_differing():
        return Reachable(possible=None, questions=None)
    shrinks = spread.independent**2 * (1.0 - icc)
    stays = max(spread.error**2 - shrinks, 0.0)  # `v icc size`, as icc is defined; but for one held at 0 or 1
    room = (effect / POWER_80) ** 2 - stays
    if room <= 0.0:
        return Reachable(possible=False, questions=None)
    questions = _up(spread.n * shrinks / room)
    return Reachable(possible=True, questions=max(questions, spread.clusters))


def mcnemar_needed(share: float, effect: float) -> int | None:
    """Questions for McNemar's test, when a share of them is discordant; None where the share is below the effect.

    `n = ((1.96 sqrt(share) + 0.84 sqrt(share - effect^2)) / effect)^2`. Source: Connor, Sample size for testing
    differences in proportions for the paired-sample design (Biometrics 43:1, 1987), page 209. It is for the asymptotic
    test and independent questions; the exact test needs some more.

    Raises:
        StatisticsError: An effect of 0 or less, or a share outside 0 to 1.
    """
    _check(effect)
    if not 0.0 <= share <= 1.0:
        raise StatisticsError(f"expected a share of discordant pairs, found {share}")
    if share < effect - TOLERANCE:
        return None
    root = sqrt(max(share - effect**2, 0.0))
    return _up(((_Z_LEVEL * sqrt(share) + _Z_POWER * root) / effect) ** 2)


def mcnemar_detectable(n: int, share: float) -> float | None:
    """The effect that McNemar's test finds four times in five with n questions: Connor's formula, solved for it.

    Returns:
        None where it would exceed the share of discordant pairs, and so cannot occur.
    """
    if n < 1 or not 0.0 < share <= 1.0:
        return None
    a, b = _Z_LEVEL, _Z_POWER
    inner = a**2 * n * share - (n + b**2) * (a**2 - b**2) * share
    if inner < 0.0:
        return None
    effect = (a * sqrt(n * share) + sqrt(inner)) / (n + b**2)
    return effect if effect <= share else None


def _check(effect: float) -> None:
    if not 0.0 < effect <= 1.0:
        raise StatisticsError(f"expected an effect above 0 and at most 1, found {effect}")


def _up(value: float) -> int:
    """The next whole number, a hair above one counting as it."""
    return ceil(value - TOLERANCE * max(value, 1.0))
