"""A report as plain text for a terminal of a given width; wide tables are broken into stacked ones."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from tabulate import tabulate

from pytest_ragbench.reports.model import Bullets, Plot, Report, Sentences, Table
from pytest_ragbench.reports.text import cell_text, cut, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ragbench.reports.model import Section

NARROWEST = 40
CELL_CHARACTERS = 100
"""Of a cell; a path with its heading takes most of them, and a column too wide stands alone beside its keys."""

GAP = 2
"""Blanks between columns in tabulate's `simple` format, and what it adds to a header."""


def render_terminal(report: Report, width: int = 80) -> str:
    """The report as text with a final newline, made for 80 columns and more.

    Sentences fit any width from `NARROWEST` on. Of a table the key columns and one more stay together: where these need
    more than `width`, as three keys and a difference may below 80 columns, their lines are wider.
    """
    width = max(width, NARROWEST)
    parts = [_underlined(visible(report.title), "=")]
    for section in report.sections:
        parts.append(_underlined(visible(section.title), "-"))
        parts.extend(_block(block, width) for block in section.texts)
    return "\n\n".join(parts) + "\n"


def render_section(section: Section, width: int = 80) -> str:
    """What stands in a section, without its title and without a final newline."""
    return "\n\n".join(_block(block, max(width, NARROWEST)) for block in section.texts)


def _underlined(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def _block(block: Sentences | Bullets | Table | Plot, width: int) -> str:
    match block:
        case Sentences():
            return textwrap.fill(visible(block.text), width, break_long_words=False, break_on_hyphens=False)
        case Bullets():
            return "\n".join(
                textwrap.fill(
                    visible(item),
                    width,
                    initial_indent="- ",
                    subsequent_indent="  ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                for item in block.items
            )
        case Plot():
            return "\n".join(block.lines)
        case Table():
            return "\n\n".join(_grids(block, width))


def _grids(table: Table, width: int) -> Iterator[str]:
    headers = [visible(column.title) for column in table.columns]
    rows = [[visible(cut(cell_text(cell), CELL_CHARACTERS)) for cell in row] for row in table.rows]
    widths = [max(len(header) + GAP, *map(len, cells), 0) for header, *cells in zip(headers, *rows, strict=True)]
    align = ["right" if column.numeric else "left" for column in table.columns]
    for kept in _fitting(widths, table.keys, width):
        yield tabulate(
            [[row[index] for index in kept] for row in rows],
            headers=[headers[index] for index in kept],
            tablefmt="simple",
            disable_numparse=True,
            colalign=[align[index] for index in kept] if rows else None,
        )


def _fitting(widths: list[int], keys: int, width: int) -> Iterator[list[int]]:
    """Groups of columns that fit side by side, each led by the key columns; a column too wide stands alone."""
    leading = list(range(keys))
    start = sum(widths[:keys]) + GAP * keys - GAP
    group, used = list(leading), start
    for index in range(keys, len(widths)):
        if len(group) > keys and used + GAP + widths[index] > width:
            yield group
            group, used = list(leading), start
        group.append(index)
        used += GAP + widths[index]
    yield group
