"""Charts as pictures: matplotlib draws them as SVG, in pixels, with colours that stand for roles.

What the page makes of a picture (its colours in light and dark, its names) is left to `pictures`. The same chart gives
the same bytes: own settings and not the user's, the font that matplotlib ships, no date, names by a fixed salt.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

import matplotlib as mpl

from pytest_ragbench.reports.html.canvas import NARROW, TEXT, Size
from pytest_ragbench.reports.html.points import scatter
from pytest_ragbench.reports.html.rows import intervals, stacks
from pytest_ragbench.reports.model import Chart, Intervals, Scatter, Stacks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(chart: Chart, size: Size = NARROW) -> str:
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
                figure = intervals(chart, size)
            case Stacks():
                figure = stacks(chart, size)
            case Scatter():
                figure = scatter(chart, size)
            case _:
                raise TypeError(f"{type(chart).__name__}: nothing draws such a chart")
        return _saved(figure)


def _saved(figure: Figure) -> str:
    with io.StringIO() as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the reader's browser has other fonts
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
        return file.getvalue()
