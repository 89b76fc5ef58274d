"""What a run could have found: for each pair, suite and metric the detectable effect now, and what an effect needs."""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.cells import blocks
from pytest_ragbench.analysis.means import MIN_SCORED
from pytest_ragbench.canonical import TOLERANCE, number
from pytest_ragbench.metrics.catalogue import is_binary
from pytest_ragbench.statistics.exact import QUANTUM
from pytest_ragbench.statistics.power import (
    Spread,
    mcnemar_detectable,
    mcnemar_needed,
    needed,
    reachable,
)
from pytest_ragbench.statistics.verdicts import minimal_detectable_effect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.statistics.clusters import Clusters

ALL = ""
"""In place of a suite: all questions."""


def power(
    cells: Cells, pairs: Sequence[tuple[str, str]], metrics: Sequence[str], effect: float
) -> list[dict[str, Any]]:
    """What every comparison can find, and what it would take to find an effect.

    Args:
        cells: Of a run.
        pairs: (configuration, other).
        metrics: Of the run.
        effect: Difference of means, above 0.

    Returns:
        One mapping for each pair, metric and suite, all questions first (the suite is then empty): `configuration`,
        `other`, `metric`, `suite`, `n`, `clusters`, `diag`, `differing`, `delta`, `detectable`, `reached`,
        `design_effect`, `icc`, `ceiling` (whether the other's mean leaves no room for a gain of the effect), `needs`
        (`questions`, `clusters`), `in_these_clusters` (`possible`, `questions`), `mcnemar` (`discordant`, `detectable`,
        `questions`; None for a graded metric). None where nothing can be told, or where no number would do.
    """
    columns = [cells.table.metric_names.index(metric) for metric in metrics]
    suites = [ALL, *sorted({question.suite for question in cells.questions if question.answerable})]
    found = {(suite, *key): entry for suite in suites for key, entry in _of_suite(cells, suite, pairs, columns, effect)}
    keys = [(suite, *pair, column) for pair in pairs for column in columns for suite in suites]
    return [found[key] for key in keys if key in found]


def _of_suite(
    cells: Cells, suite: str, pairs: Sequence[tuple[str, str]], columns: Sequence[int], effect: float
) -> Iterator[tuple[tuple[str, str, int], dict[str, Any]]]:
    members = np.array([suite in (ALL, question.suite) for question in cells.questions], dtype=np.bool_)

    def difference(key: tuple[str, str, int]) -> NDArray[np.float64]:
        configuration, other, column = key
        values = cells.metric(configuration, column) - cells.metric(other, column)
        return np.where(members, values, np.nan)

    for questions, block, values in blocks([(*pair, column) for pair in pairs for column in columns], difference):
        if not questions.size:
            continue
        resamples = cells.resamples(questions)
        estimates, errors = resamples.estimate_with_errors(values)
        for place, key in enumerate(block):
            spread = spread_of(values[:, place], resamples.clusters, float(errors[place]))
            configuration, other, column = key
            metric = cells.table.metric_names[column]
            base = float(cells.metric(other, column)[questions].mean()) * QUANTUM
            yield (
                key,
                {
                    "configuration": configuration,
                    "other": other,
                    "metric": metric,
                    "suite": suite,
                    "delta": number(estimates.mean[place]),
                    "ceiling": base + effect > 1.0 + TOLERANCE,
                    **_told(spread, effect),
                    "mcnemar": _mcnemar(values[:, place], effect) if is_binary(metric) else None,
                },
            )


def spread_of(differences: NDArray[np.float64], clusters: Clusters, error: float) -> Spread:
    """The spread of quantised differences, the same bits on every machine."""
    values = (differences * QUANTUM).tolist()
    mean = fsum(values) / len(values)
    variance = fsum((value - mean) ** 2 for value in values) / len(values)
    sums = clusters.sums(differences[:, None])[:, 0]
    return Spread(
        n=clusters.n,
        clusters=clusters.count,
        error=error,
        independent=sqrt(variance / len(values)),
        size=clusters.n / clusters.effective_n,  # the sum of squared sizes over n
        differing=int((np.abs(sums) * QUANTUM > TOLERANCE).sum()),
    )


def _told(spread: Spread, effect: float) -> dict[str, Any]:
    detectable = minimal_detectable_effect(spread.error)
    wanted = needed(spread, effect)
    return {
        "n": spread.n,
        "clusters": spread.clusters,
        "diag": spread.n < MIN_SCORED,
        "differing": spread.differing,
        "detectable": number(detectable),
        "reached": wanted is not None and wanted.questions <= spread.n,
        "design_effect": number(spread.design_effect),
        "icc": number(spread.icc),
        "needs": None if wanted is None else wanted._asdict(),
        "in_these_clusters": reachable(spread, effect)._asdict(),
    }


def _mcnemar(differences: NDArray[np.float64], effect: float) -> dict[str, Any]:
    discordant = int((np.abs(differences) * QUANTUM > TOLERANCE).sum())
    share = discordant / len(differences)
    return {
        "discordant": discordant,
        "detectable": number(mcnemar_detectable(len(differences), share)),
        "questions": mcnemar_needed(share, effect),
    }
