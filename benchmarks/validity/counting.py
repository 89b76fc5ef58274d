"""Counts how often the product's intervals and verdicts are right about arms whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from benchmarks.validity.laws import LAWS, Questions, draw, tilted
from pytest_ragbench.canonical import TOLERANCE, quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import compare
from pytest_ragbench.statistics.resampling import Draws, Resamples
from pytest_ragbench.statistics.significance import holm
from pytest_ragbench.statistics.verdicts import LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.validity.laws import Law
    from pytest_ragbench.statistics.paired import Comparison

SIZES = (20, 50, 100, 200, 500)
EFFECTS = (0.02, 0.05, 0.10)
STEPS = 6
CONFIDENCE = 0.95
BATCH = 250
"""Replicates that are judged by the same resamples and sign patterns, as the columns of one run are."""


@dataclass(frozen=True)
class Effort:
    """How much is drawn.

    Attributes:
        replicates: Question sets of each kind.
        resamples: Of every interval, and random sign patterns of every test.
        seed: Of everything.
        sizes: Numbers of questions.
    """

    replicates: int = 4000
    resamples: int = 2000
    seed: int = 20260901
    sizes: tuple[int, ...] = SIZES


@dataclass(frozen=True)
class Share:
    """So many of so many replicates."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """From 0 to 1."""
        return self.count / self.of

    @property
    def error(self) -> float:
        """Monte Carlo standard error; a success and a failure are added, so that no share is given as exact."""
        share = (self.count + 1) / (self.of + 2)
        return float(np.sqrt(share * (1.0 - share) / self.of))


@dataclass(frozen=True)
class Null:
    """What happened to arms of equal means.

    Attributes:
        law: What was drawn.
        questions: How many, and in which files.
        mean: Intervals of the first arm's mean that held the true mean.
        difference: Intervals of the first difference that held zero.
        single: First steps called `real`.
        unadjusted: Ladders with some step called `real`; None where the law makes no ladder.
        ladder: Ladders with some step called `real` whose adjusted p is at most 5 %; None likewise.
        wider_mean: As `mean`, of expanded percentile intervals.
        wider_difference: As `difference`, of those.
    """

    law: Law
    questions: Questions
    mean: Share
    difference: Share
    single: Share
    unadjusted: Share | None
    ladder: Share | None
    wider_mean: Share
    wider_difference: Share


@dataclass(frozen=True)
class Power:
    """What happened to a true effect: comparisons called `real`, intervals that held it, median detectable effect."""

    law: Law
    questions: Questions
    effect: float
    real: Share
    difference: Share
    mde: float | None


def expanded(files: int) -> float:
    """The confidence whose percentile interval is as wide as Student's t would have it, with so many clusters.

    `alpha'/2 = Phi(-sqrt(n / (n - 1)) t(alpha/2, n - 1))`. Source: Hesterberg, What teachers should know about the
    bootstrap (Am. Stat. 69:4, 2015), on the expanded percentile interval.
    """
    reach = np.sqrt(files / (files - 1)) * stats.t.ppf(0.5 + CONFIDENCE / 2.0, files - 1)
    return float(1.0 - 2.0 * stats.norm.sf(reach))


def null(number: int, questions: Questions, effort: Effort) -> Null:
    """Draw ladders of arms that do not differ (of two arms, where the law's arms are not exchangeable) and count."""
    law = LAWS[number]
    steps = STEPS if law.exchangeable else 1
    wide = expanded(questions.count)
    mean = difference = single = unadjusted = adjusted = wider_mean = wider_difference = 0
    for arms, resamples in _batches(law, questions, steps + 1, effort, stream=(number, 0)):
        estimate = resamples.estimate(arms[0], CONFIDENCE)
        mean += int(_holds(estimate.low, estimate.high, law.mean).sum())
        estimate = resamples.estimate(arms[0], wide)
        wider_mean += int(_holds(estimate.low, estimate.high, law.mean).sum())
        estimate = resamples.estimate(arms[1] - arms[0], wide)
        wider_difference += int(_holds(estimate.low, estimate.high, 0.0).sum())
        for found in _ladders(law, arms, resamples):
            difference += bool(_holds(found[0].low, found[0].high, 0.0))
            single += found[0].verdict == "real"
            real = [one.verdict == "real" for one in found]
            held = [p <= LEVEL for p in holm([one.p_sign_flip for one in found])]
            unadjusted += any(real)
            adjusted += any(one and two for one, two in zip(real, held, strict=True))
    of = effort.replicates
    ladder = (Share(unadjusted, of), Share(adjusted, of)) if law.exchangeable else (None, None)
    wider = (Share(wider_mean, of), Share(wider_difference, of))
    return Null(law, questions, Share(mean, of), Share(difference, of), Share(single, of), *ladder, *wider)


def power(number: int, questions: Questions, effect: float, effort: Effort) -> Power:
    """Draw pairs of arms whose means differ by `effect` and count."""
    law = tilted(LAWS[number], effect)
    held = real = 0
    detectable: list[float] = []
    for arms, resamples in _batches(law, questions, 2, effort, stream=(number, round(1000 * effect))):
        for (one,) in _ladders(law, arms, resamples):
            held += bool(_holds(one.low, one.high, effect))
            real += one.verdict == "real"
            detectable.append(np.inf if one.mde is None else one.mde)
    middle = float(np.median(detectable))
    of = effort.replicates
    return Power(law, questions, effect, Share(real, of), Share(held, of), middle if np.isfinite(middle) else None)


def _batches(
    law: Law, questions: Questions, arms: int, effort: Effort, *, stream: tuple[int, int]
) -> Iterator[tuple[NDArray[np.float64], Resamples]]:
    """Quantised scores `(arms, n, batch)`, and resamples that only the replicates of the batch share."""
    values = quantise(law.values)
    clusters = Clusters.of([f"{file:04d}" for file in questions.files])
    generator = np.random.default_rng([effort.seed, *stream, questions.n, int(questions.clustered)])
    for start in range(0, effort.replicates, BATCH):
        drawn = draw(law, questions, arms, min(BATCH, effort.replicates - start), generator)
        yield values[drawn], Resamples(clusters, Draws(effort.seed + start, effort.resamples))


def _ladders(law: Law, arms: NDArray[np.float64], resamples: Resamples) -> Iterator[list[Comparison]]:
    """The comparisons of each replicate, a step each."""
    steps, n, replicates = np.diff(arms, axis=0).shape
    columns = np.diff(arms, axis=0).transpose(1, 2, 0).reshape(n, replicates * steps)
    found = compare(np.ascontiguousarray(columns), np.full(replicates * steps, law.binary), resamples, CONFIDENCE)
    for start in range(0, len(found), steps):
        yield found[start : start + steps]


def _holds(low: float | NDArray[np.float64], high: float | NDArray[np.float64], truth: float) -> NDArray[np.bool_]:
    return np.asarray((low <= truth + TOLERANCE) & (high >= truth - TOLERANCE))
