"""Latency percentiles of each stage, over warm rows. They depend on the machine and stand apart from the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.table import CACHED, COLD
from pytest_ragbench.canonical import number
from pytest_ragbench.statistics.quantiles import latency_percentiles

if TYPE_CHECKING:
    from pytest_ragbench.analysis.cells import Cells


def latency(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration -> stage -> `{p50, p95, p99, n}` in ms, and `_rows` -> `{warm, cold, cached}`.

    Errored rows are in no count. Cold rows, which paid for loading something, are counted and kept out of the
    percentiles; cached rows carry the time that their stages first took, and count as warm.
    """
    return {name: _of_arm(cells, name) for name in cells.arms}


def _of_arm(cells: Cells, name: str) -> dict[str, Any]:
    arm, table = cells.arms[name], cells.table
    answered = arm.slots[arm.present & ~arm.errored]
    cold = table.flagged(answered, COLD)
    warm = answered[~cold]
    found: dict[str, Any] = {
        stage: {**{key: number(value) for key, value in latency_percentiles(values).items()}, "n": int(values.size)}
        for stage, values in table.timings(warm).items()
    }
    cached = int(table.flagged(warm, CACHED).sum())
    found["_rows"] = {"warm": int(warm.size), "cold": int(cold.sum()), "cached": cached}
    return found
