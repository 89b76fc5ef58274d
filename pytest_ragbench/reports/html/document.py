"""The page as a value: sections with their anchors, charts drawn, questions listed. Only the templates write HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.reports.html.canvas import NARROW, WIDE
from pytest_ragbench.reports.html.pictures import picture
from pytest_ragbench.reports.html.points import lettered
from pytest_ragbench.reports.model import Chart, Intervals, Scatter, Stacks
from pytest_ragbench.reports.text import cell_text, milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from pytest_ragbench.reports.html.questions import QuestionList
    from pytest_ragbench.reports.model import Block, Point, Report, Section

IN_WORDS = "In words"
WHAT_RAN = "What ran"
ERRORS = "Errors"
SUITES = "By suite"
GATES = {"Gate: passed": "passed", "Gate: failed": "failed", "Gate: refused": "failed"}
"""The verdict of the gate, a word of its title."""

QUESTIONS = "questions"


@dataclass(frozen=True, slots=True)
class Key:
    """One line beside a chart: what a letter or a colour stands for."""

    sign: str
    colour: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart as it stands in the page, drawn for little room and for much; the style shows one of the two."""

    title: str
    note: str
    svgs: tuple[Markup, ...]
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the page.

    Attributes:
        anchor: Its name in links, unique.
        title: Raw text.
        kind: What the style makes of it: `words`, `facts`, `errors`, `passed`, `failed` or empty.
        figures: Its charts.
        blocks: The rest, in order.
        detail: Whether it is folded: a detail without a chart, but for the suites.
    """

    anchor: str
    title: str
    kind: str
    figures: tuple[Figure, ...]
    blocks: tuple[Block, ...]
    detail: bool


@dataclass(frozen=True, slots=True)
class Page:
    """All that the templates show; `words` explains what the report takes for known."""

    title: str
    words: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    questions: QuestionList | None


def build_page(report: Report, questions: QuestionList | None, words: tuple[tuple[str, str], ...] = ()) -> Page:
    """The page of a report, with its charts drawn."""
    taken: set[str] = {QUESTIONS, "main", "list", "data", "search", "filter", "first", "second", "count"}
    return Page(report.title, words, tuple(_part(section, taken) for section in report.sections), questions)


def _part(section: Section, taken: set[str]) -> Part:
    kinds = {IN_WORDS: "words", WHAT_RAN: "facts", ERRORS: "errors", **GATES}
    anchor = _anchor(section.title, taken)
    charts = [block for block in section.blocks if isinstance(block, Chart)]
    figures = tuple(_figure(chart, f"{anchor}-{number}") for number, chart in enumerate(charts, start=1))
    folded = section.detail and not figures and not section.title.startswith(SUITES)
    return Part(anchor, section.title, kinds.get(section.title, ""), figures, section.texts, folded)


def _anchor(title: str, taken: set[str]) -> str:
    """A name for links out of a title's letters and digits, unlike those that are taken."""
    stem = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"
    anchor, number = stem, 2
    while anchor in taken:
        anchor, number = f"{stem}-{number}", number + 1
    taken.add(anchor)
    return anchor


def _figure(chart: Chart, name: str) -> Figure:
    svgs = tuple(picture(chart, f"{name}-{size.name}", size) for size in (NARROW, WIDE))
    return Figure(chart.title, chart.note, svgs, tuple(_keys(chart)))


def _keys(chart: Chart) -> Iterator[Key]:
    match chart:
        case Stacks():
            for number, layer in enumerate(chart.layers, start=1):
                yield Key("", number, layer)
        case Scatter():
            for letter, point in zip(lettered(chart), chart.points, strict=True):
                if letter:
                    yield Key(letter, None, _placed(point))
        case Intervals():
            pass


def _placed(point: Point) -> str:
    return f"{point.label}: {milliseconds(point.across)} ms, {cell_text(point.estimate)}"
