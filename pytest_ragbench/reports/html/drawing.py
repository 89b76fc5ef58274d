"""Charts as pictures: matplotlib draws them as SVG, in pixels, with colours that stand for roles.

What the page makes of a picture (its colours in light and dark, its names) is left to `pictures`. The same chart gives
the same bytes: own settings and not the user's, the font that matplotlib ships, no date, names by a fixed salt.
"""

from __future__ import annotations

import io
import warnings
from itertools import count
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from pytest_ragbench.reports.html.colours import LAYERS, Colour
from pytest_ragbench.reports.model import Chart, Estimate, Intervals, Mark, Scatter, Stacks
from pytest_ragbench.reports.text import signed, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

WIDTH = 392
"""Pixels; two charts fit side by side on a wide screen, and a telephone shows one hardly smaller."""

ROW, FOOT, HEAD = 40, 44, 6
"""Pixels of one row of marks, of what is below the rows, of what is above them."""

RIGHT = 58
"""Pixels at the right of a row, for its mean."""

NEAR = 14.0
"""Pixels within which points share one label."""

POINTS_HEIGHT = 310
FAST_AND_SLOW = 12.0
"""Beyond such a ratio of the slowest to the fastest, time is drawn on a logarithmic axis."""

TEXT, SMALL = 12.5, 11.5
"""Sizes of letters, in pixels."""

SIDE, CHARACTERS = 10, 55
"""Pixels at the sides of a picture; characters on a line of it."""

LETTERED = 14
"""Points that carry their letter; of more, those that nothing beats."""

_DOTS = 72
"""Dots an inch, so that a point is a pixel."""


def draw(chart: Chart) -> str:
    """The chart as an SVG file's text.

    Raises:
        TypeError: It is of no known kind.
    """
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "ragbench",
                "font.family": ["DejaVu Sans"],
                "font.size": TEXT,
                "axes.linewidth": 1.0,
                "text.parse_math": False,
            }
        )
        match chart:
            case Intervals():
                figure = _intervals(chart)
            case Stacks():
                figure = _stacks(chart)
            case Scatter():
                figure = _scatter(chart)
            case _:
                raise TypeError(f"{type(chart).__name__}: nothing draws such a chart")
        return _saved(figure)


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


def _saved(figure: Figure) -> str:
    with io.StringIO() as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the reader's browser has other fonts
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
        return file.getvalue()


def _canvas(height: int, *, left: int, right: int, top: int, bottom: int) -> tuple[Figure, Axes]:
    """A figure of the common width, with axes that leave these margins, in pixels."""
    figure = Figure(figsize=(WIDTH / _DOTS, height / _DOTS), dpi=_DOTS)
    place = (left / WIDTH, bottom / height, (WIDTH - left - right) / WIDTH, (height - top - bottom) / height)
    axes = figure.add_axes(place)
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=Colour.MUTED.value, length=0, labelsize=SMALL)
    return figure, axes


def _rows(rows: int, right: int) -> tuple[Figure, Axes]:
    """Axes with one row below the other, at 0, -1, and so on; a row's label stands above its mark."""
    figure, axes = _canvas(HEAD + ROW * rows + FOOT, left=SIDE, right=right, top=HEAD, bottom=FOOT)
    axes.set_ylim(-rows + 0.28, 0.72)
    axes.yaxis.set_major_locator(NullLocator())
    axes.grid(axis="x", color=Colour.GRID.value, linewidth=1.0)
    axes.set_axisbelow(True)
    return figure, axes


def _written(axes: Axes, row: float, text: str, *, end: bool = False, strong: bool = False) -> None:
    """A text of a row at the left end of the picture, or at its right end."""
    figure = axes.get_figure()
    assert figure is not None
    place = blended_transform_factory(figure.transFigure, axes.transData)
    axes.text(
        1.0 - SIDE / WIDTH if end else SIDE / WIDTH, row, text, transform=place, clip_on=False, va="center",
        ha="right" if end else "left", fontweight="bold" if strong else "normal", color=Colour.INK.value, fontsize=TEXT,
    )  # fmt: skip


def _named(axes: Axes, row: int, label: str, verdict: str, *, strong: bool) -> None:
    """What a row is, above its mark; its verdict at the right end of that line."""
    free = CHARACTERS - len(verdict)
    shown = visible(label)
    _written(axes, -row + 0.42, shown if len(shown) <= free else f"{shown[: free - 1]}…")
    if verdict:
        _written(axes, -row + 0.42, verdict, end=True, strong=strong)


