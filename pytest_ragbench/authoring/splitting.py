"""Which side of the split a question falls on. Pure: a function of ids, suites, tiers and the splits already given.

Only nulls are filled, so nothing that was split ever moves. Within each stratum (suite x tier) the share of test
questions is met to within one question; what rounding leaves over is carried to the next stratum, so that many small
strata together meet the share as well.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from pytest_ragbench.authoring.passages import groups_by_gold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.questions.model import Question, Split

Stratum = tuple[str, str]
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a split decides.

    Attributes:
        splits: Id to the side it was given; only questions that had none.
        torn: Groups (ids) that stand on both sides, because they did before.
    """

    splits: Mapping[str, Split]
    torn: tuple[tuple[str, ...], ...] = ()


def stratum_of(question: Question) -> Stratum:
    """The stratum of a question: its suite and tier."""
    return question.suite, question.tier


def rank(name: str) -> str:
    """The order in which ties are broken: a hash of the id, which no neighbour, file or seed changes."""
    return hashlib.sha256(name.encode()).hexdigest()


def assign(questions: Sequence[Question], share: Fraction) -> Assignment:
    """Give every unsplit question a side, each on its own.

    Args:
        questions: All questions of the sets; rejected ones are left alone.
        share: Wanted share of test questions, above 0 and below 1.
    """
    strata: dict[Stratum, list[Question]] = {}
    for question in questions:
        if not question.rejected:
            strata.setdefault(stratum_of(question), []).append(question)
    splits: dict[str, Split] = {}
    carried = Fraction(0)
    for stratum in sorted(strata):
        members = strata[stratum]
        unsplit = sorted((one.id for one in members if one.split is None), key=rank)
        before = sum(one.split == "test" for one in members)
        target = share * len(members)
        wanted = _nearest(target, target + carried)
        more = min(max(wanted - before, 0), len(unsplit))
        splits.update((name, "test" if index < more else "dev") for index, name in enumerate(unsplit))
        # Bounded, so that a stratum that was split by hand does not tilt all the others.
        carried = min(max(carried + target - (before + more), -_HALF), _HALF)
    return Assignment(splits)


def _nearest(target: Fraction, pulled: Fraction) -> int:
    """Floor or ceiling of `target`, whichever is nearer to `pulled`; on a tie the floor."""
    low = floor(target)
    return low + 1 if target > low and pulled - low > _HALF else low


def assign_by_gold(questions: Sequence[Question], share: Fraction) -> Assignment:
    """Give every unsplit question a side, those that share a required passage the same one.

    Groups are placed whole, the largest first and ties by the hash, each where it leaves the strata nearest to the
    share; a stratum may then miss it by more than one. A group that is already on one side is completed there.
    """
    alive = [question for question in questions if not question.rejected]
    size = Counter(map(stratum_of, alive))
    tests = Counter(stratum_of(question) for question in alive if question.split == "test")
    devs = Counter(stratum_of(question) for question in alive if question.split == "dev")
    splits: dict[str, Split] = {}
    torn = []
    groups = groups_by_gold(alive)
    settled = [group for group in groups if any(one.split for one in group)]
    free = [group for group in groups if not any(one.split for one in group)]
    for group in settled + sorted(free, key=lambda group: (-len(group), rank(group[0].id))):
        sides = {one.split for one in group if one.split}
        if len(sides) == 2:
            torn.append(tuple(one.id for one in group))
        unsplit = [one for one in group if one.split is None]
        if not unsplit:
            continue
        counts = Counter(map(stratum_of, unsplit))
        side: Split = next(iter(sides)) if len(sides) == 1 else _better_side(counts, size, tests, devs, share)
        (tests if side == "test" else devs).update(counts)
        splits.update((one.id, side) for one in unsplit)
    return Assignment(splits, tuple(torn))


def _better_side(
    counts: Mapping[Stratum, int],
    size: Mapping[Stratum, int],
    tests: Mapping[Stratum, int],
    devs: Mapping[Stratum, int],
    share: Fraction,
) -> Split:
    """The side on which more of these questions are still wanted, relative to what it wants in all.

    Strata of one question always tie; the whole set then decides.
    """
    lead = sum(_lead(size[key], tests[key], devs[key], share) * count for key, count in sorted(counts.items()))
    overall = _lead(sum(size.values()), sum(tests.values()), sum(devs.values()), share)
    return "test" if (lead or overall) > 0 else "dev"


def _lead(size: int, tests: int, devs: int, share: Fraction) -> Fraction:
    """Above 0 where the test side is further from its share of `size` than the dev side, relative to the share."""
    return (share * size - tests) * (1 - share) - ((1 - share) * size - devs) * share
