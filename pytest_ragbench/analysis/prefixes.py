"""Means by the letters before the `-` of a question's id, where a set tells two kinds of questions apart by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.means import metric_means

if TYPE_CHECKING:
    from pytest_ragbench.analysis.cells import Cells

PREFIXES = ("rtc", "rtu")
"""Questions that pages answer which a generated document cites, and which none cites."""


def by_prefix(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration -> prefix -> `{all, by_suite}`, each the means of every metric.

    Empty unless every question that some arm scored has an id of one of the two prefixes, and both occur.
    """
    scored = np.zeros(len(cells.questions), dtype=np.bool_)
    for arm in cells.arms.values():
        scored |= arm.scored
    letters = [question.id.partition("-")[0] for question in cells.questions]
    if {letters[at] for at in np.flatnonzero(scored)} != set(PREFIXES):
        return {}
    found: dict[str, dict[str, Any]] = {name: {} for name in cells.arms}
    for prefix in PREFIXES:
        members = scored & np.array([other == prefix for other in letters], dtype=np.bool_)
        suites = {question.suite for question, member in zip(cells.questions, members, strict=True) if member}
        for name, means in metric_means(cells, members).items():
            found[name][prefix] = {"all": means, "by_suite": {}}
        for suite in sorted(suites):
            inside = members & np.array([question.suite == suite for question in cells.questions], dtype=np.bool_)
            for name, means in metric_means(cells, inside).items():
                found[name][prefix]["by_suite"][suite] = means
    return found
