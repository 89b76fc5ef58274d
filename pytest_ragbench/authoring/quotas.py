"""How many questions each suite has, of how many it should have. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.questions.suites import BUILT_IN, TIERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_ragbench.questions.model import Question


@dataclass(frozen=True, slots=True)
class Quota:
    """One suite's count.

    Attributes:
        suite: Its name.
        target: How many questions it should have, None for a project's own suite.
        have: How many it has, rejected ones left out.
        dev: Of these, in the dev split.
        test: Of these, in the test split.
        unsplit: Of these, without a split.
        rejected: Thrown out by review, not in `have`.
        tiers: Tier to (dev, test, unsplit).
    """

    suite: str
    target: int | None
    have: int
    dev: int
    test: int
    unsplit: int
    rejected: int
    tiers: Mapping[str, tuple[int, int, int]]


def quotas(questions: Iterable[Question]) -> list[Quota]:
    """One entry a suite: the built-in ones in their order, then a project's own by name."""
    counts: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in BUILT_IN}
    rejected: Counter[str] = Counter()
    for question in questions:
        counter = counts.setdefault(question.suite, Counter())
        if question.rejected:
            rejected[question.suite] += 1
        else:
            counter[question.tier, question.split or "null"] += 1
    own = sorted(set(counts) - set(BUILT_IN))
    return [_quota(name, counts[name], rejected[name]) for name in (*BUILT_IN, *own)]


def _quota(name: str, counter: Counter[tuple[str, str]], rejected: int) -> Quota:
    tiers = {tier: (counter[tier, "dev"], counter[tier, "test"], counter[tier, "null"]) for tier in TIERS}
    dev, test, unsplit = (sum(tier[side] for tier in tiers.values()) for side in range(3))
    target = BUILT_IN[name].target if name in BUILT_IN else None
    return Quota(name, target, dev + test + unsplit, dev, test, unsplit, rejected, tiers)
