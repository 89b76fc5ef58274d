"""Run against run: the same questions under configurations of two records, paired question by question."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.pairs import by_suite, inert, main_column, paired
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.canonical import TOLERANCE, number
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.statistics.exact import QUANTUM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.table import RowTable
    from pytest_ragbench.questions.model import Question

Side = tuple[int, str]
"""(position of a run, configuration of it)."""


class Pairing(NamedTuple):
    """Two sides to be compared; the difference is `new` minus `old`."""

    old: Side
    new: Side


def label(side: Side) -> str:
    """The name under which the rows of a side stand in the common table."""
    return f"{side[0]}:{side[1]}"


def between(table: RowTable, questions: Sequence[Question], pairings: Sequence[Pairing], like: Plan) -> list[Any]:
    """Compare sides of several runs; all pairings are one family for Holm's adjustment.

    Args:
        table: The rows of every side, their configuration being the side's `label`.
        questions: Of all the runs alike.
        pairings: What is compared with what.
        like: Depth, seed, resamples, confidence and cluster.

    Returns:
        For each pairing `metrics` → metric → `before`, `after` (means over the questions that both scored), `won`,
        `lost`, `tied` and what a comparison of a summary has; `answered`: questions that both searched without an
        error; `same_rankings` over these; `errored`, of both, and `failed`, for each the ids of these questions;
        `by_suite` → suite → the same by the main metric, with `diag`, the suites of one pairing being a family for
        Holm's adjustment; `changed`: the questions that scored otherwise by the main metric, largest change first.
    """
    cells = Cells(table, _plan(questions, pairings, like))
    found = paired(cells)
    unchanged = inert(cells)
    return [
        {
            "metrics": {
                name: _with_means(cells, pairing, column, found[label(pairing.new)][label(pairing.old)][name])
                for column, name in enumerate(table.metric_names)
            },
            "same_rankings": label(pairing.old) in unchanged[label(pairing.new)],
            **_searches(cells, pairing),
            "by_suite": suites,
            "changed": _changed(cells, pairing),
        }
        for pairing, suites in zip(pairings, _by_suite(cells, pairings), strict=True)
    ]


def _searches(cells: Cells, pairing: Pairing) -> dict[str, Any]:
    """How many questions both sides answered, and on which each side's search failed."""
    failed = [cells.arms[label(side)].errored for side in pairing]
    return {
        "answered": int((~failed[0] & ~failed[1]).sum()),
        "errored": [int(side.sum()) for side in failed],
        "failed": [[cells.questions[index].id for index in np.flatnonzero(side).tolist()] for side in failed],
    }


def _plan(questions: Sequence[Question], pairings: Sequence[Pairing], like: Plan) -> Plan:
    sides = list(dict.fromkeys(side for pairing in pairings for side in pairing))
    pairs = {side: [label(pairing.old) for pairing in pairings if pairing.new == side] for side in sides}
    arms = [Configuration(label(side), label(side), pairs=tuple(pairs[side])) for side in sides]
    return Plan(
        questions=tuple(questions),
        configurations=tuple(arms),
        experiments=(Experiment("between", tuple(arm.name for arm in arms)),),
        k=like.k,
        seed=like.seed,
        resamples=like.resamples,
        confidence=like.confidence,
        cluster=like.cluster,
    )


def _values(
    cells: Cells, pairing: Pairing, column: int, members: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quantised values of both sides, NaN but where both count, and only of some members where these are given."""
    old, new = (cells.metric(label(side), column) for side in pairing)
    shared = ~np.isnan(old) & ~np.isnan(new)
    if members is not None:
        shared &= members
    return np.where(shared, old, np.nan), np.where(shared, new, np.nan)


def _mean(values: NDArray[np.float64]) -> float | None:
    kept = values[~np.isnan(values)]
    return number(fsum(kept.tolist()) / kept.size * QUANTUM) if kept.size else None


def _with_means(
    cells: Cells, pairing: Pairing, column: int, entry: dict[str, Any], members: NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    old, new = _values(cells, pairing, column, members)
    counted = {"won": entry["gained"], "lost": entry["lost"], "tied": entry["n"] - entry["gained"] - entry["lost"]}
    rest = {key: value for key, value in entry.items() if key != "gained"}
    return {"before": _mean(old), "after": _mean(new), **rest, **counted}


def _by_suite(cells: Cells, pairings: Sequence[Pairing]) -> list[dict[str, Any]]:
    """For each pairing, suite → the comparison by the main metric; suites without a scored question are left out."""
    column = main_column(cells.table, cells.plan.k)
    found = by_suite(cells, [(label(pairing.new), label(pairing.old)) for pairing in pairings])
    members = {
        suite: np.array([question.suite == suite for question in cells.questions], dtype=np.bool_)
        for suite in {question.suite for question in cells.questions}
    }
    return [
        {
            suite: _with_means(cells, pairing, column, entry, members[suite])
            for suite, entry in found[label(pairing.new), label(pairing.old)].items()
        }
        for pairing in pairings
    ]


def _changed(cells: Cells, pairing: Pairing) -> list[dict[str, Any]]:
    old, new = _values(cells, pairing, main_column(cells.table, cells.plan.k))
    differences = new - old
    indexes = np.flatnonzero(np.abs(differences) * QUANTUM > TOLERANCE).tolist()
    order = sorted(indexes, key=lambda index: (-abs(differences[index]), cells.questions[index].id))
    return [
        {
            "question": cells.questions[index].id,
            "suite": cells.questions[index].suite,
            "text": cells.questions[index].text,
            "sealed": cells.questions[index].split == "test",
            "before": number(old[index] * QUANTUM),
            "after": number(new[index] * QUANTUM),
            "delta": number(differences[index] * QUANTUM),
        }
        for index in order
    ]
