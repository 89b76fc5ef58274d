"""Whether a fall against the baseline is more than chance would give, question by question."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pytest_ragbench.analysis.power import spread_of
from pytest_ragbench.canonical import quantise
from pytest_ragbench.metrics.catalogue import is_binary
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import compare
from pytest_ragbench.statistics.power import needed
from pytest_ragbench.statistics.resampling import Resamples
from pytest_ragbench.statistics.verdicts import level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_ragbench.baselines.model import Baseline, BaselineRow
    from pytest_ragbench.statistics.resampling import Draws
    from pytest_ragbench.statistics.verdicts import Verdict


class Needs(NamedTuple):
    """What would decide: questions in all, and the clusters (gold files) that they take."""

    questions: int
    clusters: int


@dataclass(frozen=True, slots=True)
class Fall:
    """A paired difference against the baseline.

    Attributes:
        counts: Whether it is a regression: `real`, or without any spread and yet beyond what signs would give.
        verdict: Of `statistics.verdicts`.
        p: Of the sign-flip test.
        n: Questions that both scored.
        needs: What would decide on a fall of this size four times in five; None where its spread tells nothing.
        fewest: The clusters below which no fall at all is real, where this has fewer; else None.
    """

    counts: bool
    verdict: Verdict
    p: float
    n: int
    needs: Needs | None
    fewest: int | None = None


def judge_of(
    baseline: Baseline, rows: Mapping[tuple[str, str], Mapping[str, float | None]], draws: Draws, confidence: float
) -> Callable[[str, str, str], Fall | None]:
    """How falls are judged: over the rows of a run and of its baseline, whole clusters resampled and flipped.

    Args:
        baseline: With its rows.
        rows: Of the run, (question, configuration) to metric to value.
        draws: Of the run, so that the gate sees the resamples that the report shows.
        confidence: Of the run's intervals.

    Returns:
        From configuration, scope and metric to the fall; None where no question was scored in both.
    """

    def judge(configuration: str, scope: str, metric: str) -> Fall | None:
        members = [row for row in baseline.rows if row.configuration == configuration and in_scope(row, scope)]
        pairs = [
            (row.cluster, before, after)
            for row in members
            if (before := row.metrics.get(metric)) is not None
            and (after := rows.get((row.question, configuration), {}).get(metric)) is not None
        ]
        return _fall(pairs, draws, confidence, binary=is_binary(metric)) if pairs else None

    return judge


def in_scope(row: BaselineRow, scope: str) -> bool:
    """Whether a row belongs to `overall`, or to `suite:NAME`, `domain:NAME`, `difficulty:NAME`."""
    grouping, colon, name = scope.partition(":")
    return not colon or row.group(grouping) == name


def _fall(pairs: list[tuple[str, float, float]], draws: Draws, confidence: float, *, binary: bool) -> Fall:
    labels, before, after = zip(*pairs, strict=True)
    differences = (quantise(np.array(after)) - quantise(np.array(before)))[:, None]
    resamples = Resamples(Clusters.of(labels), draws)
    found = compare(differences, np.array([binary]), resamples, confidence)[0]
    _, errors = resamples.estimate_with_errors(differences, confidence)
    spread = spread_of(differences[:, 0], resamples.clusters, float(errors[0]))
    wanted = needed(spread, abs(found.delta)) if found.delta else None
    # Where every question fell alike, resampling has nothing to vary; the sign-flip test still knows that all fell.
    level = level_of(confidence)
    fewest = 1 + ceil(-log2(level))  # of n clusters that all fell, the p of the sign flip is 2 / 2^n
    alike = found.verdict == "indeterminate" and found.p_sign_flip <= level
    return Fall(
        counts=found.verdict == "real" or alike,
        verdict=found.verdict,
        p=found.p_sign_flip,
        n=found.n,
        needs=None if wanted is None else Needs(wanted.questions, wanted.clusters),
        fewest=fewest if resamples.clusters.count < fewest else None,
    )
