"""All the counts of one page, and what they are held to. How they are told is left to `words` and `page`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from benchmarks.validity.counting import CONFIDENCE, EFFECTS, Effort, Share, null, power
from benchmarks.validity.laws import LAWS, Questions
from pytest_ragbench.statistics.verdicts import LEVEL

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.validity.counting import Null, Power

PROMISED_FROM = 50
"""Questions from which an interval of independent, regular values is held to what the method promises."""


@dataclass(frozen=True)
class Results:
    """Everything that the page tells."""

    effort: Effort
    nulls: tuple[Null, ...]
    powers: tuple[Power, ...]

    def at_null(self, *, clustered: bool) -> list[Null]:
        """Of one structure, by law and size."""
        return [one for one in self.nulls if one.questions.clustered == clustered]

    def at_effects(self, name: str, *, clustered: bool) -> list[Power]:
        """Of one law and structure, by size and effect."""
        return [one for one in self.powers if (one.law.name, one.questions.clustered) == (name, clustered)]


def measure(effort: Effort, tell: Callable[[str], None] = lambda _: None) -> Results:
    """Draw and count everything; `tell` hears of each law."""
    nulls: list[Null] = []
    powers: list[Power] = []
    for number, law in enumerate(LAWS):
        tell(f"{law.name} ...")
        for clustered in (False, True):
            for n in effort.sizes:
                nulls.append(null(number, Questions(n, clustered), effort))
                if law.regular:
                    powers += [power(number, Questions(n, clustered), effect, effort) for effect in EFFECTS]
    return Results(effort, tuple(nulls), tuple(powers))


def promised(n: int) -> float:
    """Coverage of the percentile interval of the mean of n independent normal values, by arithmetic.

    Its half-width is 1.96 standard deviations (over n) / sqrt(n), so that it holds the mean when Student's t with n - 1
    degrees of freedom is at most 1.96 sqrt((n - 1) / n). Source: Hesterberg, What teachers should know about the
    bootstrap (Am. Stat. 69:4, 2015), on narrowness bias.
    """
    reach = stats.norm.ppf(0.5 + CONFIDENCE / 2.0) * np.sqrt((n - 1) / n)
    return float(1.0 - 2.0 * stats.t.sf(reach, n - 1))


def broken(results: Results) -> list[str]:
    """What lies beyond three Monte Carlo standard errors of what is promised, a line each."""
    found = []
    for one in results.nulls:
        where = place(one)
        if one.ladder is not None and one.ladder.value > LEVEL + 3 * one.ladder.error:
            found.append(f"{where}: {rate(one.ladder)} of the ladders hold a false `real`")
        n = one.questions.n
        if one.law.regular and not one.questions.clustered and n >= PROMISED_FROM:
            found += [
                f"{where}: the interval of the {name} covers {rate(share)}, promised are {100 * promised(n):.1f} %"
                for name, share in (("mean", one.mean), ("difference", one.difference))
                if share.value < promised(n) - 3 * share.error
            ]
    return found


def short(share: Share) -> bool:
    """Whether a coverage is below 95 % by more than two Monte Carlo standard errors."""
    return share.value < CONFIDENCE - 2 * share.error


def rate(share: Share) -> str:
    """`4.7 ± 0.3 %`."""
    return f"{100 * share.value:.1f} ± {100 * share.error:.1f} %"


def place(one: Null) -> str:
    """Which cell of the tables."""
    return f"{one.law.name}, {'in files' if one.questions.clustered else 'independent'}, n = {one.questions.n}"
