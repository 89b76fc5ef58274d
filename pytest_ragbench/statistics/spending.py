"""What is left of one level for the j-th look at the same questions, so that all looks together keep to it."""

from __future__ import annotations

from math import ceil, pi

from pytest_ragbench.errors import StatisticsError

MOST_RESAMPLES = 200_000

_IN_TAILS = 50
"""Resamples that the two tails of an interval should hold together."""


def spent_level(look: int, level: float) -> float:
    """The share of a level at which the j-th look is judged: `6 * level / (pi^2 * j^2)`.

    The shares of infinitely many looks sum to the level, since `1 + 1/4 + 1/9 + ... = pi^2 / 6`; by Bonferroni's
    inequality the chance that any look calls a difference real that is not there stays at most the level, however the
    looks depend on each other. Source: the alpha-spending rule (`sum of alpha(j) <= alpha`) as in Foster and Stine,
    Alpha-investing (JRSS B 70:2, 2008), section 2, with weights 1/j^2.

    Args:
        look: j, from 1.
        level: What all looks share, as 0.05.

    Raises:
        StatisticsError: A look below 1, or a level outside 0 to 1.
    """
    if look < 1 or not 0.0 < level < 1.0:
        raise StatisticsError(f"expected a look from 1 and a level between 0 and 1, found {look} and {level}")
    return 6.0 * level / (pi * look) ** 2


def resamples_for(level: float, least: int) -> int:
    """Resamples (and flips) enough for a level: about 50 beyond the interval's ends, and a p that can fall below it.

    With 10,000 resamples three would lie beyond the ends of an interval of the tenth look, one or two at either end; p
    could not fall below the level of the eighteenth.

    Args:
        level: Of the look.
        least: As many as are drawn in any case.
    """
    return max(least, min(ceil(_IN_TAILS / level), MOST_RESAMPLES))
