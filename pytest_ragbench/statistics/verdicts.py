"""What a paired difference amounts to, in one word, and how that word reads. The numbers come from other modules."""

from __future__ import annotations

from typing import Literal

from pytest_ragbench.canonical import TOLERANCE

Verdict = Literal["no difference", "indeterminate", "unresolvable", "real", "not resolved"]

LEVEL = 0.05
"""Largest p of a `real` difference."""

MIN_DIFFERING = 6
"""Fewest differing clusters that could reach the level: `2 ** (1 - 6)` is 0.03125, `2 ** (1 - 5)` is 0.0625."""

WORDS: dict[Verdict, str] = {
    "no difference": "no difference",
    "indeterminate": "indeterminate",
    "unresolvable": "too few to tell",
    "real": "real",
    "not resolved": "not resolved",
}
"""How a verdict reads in a report."""

MEANINGS: dict[Verdict, str] = {
    "no difference": "both scored the same on every question",
    "indeterminate": "the interval has no width, so it says nothing of other questions",
    "unresolvable": f"fewer than {MIN_DIFFERING} clusters differ, so no outcome could have reached p <= {LEVEL}",
    "real": f"the interval excludes zero and the sign-flip p is at most {LEVEL}",
    "not resolved": "a difference smaller than the minimal detectable effect may be there or not",
}
"""What a verdict says, for the legend of a report."""

_POWER_80 = 2.80
"""1.96 + 0.84: standard errors between zero and an effect that a two-sided 5 % test finds four times in five."""


def judge(*, low: float, high: float, p: float, differing: int, identical: bool) -> Verdict:
    """The verdict on one paired difference; the first that applies, in the order of `WORDS`.

    Args:
        low: Lower end of the difference's interval.
        high: Upper end.
        p: Of the sign-flip test.
        differing: Clusters whose summed difference is not zero.
        identical: Whether every single question's difference is zero.
    """
    if identical:
        return "no difference"
    if high - low <= TOLERANCE and max(abs(low), abs(high)) > TOLERANCE:
        return "indeterminate"
    if differing < MIN_DIFFERING:
        return "unresolvable"
    excludes_zero = low > TOLERANCE or high < -TOLERANCE
    return "real" if excludes_zero and p <= LEVEL else "not resolved"


def minimal_detectable_effect(error: float) -> float | None:
    """The smallest true difference that such a comparison would call real four times in five, or None without a spread.

    Source: 2.80 standard errors, Gelman and Hill, Data Analysis Using Regression (2007), chapter 20.
    """
    return None if error <= TOLERANCE else _POWER_80 * error
