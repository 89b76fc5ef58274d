"""Arm against arm: paired differences with verdicts, Holm's adjustment in an experiment, arms that change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.cells import blocks
from pytest_ragbench.analysis.means import MIN_SCORED
from pytest_ragbench.canonical import number
from pytest_ragbench.metrics.catalogue import is_binary
from pytest_ragbench.statistics.paired import Comparison, compare
from pytest_ragbench.statistics.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.analysis.table import RowTable

FEW_COMPARISONS = 24
"""Comparisons of an experiment up to which each is told suite by suite too; of a factorial, which has more, none is."""

Pair = tuple[str, str]
"""(configuration, other): what is compared with what."""

Paired = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""Configuration -> other configuration -> metric -> the comparison."""


def planned_pairs(plan: Plan) -> list[Pair]:
    """(configuration, other) for every declared pair of which both are in the run, in display order."""
    names = {configuration.name for configuration in plan.configurations}
    return [(arm.name, other) for arm in plan.configurations for other in dict.fromkeys(arm.pairs) if other in names]


def families(plan: Plan) -> dict[str, list[frozenset[str]]]:
    """Experiment to the comparisons that were made within it; a pair named from both sides is one comparison."""
    pairs = planned_pairs(plan)
    found: dict[str, list[frozenset[str]]] = {}
    for experiment in plan.experiments:
        inside = [frozenset(pair) for pair in pairs if set(pair) <= set(experiment.arms)]
        if inside:
            found[experiment.name] = list(dict.fromkeys(inside))
    return found


def paired(cells: Cells) -> Paired:
    """Every declared pair, metric by metric, the delta being the configuration minus the other."""
    found = compared(cells, planned_pairs(cells.plan), range(len(cells.table.metric_names)))
    _adjust(found, cells)
    return found


def compared(
    cells: Cells,
    pairs: Sequence[Pair],
    columns: Iterable[int],
    members: NDArray[np.bool_] | None = None,
) -> Paired:
    """Some pairs by some of the metrics, over all questions or some of them, `(n_questions,)`; nothing is adjusted."""
    names = cells.table.metric_names

    def difference(key: tuple[str, str, int]) -> NDArray[np.float64]:
        configuration, other, column = key
        values = cells.metric(configuration, column) - cells.metric(other, column)
        return values if members is None else np.where(members, values, np.nan)

    keys = [(*pair, column) for pair in pairs for column in columns]
    binary = np.array([is_binary(name) for name in names], dtype=np.bool_)
    found: Paired = {configuration: {} for configuration in cells.arms}
    for configuration, other, column in keys:  # display order, whatever order the sets of questions come in
        found[configuration].setdefault(other, {})[names[column]] = dict(_NOTHING_SHARED)
    for questions, block, values in blocks(keys, difference):
        if questions.size:
            flags = binary[[column for _, _, column in block]]
            comparisons = compare(values, flags, cells.resamples(questions), cells.plan.confidence)
            for (configuration, other, column), comparison in zip(block, comparisons, strict=True):
                found[configuration][other][names[column]] = _entry(comparison)
    return found


def main_column(table: RowTable, k: int) -> int:
    """The column of the metric by which suites and questions are shown: nDCG of the full depth."""
    return table.metric_names.index(f"ndcg@{k}")


def by_suite(cells: Cells, pairs: Sequence[Pair]) -> dict[Pair, dict[str, dict[str, Any]]]:
    """Each pair -> suite -> the comparison by the main metric, and `diag`; a suite needs a question that both scored.

    Each suite of a pair is one more chance for a difference that is none: they are a family for Holm's adjustment.
    """
    column = main_column(cells.table, cells.plan.k)
    name = cells.table.metric_names[column]
    shown: dict[Pair, dict[str, dict[str, Any]]] = {pair: {} for pair in pairs}
    for suite in sorted({question.suite for question in cells.questions}):
        members = np.array([question.suite == suite for question in cells.questions], dtype=np.bool_)
        found = compared(cells, pairs, [column], members)
        for (configuration, other), suites in shown.items():
            entry = found[configuration][other][name]
            if entry["n"]:
                suites[suite] = {**entry, "diag": entry["n"] < MIN_SCORED}
    for suites in shown.values():
        adjusted = holm([entry["p_sign_flip"] for entry in suites.values()])
        for entry, p in zip(suites.values(), adjusted, strict=True):
            entry |= {"p_holm": number(p), "comparisons": len(suites)}
    return shown


