"""The one report model: sections of sentences and tables with typed cells; only the renderers format and escape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Number:
    """A plain number with a fixed number of decimals."""

    value: float
    digits: int = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; `signed` for a difference."""

    mean: float
    low: float | None = None
    high: float | None = None
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, `38/40`."""

    part: int
    whole: int


@dataclass(frozen=True, slots=True)
class Probability:
    """A p-value."""

    value: float


@dataclass(frozen=True, slots=True)
class Milliseconds:
    """A duration in ms."""

    value: float


Cell = str | int | Number | Estimate | Share | Probability | Milliseconds | None
"""A table cell; None where there is nothing to say. Text is raw: it is escaped where it is printed."""


@dataclass(frozen=True, slots=True)
class Column:
    """A table column; numbers are set right."""

    title: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns.

    Attributes:
        columns: As many as every row has cells.
        rows: In display order.
        keys: Leading columns that say what a row is; repeated when a narrow terminal breaks the table.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    keys: int = 1


@dataclass(frozen=True, slots=True)
class Sentences:
    """A paragraph, raw text."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of short texts, raw."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing of printable ASCII characters, shown as it is in letters of one width.

    Attributes:
        lines: From top to bottom, none wider than the narrowest terminal.
    """

    lines: tuple[str, ...]


Block = Sentences | Bullets | Table | Plot


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report; `detail` parts stay out of the summary at the end of a session."""

    title: str
    blocks: tuple[Block, ...] = ()
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What is shown of a run, whoever shows it."""

    title: str
    sections: tuple[Section, ...]

    def brief(self, limit: int = 10) -> Report:
        """The report without its details, no table or list longer than `limit`, and what was left out by name."""
        sections = [section for section in self.sections if not section.detail]
        shown = [Section(section.title, tuple(_cut(section.blocks, limit))) for section in sections]
        left = [section.title for section in self.sections if section.detail]
        more = (Section("Not shown here", (Sentences(f"{'; '.join(left)}."),)),) if left else ()
        return Report(self.title, (*shown, *more))


def _cut(blocks: tuple[Block, ...], limit: int) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Table() if len(block.rows) > limit:
                yield Table(block.columns, block.rows[:limit], block.keys)
                yield Sentences(f"{len(block.rows) - limit:,} more rows are not shown here.")
            case Bullets() if len(block.items) > limit:
                yield Bullets((*block.items[:limit], f"{len(block.items) - limit:,} more are not shown here."))
            case _:
                yield block
