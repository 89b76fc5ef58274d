"""What all charts share: how much room a picture has, an empty one with its axes, and how values are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from pytest_ragbench.reports.html.colours import Colour
from pytest_ragbench.reports.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pytest_ragbench.reports.model import Estimate


@dataclass(frozen=True, slots=True)
class Size:
    """How much room a picture has.

    Attributes:
        name: What the page's style calls it.
        width: Pixels.
        row: Pixels of one row of marks.
        beside: Whether a row's label stands left of its mark and its words right of it, or both above it.
    """

    name: str
    width: int
    row: int
    beside: bool


NARROW = Size("narrow", 392, 40, beside=False)
"""On a telephone, or where two charts stand side by side."""

WIDE = Size("wide", 860, 28, beside=True)
"""Of a chart that has a screen's width, or a sheet's, to itself."""

FOOT = 44
"""Pixels below the marks, for the axis."""

TEXT, SMALL = 12.5, 11.5
"""Sizes of letters, in pixels."""

DOTS = 72
"""Dots an inch, so that a point is a pixel."""


def canvas(width: int, height: int, *, left: float, right: float, top: int, bottom: int) -> tuple[Figure, Axes]:
    """A figure with axes that leave these margins, in pixels."""
    figure = Figure(figsize=(width / DOTS, height / DOTS), dpi=DOTS)
    place = (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    axes = figure.add_axes(place)
    axes.set_facecolor("none")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=Colour.MUTED.value, length=0, labelsize=SMALL)
    return figure, axes


def name_axis(axes: Axes, name: str, *, up: bool = False) -> None:
    """What the horizontal axis measures, or the vertical one."""
    say = axes.set_ylabel if up else axes.set_xlabel
    say(visible(name), color=Colour.MUTED.value, fontsize=SMALL, labelpad=6.0)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """The low end of an estimate's interval, its mean, and the high end; thrice the mean without an interval."""
    low = estimate.mean if estimate.low is None else estimate.low
    high = estimate.mean if estimate.high is None else estimate.high
    return low, estimate.mean, high


def short(value: float, *, signs: bool) -> str:
    """A value on an axis, without digits that say nothing."""
    text = f"{value:+.3f}" if signs else f"{value:.3f}"
    text = text.rstrip("0").rstrip(".")
    return "0" if text in {"", "+", "-", "+0", "-0", "0"} else text
