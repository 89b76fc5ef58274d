"""How documents become chunks: blocks are packed up to a length and never leave their passage (section, page, cell)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from rag.records import NO_LABELS, Chunk, Document, Labels, Passage
from rag.text import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag.options import Chunking

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")
_SPACE = re.compile(r"\s+")
_SPACES = re.compile(r"\s*")
_LINE_ENDS = re.compile(r"\n*")
_EDGE = re.compile(r"(?<=\W)(?=\w)|(?<=\w)(?=\W)")


def chunk(document: Document, chunking: Chunking, labels: Labels = NO_LABELS) -> list[Chunk]:
    """The document's chunks in order, all with its labels. Blank text makes no chunk.

    An id is the digest of file, place and text; equal texts at one place are told apart by their order.
    """
    if chunking.mode == "whole":
        pieces = _whole(document)
    else:
        pieces = ((passage, text) for passage in document.passages for text in pack(passage.blocks, chunking.max_chars))
    seen: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for passage, text in pieces:
        identity = digest([document.file, passage.heading, passage.pages, text])
        name = identity if seen[identity] == 0 else digest([identity, seen[identity]])
        seen[identity] += 1
        where = (passage.pages, passage.heading, document.title, labels, passage.anchor)
        chunks.append(Chunk(name[:16], document.file, text, *where))
    return chunks


def _whole(document: Document) -> Iterator[tuple[Passage, str]]:
    text = "\n\n".join(block for passage in document.passages for block in passage.blocks).strip()
    if not text:
        return
    pages = [passage.pages for passage in document.passages if passage.pages is not None]
    span = (min(first for first, _ in pages), max(last for _, last in pages)) if pages else None
    yield Passage((text,), pages=span), text


def pack(blocks: Sequence[str], limit: int) -> Iterator[str]:
    """Consecutive blocks joined by blank lines up to `limit` characters; a longer block is split."""
    held = ""
    for block in blocks:
        for piece in split(block, limit):
            if held and len(held) + 2 + len(piece) > limit:
                yield held
                held = piece
            else:
                held = f"{held}\n\n{piece}" if held else piece
    if held:
        yield held


def split(text: str, limit: int) -> Iterator[str]:
    """Pieces of at most `limit` characters, cut at the last line end, sentence, space or word edge that fits."""
    text = text.strip("\n").rstrip()
    start = 0
    while len(text) - start > limit:
        cut = start + _cut(text[start : start + limit + 1], limit)
        if piece := text[start:cut].rstrip():
            yield piece
        # A line keeps its indentation; a sentence or a word needs no space before it.
        gap = _LINE_ENDS if text[cut] == "\n" else _SPACES
        start = gap.match(text, cut).end()  # type: ignore[union-attr]  # it matches the empty text too
    if rest := text[start:]:
        yield rest


def _cut(window: str, limit: int) -> int:
    """Where to cut: the gentlest kind of place that lies in the second half of the window, else the hard limit."""
    line = window.rfind("\n", limit // 2)
    if line > 0:
        return line
    for boundary in (_SENTENCE_END, _SPACE, _EDGE):
        ends = [match.start() for match in boundary.finditer(window, limit // 2) if match.start() <= limit]
        if ends:
            return ends[-1]
    return limit
