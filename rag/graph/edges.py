"""Makes the graph of a corpus: E1 and E3 from its canvases, E4 from its notes and text nodes; E2 follows from E1."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from rag.graph.boards import read_board
from rag.graph.links import Names, is_attachment, links_in, names_of, part_of
from rag.graph.model import BRIDGE, DRAWN, HOP, WIKILINK, Graph, Link, Place
from rag.loaders.markdown import prose
from rag.text import unicode_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rag.graph.boards import BoardPlaces
    from rag.records import Chunk

VERSION = "2"
"""Raised when other edges are found in the same files."""

CANVAS = ".canvas"
LINKING = (CANVAS, ".md", ".markdown")
"""Suffixes of the files in which edges stand."""

_NOWHERE = ("unresolved", "parts_unresolved", "attachments", "self_edges", "dangling")


def build(texts: Iterable[tuple[str, bytes]], files: Collection[str], chunks: Sequence[Chunk]) -> Graph:
    """The graph of a corpus.

    Its `counts` are edges by sort, and beside them what is none: `unresolved` names no file, `attachments` names what
    no reader takes, `self_edges` lead to where they start, `dangling` ones to no node. `parts_unresolved` are edges
    that name a part which their file has not; they mean the whole of it. A link counts once a note.

    Args:
        texts: The canvases and notes, by path.
        files: Every file that is read.
        chunks: The corpus, in index order.
    """
    builder = _Builder(files, chunks)
    for file, data in texts:
        if file.lower().endswith(CANVAS):
            builder.add_canvas(file, data)
        else:
            builder.add_note(file, data)
    return builder.graph()


class _Builder:
    """Collects places and edges; each is kept once."""

    def __init__(self, files: Collection[str], chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._files = frozenset(files)
        self._names = Names(files)
        self._in_file: dict[str, list[tuple[int, Chunk]]] = {}
        for position, chunk in enumerate(chunks):
            self._in_file.setdefault(chunk.file, []).append((position, chunk))
        self._places: dict[Place, int] = {}
        self._drawn: dict[tuple[int, int], None] = {}
        self._links: dict[Link, None] = {}
        self._boards: dict[str, BoardPlaces] = {}
        self._counts: Counter[str] = Counter()

    def add_note(self, file: str, data: bytes) -> None:
        """The wikilinks of a note; one in its front matter stands in no chunk, and so in the whole of it."""
        for link in dict.fromkeys(links_in(prose(data))):
            where = tuple(at for at, chunk in self._in_file.get(file, ()) if _holds(chunk, link))
            source = Place(file, part=f"[[{link}]]", positions=where) if where else self._meaning(file, "")
            self._wikilink(link, file, source, strict=False)

    def add_canvas(self, file: str, data: bytes) -> None:
        """The lines of a canvas, the other canvases that it shows, and the wikilinks of its text nodes."""
        try:
            board = read_board(
                file, data, self._in_file.get(file, ()), lambda path, part: self._shown(file, path, part)
            )
        except (ValueError, ArithmeticError, RecursionError):
            return  # listed as failed where it was read; it has no chunk
        self._counts["dangling"] += board.dangling
        for one, other in board.lines:
            self._line(board.places[one], board.places[other])
        self._boards[file] = board
        for node, place in board.places.items():
            if self._shows_board(place) and board.listed.get(node):
                source = Place(file, part=f"[{node}]", positions=board.listed[node])
                self._link(HOP, source, self._meaning(place.file, ""), strict=True)
        for node, text in board.texts:
            for link in dict.fromkeys(links_in(prose(text.encode()))):
                self._wikilink(link, file, board.places[node], strict=True)

    def graph(self) -> Graph:
        """What was collected."""
        mates = self._mates()
        counts = Counter(link.sort for link in self._links) + Counter({DRAWN: len(self._drawn)}) + self._counts
        graph = Graph(
            places=tuple(self._places),
            drawn=tuple(self._drawn),
            links=tuple(self._links),
            mates=mates,
            names=self._called(),
            frequencies=self._frequencies(),
            counts={},
            files=tuple(chunk.file for chunk in self._chunks),
        )
        counts.update(graph.derived())
        return replace(graph, counts={name: counts[name] for name in (DRAWN, BRIDGE, HOP, WIKILINK, *_NOWHERE)})

    def _mates(self) -> dict[int, tuple[int, ...]]:
        """See `Graph.mates`; a canvas that is shown is no shared file, it is named."""
        canvases: dict[str, dict[str, None]] = {}
        for canvas, board in self._boards.items():
            for node in board.mates:
                canvases.setdefault(board.places[node].file, {})[canvas] = None
        mates: dict[int, tuple[int, ...]] = {}
        for board in self._boards.values():
            for node, others in board.mates.items():
                place = board.places[node]
                if len(canvases[place.file]) > 1 and not self._shows_board(place):
                    beside = (board.places[other] for other in others)
                    mates[self._number(place)] = tuple(
                        map(self._number, itertools.filterfalse(self._shows_board, beside))
                    )
        return mates

    def _shown(self, canvas: str, path: str, subpath: str) -> Place:
        """What a file node shows; a canvas that shows itself shows nothing new."""
        found = path if path in self._files else self._names.find(path, canvas)
        if found is None:
            self._counts["attachments" if is_attachment(path) else "unresolved"] += 1
            return Place(path)
        return Place(found) if found == canvas else self._meaning(found, subpath.removeprefix("#"))

    def _meaning(self, file: str, part: str) -> Place:
        """A file, or the part of it that is named, if it has such a part."""
        chunks = self._in_file.get(file, ())
        if part and chunks:
            narrowed = part_of(chunks, part)
            if narrowed is not None:
                return Place(file, part=part, positions=narrowed)
            self._counts["parts_unresolved"] += 1
        return Place(file, positions=tuple(at for at, _ in chunks))

    def _line(self, one: Place, other: Place) -> None:
        """A drawn edge; one to a node that shows another canvas leads into that canvas."""
        boards = [self._meaning(place.file, "") if self._shows_board(place) else place for place in (one, other)]
        if boards[0] == boards[1]:
            self._counts["self_edges"] += 1
        elif boards == [one, other]:
            first, second = sorted((self._number(one), self._number(other)))
            self._drawn[first, second] = None
        else:
            source, target = boards if boards[1] != other else reversed(boards)
            self._link(HOP, source, target, strict=bool(source.canvas))

    def _shows_board(self, place: Place) -> bool:
        return place.file != place.canvas and place.file in self._files and place.file.lower().endswith(CANVAS)

    def _wikilink(self, link: str, file: str, source: Place, *, strict: bool) -> None:
        target = self._names.resolve(link, file)
        if target.file is None:
            self._counts["attachments" if is_attachment(link) else "unresolved"] += 1
        elif target.file == file:
            self._counts["self_edges"] += 1
        else:
            between_boards = file.lower().endswith(CANVAS) and target.file.lower().endswith(CANVAS)
            meant = self._meaning(target.file, target.part.strip())
            self._link(HOP if between_boards else WIKILINK, source, meant, strict=strict)

    def _link(self, sort: str, source: Place, target: Place, *, strict: bool) -> None:
        self._links[Link(sort, self._number(source), self._number(target), strict)] = None

    def _number(self, place: Place) -> int:
        return self._places.setdefault(place, len(self._places))

    def _called(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """What people call places: see `names_of`."""
        called: dict[tuple[str, str], dict[int, None]] = {}
        nodes: set[tuple[str, str]] = set()
        for position, chunk in enumerate(self._chunks):
            begins = (chunk.file, chunk.anchor) not in nodes
            nodes.add((chunk.file, chunk.anchor))
            for name in names_of(chunk, begins=begins):
                called.setdefault((name, chunk.file), {})[position] = None
        return tuple((name, file, tuple(positions)) for (name, file), positions in called.items())

    def _frequencies(self) -> dict[str, int]:
        frequencies: Counter[str] = Counter()
        for chunk in self._chunks:
            frequencies.update(set(unicode_tokens(chunk.indexed_text)))
        return dict(sorted(frequencies.items()))


def _holds(chunk: Chunk, link: str) -> bool:
    return any(f"[[{link}]]" in text for text in (chunk.text, *chunk.heading))
