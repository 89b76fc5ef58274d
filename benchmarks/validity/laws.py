"""What the simulation draws: the scores of arms on questions, from laws whose means and effects are known exactly.

A law says how often a question scores what under two arms. A ladder of arms is the chain that such a law makes. How
often the statistics are right about them is left to `counting`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ICC = 0.3
FILE_SIZE = 8


@dataclass(frozen=True)
class Law:
    """Scores of a question under two arms.

    Attributes:
        name: As printed.
        about: What it stands for, as printed.
        values: `(v,)` scores that occur.
        joint: `(v, v)` probability of a score under the first arm and one under the second.
        binary: Whether the scores are 0 and 1.
        regular: Whether neither the scores nor their differences are so skewed that theory warns of the interval.
    """

    name: str
    about: str
    values: NDArray[np.float64]
    joint: NDArray[np.float64]
    binary: bool = False
    regular: bool = True

    @property
    def mean(self) -> float:
        """Of the first arm."""
        return float(self.joint.sum(axis=1) @ self.values)

    @property
    def effect(self) -> float:
        """The second arm's mean minus the first's."""
        return float(self.joint.sum(axis=0) @ self.values) - self.mean

    @property
    def exchangeable(self) -> bool:
        """Whether the arms may be swapped, which makes the sign-flip test exact."""
        return bool(np.array_equal(self.joint, self.joint.T))


def hits(rate: float, changed: float, about: str, *, regular: bool) -> Law:
    """A binary metric of a mean `rate`, `changed` of the questions won and as many lost."""
    joint = np.array([[1.0 - rate - changed, changed], [changed, rate - changed]])
    return Law(f"hit, mean {rate:.2f}", about, np.array([0.0, 1.0]), joint, binary=True, regular=regular)


def ranks() -> Law:
    """nDCG@10 of one gold source, at rank 1 to 10 or not found; the other arm ranks two questions in five anew."""
    shares = np.array([0.40, 0.13, 0.08, 0.05, 0.04, 0.03, 0.02, 0.02, 0.02, 0.01, 0.20])
    values = np.append(1.0 / np.log2(np.arange(2.0, 12.0)), 0.0)
    joint = 0.6 * np.diag(shares) + 0.4 * np.outer(shares, shares)
    about = "one gold source: at rank 1 in 40 % of the questions, not found in 20 %, else between; 60 % ranked alike"
    return Law("nDCG@10", about, values, joint)


def lopsided() -> Law:
    """Differences with mean zero that are not symmetric: rank 3 becomes 2 often, rank 1 becomes none seldom."""
    second, third = 1.0 / np.log2(3.0), 0.5
    lost = 0.04
    won = lost / (second - third)
    joint = np.zeros((4, 4))  # 0, rank 3, rank 2, rank 1
    joint[3, 0], joint[1, 2], joint[3, 3] = lost, won, 0.45
    joint[0, 0] = 1.0 - joint.sum()
    about = f"rank 3 becomes rank 2 on {100 * won:.1f} % of the questions, rank 1 is lost on {100 * lost:.0f} %"
    return Law("nDCG@10, lopsided", about, np.array([0.0, third, second, 1.0]), joint, regular=False)


LAWS = (
    hits(0.70, 0.10, "10 % of the questions won, 10 % lost", regular=True),
    ranks(),
    hits(0.95, 0.03, "an easy suite: 3 % of the questions won, 3 % lost", regular=False),
    lopsided(),
)


def tilted(law: Law, effect: float) -> Law:
    """The law, its pairs of scores weighted by `exp(theta * difference)` such that the means differ by `effect`."""
    gaps = law.values[None, :] - law.values[:, None]

    def at(theta: float) -> Law:
        weighted = law.joint * np.exp(theta * gaps)
        return replace(law, joint=weighted / weighted.sum())

    low, high = -40.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if at(middle).effect < effect else (low, middle)
    return at((low + high) / 2.0)


@dataclass(frozen=True)
class Questions:
    """How many, and which share a file.

    Attributes:
        n: Questions.
        clustered: Whether files hold eight each (the last perhaps fewer) that correlate, or one.
    """

    n: int
    clustered: bool

    @property
    def files(self) -> NDArray[np.intp]:
        """`(n,)` number of each question's file."""
        return np.arange(self.n) // (FILE_SIZE if self.clustered else 1)

    @property
    def count(self) -> int:
        """Number of files."""
        return int(self.files[-1]) + 1


def draw(
    law: Law, questions: Questions, arms: int, replicates: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Draw `(arms, n, replicates)` numbers of scores, each arm from the one before by the law's conditional shares.

    In a file, a question has the scores that the file drew with probability root of ICC, else its own. Two questions
    of a file then agree in the file's scores with probability ICC and are independent otherwise, so that whatever is
    computed from a question's scores (under one arm, or the difference of two) has an intraclass correlation of ICC.
    """
    own = _chain(law, arms, (questions.n, replicates), generator)
    if not questions.clustered:
        return own
    shared = _chain(law, arms, (questions.count, replicates), generator)[:, questions.files]
    return np.where(generator.random((questions.n, replicates)) < np.sqrt(ICC), shared, own)


def _chain(law: Law, arms: int, shape: tuple[int, int], generator: np.random.Generator) -> NDArray[np.intp]:
    first = np.cumsum(law.joint.sum(axis=1))
    count = len(first)
    given = law.joint + np.diag(law.joint.sum(axis=1) == 0.0)  # a score that the first arm never has leads nowhere
    steps = np.cumsum(given, axis=1) / given.sum(axis=1, keepdims=True)
    steps[:, -1] = first[-1] = 1.0
    ascending = (np.arange(count)[:, None] + steps).ravel()  # row r runs from r to r + 1, so that one search serves all
    drawn = np.empty((arms, *shape), dtype=np.intp)
    drawn[0] = np.searchsorted(first, generator.random(shape), side="right")
    for arm in range(1, arms):
        before = drawn[arm - 1]
        found = np.searchsorted(ascending, before + generator.random(shape), side="right")
        drawn[arm] = np.minimum(found - before * count, count - 1)  # r + 0.99... may round up to r + 1
    return drawn
