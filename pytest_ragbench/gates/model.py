"""What a gate found: a line for each number it looked at, what it refused, and the verdict over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Outcome = Literal[
    "ok",
    "below floor",
    "regressed",
    "no value",
    "missing",
    "no baseline",
    "inconclusive",
    "shown",
    "enforced elsewhere",
]
"""What became of one number.

`no value`: its mean is null. `missing`: the run has no such metric, suite, domain or configuration. `no baseline`: the
floor holds, and there is nothing to have regressed from. `inconclusive`: it fell by more than is allowed, and chance
could have done it. `shown`: no rule asks for it. `enforced elsewhere`: another suite judges it.
"""

Mode = Literal["full", "floors"]
Status = Literal["passed", "failed", "refused"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
FAILING: frozenset[Outcome] = frozenset({"below floor", "regressed", "no value", "missing"})
"""The outcomes with which a gated line makes the gate red; no other ever does."""


@dataclass(frozen=True, slots=True)
class GateLine:
    """One metric of one configuration in one scope, and what became of it."""

    configuration: str
    """Its name; empty where the line is about all of them, since another suite enforces it."""
    scope: str
    """`overall`, or one part of the run as in `suite:lexical`, `domain:networking`, `difficulty:hard`."""
    metric: str
    current: float | None
    baseline: float | None
    delta: float | None
    """Current minus baseline, so that a loss is negative; None where either is."""
    floor: float | None
    """The least that is allowed, None where no rule sets one."""
    allowed: float | None
    """By how much the metric may fall against the baseline, None where no rule says."""
    n: int
    """Questions in the current mean."""
    gated: bool
    """Whether a rule judges this line; others are shown and never fail."""
    outcome: Outcome
    note: str
    """Empty, or one sentence."""

    @property
    def judged(self) -> bool:
        """Whether something was held against a rule here: a fall alone, with nothing to have fallen from, was not."""
        return self.gated and (self.outcome != "no baseline" or self.floor is not None)

    @property
    def failed(self) -> bool:
        """Whether this line makes the gate red."""
        return self.gated and self.outcome in FAILING


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the run and the baseline, or the run alone, cannot be judged."""

    what: str
    """What differs, as in `question set`."""
    found: str
    expected: str
    remedy: str
    """The command that mends it."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose value differs from the one in the baseline's rows."""

    question: str
    configuration: str
    metric: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of one gate over one run."""

    status: Status
    mode: Mode
    baseline: str | None
    """The baseline's path as it is shown; None where there is none, or where floors alone were asked for."""
    lines: tuple[GateLine, ...]
    refusals: tuple[Refusal, ...]
    flips: tuple[Flip, ...]
    notes: tuple[str, ...]

    @property
    def failures(self) -> tuple[GateLine, ...]:
        """The lines that make the gate red, in order."""
        return tuple(line for line in self.lines if line.failed)


@dataclass(frozen=True, slots=True)
class Refresh:
    """What became of a run that was to become the baseline."""

    shown: str
    """The path of `main.json`, as it is shown."""
    refusals: tuple[Refusal, ...] = ()
    """Why the run was not kept; empty where it was."""
    forced: tuple[str, ...] = ()
    """What is wrong with the run that was kept all the same."""
    written: bool = False
    """Whether the files have changed."""
    lines: tuple[GateLine, ...] = ()
    """The means over all questions beside those of the baseline before; empty where the two cannot be compared."""
