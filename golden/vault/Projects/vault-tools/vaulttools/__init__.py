"""Tools that keep my vault in order: links, front matter, cards, canvases."""

__version__ = "0.4.2"
