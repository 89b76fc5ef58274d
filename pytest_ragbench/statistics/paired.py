"""Compares two arms question by question: interval, tests and verdict of many columns of differences at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.statistics.exact import QUANTUM
from pytest_ragbench.statistics.significance import mcnemar, sign_flip
from pytest_ragbench.statistics.verdicts import judge, level_of, minimal_detectable_effect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_ragbench.statistics.resampling import Resamples
    from pytest_ragbench.statistics.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one arm against another, over the questions that both scored.

    Attributes:
        delta: Mean difference, this arm minus the other.
        low: Lower end of its interval.
        high: Upper end.
        n: Questions.
        gained: Questions on which this arm scored higher.
        lost: Questions on which it scored lower.
        differing: Clusters whose summed difference is not zero.
        p_sign_flip: Of the sign-flip test.
        p_smallest: The smallest that so many differing clusters could have given.
        p_mcnemar: Exact, from `gained` and `lost`; None for a graded metric.
        mde: Minimal detectable effect, or None without a spread.
        verdict: What it amounts to.
    """

    delta: float
    low: float
    high: float
    n: int
    gained: int
    lost: int
    differing: int
    p_sign_flip: float
    p_smallest: float
    p_mcnemar: float | None
    mde: float | None
    verdict: Verdict


def compare(
    differences: NDArray[np.float64], binary: NDArray[np.bool_], resamples: Resamples, confidence: float = 0.95
) -> list[Comparison]:
    """Compare arms over one set of questions.

    A resampled difference is the difference of resampled means: sums of whole numbers, it makes no difference, not
    even in the last bit, whether the subtraction comes before or after.

    Args:
        differences: `(n, m)` differences of quantised values, no NaN.
        binary: `(m,)` whether the metric is 0 or 1 on every question.
        resamples: Of the n questions.
        confidence: Of the intervals; verdicts and detectable effects are those of the level that goes with it.

    Raises:
        StatisticsError: NaN, or a shape that does not fit.
    """
    level = level_of(confidence)
    estimates, errors = resamples.estimate_with_errors(differences, confidence)
    flips = sign_flip(differences, resamples.clusters, seed=resamples.draws.seed, flips=resamples.draws.count)
    tie = TOLERANCE / QUANTUM
    gained = (differences > tie).sum(axis=0)
    lost = (differences < -tie).sum(axis=0)
    return [
        Comparison(
            delta=float(estimates.mean[column]),
            low=float(estimates.low[column]),
            high=float(estimates.high[column]),
            n=resamples.clusters.n,
            gained=int(gained[column]),
            lost=int(lost[column]),
            differing=int(flips.differing[column]),
            p_sign_flip=float(flips.p[column]),
            p_smallest=float(flips.smallest[column]),
            p_mcnemar=mcnemar(int(gained[column]), int(lost[column])) if binary[column] else None,
            mde=minimal_detectable_effect(float(errors[column]), level),
            verdict=judge(
                low=float(estimates.low[column]),
                high=float(estimates.high[column]),
                p=float(flips.p[column]),
                differing=int(flips.differing[column]),
                identical=not gained[column] and not lost[column],
                level=level,
                smallest=float(flips.smallest[column]),
            ),
        )
        for column in range(differences.shape[1])
    ]
