"""A drawn chart as a part of the page: names of its own, colours by the page's style, a name for who cannot see it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from markupsafe import Markup

from pytest_ragbench.reports.html.canvas import NARROW, Size
from pytest_ragbench.reports.html.colours import Colour
from pytest_ragbench.reports.html.drawing import draw
from pytest_ragbench.reports.text import visible

if TYPE_CHECKING:
    from pytest_ragbench.reports.model import Chart

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_COLOURS = {colour.value: f"var({colour.variable})" for colour in Colour}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font(-family)?: [^;]*'DejaVu Sans'[^;]*;?")


def picture(chart: Chart, name: str, size: Size = NARROW) -> Markup:
    """The chart as an `svg` element.

    Args:
        chart: What to draw.
        name: Unique on the page; every name inside the picture begins with it.
        size: How much room it has; the page's style shows the picture where it fits.
    """
    root = ET.fromstring(draw(chart, size))  # noqa: S314 - our own drawing, whose texts are escaped
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}metadata" or child.find(f"{_SVG}style") is not None:
                parent.remove(child)
    used = _used(root)
    for element in root.iter():
        _settle(element, name, used)
    view = root.attrib["viewBox"]
    root.attrib.clear()
    root.attrib.update(
        {"viewBox": view, "role": "img", "aria-label": visible(f"Chart: {chart.title}"), "class": f"chart {size.name}"}
    )
    text = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    return Markup(text)  # noqa: S704 - serialised by an XML writer, which escapes texts and attributes


def _used(root: ET.Element) -> set[str]:
    """Names that something inside the picture refers to."""
    found: set[str] = set()
    for element in root.iter():
        if (link := element.attrib.get(_LINK)) is not None:
            found.add(link.removeprefix("#"))
        for value in element.attrib.values():
            found.update(_REFERENCE.findall(value))
    return found


def _settle(element: ET.Element, name: str, used: set[str]) -> None:
    """One element within HTML: no namespace, names under the picture's, placeholders as the page's colours."""
    element.tag = element.tag.removeprefix(_SVG)
    attributes = dict(element.attrib)
    element.attrib.clear()
    for key, value in attributes.items():
        if key == "id":
            if value in used:
                element.set("id", f"{name}-{value}")
        elif key == _LINK:
            element.set("href", f"#{name}-{value.removeprefix('#')}")
        else:
            settled = _REFERENCE.sub(lambda found: f"url(#{name}-{found[1]})", value)
            element.set(key, _coloured(settled) if key == "style" else settled)
    if element.text is not None and not element.text.strip():
        element.text = None
    if element.tail is not None:
        element.tail = None


def _coloured(style: str) -> str:
    for placeholder, variable in _COLOURS.items():
        style = style.replace(placeholder, variable)
    return style
