r"""A report as GitHub-flavoured Markdown. All text is escaped here, so no value can end a cell, a row or a block.

Every ASCII character that Markdown could read as markup is preceded by a backslash, `<` and `&` become entities; a
backslash of the text is doubled, so `\|` in a cell is always an escaped pipe.
"""

from __future__ import annotations

import re

from pytest_ragbench.reports.model import Bullets, Cell, Plot, Report, Sentences, Table
from pytest_ragbench.reports.text import cell_text, cut, visible

CELL_CHARACTERS = 300
"""Length at which the text of a cell is cut, with a mark."""

_SPECIAL = re.compile(r"[\\`*_|~#>]|\](?=[(\[:])")  # brackets alone are no link, and no definition stands anywhere
_SNAKE = re.compile(r"(?<=\w)\\_(?=\w)")
_BLOCK_START = re.compile(r"^([-+=\[]|\d+(?=[.)](?:\s|$)))")


def render_markdown(report: Report) -> str:
    """The report as a file's text, with a final newline; the same report gives the same text."""
    parts = [f"# {escape(report.title)}"]
    for section in report.sections:
        parts.append(f"## {escape(section.title)}")
        parts.extend(_block(block) for block in section.texts)
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Raw text as Markdown that shows exactly it, on one line, for the middle of a line."""
    shown = visible(text).replace("&", "&amp;").replace("<", "&lt;")
    escaped = _SPECIAL.sub(lambda found: "\\" + found[0], shown)
    return _SNAKE.sub("_", escaped)  # an underscore within a word is never emphasis


def escape_block(text: str) -> str:
    """Raw text as a Markdown block of its own: nothing at its start makes it a list, a heading, a rule or code."""
    escaped = escape(text.strip())
    return _BLOCK_START.sub(lambda found: f"{found[1]}\\" if found[1].isdigit() else f"\\{found[1]}", escaped)


def _block(block: Sentences | Bullets | Table | Plot) -> str:
    match block:
        case Sentences():
            return escape_block(block.text)
        case Bullets():
            return "\n".join(f"- {escape_block(item)}" for item in block.items)
        case Plot():
            return "\n".join(("```text", *block.lines, "```"))
        case Table():
            return _table(block)


def _cell(cell: Cell) -> str:
    """A cell's text; what is no text from outside consists of digits, points and brackets."""
    text = cell_text(cell)
    return escape(cut(text, CELL_CHARACTERS)) if isinstance(cell, str) else text


def _table(table: Table) -> str:
    lines = [
        _row([escape(column.title) for column in table.columns]),
        _row(["--:" if column.numeric else ":--" for column in table.columns]),
    ]
    lines.extend(_row([_cell(cell) for cell in row]) for row in table.rows)
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
