"""A chart of one value against another: points with their intervals, which of them are unbeaten, and their letters."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator

from pytest_ragbench.reports.html.canvas import FOOT, TEXT, Size, canvas, ends, name_axis, short
from pytest_ragbench.reports.html.colours import Colour

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pytest_ragbench.reports.model import Scatter

NEAR = 14.0
"""Pixels within which points share one label."""

HEIGHT = 310
"""Pixels."""

FAST_AND_SLOW = 12.0
"""Beyond such a ratio of the slowest to the fastest, time is drawn on a logarithmic axis."""

LETTERED = 14
"""Points that carry their letter; of more, those that nothing beats."""


def lettered(chart: Scatter) -> tuple[str, ...]:
    """For each point its letter, `a` to `z` and then `a1` and so on; empty where it carries none."""
    all_of_them = len(chart.points) <= LETTERED
    names = (f"{chr(ord('a') + number % 26)}{number // 26 or ''}" for number in count())
    return tuple(next(names) if first or all_of_them else "" for first in unbeaten(chart))


def unbeaten(chart: Scatter) -> tuple[bool, ...]:
    """For each point, whether no other has a higher mean at most as far to the right, or as high a one further left."""
    spots = [(point.across, point.estimate.mean) for point in chart.points]
    return tuple(
        not any((x <= across and y > mean) or (x < across and y >= mean) for x, y in spots) for across, mean in spots
    )


def scatter(chart: Scatter, size: Size) -> Figure:
    """Points with their intervals; time is logarithmic where it spans much."""
    figure, axes = canvas(size.width, HEIGHT, left=52, right=24, top=14, bottom=FOOT)
    axes.grid(color=Colour.GRID.value, linewidth=1.0)
    axes.set_axisbelow(True)
    times = [point.across for point in chart.points]
    if min(times) > 0.0 and max(times) / min(times) > FAST_AND_SLOW:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if max(times) / min(times) < 1_000 else (1.0,)))
        axes.xaxis.set_minor_locator(FixedLocator([]))
        axes.set_xlim(min(times) / 1.6, max(times) * 1.8)
    else:
        axes.set_xlim(0.0, max(times) * 1.12 or 1.0)
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    named: list[tuple[str, float, float]] = []
    for point, letter, first in zip(chart.points, lettered(chart), unbeaten(chart), strict=True):
        low, mean, high = ends(point.estimate)
        if letter:
            axes.plot([point.across] * 2, [low, high], color=Colour.WHISKER.value, linewidth=1.6, zorder=2)
            named.append((letter, point.across, mean))
        face = Colour.MEAN.value if first else Colour.PAPER.value
        axes.plot(
            [point.across], [mean], "o", markersize=8.5, color=face, markeredgecolor=Colour.MEAN.value,
            markeredgewidth=2, zorder=4 if first else 3,
        )  # fmt: skip
    for text, across, mean in _together(axes, named):
        axes.annotate(
            text, (across, mean), xytext=(8, 0), textcoords="offset points",
            color=Colour.INK.value, fontsize=TEXT, fontweight="bold", va="center", zorder=5,
        )  # fmt: skip
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value, signs=False)))
    name_axis(axes, chart.across)
    name_axis(axes, chart.axis, up=True)
    return figure


def _together(axes: Axes, named: list[tuple[str, float, float]]) -> Iterator[tuple[str, float, float]]:
    """Letters with their places; those of points that lie on each other as one text, `c d`, at the first."""
    axes.get_xlim(), axes.get_ylim()  # settles the limits, without which places are unknown
    left = [(letter, spot, axes.transData.transform(spot)) for letter, *spot in named]
    while left:
        _, spot, (x, y) = left[0]
        near = [one for one in left if abs(one[2][0] - x) < NEAR and abs(one[2][1] - y) < NEAR]
        left = [one for one in left if one not in near]
        yield " ".join(letter for letter, _, _ in near), spot[0], spot[1]
