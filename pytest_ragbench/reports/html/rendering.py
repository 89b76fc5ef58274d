"""The page as a file's text. Everything that is not markup of the templates is made visible and escaped on its way out.

The page may load nothing and run nothing but its own script, which its policy names by digest.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pytest_ragbench.reports.model import (
    Bullets,
    Cell,
    Estimate,
    Milliseconds,
    Number,
    Plot,
    Probability,
    Sentences,
    Share,
    Table,
)
from pytest_ragbench.reports.text import cell_text, cut, plural, signed, visible

if TYPE_CHECKING:
    from jinja2 import BaseLoader

    from pytest_ragbench.reports.html.document import Page

CELL_CHARACTERS = 400
"""Length at which the text of a cell is cut, with a mark."""

LONG = 25
"""Rows beyond which a table scrolls within the page."""


def render_page(page: Page) -> str:
    """The page as a file's text, with a final newline; the same page gives the same text."""
    environment = _environment()
    style, script = (_asset(environment, name) for name in ("page.css", "page.js"))
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'; "
        "base-uri 'none'; form-action 'none'"
    )
    text = environment.get_template("page.html.j2").render(page=page, style=style, script=script, policy=policy)
    return text.rstrip("\n") + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pytest_ragbench.reports.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "sort_keys": True,
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    environment.filters |= {
        "cell": _cell,
        "plain": _plain,
        "lines": _lines,
        "order": _order,
        "kind": _kind,
        "signed": signed,
        "plural": plural,
    }
    environment.globals["long"] = LONG
    return environment


def _shown(value: Any) -> Any:
    """What a template prints: text with nothing hidden in it, which is then escaped; markup as it is."""
    return value if isinstance(value, Markup) else visible(str(value))


def _asset(environment: Environment, name: str) -> Markup:
    """A file of the package as it is: the page's style or script."""
    loader = cast("BaseLoader", environment.loader)
    return Markup(loader.get_source(environment, name)[0])  # noqa: S704 - a file of this package


def _kind(block: object) -> str:
    """The name of a block's class, which the templates choose their markup by."""
    return {Sentences: "sentences", Bullets: "bullets", Table: "table", Plot: "plot"}[type(block)]


def _lines(text: str) -> Markup:
    """Text whose line feeds stay; the rest is made visible and escaped as everywhere."""
    return Markup("\n").join(visible(line) for line in text.split("\n"))


def _cell(cell: Cell) -> Markup:
    """A cell; text from outside is set apart, so that its writing direction ends with it."""
    match cell:
        case str():
            return Markup("<bdi>{}</bdi>").format(visible(cut(cell, CELL_CHARACTERS)))
        case Estimate() if cell.low is not None:
            mean, interval = cell_text(cell).split(" ", 1)
            return Markup('{} <span class="interval">{}</span>').format(mean, interval)
    return Markup("{}").format(cell_text(cell))


def _plain(cell: Cell) -> str:
    """A cell's text where the cell itself is a block, which ends its writing direction."""
    return cut(cell_text(cell), CELL_CHARACTERS)


def _order(cell: Cell) -> str:
    """What a table is sorted by: a number where the cell is one, else nothing, and its text counts."""
    match cell:
        case Estimate():
            return f"{cell.mean:.12g}"
        case Number() | Probability() | Milliseconds():
            return f"{cell.value:.12g}"
        case Share():
            return f"{cell.part / cell.whole:.12g}" if cell.whole else "0"
        case int():
            return str(cell)
    return ""