def _intervals(chart: Intervals) -> Figure:
    figure, axes = _rows(len(chart.marks), right=RIGHT)
    differences = any(mark.estimate.signed for mark in chart.marks)
    for row, mark in enumerate(chart.marks):
        if differences:  # not through the labels
            axes.plot([0.0, 0.0], [-row - 0.3, -row + 0.2], color=Colour.INK.value, linewidth=1.4, zorder=1.5)
        _mark(axes, row, mark, bar=chart.bars)
        _named(axes, row, mark.label, mark.verdict, strong=mark.sure)
    ends = [value for mark in chart.marks for value in _ends(mark.estimate)]
    low, high = min(ends), max(ends)
    if differences:
        low, high = min(low, 0.0), max(high, 0.0)
    gap = 0.04 * ((high - low) or 1.0)
    axes.set_xlim(low - gap, high + gap)
    _value_axis(axes, chart.axis, signs=differences)
    return figure


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    low = estimate.mean if estimate.low is None else estimate.low
    high = estimate.mean if estimate.high is None else estimate.high
    return low, estimate.mean, high


def _mark(axes: Axes, row: int, mark: Mark, *, bar: bool) -> None:
    """The interval as a line, the mean as a dot or a bar, filled where it is sure, and the mean as a number."""
    low, mean, high = _ends(mark.estimate)
    colour = Colour.MEAN
    if mark.estimate.signed:
        colour = (Colour.BETTER if mean > 0 else Colour.WORSE) if mark.sure else Colour.UNSURE
    y = -row
    if bar:
        face = colour.value if mark.sure else Colour.PAPER.value
        axes.barh(y, mean, height=0.34, color=face, edgecolor=colour.value, linewidth=1.4, zorder=2)
    line = Colour.INK.value if bar else colour.value
    axes.plot([low, high], [y, y], color=line, linewidth=2.4 if not bar else 1.6, solid_capstyle="butt", zorder=3)
    for end in (low, high):
        axes.plot([end, end], [y - 0.1, y + 0.1], color=line, linewidth=1.6, zorder=3)
    if not bar:
        face = colour.value if mark.sure else Colour.PAPER.value
        axes.plot(
            [mean], [y], "o", markersize=8.5, color=face, markeredgecolor=colour.value, markeredgewidth=2, zorder=4
        )
    text = signed(mean) if mark.estimate.signed else f"{mean:.3f}"
    _written(axes, y, text, end=True)


def _value_axis(axes: Axes, name: str, *, signs: bool) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(5, min_n_ticks=2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value, signs=signs)))
    axes.set_xlabel(visible(name), color=Colour.MUTED.value, fontsize=SMALL, labelpad=6.0)


def _short(value: float, *, signs: bool) -> str:
    """A value on an axis, without digits that say nothing."""
    text = f"{value:+.3f}" if signs else f"{value:.3f}"
    text = text.rstrip("0").rstrip(".")
    return "0" if text in {"", "+", "-", "+0", "-0", "0"} else text


def _stacks(chart: Stacks) -> Figure:
    figure, axes = _rows(len(chart.stacks), right=SIDE)
    longest = max((sum(stack.parts) / stack.whole for stack in chart.stacks if stack.whole), default=0.0) or 1.0
    for row, stack in enumerate(chart.stacks):
        start = 0.0
        for layer, part in zip(chart.layers, stack.parts, strict=True):
            if not part or not stack.whole:
                continue
            share, look = part / stack.whole, LAYERS[chart.layers.index(layer) % len(LAYERS)]
            axes.barh(
                -row, share, left=start, height=0.44, color=look.value, edgecolor=Colour.PAPER.value, linewidth=1.5
            )
            start += share
        lost = sum(stack.parts)
        _named(axes, row, stack.label, f"{lost:,} of {stack.whole:,} lost", strong=False)
    axes.set_xlim(0.0, longest * 1.04)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axes.set_xlabel(visible(chart.axis), color=Colour.MUTED.value, fontsize=SMALL, labelpad=6.0)
    return figure


def _scatter(chart: Scatter) -> Figure:
    figure, axes = _canvas(POINTS_HEIGHT, left=52, right=24, top=14, bottom=FOOT)
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
        low, mean, high = _ends(point.estimate)
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
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value, signs=False)))
    axes.set_xlabel(visible(chart.across), color=Colour.MUTED.value, fontsize=SMALL, labelpad=6.0)
    axes.set_ylabel(visible(chart.axis), color=Colour.MUTED.value, fontsize=SMALL, labelpad=6.0)
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
