"""Python files: a passage a top-level definition, and one for each stretch of code between definitions."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
import warnings
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag.records import Document, Finding, Passage
from rag.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_BLANK_LINES = re.compile(r"\n[ \t]*\n+")


def read_python(file: str, data: bytes) -> list[Document]:
    """One document; its heading path is the file's own name. What does not parse is cut at blank lines instead."""
    name = PurePosixPath(file).name
    text, findings = _decode(file, data)
    if not text.strip():
        return [Document(file, name, findings=tuple(findings))]
    try:
        passages = list(_definitions(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        findings.append(Finding(file, "fallback", f"does not parse ({type(error).__name__}); cut at blank lines"))
        passages = [tuple(block for block in _BLANK_LINES.split(text) if block.strip())]
    return [Document(file, name, tuple(Passage(blocks, (name,)) for blocks in passages), findings=tuple(findings))]


def _decode(file: str, data: bytes) -> tuple[str, list[Finding]]:
    """Text by its byte order mark or coding line, else UTF-8, else Latin-1, which takes any byte."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return clean(data.decode(encoding)), []
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return clean(data.decode("latin-1")), [
            Finding(file, "fallback", "not in its declared encoding; read as Latin-1")
        ]


def _definitions(text: str) -> Iterator[tuple[str, ...]]:
    """Blocks of each passage. Lines alone are counted, since the columns of `ast` are bytes."""
    lines = text.split("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape in a note is no concern of the index
        tree = ast.parse(text)
    loose = 0
    for node in tree.body:
        if not isinstance(node, Definition):
            continue
        start = _first_line(node, lines, loose)
        yield from _nonblank(_paragraphs(lines[loose:start]))
        loose = node.end_lineno or len(lines)
        yield from _nonblank(_members(node, lines, start, loose))
    yield from _nonblank(_paragraphs(lines[loose:]))


def _first_line(node: Definition, lines: list[str], floor: int) -> int:
    """0-based first line of a definition, with its decorators and the comments that stand right above it."""
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    while start > floor and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _members(node: Definition, lines: list[str], start: int, end: int) -> tuple[str, ...]:
    """A function as one block; a class cut before each of its methods."""
    cuts = [start]
    if isinstance(node, ast.ClassDef):
        inner = [child for child in node.body if isinstance(child, Definition)]
        cuts += [_first_line(child, lines, start + 1) for child in inner]
    bounds = [*cuts, end]
    return tuple("\n".join(lines[a:b]).strip("\n").rstrip() for a, b in itertools.pairwise(bounds))


def _paragraphs(lines: list[str]) -> tuple[str, ...]:
    return tuple(_BLANK_LINES.split("\n".join(lines).strip("\n").rstrip()))


def _nonblank(blocks: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    kept = tuple(block for block in blocks if block.strip())
    if kept:
        yield kept
