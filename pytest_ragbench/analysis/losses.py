"""Where required sources were lost, counted by layer, and what the pool would allow at most; for rows with stages.

Rows are charged where they are measured, by `layers`; here they are only counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.extras import LOST, POOL
from pytest_ragbench.analysis.layers import LAYERS
from pytest_ragbench.analysis.means import means_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.questions.model import Question

DEPTHS = (10, 30, 50, 100)
"""Depths at which the pool's ceiling is read."""

NAMED = 200
"""Questions named for each layer of a configuration; the rest is counted."""

_Row = tuple["Question", tuple[tuple[int, int], ...]]
"""A question and its losses: gold index and index into `LAYERS`."""


def losses(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration to where its required sources were lost, over its scored rows with stages; others are absent.

    Returns:
        `n` (questions), `sources` (required), `lost`; `layers`, layer to sources, only those that lost any;
        `by_suite`, suite to `sources`, `lost`, `layers`; `questions`, layer to `n` and the first `NAMED` `ids`;
        `ceiling`, depth to `{mean, low, high, n}`: what a perfect rerank of so much of the pool would recall.
    """
    rows = {name: _rows(cells, name) for name in cells.arms}
    told = {name: found for name, found in rows.items() if found}
    if not told:
        return {}
    columns = {(name, depth): values for name in told for depth, values in _ceiling(cells, name).items()}
    means = means_of(cells, columns)
    return {
        name: {
            "n": len(found),
            **_counted(found),
            "by_suite": {
                suite: _counted([row for row in found if row[0].suite == suite])
                for suite in sorted({question.suite for question, _ in found})
            },
            "questions": _named(found),
            "ceiling": {str(depth): means[name, depth] for depth in DEPTHS},
        }
        for name, found in told.items()
    }


def _rows(cells: Cells, name: str) -> list[_Row]:
    arm = cells.arms[name]
    lost = cells.table.extras.objects(LOST, arm.slots)
    return [
        (question, found)
        for question, found, scored in zip(cells.questions, lost, arm.scored.tolist(), strict=True)
        if scored and found is not None
    ]


def _counted(rows: Sequence[_Row]) -> dict[str, Any]:
    layers = _in_order(layer for _, found in rows for _, layer in found)
    sources = sum(len(question.required) for question, _ in rows)
    return {"sources": sources, "lost": sum(layers.values()), "layers": layers}


def _in_order(layers: Iterable[int]) -> dict[str, int]:
    """Layer to how often it occurs, in the order of a search."""
    counts = Counter(layers)
    return {LAYERS[layer]: counts[layer] for layer in sorted(counts)}


def _named(rows: Sequence[_Row]) -> dict[str, dict[str, Any]]:
    """Layer to the questions that lost a source there, by id."""
    by_layer: dict[int, list[str]] = {}
    for question, found in rows:
        for layer in {layer for _, layer in found}:
            by_layer.setdefault(layer, []).append(question.id)
    return {LAYERS[layer]: {"n": len(ids), "ids": ids[:NAMED]} for layer, ids in sorted(by_layer.items())}


def _ceiling(cells: Cells, name: str) -> dict[int, Any]:
    """Depth to the share of a question's required sources that the pool has above it, `(n_questions,)`."""
    arm = cells.arms[name]
    pools = cells.table.extras.objects(POOL, arm.slots)
    found = {depth: np.full(len(cells.questions), np.nan) for depth in DEPTHS}
    for at in np.flatnonzero(arm.scored).tolist():
        required = cells.questions[at].required
        if pools[at] is None or not required:
            continue
        ranks = [rank for source, rank in pools[at] if source in required]
        for depth, values in found.items():
            values[at] = sum(rank <= depth for rank in ranks) / len(required)
    return found
