"""What a paired difference amounts to, in one word, and how that word reads. The numbers come from other modules."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal

from pytest_ragbench.canonical import DECIMALS, TOLERANCE

Verdict = Literal["no difference", "indeterminate", "unresolvable", "real", "not resolved"]

LEVEL = 0.05
"""Largest p of a `real` difference."""

WORDS: dict[Verdict, str] = {
    "no difference": "no difference",
    "indeterminate": "indeterminate",
    "unresolvable": "too few to tell",
    "real": "real",
    "not resolved": "not resolved",
}
"""How a verdict reads in a report."""

POWER_80 = 2.80
"""1.96 + 0.84: standard errors between zero and an effect that a two-sided 5 % test finds four times in five."""


def level_of(confidence: float) -> float:
    """The level of tests that go with intervals of a confidence: 0.05 for 0.95, to the last bit."""
    return round(1.0 - confidence, DECIMALS)


def fewest_differing(level: float = LEVEL) -> int:
    """Fewest differing clusters that could reach a level: 6 for 0.05, `2 ** (1 - 6)` being 0.03125, 5 giving 0.0625."""
    count = 1
    while 2.0 ** (1 - count) > level:
        count += 1
    return count


def meanings(level: float = LEVEL) -> dict[Verdict, str]:
    """What each verdict says at a level, for the legend of a report."""
    fewest = fewest_differing(level)
    return {
        "no difference": "both scored the same on every question",
        "indeterminate": "the interval has no width, so it says nothing of other questions",
        "unresolvable": f"fewer than {fewest} clusters differ, so no outcome could have reached p <= {level:.4g}",
        "real": f"the interval excludes zero and the sign-flip p is at most {level:.4g}",
        "not resolved": "a difference smaller than the minimal detectable effect may be there or not",
    }


MEANINGS = meanings()
"""What a verdict says at the usual level."""


def judge(
    *,
    low: float,
    high: float,
    p: float,
    differing: int,
    identical: bool,
    level: float = LEVEL,
    smallest: float = 0.0,
) -> Verdict:
    """The verdict on one paired difference; the first that applies, in the order of `WORDS`.

    Args:
        low: Lower end of the difference's interval.
        high: Upper end.
        p: Of the sign-flip test.
        differing: Clusters whose summed difference is not zero.
        identical: Whether every single question's difference is zero.
        level: Largest p of a `real` difference.
        smallest: The smallest p that the test could have given, where random signs could give no smaller one.
    """
    if identical:
        return "no difference"
    if high - low <= TOLERANCE and max(abs(low), abs(high)) > TOLERANCE:
        return "indeterminate"
    if differing < fewest_differing(level) or smallest > level:
        return "unresolvable"
    excludes_zero = low > TOLERANCE or high < -TOLERANCE
    return "real" if excludes_zero and p <= level else "not resolved"


def minimal_detectable_effect(error: float, level: float = LEVEL) -> float | None:
    """The smallest true difference that such a comparison would call real four times in five, or None without a spread.

    Source: 2.80 standard errors, Gelman and Hill, Data Analysis Using Regression (2007), chapter 20; at another level
    its normal quantile stands in place of 1.96.

    Args:
        error: Bootstrap standard error of the difference.
        level: Of the two-sided test.
    """
    if error <= TOLERANCE:
        return None
    return (POWER_80 if level == LEVEL else NormalDist().inv_cdf(1.0 - level / 2.0) + 0.84) * error
