"""The search for the first regressed commit: which commit is looked at next, and what the looks add up to.

Pure: it knows neither git nor pytest. A commit is whatever its caller makes of it, and a probe says what it is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, get_args

from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Commit = TypeVar("Commit")

Outcome = Literal["good", "regressed", "unscorable"]
"""What a probe says of a commit; `unscorable`: there is no value to judge."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Answer = Literal["found", "could not be scored", "hidden", "no regression"]


@dataclass(frozen=True, slots=True)
class Bisection(Generic[Commit]):
    """What a search found.

    Attributes:
        answer: `found`: the first regressed commit, which was scored. `could not be scored`: the first commit that
            counts as regressed has no value. `hidden`: only commits without a value lie before the first that is known
            to be regressed, and each of them may be it. `no regression`: the bad end is good.
        suspects: The commits of which one is the first regressed, oldest first: one, several when `hidden`, else none.
        before: The last commit before the suspects that is known to be good; None without suspects.
        probes: Every commit that was probed, in that order, and what it was.
    """

    answer: Answer
    suspects: tuple[Commit, ...]
    before: Commit | None
    probes: tuple[tuple[Commit, Outcome], ...]

    @property
    def first_bad(self) -> Commit | None:
        """The first regressed commit, scored or not; None when there is none or it is hidden."""
        return self.suspects[0] if len(self.suspects) == 1 else None


def bisect_commits(
    commits: Sequence[Commit], probe: Callable[[Commit], Outcome], *, skip_unscorable: bool = False
) -> Bisection[Commit]:
    """Find the first regressed commit by binary search.

    Both ends are probed first, the bad one before the good one; no commit is probed twice. Of n commits after the good
    end at most ceil(log2 n) + 2 are probed, and with `skip_unscorable` at most two more for each that is skipped.

    Args:
        commits: From the good end to the bad end, both included, oldest first.
        probe: Says what a commit is. It need not be a pure function: it is asked once.
        skip_unscorable: Search around commits without a value; by default they count as regressed.

    Returns:
        The answer. When regressed and good commits alternate, it is one of the places where good turns to regressed.

    Raises:
        UsageError: Fewer than two commits, or the good end is not good, an end has no value and may not be skipped,
            or the probe says something else.
    """
    if len(commits) < 2:
        raise UsageError(f"a search needs a good end and a bad end, found {len(commits)} commits")
    seen: dict[int, Outcome] = {}

    def look(index: int) -> Outcome:
        found = probe(commits[index])
        if found not in OUTCOMES:
            raise UsageError(f"the probe of {commits[index]!r} says {found!r}; it says one of {', '.join(OUTCOMES)}")
        seen[index] = found
        return found

    def answered(answer: Answer, low: int = 0, high: int = -1) -> Bisection[Commit]:
        suspects = tuple(commits[low + 1 : high + 1])
        probes = tuple((commits[index], outcome) for index, outcome in seen.items())
        return Bisection(answer, suspects, commits[low] if suspects else None, probes)

    low, high = 0, len(commits) - 1
    bad_end, good_end = look(high), look(low)
    _check_ends(good_end, bad_end, skip_unscorable=skip_unscorable)
    if bad_end == "good":
        return answered("no regression")
    streak = 0
    while (index := _next([at for at in range(low + 1, high) if at not in seen], streak)) is not None:
        outcome = look(index)
        streak = streak + 1 if outcome == "unscorable" and skip_unscorable else 0
        if outcome == "good":
            low = index
        elif not streak:
            high = index
    if high - low > 1:
        return answered("hidden", low, high)
    return answered("could not be scored" if seen[high] == "unscorable" else "found", low, high)


def _check_ends(good: Outcome, bad: Outcome, *, skip_unscorable: bool) -> None:
    """Raise for ends between which nothing can be searched."""
    if good != "good":
        raise UsageError(f"the good end {'could not be scored' if good == 'unscorable' else 'is regressed itself'}")
    if bad == "unscorable" and skip_unscorable:
        raise UsageError("the bad end could not be scored, and an end cannot be skipped")


def probes_at_most(commits: int) -> int:
    """How many probes a search over so many commits, both ends included, takes at most when it skips none."""
    return 2 + max(commits - 2, 0).bit_length()


def _next(left: Sequence[int], streak: int) -> int | None:
    """The commit to look at next, or None when none is left.

    The middle one of those that have not been looked at between a good and a regressed commit. After a streak of
    skipped ones it lies further and further from there, to either side in turn: commits without a value often stand
    together.
    """
    if not left:
        return None
    reach = 0 if streak == 0 else 2 ** ((streak - 1) // 2) * (-1 if streak % 2 else 1)
    return left[min(max((len(left) - 1) // 2 + reach, 0), len(left) - 1)]
