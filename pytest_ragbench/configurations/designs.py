"""Arms from factors: the ladder, leave-one-out and the full factorial, for any pipeline; pure.

A design only says which factors each arm has and which arm it is compared with. `loading` merges the overrides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_FACTORIAL_FACTORS = 10
"""Beyond ten factors a full factorial has more than 1,024 arms and is not generated."""

FULL = "full"
NONE = "F:none"


@dataclass(frozen=True, slots=True)
class Arm:
    """A configuration before its overrides are merged.

    Attributes:
        name: Its name.
        factors: The factors that are on.
        overrides: Its own overrides, over those of the factors.
        pairs: Names of the arms it is compared with.
    """

    name: str
    factors: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    pairs: tuple[str, ...] = ()


def ladder_arms(rungs: Sequence[tuple[str, Sequence[str]]]) -> tuple[Arm, ...]:
    """One arm a rung, with exactly the rung's factors, compared with the rung before."""
    names = [name for name, _ in rungs]
    before = [(), *((name,) for name in names[:-1])]
    return tuple(Arm(name, tuple(factors), {}, pairs) for (name, factors), pairs in zip(rungs, before, strict=True))


def leave_one_out_arms(factors: Sequence[str]) -> tuple[Arm, ...]:
    """`full` with every factor, then `-f` without the factor f, each compared with `full`."""
    without = (Arm(f"-{left}", tuple(name for name in factors if name != left), {}, (FULL,)) for left in factors)
    return (Arm(FULL, tuple(factors)), *without)


def factorial_arms(factors: Sequence[str]) -> tuple[Arm, ...]:
    """`F:none`, then `F:a`, `F:b`, ..., `F:a+b`, ...: every subset by size, each compared with `F:none`."""
    subsets = (subset for size in range(1, len(factors) + 1) for subset in combinations(factors, size))
    return (Arm(NONE), *(Arm("F:" + "+".join(subset), subset, {}, (NONE,)) for subset in subsets))
