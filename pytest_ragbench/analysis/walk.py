"""What a walk over a graph contributed, for configurations whose rows tell of one, and whether it did harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.extras import ADDED, FOUND, GENERATED, KEPT, SEEDS
from pytest_ragbench.analysis.means import means_of
from pytest_ragbench.analysis.pairs import compared, planned_pairs
from pytest_ragbench.canonical import number
from pytest_ragbench.metrics.catalogue import headline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.questions.model import Question

MEANS = {"added": ADDED, "kept": KEPT, "query_seeds": SEEDS}
"""Means over the rows that tell of a walk, and the column of each."""

_CONTROLLED = ("ndcg", "recall", "complete", "hit")
"""The headline metrics of the controls: no MRR, which moves with nDCG there, and no file level, where harm hides."""


def walks(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration to what its walk brought; configurations without one are absent.

    Returns:
        `{mean, low, high, n}` of `added` and `kept` (chunks a question), `query_seeds`, and `found` (share of a
        question's required sources that only the walk found, over scored questions); `found_sources` and
        `found_questions`, the same counted; `generated` `{share, added}`, of all chunks added; `controls`
        `{questions, paired}`, single-hop questions against each partner, by the headline metrics.
    """
    extras = cells.table.extras
    told = {
        name: {column: extras.numbers(column, arm.slots) for column in (ADDED, KEPT, SEEDS, GENERATED, FOUND)}
        for name, arm in cells.arms.items()
    }
    walked = {name: columns for name, columns in told.items() if not np.isnan(columns[ADDED]).all()}
    if not walked:
        return {}
    required = np.array([len(question.required) or np.nan for question in cells.questions], dtype=np.float64)
    columns = {(name, what): held[column] for name, held in walked.items() for what, column in MEANS.items()}
    for name, held in walked.items():
        columns[name, "found"] = np.where(cells.arms[name].scored, held[FOUND] / required, np.nan)
    means = means_of(cells, columns)
    controls = _controls(cells, list(walked))
    return {
        name: {
            **{what: means[name, what] for what in (*MEANS, "found")},
            **_found(held[FOUND]),
            "generated": _generated(held[GENERATED], held[ADDED]),
            "controls": controls[name],
        }
        for name, held in walked.items()
    }


def _found(found: NDArray[np.float64]) -> dict[str, int | None]:
    """Sources and questions; None where no row could say what the search alone would have found."""
    if np.isnan(found).all():
        return {"found_sources": None, "found_questions": None}
    return {"found_sources": int(np.nansum(found)), "found_questions": int((found > 0).sum())}


def _generated(generated: NDArray[np.float64], added: NDArray[np.float64]) -> dict[str, Any]:
    total = int(np.nansum(added))
    return {"share": number(float(np.nansum(generated)) / total) if total else None, "added": total}


def single_hop(question: Question) -> bool:
    """Whether a question needs no walk: of tier T1 or T2, or without a source of a second hop."""
    return question.tier in ("T1", "T2") or all((source.hop or 1) < 2 for source in question.gold)


def _controls(cells: Cells, names: list[str]) -> dict[str, dict[str, Any]]:
    members = np.array([single_hop(question) for question in cells.questions], dtype=np.bool_)
    pairs = [pair for pair in planned_pairs(cells.plan) if pair[0] in names]
    found = compared(cells, pairs, _headline(cells), members)
    return {
        name: {"questions": int((members & cells.arms[name].scored).sum()), "paired": found[name]} for name in names
    }


def _headline(cells: Cells) -> list[int]:
    names = cells.table.metric_names
    by_stem = {name.partition("@")[0]: name for name in headline(cells.plan.k)}
    return [names.index(by_stem[stem]) for stem in _CONTROLLED if by_stem[stem] in names]
