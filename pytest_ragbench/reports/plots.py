"""Points drawn with characters, for reports that are read where there are no pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.reports.model import Plot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = 31
ROWS = 11
"""Places across and up; with the labels a plot is 36 characters wide."""

_CEILINGS = (0.1, 0.2, 0.5, 1.0)


def unit_plot(series: Mapping[str, Sequence[tuple[float, float]]], across: str, up: str) -> Plot:
    """Points whose values lie between 0 and 1; the upper end of the vertical axis is the next of 0.1, 0.2, 0.5 and 1.

    Args:
        series: Mark, one printable ASCII character, to points `(x, y)`; of marks in one place the last is shown.
        across: Name of the horizontal axis, ASCII.
        up: Name of the vertical axis, ASCII.
    """
    highest = max((y for points in series.values() for _, y in points), default=0.0)
    ceiling = next((end for end in _CEILINGS if highest <= end), 1.0)
    grid = [[" "] * COLUMNS for _ in range(ROWS)]
    for mark, points in series.items():
        for x, y in points:
            row = round(min(max(y / ceiling, 0.0), 1.0) * (ROWS - 1))
            grid[ROWS - 1 - row][round(min(max(x, 0.0), 1.0) * (COLUMNS - 1))] = mark
    labels = {0: f"{ceiling:.2f}", ROWS // 2: f"{ceiling / 2:.2f}", ROWS - 1: "0.00"}
    lines = [f"{labels.get(number, ''):>4}|{''.join(cells)}".rstrip() for number, cells in enumerate(grid)]
    foot = f"{'0':<{COLUMNS // 2}}{'0.5':<{COLUMNS - COLUMNS // 2 - 1}}1"
    return Plot((up, *lines, f"    +{'-' * COLUMNS}", f"     {foot}", f"     {across:^{COLUMNS}}".rstrip()))
