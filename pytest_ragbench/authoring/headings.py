"""Heading paths of a Markdown text, and the text below each: enough to check that a locator names something.

Pure. Known are front matter, ATX and Setext headings, fences in any indentation, HTML comments; the text of a heading
stays as written, inline markup included, because that is what splitters hand to an index.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.canonical import fold_heading
from pytest_ragbench.questions.locators import HEADING_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ATX = re.compile(r" {0,3}(#{1,6})((?:[ \t].*)?)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE = re.compile(r"((?:[ \t]|>|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*)(`{3,}(?=[^`]*$)|~{3,})")
# Lines that are no paragraph text, so that a `---` below them is a rule and no underline.
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t]|\||(?:[-*_][ \t]*){3,}$)| {4}|\t")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it.

    Attributes:
        path: Heading path, outermost first.
        line: 1-based line of the heading.
        text: The lines below it up to the next heading of its level or above, sub-sections included.
    """

    path: tuple[str, ...]
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a text, looked up as locators name them.

    Attributes:
        by_path: Folded heading path to the sections that have it, in order.
        by_text: The same by the path written as text; paths that differ in where a heading ends share an entry.
    """

    by_path: Mapping[tuple[str, ...], Sequence[Section]]
    by_text: Mapping[str, Sequence[Section]]


def outline(markdown: str) -> Outline:
    """The outline of a Markdown text."""
    by_path: dict[tuple[str, ...], list[Section]] = {}
    by_text: dict[str, list[Section]] = {}
    for section in sections(markdown):
        by_path.setdefault(fold_headings(section.path), []).append(section)
        by_text.setdefault(heading_text(section.path), []).append(section)
    return Outline(by_path, by_text)


def fold_headings(path: Sequence[str]) -> tuple[str, ...]:
    """A heading path as paths are compared: component by component."""
    return tuple(map(fold_heading, path))


def heading_text(path: Sequence[str]) -> str:
    """A heading path as folded text."""
    return fold_heading(HEADING_SEPARATOR.join(path))


def sections(markdown: str) -> list[Section]:
    """Every section of a Markdown text, in the order of the headings."""
    lines = markdown.removeprefix("\ufeff").splitlines()
    found = _headings(lines)
    result: list[Section] = []
    open_levels: list[tuple[int, str]] = []
    for index, (start, after, level, title) in enumerate(found):
        while open_levels and open_levels[-1][0] >= level:
            open_levels.pop()
        open_levels.append((level, title))
        end = next((later[0] for later in found[index + 1 :] if later[2] <= level), len(lines))
        path = tuple(text for _, text in open_levels)
        result.append(Section(path, start + 1, "\n".join(lines[after:end])))
    return result


def _headings(lines: list[str]) -> list[tuple[int, int, int, str]]:
    """(first line, line after the heading, level, title), lines counted from 0."""
    found: list[tuple[int, int, int, str]] = []
    paragraph: list[str] = []
    comment_ends = [index for index, line in enumerate(lines) if "-->" in line]
    index = _after_front_matter(lines)
    while index < len(lines):
        line = lines[index]
        after = _after_block(lines, index, comment_ends)
        if after is not None:
            paragraph, index = [], after
            continue
        atx = _ATX.fullmatch(line)
        underline = _UNDERLINE.fullmatch(line)
        if atx:
            if title := _without_closing(atx[2].strip()):
                found.append((index, index + 1, len(atx[1]), title))
            paragraph = []
        elif underline and paragraph:
            level = 1 if underline[1][0] == "=" else 2
            title = " ".join(text.strip() for text in paragraph)
            found.append((index - len(paragraph), index + 1, level, title))
            paragraph = []
        elif not line.strip() or (not paragraph and _NO_PARAGRAPH.match(line)) or _is_list_or_quote(line):
            paragraph = []
        else:
            paragraph.append(line)
        index += 1
    return found


def _without_closing(title: str) -> str:
    """A title without the `##` that may close it; a `#` that touches a word, as in `C#`, belongs to it."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _is_list_or_quote(line: str) -> bool:
    """Whether a line interrupts a paragraph; further indentation does not."""
    return _NO_PARAGRAPH.match(line) is not None and not line.startswith(("    ", "\t"))


def _after_front_matter(lines: list[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((index + 1 for index in range(1, len(lines)) if lines[index].rstrip() in ("---", "...")), 0)


def _after_block(lines: list[str], index: int, comment_ends: Sequence[int]) -> int | None:
    """The line after the fence or HTML comment that opens at `index`, or None where none does."""
    line = lines[index]
    if line.lstrip().startswith("<!--"):
        position = bisect_left(comment_ends, index)
        return None if position == len(comment_ends) else comment_ends[position] + 1
    fence = _FENCE.match(line)
    if fence is None:
        return None
    mark = fence[2]
    closed = re.compile(rf"[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    closing = next((later for later in range(index + 1, len(lines)) if closed.fullmatch(lines[later])), None)
    if closing is not None:
        return closing + 1
    # An open fence runs to the end; but four columns in, where no list holds it, it is text of a code block.
    return None if fence[1].startswith(("    ", "\t")) else len(lines)
