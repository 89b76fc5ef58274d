"""What the graph is made of, how it is kept, and which steps lead on from where a walk stands."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

DRAWN = "E1"
BRIDGE = "E2"
HOP = "E3"
WIKILINK = "E4"
_FILE = "graph.json"


class Place(NamedTuple):
    """Where an edge may lead.

    Attributes:
        file: The file that is meant; of a text node, group or link node its canvas.
        canvas: The canvas whose node this is; empty for a file, or a part of one.
        node: The node's id there.
        part: What a link narrows the file to; empty for all of it.
        positions: Its chunks, ascending; none where it has no text that is indexed.
    """

    file: str
    canvas: str = ""
    node: str = ""
    part: str = ""
    positions: tuple[int, ...] = ()


class Link(NamedTuple):
    """An edge that is no line on a canvas.

    Attributes:
        sort: `E3` or `E4`.
        source: The place where it stands; its file is the one that links.
        target: The place that it names.
        strict: Whether it belongs to its source's chunks alone, and not to the whole of their file.
    """

    sort: str
    source: int
    target: int
    strict: bool


class Onward(NamedTuple):
    """One edge as a walk goes along it.

    Attributes:
        place: Where it leads.
        sort: `E1` to `E4`.
        near: Whether it touches the very chunks that the walk stands on; else it stands elsewhere in their file, or
            passes over a shared one.
    """

    place: int
    sort: str
    near: bool = True


@dataclass(slots=True)
class Graph:
    """Places and the edges between them. E2 and the hops over a shared file follow from the rest and are not stored.

    Attributes:
        places: Everything that an edge touches.
        drawn: E1 as pairs of places, the lower first, each once.
        links: E4, and E3 where one canvas names another.
        mates: For a node that shows a shared file and has no line: the nodes of the smallest group around it.
        names: What people call places, with the file and the chunks that go by this name.
        frequencies: In how many chunks a term stands.
        counts: Edges of each sort, and what led nowhere.
        files: The file of each chunk of the corpus.
    """

    places: Sequence[Place]
    drawn: Sequence[tuple[int, int]]
    links: Sequence[Link]
    mates: Mapping[int, Sequence[int]]
    names: Sequence[tuple[str, str, tuple[int, ...]]]
    frequencies: Mapping[str, int]
    counts: Mapping[str, int]
    files: Sequence[str]
    _lines: dict[int, list[int]] = field(init=False, default_factory=dict)
    _holders: dict[int, list[int]] = field(init=False, default_factory=dict)
    _shown: dict[str, list[int]] = field(init=False, default_factory=dict)
    _beside: dict[int, list[int]] = field(init=False, default_factory=dict)
    _linked: dict[str, list[Link]] = field(init=False, default_factory=dict)
    _of_file: dict[str, list[int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for one, other in self.drawn:
            self._lines.setdefault(one, []).append(other)
            self._lines.setdefault(other, []).append(one)
        self._index_places()
        for nodes in self._shared():
            for number in nodes:
                for other in self._around(number):
                    self._beside.setdefault(other, []).append(number)
        for link in self.links:
            for file in dict.fromkeys((self.places[link.source].file, self.places[link.target].file)):
                self._linked.setdefault(file, []).append(link)

    def _index_places(self) -> None:
        for number, place in enumerate(self.places):
            if not place.canvas or place.canvas != place.file:
                self._of_file.setdefault(place.file, []).append(number)
            if place.canvas:
                for position in place.positions:
                    self._holders.setdefault(position, []).append(number)
                if place.file != place.canvas:
                    self._shown.setdefault(place.file, []).append(number)

    def homes(self, position: int) -> frozenset[int]:
        """Where a walk from a chunk is at home: the nodes that hold it, and whatever stands for its file."""
        return frozenset(self._holders.get(position, ())) | frozenset(self._of_file.get(self.files[position], ()))

    def steps(self, at: int | None, chosen: Sequence[int], *, every: bool) -> Iterator[Onward]:
        """The edges that touch where a walk stands, along them and against them.

        Args:
            at: The place, or None at a chunk from which a walk begins.
            chosen: The chunks of it from which the walk goes on.
            every: Whether all four sorts count; else E1 alone.
        """
        files = dict.fromkeys(self.files[position] for position in chosen)
        if at is not None and not chosen:
            files = {self.places[at].file: None}
        board = "" if at is None else self.places[at].canvas
        here = self._here(at, board, chosen, files)
        for number, near in here.items():
            yield from (Onward(other, DRAWN, near) for other in self._lines.get(number, ()))
        if not every:
            return
        for file in files:
            for number in self._shown.get(file, ()):
                is_line = not board and number in self._lines
                if self.places[number].canvas != board and not is_line:
                    yield from (Onward(other, BRIDGE) for other in self._around(number))
        for number, near in here.items():
            if near:
                yield from (Onward(other, HOP, near=False) for other in self._over_shared_files(number))
        for file in files:
            yield from self._linked_from(file, frozenset(chosen))

    def _here(self, at: int | None, board: str, chosen: Sequence[int], files: Iterable[str]) -> dict[int, bool]:
        """The nodes where a walk stands: those that hold its chunks, and not so near those that show their file.

        Who came along a line stays on its board; the way to another one is a bridge.
        """
        here = dict.fromkeys((number for position in chosen for number in self._holders.get(position, ())), True)
        for file in files:
            for number in self._shown.get(file, ()):
                here.setdefault(number, False)
        if at is None or not board:
            return here
        return {at: True} | {number: near for number, near in here.items() if self.places[number].canvas == board}

    def _around(self, number: int) -> Sequence[int]:
        """The neighbours of a node that shows a file; without a line, those that share its group."""
        return self._lines.get(number) or self.mates.get(number, ())

    def _over_shared_files(self, number: int) -> Iterator[int]:
        """From beside a shared file on one canvas to beside it on the others."""
        for shown in self._beside.get(number, ()):
            for other in self._shown[self.places[shown].file]:
                if self.places[other].canvas != self.places[shown].canvas:
                    yield from self._around(other)

    def _linked_from(self, file: str, chosen: frozenset[int]) -> Iterator[Onward]:
        for link in self._linked.get(file, ()):
            source, target = self.places[link.source], self.places[link.target]
            if source.file == file:
                near = not chosen.isdisjoint(source.positions)
                if near or not link.strict:
                    yield Onward(link.target, link.sort, near)
            if target.file == file:
                yield Onward(link.source, link.sort, not target.part or not chosen.isdisjoint(target.positions))

    def _shared(self) -> Iterator[list[int]]:
        """The nodes of each file that several canvases show."""
        for nodes in self._shown.values():
            if len({self.places[number].canvas for number in nodes}) > 1:
                yield nodes

    def derived(self) -> dict[str, int]:
        """How many edges follow from shared files.

        E2 leads from each node of a file to the neighbours of its nodes on other canvases, E3 from each neighbour to
        each on another canvas, counted once.
        """
        counts = {BRIDGE: 0, HOP: 0}
        for nodes in self._shared():
            around = Counter[str]()
            for number in nodes:
                around[self.places[number].canvas] += len(self._around(number))
            counts[BRIDGE] += sum(around.total() - around[self.places[number].canvas] for number in nodes)
            counts[HOP] += (around.total() ** 2 - sum(number**2 for number in around.values())) // 2
        return counts

    def edges(self) -> Iterator[tuple[str, Place, Place]]:
        """Every edge as (sort, from, to), as `counts` counts them."""
        yield from ((DRAWN, self.places[one], self.places[other]) for one, other in self.drawn)
        for nodes in self._shared():
            for one, other in itertools.permutations(nodes, 2):
                if self.places[one].canvas != self.places[other].canvas:
                    yield from ((BRIDGE, self.places[one], self.places[end]) for end in self._around(other))
            for one, other in itertools.combinations(nodes, 2):
                if self.places[one].canvas != self.places[other].canvas:
                    ends = itertools.product(self._around(one), self._around(other))
                    yield from ((HOP, self.places[start], self.places[end]) for start, end in ends)
        yield from ((link.sort, self.places[link.source], self.places[link.target]) for link in self.links)

    def save(self, folder: Path) -> None:
        """Write all but `files`, which the corpus knows."""
        body = {
            "places": self.places,
            "drawn": self.drawn,
            "links": self.links,
            "mates": sorted(self.mates.items()),
            "names": self.names,
            "frequencies": self.frequencies,
            "counts": self.counts,
        }
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        (folder / _FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, files: Iterable[str]) -> Graph:
        """What `save` wrote, for a corpus whose chunks lie in these files."""
        body: dict[str, Any] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return cls(
            places=[Place(file, canvas, node, part, tuple(at)) for file, canvas, node, part, at in body["places"]],
            drawn=[(one, other) for one, other in body["drawn"]],
            links=[Link(*link) for link in body["links"]],
            mates=dict(body["mates"]),
            names=[(name, file, tuple(positions)) for name, file, positions in body["names"]],
            frequencies=body["frequencies"],
            counts=body["counts"],
            files=tuple(files),
        )
