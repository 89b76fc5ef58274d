"""What a probe of one commit yields, and what all of them come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ragbench.bisection.search import Bisection


class UnscorableError(Exception):
    """A commit has no value; the text says why. It never leaves the package."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as git tells it.

    Attributes:
        sha: Its full name.
        subject: The first line of its message.
        author: Who wrote it.
        date: When it was committed, as YYYY-MM-DD.
        parents: The full names of its parents.
    """

    sha: str
    subject: str
    author: str
    date: str
    parents: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        """The first ten characters of its name."""
        return self.sha[:10]


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a probe yielded.

    Attributes:
        value: The metric's mean, or None.
        reason: Why there is no value, or None.
    """

    value: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What all commits are held against.

    Attributes:
        metric: The metric's full name.
        configuration: The configuration that is judged.
        threshold: A value below it is regressed.
        origin: Where the threshold comes from: `typed`, `midway` or `good end`.
    """

    metric: str
    configuration: str
    threshold: float
    origin: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished bisect.

    Attributes:
        yardstick: What commits were held against.
        commits: From the good end to the bad end.
        found: What the search found.
        measured: Full name of a commit to what its probe yielded.
        questions: Where the question sets came from, in words.
        corpus: Where the corpus came from, in words.
        dirty: Whether the user's tree has changes, which were not measured.
    """

    yardstick: Yardstick
    commits: tuple[Commit, ...]
    found: Bisection[Commit]
    measured: dict[str, Measurement]
    questions: str
    corpus: str
    dirty: bool
