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


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of a chart of intervals.

    Attributes:
        label: What the row is, raw text.
        estimate: Where the mark and its interval lie.
        verdict: In words, or empty where nothing was tested.
        sure: Whether it is told apart from zero; the mark is then filled.
    """

    label: str
    estimate: Estimate
    verdict: str = ""
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Stack:
    """One row of a chart of parts: counts under the names of the chart's layers, of `whole` in all."""

    label: str
    parts: tuple[int, ...]
    whole: int


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a chart of two values."""

    label: str
    across: float
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of numbers that also stand in a table; renderers without pictures pass it over.

    Attributes:
        title: What it shows, in one line.
        axis: The value that its axis measures.
        note: How to read it, or what it leaves out; a sentence or empty.
    """

    title: str
    axis: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Intervals(Chart):
    """Means or differences with their intervals, one below the other; `bars` draws them from zero."""

    marks: tuple[Mark, ...] = ()
    bars: bool = False


@dataclass(frozen=True, slots=True)
class Stacks(Chart):
    """Shares of a whole, laid end to end."""

    layers: tuple[str, ...] = ()
    stacks: tuple[Stack, ...] = ()


@dataclass(frozen=True, slots=True)
class Scatter(Chart):
    """One value against another, each point with the interval of the second."""

    across: str = ""
    points: tuple[Point, ...] = ()


Block = Sentences | Bullets | Table | Plot | Chart


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report; `detail` parts stay out of the summary at the end of a session."""

    title: str
    blocks: tuple[Block, ...] = ()
    detail: bool = False

    @property
    def texts(self) -> tuple[Sentences | Bullets | Table | Plot, ...]:
        """The blocks that can be written; charts are for those who draw."""
        return tuple(block for block in self.blocks if not isinstance(block, Chart))


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