def paired_by_suite(cells: Cells) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Configuration -> other -> suite -> the comparison, of the pairs that stand with few others in their experiment.

    Where they scored questions of one suite only, or the main metric is not among the columns, nothing is told.
    """
    if f"ndcg@{cells.plan.k}" not in cells.table.metric_names:
        return {}
    found: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for (configuration, other), told in by_suite(cells, _among_few(cells.plan)).items():
        if len(told) > 1:
            found.setdefault(configuration, {})[other] = told
    return found


def _among_few(plan: Plan) -> list[Pair]:
    """The pairs of experiments with few comparisons, and those of no experiment where they are few."""
    known = list(families(plan).values())
    alone = {frozenset(pair) for pair in planned_pairs(plan)}.difference(*known)
    few = {pair for family in (*known, alone) if len(family) <= FEW_COMPARISONS for pair in family}
    return [pair for pair in planned_pairs(plan) if frozenset(pair) in few]


_NOTHING_SHARED: dict[str, Any] = {
    "delta": None,
    "low": None,
    "high": None,
    "n": 0,
    "gained": 0,
    "lost": 0,
    "differing": 0,
    "verdict": "unresolvable",
    "p_sign_flip": None,
    "p_smallest": None,
    "p_mcnemar": None,
    "p_holm": None,
    "comparisons": None,
    "mde": None,
}
"""The comparison of two arms that scored no question in common."""


def _entry(comparison: Comparison) -> dict[str, Any]:
    return {
        "delta": number(comparison.delta),
        "low": number(comparison.low),
        "high": number(comparison.high),
        "n": comparison.n,
        "gained": comparison.gained,
        "lost": comparison.lost,
        "differing": comparison.differing,
        "verdict": comparison.verdict,
        "p_sign_flip": number(comparison.p_sign_flip),
        "p_smallest": number(comparison.p_smallest),
        "p_mcnemar": number(comparison.p_mcnemar),
        "p_holm": None,
        "comparisons": None,
        "mde": number(comparison.mde),
    }


def _adjust(found: Paired, cells: Cells) -> None:
    """Set `p_holm` and `comparisons`; a pair of several families carries the largest adjusted p."""
    pairs = planned_pairs(cells.plan)
    for family in families(cells.plan).values():
        members = [pair for pair in pairs if frozenset(pair) in family]
        for metric in cells.table.metric_names:
            entries = {pair: found[pair[0]][pair[1]][metric] for pair in members}
            tested = {frozenset(pair): entry["p_sign_flip"] for pair, entry in entries.items() if entry["n"]}
            adjusted = dict(zip(tested, map(number, holm(list(tested.values()))), strict=True))
            for pair, entry in entries.items():
                p = adjusted.get(frozenset(pair))
                if p is not None and (entry["p_holm"] is None or p > entry["p_holm"]):
                    entry["p_holm"] = p
                    entry["comparisons"] = len(tested)


def inert(cells: Cells) -> dict[str, list[str]]:
    """Configuration to the partners whose ranking equals its own on every question that both answered.

    Chunks, with their texts, and their order are compared, not scores, which differ in the last digits from batch to
    batch. Arms that do not search are left out: nothing was switched on that could have done something.
    """
    found: dict[str, list[str]] = {name: [] for name in cells.arms}
    searches = {configuration.name: configuration.searches for configuration in cells.plan.configurations}
    for configuration, other in planned_pairs(cells.plan):
        if searches[configuration] and searches[other]:
            one, two = cells.arms[configuration], cells.arms[other]
            both = one.present & two.present & ~one.errored & ~two.errored
            equal = cells.table.rankings(one.slots)[both] == cells.table.rankings(two.slots)[both]
            if both.any() and equal.all():
                found[configuration].append(other)
    return found
