"""A canvas in the graph: what each of its nodes stands for, and which lines join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.graph.model import Place
from rag.loaders.canvas import area, edge_end, holds, link_of, node_id, open_board, text_of
from rag.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rag.loaders.canvas import Board, Node
    from rag.records import Chunk

    Numbered = tuple[int, Chunk]


@dataclass(frozen=True, slots=True)
class BoardPlaces:
    """The nodes of a canvas as places; an id that several nodes share means all of them.

    Attributes:
        places: By node id.
        listed: By node id, the chunks that list where a file node or link node leads.
        mates: By id of a file node, the other nodes of the smallest group around it that holds any.
        texts: Node id and text of each text node.
        lines: The ids that each edge joins, as the file has them.
        dangling: How many edges lead to no node.
    """

    places: Mapping[str, Place]
    listed: Mapping[str, tuple[int, ...]]
    mates: Mapping[str, Sequence[str]]
    texts: Sequence[tuple[str, str]]
    lines: Sequence[tuple[str, str]]
    dangling: int


def read_board(file: str, data: bytes, chunks: Sequence[Numbered], meaning: Callable[[str, str], Place]) -> BoardPlaces:
    """What the nodes of a canvas stand for.

    A text node is its own chunks, or all of the canvas where documents are not cut. A file node is what `meaning` makes
    of its path and subpath. A link node is the chunk that lists its address. A group is the chunks of all nodes whose
    centre lies in it: what leads to it leads to one of them.

    Raises:
        ValueError: It is no canvas.
        ArithmeticError: A size in it is too large to compute with.
        RecursionError: It is nested too deeply.
    """
    board = open_board(data)
    alone = [_alone(file, node, chunks, meaning) for node in board.nodes]
    places: dict[str, Place] = {}
    for node, place in zip(board.nodes, alone, strict=True):
        inside = _inside(node, board, alone) if node.get("type") == "group" else place.positions
        before = places.setdefault(place.node, place)
        positions = tuple(sorted({*before.positions, *inside}))
        places[place.node] = before._replace(positions=positions)
    return BoardPlaces(
        places=places,
        listed={node_id(node): _listing(link_of(node), chunks) for node in board.nodes if link_of(node)},
        mates={node_id(node): _mates(node, board) for node in board.nodes if node.get("type") == "file"},
        texts=[(node_id(node), text) for node in board.nodes if (text := text_of(node))],
        lines=[(clean(edge_end(edge, "from")), clean(edge_end(edge, "to"))) for edge in board.edges],
        dangling=board.dangling,
    )


def _alone(file: str, node: Node, chunks: Sequence[Numbered], meaning: Callable[[str, str], Place]) -> Place:
    """What a node stands for by itself; a group, for nothing."""
    place = Place(file, file, node_id(node))
    path, subpath = node.get("file"), node.get("subpath")
    if text_of(node):
        uncut = not any(chunk.anchor for _, chunk in chunks)
        return place._replace(positions=tuple(at for at, chunk in chunks if uncut or chunk.anchor == place.node))
    if node.get("type") == "link":
        return place._replace(positions=_listing(link_of(node), chunks))
    if node.get("type") == "file" and isinstance(path, str):
        meant = meaning(clean(path).strip(), clean(subpath).strip() if isinstance(subpath, str) else "")
        return meant._replace(canvas=file, node=place.node)
    return place


def _inside(group: Node, board: Board, alone: Sequence[Place]) -> tuple[int, ...]:
    nodes = zip(board.nodes, alone, strict=True)
    return tuple(at for node, place in nodes if node is not group and holds(group, node) for at in place.positions)


def _mates(node: Node, board: Board) -> list[str]:
    for group in sorted((group for group in board.nodes if holds(group, node)), key=area):
        ids = (node_id(other) for other in board.nodes if other.get("type") != "group" and holds(group, other))
        if mates := [name for name in dict.fromkeys(ids) if name != node_id(node)]:
            return mates
    return []


def _listing(line: str, chunks: Sequence[Numbered]) -> tuple[int, ...]:
    """The chunks beside the text nodes' own that hold this line."""
    return tuple(at for at, chunk in chunks if line and not chunk.anchor and line in chunk.text.split("\n"))
