"""Charts of one row below the other: means and differences with their intervals, and parts of a whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, cast

from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from pytest_ragbench.reports.html.canvas import DOTS, FOOT, TEXT, Size, canvas, ends, name_axis, short
from pytest_ragbench.reports.html.colours import LAYERS, Colour
from pytest_ragbench.reports.text import signed, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pytest_ragbench.reports.model import Intervals, Mark, Stacks

HEAD, SIDE = 6, 10
"""Pixels above the rows, and at the sides."""

LETTER, GAP = 6.76, 16
"""Pixels that a letter takes, and that part one text from the next or from the marks."""

LABEL_CHARACTERS = 48
"""Of a label beside its mark."""


def intervals(chart: Intervals, size: Size) -> Figure:
    """Means or differences, each with its interval and its verdict."""
    differences = any(mark.estimate.signed for mark in chart.marks)
    number = signed if differences else "{:.3f}".format
    rows = [_Row(visible(mark.label), number(mark.estimate.mean), mark.verdict, mark.sure) for mark in chart.marks]
    figure, axes = _rows(rows, size)
    for row, mark in enumerate(chart.marks):
        if differences:  # not through a label above
            line = [-row - 0.5, -row + 0.5] if size.beside else [-row - 0.3, -row + 0.2]
            axes.plot([0.0, 0.0], line, color=Colour.INK.value, linewidth=1.4, zorder=1.5)
        _mark(axes, row, mark, bar=chart.bars)
    values = [value for mark in chart.marks for value in ends(mark.estimate)] + [0.0] * differences
    low, high = min(values), max(values)
    gap = 0.04 * ((high - low) or 1.0)
    axes.set_xlim(low - gap, high + gap)
    axes.xaxis.set_major_locator(MaxNLocator(5, min_n_ticks=2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value, signs=differences)))
    name_axis(axes, chart.axis)
    return figure


def stacks(chart: Stacks, size: Size) -> Figure:
    """Shares laid end to end, and how many were lost in all."""
    rows = [_Row(visible(stack.label), "", f"{sum(stack.parts):,} of {stack.whole:,} lost") for stack in chart.stacks]
    figure, axes = _rows(rows, size)
    longest = max((sum(stack.parts) / stack.whole for stack in chart.stacks if stack.whole), default=0.0) or 1.0
    for row, stack in enumerate(chart.stacks):
        start = 0.0
        for look, part in zip(cycle(LAYERS), stack.parts):
            if not part or not stack.whole:
                continue
            share = part / stack.whole
            axes.barh(
                -row, share, left=start, height=0.44, color=look.value, edgecolor=Colour.PAPER.value, linewidth=1.5
            )
            start += share
    axes.set_xlim(0.0, longest * 1.04)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    name_axis(axes, chart.axis)
    return figure


@dataclass(frozen=True, slots=True)
class _Row:
    """What is written of a row: its label, its value as a number, and words on it, bold where they are sure."""

    label: str
    value: str
    words: str
    sure: bool = False


def _rows(rows: Sequence[_Row], size: Size) -> tuple[Figure, Axes]:
    """Axes with one row below the other, at 0, -1, and so on, and what is written of each."""
    label, value, words = (
        LETTER * max(len(getattr(row, name)) for row in rows) for name in ("label", "value", "words")
    )
    right = SIDE + (value + GAP if value else 0)
    left: float = SIDE
    if size.beside:
        left += min(label, LETTER * LABEL_CHARACTERS) + GAP
        right += words + GAP if words else 0
    figure, axes = canvas(size.width, HEAD + size.row * len(rows) + FOOT, left=left, right=right, top=HEAD, bottom=FOOT)
    axes.set_ylim(*((-len(rows) + 0.5, 0.5) if size.beside else (-len(rows) + 0.28, 0.72)))
    axes.yaxis.set_major_locator(NullLocator())
    axes.grid(axis="x", color=Colour.GRID.value, linewidth=1.0)
    axes.set_axisbelow(True)
    for at, row in enumerate(rows):
        line = -at if size.beside else -at + 0.42
        room = LABEL_CHARACTERS if size.beside else int((size.width - 2 * SIDE) / LETTER) - len(row.words)
        shown = row.label if len(row.label) <= room else f"{row.label[: room - 1]}…"
        _written(axes, SIDE, line, shown)
        _written(axes, size.width - SIDE, line, row.words, end=True, strong=row.sure)
        number = size.width - right + GAP + value if size.beside else size.width - SIDE
        _written(axes, number, -at, row.value, end=True)
    return figure, axes


def _written(axes: Axes, x: float, row: float, text: str, *, end: bool = False, strong: bool = False) -> None:
    """A text that begins, or ends, so many pixels from the left end of the picture."""
    if not text:
        return
    figure = cast("Figure", axes.get_figure())
    place = blended_transform_factory(figure.transFigure, axes.transData)
    axes.text(
        x / (figure.get_figwidth() * DOTS), row, text, transform=place, clip_on=False, va="center",
        ha="right" if end else "left", fontweight="bold" if strong else "normal", color=Colour.INK.value, fontsize=TEXT,
    )  # fmt: skip


def _mark(axes: Axes, row: int, mark: Mark, *, bar: bool) -> None:
    """The interval as a line, the mean as a dot or a bar, filled where it is sure."""
    low, mean, high = ends(mark.estimate)
    colour = Colour.MEAN
    if mark.estimate.signed:
        colour = (Colour.BETTER if mean > 0 else Colour.WORSE) if mark.sure else Colour.UNSURE
    face = colour.value if mark.sure else Colour.PAPER.value
    line = Colour.INK.value if bar else colour.value
    axes.plot([low, high], [-row, -row], color=line, linewidth=1.6 if bar else 2.4, solid_capstyle="butt", zorder=3)
    for end in (low, high):
        axes.plot([end, end], [-row - 0.1, -row + 0.1], color=line, linewidth=1.6, zorder=3)
    if bar:
        axes.barh(-row, mean, height=0.34, color=face, edgecolor=colour.value, linewidth=1.4, zorder=2)
    else:
        axes.plot(
            [mean], [-row], "o", markersize=8.5, color=face, markeredgecolor=colour.value, markeredgewidth=2, zorder=4
        )
