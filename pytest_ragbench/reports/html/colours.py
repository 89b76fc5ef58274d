"""The colours of a chart by what they stand for; the page's style says how each looks in light and in dark."""

from __future__ import annotations

from enum import Enum


class Colour(Enum):
    """A role, and the placeholder that is drawn for it."""

    INK = "#000101"
    MUTED = "#000102"
    GRID = "#000103"
    PAPER = "#000104"
    MEAN = "#000105"
    BETTER = "#000106"
    WORSE = "#000107"
    UNSURE = "#000108"
    WHISKER = "#000109"
    LAYER_1 = "#000201"
    LAYER_2 = "#000202"
    LAYER_3 = "#000203"
    LAYER_4 = "#000204"
    LAYER_5 = "#000205"
    LAYER_6 = "#000206"
    LAYER_7 = "#000207"

    @property
    def variable(self) -> str:
        """The custom property of the page's style: `--chart-layer-1`."""
        return f"--chart-{self.name.lower().replace('_', '-')}"


LAYERS = tuple(colour for colour in Colour if colour.name.startswith("LAYER"))
"""Of the parts of a stack, in their order."""
