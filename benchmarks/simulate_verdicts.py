"""How often are arms that do not differ called `real`? Draws such arms many times over and counts.

    python benchmarks/simulate_verdicts.py [--replicates 20000] [--seed 20260901]

The arms are exchangeable (differences symmetric about zero) in every scenario but the last, so that a test at 5 % may
call at most 5 % of them real. Beside each rate stands that of naive resampling: the percentile interval of single
questions, called real as soon as it excludes zero. Exit status 1 when a bounded rate exceeds 5 % by more than two
Monte Carlo standard errors.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_ragbench.canonical import TOLERANCE, quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import compare
from pytest_ragbench.statistics.resampling import Draws, Resamples

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LEVEL = 0.05
SEED = 20260901


@dataclass(frozen=True)
class Scenario:
    """Arms without a true difference.

    Attributes:
        name: As printed.
        labels: The cluster of each question.
        draw: Gives `(n, replicates)` paired differences with mean zero.
        bounded: Whether the arms are exchangeable, so that the rate must stay below 5 %.
    """

    name: str
    labels: list[str]
    draw: Callable[[np.random.Generator, int], NDArray[np.float64]]
    bounded: bool = True


@dataclass(frozen=True)
class Rates:
    """Shares of the replicates: called real, called real by naive resampling, and the bound's Monte Carlo error."""

    real: float
    naive: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether the rate is at most 5 % within two Monte Carlo standard errors."""
        return self.real <= LEVEL + 2 * self.error


def with_ties(n: int, ties: float = 0.7) -> Scenario:
    """Independent questions, most of which score the same under both arms."""

    def draw(generator: np.random.Generator, replicates: int) -> NDArray[np.float64]:
        differs = generator.random((n, replicates)) >= ties
        return np.where(differs, generator.uniform(-1.0, 1.0, (n, replicates)), 0.0)

    return Scenario(f"{n} independent questions, {ties:.0%} ties", [f"{number:04d}" for number in range(n)], draw)


def in_files(*, files: int = 25, questions: int = 8, correlation: float = 0.3, skewed: bool = False) -> Scenario:
    """Questions that share a file share part of their difference: intraclass correlation of a normal random effect."""

    def draw(generator: np.random.Generator, replicates: int) -> NDArray[np.float64]:
        shared = generator.normal(size=(files, 1, replicates))
        own = generator.normal(size=(files, questions, replicates))
        if skewed:  # centred exponentials: the arms differ in shape though not in mean, so flipping signs is not exact
            shared = 1.0 - generator.exponential(size=shared.shape)
            own = 1.0 - generator.exponential(size=own.shape)
        mixed = np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own
        return np.clip(0.2 * mixed, -1.0, 1.0).reshape(files * questions, replicates)

    labels = [f"file{file:02d}" for file in range(files) for _ in range(questions)]
    name = f"{files} files x {questions} questions, ICC {correlation}" + (", skewed differences" if skewed else "")
    return Scenario(name, labels, draw, bounded=not skewed)


SCENARIOS = [with_ties(20), with_ties(50), with_ties(200), in_files(), in_files(skewed=True)]


def rates(scenario: Scenario, replicates: int, *, resamples: int = 10_000, seed: int = SEED, batch: int = 500) -> Rates:
    """Draw the scenario many times and count; every batch of replicates gets resamples of its own."""
    generator = np.random.default_rng(seed)
    clusters = Clusters.of(scenario.labels)
    alone = Clusters.of([f"{number:05d}" for number in range(len(scenario.labels))])
    real = naive = drawn = 0
    while drawn < replicates:
        size = min(batch, replicates - drawn)
        differences = quantise(scenario.draw(generator, size))
        draws = Draws(seed + drawn, resamples)
        found = compare(differences, np.zeros(size, dtype=np.bool_), Resamples(clusters, draws))
        real += sum(comparison.verdict == "real" for comparison in found)
        interval = Resamples(alone, draws).estimate(differences)
        naive += int(((interval.low > TOLERANCE) | (interval.high < -TOLERANCE)).sum())
        drawn += size
    return Rates(real / drawn, naive / drawn, float(np.sqrt(LEVEL * (1 - LEVEL) / drawn)))


def main() -> int:
    """Print one line a scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20_000)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    print(f"{arguments.replicates} replicates, {arguments.resamples} resamples, seed {arguments.seed}")
    print(f"{'scenario':<52} {'real':>7} {'naive':>7}  bound")
    broken = False
    for scenario in SCENARIOS:
        found = rates(scenario, arguments.replicates, resamples=arguments.resamples, seed=arguments.seed)
        bound = f"<= {LEVEL + 2 * found.error:.2%}" if scenario.bounded else "none"
        verdict = "" if not scenario.bounded else " holds" if found.holds else " BROKEN"
        broken |= scenario.bounded and not found.holds
        print(f"{scenario.name:<52} {found.real:>7.2%} {found.naive:>7.2%}  {bound}{verdict}", flush=True)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
