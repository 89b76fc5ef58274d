"""Exact Shapley values of a complete factorial: what each factor adds, averaged over the orders of switching on."""

from __future__ import annotations

from itertools import combinations
from math import comb, fsum
from typing import TYPE_CHECKING

from pytest_ragbench.errors import StatisticsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
