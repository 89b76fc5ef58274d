"""What abstaining buys: risk and coverage of answers that are given only where the confidence suffices.

Sources: El-Yaniv and Wiener, On the Foundations of Noise-free Selective Classification (JMLR 11, 2010), for the curve;
Geifman and El-Yaniv, Selective Classification for Deep Neural Networks (NeurIPS 2017), for its empirical form; Geifman,
Uziel and El-Yaniv, Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers (ICLR 2019), for the area.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import fsum, inf
from typing import TYPE_CHECKING

from pytest_ragbench.errors import StatisticsError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The curve over n questions.

    Attributes:
        points: (coverage, selective risk) after each step, from the surest questions to all of them; questions of one
            confidence are one step, since no threshold can part them.
        area: Mean of the selective risk over the n coverages 1/n to 1 (AURC); a step's questions all count its risk.
        best: The least that any order of the same losses could give: every loss behind every success.
    """

    points: tuple[tuple[float, float], ...]
    area: float
    best: float


def risk_coverage(confidences: Sequence[float | None], losses: Sequence[bool]) -> RiskCoverage:
    """The curve of one list of questions.

    Args:
        confidences: Of any scale; None, where there was nothing to be sure of, comes last.
        losses: Whether answering the question was a loss.

    Raises:
        StatisticsError: There is no question, or as many confidences as losses are not given.
    """
    if not losses or len(confidences) != len(losses):
        raise StatisticsError(f"expected as many confidences as losses, found {len(confidences)} and {len(losses)}")
    n = len(losses)
    sure = [-inf if confidence is None else confidence for confidence in confidences]
    points: list[tuple[float, float]] = []
    weighed: list[float] = []
    answered = lost = 0
    for _, step in groupby(sorted(zip(sure, losses, strict=True), key=lambda pair: -pair[0]), key=lambda pair: pair[0]):
        outcomes = [loss for _, loss in step]
        answered += len(outcomes)
        lost += sum(outcomes)
        points.append((answered / n, lost / answered))
        weighed.append(len(outcomes) * lost / answered)
    successes = n - lost
    best = fsum((count - successes) / count for count in range(successes + 1, n + 1)) / n
    return RiskCoverage(tuple(points), fsum(weighed) / n, best)
