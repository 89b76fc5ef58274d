"""Means with intervals: over all questions, over groups of them, and recall by hop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.cells import blocks
from pytest_ragbench.canonical import number, quantise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells, Key
    from pytest_ragbench.questions.model import Question

MIN_SCORED = 30
"""A suite with fewer scored questions is a diagnostic, not a result."""

GROUPINGS: dict[str, Callable[[Question], str | None]] = {
    "by_suite": lambda question: question.suite,
    "by_tier": lambda question: question.tier,
    "by_domain": lambda question: question.domain,
    "by_difficulty": lambda question: question.difficulty,
    "by_strategy": lambda question: question.strategy,
}
"""Sections of a configuration's results and what they group by; a question without a value is in no group."""


def overall(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration -> metric -> `{mean, low, high, n}` over all questions."""
    return metric_means(cells, np.ones(len(cells.questions), dtype=np.bool_))


def grouped(cells: Cells, group_of: Callable[[Question], str | None]) -> dict[str, dict[str, dict[str, Any]]]:
    """Configuration -> group -> metric -> `{mean, low, high, n}`, over the groups that hold an answerable question."""
    groups = [group_of(question) if question.answerable else None for question in cells.questions]
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in cells.arms}
    for group in sorted({group for group in groups if group is not None}):
        members = np.array([other == group for other in groups], dtype=np.bool_)
        for configuration, means in metric_means(cells, members).items():
            found[configuration][group] = means
    return found


def mark_suites(cells: Cells, by_suite: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Add to every suite of every configuration its `_set`: `{n, clusters, effective_n, diag}`."""
    for configuration, suites in by_suite.items():
        scored = cells.arms[configuration].scored
        for suite, means in suites.items():
            members = np.array([question.suite == suite for question in cells.questions], dtype=np.bool_)
            size = cells.set_size(np.flatnonzero(scored & members))
            means["_set"] = {**size, "diag": size["n"] < MIN_SCORED}


def recall_by_hop(cells: Cells) -> dict[str, dict[str, dict[str, Any]]]:
    """Configuration -> hop -> `recall@k` -> `{mean, low, high, n}` over questions with sources of the hop."""
    metric = f"recall@{cells.plan.k}"
    wanted = [_hop_masks(question) for question in cells.questions]
    satisfied = {name: cells.table.satisfied(arm.slots) for name, arm in cells.arms.items()}

    def recall(key: tuple[str, int]) -> NDArray[np.float64]:
        configuration, hop = key
        scored = cells.arms[configuration].scored.tolist()
        values = [
            (found & masks[hop]).bit_count() / masks[hop].bit_count() if counts and hop in masks else np.nan
            for found, masks, counts in zip(satisfied[configuration], wanted, scored, strict=True)
        ]
        return quantise(np.array(values, dtype=np.float64))

    hops = sorted({hop for masks in wanted for hop in masks})
    means = _means(cells, [(name, hop) for name in cells.arms for hop in hops], recall)
    return {name: {str(hop): {metric: means[name, hop]} for hop in hops} for name in cells.arms}


def _hop_masks(question: Question) -> dict[int, int]:
    """Hop to its required sources, as a bit mask over their indexes."""
    masks: dict[int, int] = {}
    for index in question.required if question.answerable else ():
        hop = question.gold[index].hop
        if hop is not None:
            masks[hop] = masks.get(hop, 0) | 1 << index
    return masks


def metric_means(cells: Cells, members: NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
    """Configuration -> metric -> `{mean, low, high, n}` over some of the questions, `(n_questions,)`."""
    names = cells.table.metric_names

    def values(key: tuple[str, int]) -> NDArray[np.float64]:
        return np.where(members, cells.metric(*key), np.nan)

    means = _means(cells, [(name, column) for name in cells.arms for column in range(len(names))], values)
    return {name: {metric: means[name, column] for column, metric in enumerate(names)} for name in cells.arms}


def means_of(cells: Cells, columns: Mapping[Key, NDArray[np.float64]]) -> dict[Key, dict[str, Any]]:
    """`{mean, low, high, n}` of columns of any size, `(n_questions,)` each, NaN where a question does not count.

    A column is divided by a power of two, which rounds nothing, so that sums of large counts stay exact too.
    """
    scales = {key: _scale(values) for key, values in columns.items()}
    return _means(cells, columns, lambda key: quantise(columns[key] / scales[key]), scales)


def _scale(values: NDArray[np.float64]) -> float:
    largest = float(np.nanmax(np.abs(values), initial=1.0))
    return float(2.0 ** np.ceil(np.log2(max(largest, 1.0))))


def _means(
    cells: Cells,
    keys: Iterable[Key],
    fetch: Callable[[Key], NDArray[np.float64]],
    scales: Mapping[Key, float] | None = None,
) -> dict[Key, dict[str, Any]]:
    alike: dict[tuple[bytes, float], list[Key]] = {}  # `hit` and `recall` of one source, say: resampled once
    for key in keys:
        alike.setdefault((fetch(key).tobytes(), 1.0 if scales is None else scales[key]), []).append(key)
    found: dict[Key, dict[str, Any]] = {}
    for questions, columns, values in blocks([same[0] for same in alike.values()], fetch):
        if not questions.size:
            found.update((key, {"mean": None, "low": None, "high": None, "n": 0}) for key in columns)
            continue
        estimates = cells.resamples(questions).estimate(values, cells.plan.confidence)
        for place, key in enumerate(columns):
            scale = 1.0 if scales is None else scales[key]
            found[key] = {
                "mean": number(estimates.mean[place] * scale),
                "low": number(estimates.low[place] * scale),
                "high": number(estimates.high[place] * scale),
                "n": int(questions.size),
            }
    return {key: dict(found[same[0]]) for same in alike.values() for key in same}
