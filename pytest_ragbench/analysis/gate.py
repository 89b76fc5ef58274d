"""What a relevance gate removed and what abstaining was worth, for configurations whose rows tell of a gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.extras import CONFIDENCE, REMOVED, REMOVED_GOLD, SCORER, THRESHOLD
from pytest_ragbench.analysis.means import means_of
from pytest_ragbench.analysis.table import EMPTY
from pytest_ragbench.canonical import dumps, number
from pytest_ragbench.statistics.selective import risk_coverage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.questions.model import Question


def gates(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration to what its gate did, over the rows that tell of one; other configurations are absent.

    A row *abstains* when its final ranking is empty. Answering is a *loss* when the question is unanswerable or the
    ranking that was kept satisfies none of its required sources (no hit@k).

    Returns:
        `scorers` and `thresholds`, those that occur; `{mean, low, high, n}` of `removed` (chunks a question),
        `gold_removed` (of the required sources that the kept and removed chunks satisfy, the share that only removed
        ones do; a mean over questions), `coverage` (share answered), `risk` (share of losses among the answered),
        `abstained_unanswerable` and `abstained_answerable` (share that abstained, right and wrong); `risk_coverage` by
        confidence, where a question is judged by kept and removed chunks alike, as if no gate had stood before the
        answer, and the curve is the scorer's at any threshold; None where no row has a confidence.
    """
    seen = {name: cells.table.extras.numbers(REMOVED, arm.slots) for name, arm in cells.arms.items()}
    gated = {name: ~np.isnan(removed) for name, removed in seen.items() if not np.isnan(removed).all()}
    if not gated:
        return {}
    losses = {name: _losses(cells, name) for name in gated}
    columns = {
        (name, what): values
        for name, rows in gated.items()
        for what, values in _columns(cells, name, rows, seen[name], losses[name])
    }
    means = means_of(cells, columns)
    return {
        name: {
            **_settings(cells, name),
            **{what: means[arm, what] for arm, what in columns if arm == name},
            "risk_coverage": _curve(cells, name, rows, _losses(cells, name, answered=True)),
        }
        for name, rows in gated.items()
    }


def _columns(
    cells: Cells, name: str, rows: NDArray[np.bool_], removed: NDArray[np.float64], losses: NDArray[np.bool_]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    empty = cells.table.flagged(cells.arms[name].slots, EMPTY)
    answerable = np.array([question.answerable for question in cells.questions], dtype=np.bool_)
    yield "removed", removed
    yield "gold_removed", _gold_removed(cells, name, rows)
    yield "coverage", np.where(rows, ~empty, np.nan)
    yield "risk", np.where(rows & ~empty, losses, np.nan)
    yield "abstained_unanswerable", np.where(rows & ~answerable, empty, np.nan)
    yield "abstained_answerable", np.where(rows & answerable, empty, np.nan)


def _gold_removed(cells: Cells, name: str, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    slots = cells.arms[name].slots
    kept, removed = cells.table.satisfied(slots), cells.table.extras.objects(REMOVED_GOLD, slots)
    found = np.full(len(cells.questions), np.nan)
    for at in np.flatnonzero(rows).tolist():
        required = required_mask(cells.questions[at])
        retrieved = required & (kept[at] | removed[at])
        if retrieved:
            found[at] = (retrieved & ~kept[at]).bit_count() / retrieved.bit_count()
    return found


def _losses(cells: Cells, name: str, *, answered: bool = False) -> NDArray[np.bool_]:
    """Whether each question is a loss: by what was kept, or, as if it had been `answered` without a gate, by all."""
    slots = cells.arms[name].slots
    satisfied = cells.table.satisfied(slots)
    if answered:
        removed = cells.table.extras.objects(REMOVED_GOLD, slots)
        satisfied = [mask | (gone or 0) for mask, gone in zip(satisfied, removed, strict=True)]
    lost = []
    for question, mask in zip(cells.questions, satisfied, strict=True):
        required = required_mask(question)
        lost.append(not question.answerable or bool(required and not required & mask))
    return np.array(lost, dtype=np.bool_)


def required_mask(question: Question) -> int:
    """The required sources of a question, as a bit mask over their indexes."""
    return sum(1 << index for index in question.required)


def _settings(cells: Cells, name: str) -> dict[str, Any]:
    slots, extras = cells.arms[name].slots, cells.table.extras
    thresholds = extras.numbers(THRESHOLD, slots)
    scorers = {scorer for scorer in extras.objects(SCORER, slots) if scorer is not None}
    return {"scorers": sorted(scorers), "thresholds": sorted(set(thresholds[~np.isnan(thresholds)].tolist()))}


def _curve(cells: Cells, name: str, rows: NDArray[np.bool_], losses: NDArray[np.bool_]) -> dict[str, Any] | None:
    confidences = cells.table.extras.numbers(CONFIDENCE, cells.arms[name].slots)[rows]
    if np.isnan(confidences).all():
        return None
    known = [None if np.isnan(confidence) else confidence for confidence in confidences.tolist()]
    curve = risk_coverage(known, losses[rows].tolist())
    return {
        "points": [[number(coverage), number(risk)] for coverage, risk in curve.points],
        "aurc": number(curve.area),
        "aurc_best": number(curve.best),
        "n": len(known),
    }


def sweeps(plan: Plan, found: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Configurations that differ only in the override that sets the threshold, as their rows report it.

    Args:
        plan: With the overrides.
        found: What `gates` found.

    Returns:
        `{over, scorers, arms}` each, the name of the override and the configurations by rising threshold.
    """
    groups: dict[tuple[str, ...], list[tuple[float, str]]] = {}
    for configuration in plan.configurations:
        thresholds = found.get(configuration.name, {}).get("thresholds", [])
        for key, value in configuration.overrides.items():
            if len(thresholds) == 1 and _is_number(value) and value == thresholds[0]:
                rest = {other: held for other, held in configuration.overrides.items() if other != key}
                scorers = found[configuration.name]["scorers"]
                groups.setdefault((key, dumps(rest), dumps(scorers)), []).append((thresholds[0], configuration.name))
    return [
        {"over": key[0], "scorers": found[arms[0][1]]["scorers"], "arms": [name for _, name in sorted(arms)]}
        for key, arms in groups.items()
        if len(arms) > 1
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
