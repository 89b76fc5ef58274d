"""Markdown notes: front matter, and sections under their heading paths, as CommonMark sees them."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from rag.records import Document, Finding, Passage
from rag.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

METADATA = ("area", "course", "generated", "kind", "title")
_SCALARS = (str, int, float, dt.date)
_BACKTICKS = re.compile(r"(?<!\\)`+")
_MATH = re.compile(r"^ {0,3}\$\$[^$]*$")


def read_markdown(file: str, data: bytes) -> list[Document]:
    """One document with a passage a section; heading texts stand as they are written, without closing `#`s."""
    findings: list[Finding] = []
    text, complaint = _decoded(data)
    if complaint:
        findings.append(Finding(file, "fallback", complaint))
    lines = text.split("\n")
    end = _front_matter_end(lines)
    metadata, complaint = _front_matter("\n".join(lines[1 : end - 1])) if end else ({}, None)
    if complaint:
        findings.append(Finding(file, "fallback", complaint))
    lines[:end] = [""] * end
    title = metadata.get("title") or PurePosixPath(file).stem
    return [Document(file, title, tuple(_passages(lines)), metadata, tuple(findings))]


def prose(data: bytes) -> str:
    """Where a note can hold links: its text with its front matter, but without its code and its display formulas."""
    text, _ = _decoded(data)
    lines = text.split("\n")
    end = _front_matter_end(lines)
    body = _without_math([""] * end + lines[end:])
    for token in _parser().parse("\n".join(body)):
        if token.type in ("fence", "code_block") and token.map is not None:
            start, stop = token.map
            body[start:stop] = [""] * (stop - start)
    return "\n".join(lines[:end] + _without_code_spans("\n".join(body[end:])).split("\n"))


def _without_code_spans(text: str) -> str:
    """Code spans blanked: from a run of backticks to the next of the same length, within a paragraph."""
    kept: list[str] = []
    for paragraph in re.split(r"(\n\s*\n)", text):
        runs = [match.span() for match in _BACKTICKS.finditer(paragraph)]
        closers: dict[int, list[int]] = {}
        for number in reversed(range(len(runs))):
            closers.setdefault(runs[number][1] - runs[number][0], []).append(number)
        done = number = 0
        while number < len(runs):
            same = closers[runs[number][1] - runs[number][0]]
            while same and same[-1] <= number:
                same.pop()
            if same:
                kept.append(paragraph[done : runs[number][0]])
                number = same[-1]
                done = runs[number][1]
            number += 1
        kept.append(paragraph[done:])
    return "".join(kept)


def _decoded(data: bytes) -> tuple[str, str | None]:
    """The text, and what is wrong with its bytes."""
    try:
        return clean(data.decode("utf-8-sig")), None
    except UnicodeDecodeError as error:
        complaint = f"not UTF-8 ({error.reason} at byte {error.start}); read as Latin-1"
        return clean(data.decode("latin-1")), complaint


def _front_matter_end(lines: list[str]) -> int:
    """Number of lines that the front matter takes, its fences included; 0 where there is none."""
    if lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in ("---", "..."):
            return number + 1
    return 0


def front_matter(data: bytes) -> dict[str, Any]:
    """The fields of a note's front matter as YAML has them; none where there is none, or where it cannot be read."""
    text, _ = _decoded(data)
    lines = text.split("\n")
    end = _front_matter_end(lines)
    return _fields("\n".join(lines[1 : end - 1]))[0] if end else {}


def _front_matter(text: str) -> tuple[dict[str, str], str | None]:
    fields, complaint = _fields(text)
    # Lists and mappings are no names; through aliases they may be as large as memory.
    names = {key: str(value) for key in METADATA if isinstance(value := fields.get(key), _SCALARS) and value != ""}
    return names, complaint


def _fields(text: str) -> tuple[dict[str, Any], str | None]:
    try:
        fields = yaml.safe_load(text)
    except Exception as error:  # noqa: BLE001 tags such as !!int make PyYAML raise nearly anything
        return {}, f"its front matter is no YAML ({str(error).partition(chr(10))[0] or type(error).__name__}); left out"
    if not isinstance(fields, dict):
        return {}, None if fields is None else "its front matter is no mapping; left out"
    return fields, None


def _passages(lines: list[str]) -> Iterator[Passage]:
    """Sections that hold text; where none does, the headings themselves, so that an outline can be found."""
    sections = list(_sections(lines))
    if any(passage.blocks for passage in sections):
        yield from (passage for passage in sections if passage.blocks)
    else:
        yield from (Passage((passage.heading[-1],), passage.heading) for passage in sections if passage.heading)


def _sections(lines: list[str]) -> Iterator[Passage]:
    """Each heading's own text, up to the next heading of any level, in blocks."""
    path: list[tuple[int, str]] = []
    starts: list[int] = []
    tokens = _parser().parse("\n".join(_without_math(lines)))
    for number, token in enumerate(tokens):
        if token.level != 0 or token.map is None:
            continue
        if token.type != "heading_open":
            starts.append(token.map[0])
            continue
        yield _section(lines, starts, token.map[0], path)
        path = [entry for entry in path if entry[0] < _depth(token)] + [(_depth(token), _heading(tokens[number + 1]))]
        starts = [token.map[1]]
    yield _section(lines, starts, len(lines), path)


def _section(lines: list[str], starts: list[int], end: int, path: list[tuple[int, str]]) -> Passage:
    bounds = [*sorted(set(starts)), end]
    blocks = ("\n".join(lines[a:b]).strip("\n").rstrip() for a, b in itertools.pairwise(bounds))
    return Passage(tuple(block for block in blocks if block.strip()), tuple(text for _, text in path if text))


def _depth(token: Token) -> int:
    return int(token.tag[1:])


def _heading(inline: Token) -> str:
    return " ".join(inline.content.split())


def _without_math(lines: list[str]) -> list[str]:
    """The lines with display formulas blanked: a lone `=` or `-` in one would make a heading of the line above."""
    kept: list[str] = []
    inside = False
    for line in lines:
        fence = _MATH.match(line) is not None or (inside and line.rstrip().endswith("$$"))
        kept.append("x" if fence or inside else line)
        inside = inside != fence
    return lines if inside else kept


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """CommonMark's block structure with tables; inline text is left as written."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
