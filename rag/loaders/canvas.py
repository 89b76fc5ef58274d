"""JSON Canvas boards: a passage a text node under the labels of its groups, and one for links and labelled edges."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from rag.records import Document, Finding, Passage
from rag.text import clean

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Board:
    """A canvas as its file has it.

    Attributes:
        nodes: Every node, with or without an id that an edge can name.
        edges: Those that lead from one such node to another.
        dangling: How many others there are.
        generated: Whether a machine drew it.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Node, ...] = ()
    dangling: int = 0
    generated: bool = False


def read_canvas(file: str, data: bytes) -> list[Document]:
    """One document; heading paths are the file's own name, then the groups that hold the node, outermost first.

    An empty file is a new board and gives no passage. A board whose own key `generated` is true is a machine's.
    """
    name = PurePosixPath(file).name
    try:
        board = open_board(data)
    except (ValueError, RecursionError) as error:
        return [Document(file, name, findings=(Finding(file, "failed", f"no canvas: {error}"),))]
    groups = [
        (label, node) for node in board.nodes if node.get("type") == "group" and (label := _text(node.get("label")))
    ]
    passages = [
        Passage((text,), (name, *_labels(node, groups)), anchor=node_id(node))
        for node in board.nodes
        if (text := text_of(node))
    ]
    known = {node["id"]: node for node in board.nodes if isinstance(node.get("id"), str)}
    links = [line for node in board.nodes if (line := link_of(node))]
    relations = [line for edge in board.edges if (line := _relation(edge, known))]
    if links or relations:
        passages.append(Passage((*links, *relations), (name,)))
    metadata = {"generated": "true"} if board.generated else {}
    return [Document(file, name, tuple(passages), metadata, _findings(file, board))]


def open_board(data: bytes) -> Board:
    """Nodes and edges of a canvas; none for an empty file.

    Source: jsoncanvas.org, version 1.0, which leaves further keys to whoever writes them.

    Raises:
        ValueError: It is no JSON object, or its nodes or edges are no list.
        RecursionError: It is nested too deeply to be read.
    """
    if not data.strip():
        return Board()
    board = json.loads(data.decode("utf-8-sig"))
    nodes, edges = _list(board, "nodes"), _list(board, "edges")
    known = {node["id"] for node in nodes if isinstance(node.get("id"), str)}
    sound = tuple(edge for edge in edges if {edge_end(edge, "from"), edge_end(edge, "to")} <= known)
    return Board(tuple(nodes), sound, len(edges) - len(sound), board.get("generated") is True)


def node_id(node: Node) -> str:
    """What edges call a node; empty where nothing can."""
    return clean(node["id"]) if isinstance(node.get("id"), str) else ""


def edge_end(edge: Node, side: str) -> str:
    """The id at one end of an edge, `from` or `to`."""
    return str(edge.get(f"{side}Node"))


def text_of(node: Node) -> str:
    """A text node's text; empty for other nodes."""
    return _text(node.get("text")) if node.get("type") == "text" else ""


def link_of(node: Node) -> str:
    """A file node as its path and subpath, a link node as its address; empty for other nodes."""
    if node.get("type") == "file":
        return _text(node.get("file")) + _text(node.get("subpath"))
    return _text(node.get("url")) if node.get("type") == "link" else ""


def holds(group: Node, node: Node) -> bool:
    """Whether a node's centre lies in a group."""
    if group.get("type") != "group":
        return False
    x, y, width, height = _box(node)
    left, top, across, down = _box(group)
    return left <= x + width / 2 <= left + across and top <= y + height / 2 <= top + down


def area(node: Node) -> float:
    """How much of the board a node covers."""
    _, _, width, height = _box(node)
    return width * height


def _findings(file: str, board: Board) -> tuple[Finding, ...]:
    edges = len(board.edges) + board.dangling
    detail = f"{board.dangling} of {edges} edges lead nowhere"
    return (Finding(file, "dangling-edge", detail),) if board.dangling else ()


def _list(board: Any, key: str) -> list[Node]:
    if not isinstance(board, dict):
        raise ValueError(f"expected an object, found {type(board).__name__}")  # noqa: TRY004 the file is wrong, no caller
    items = board.get(key) or []
    if not isinstance(items, list):
        raise ValueError(f"{key!r} is no list")  # noqa: TRY004 as above
    return [item for item in items if isinstance(item, dict)]


def _text(value: Any) -> str:
    return clean(value).strip() if isinstance(value, str) else ""


def _relation(edge: Node, known: dict[str, Node]) -> str:
    """A labelled edge as `from -- label -> to`; an unlabelled one says nothing that can be searched."""
    label = _text(edge.get("label"))
    ends = (name_of(known[edge_end(edge, "from")]), name_of(known[edge_end(edge, "to")]))
    return f"{ends[0]} -- {label} -> {ends[1]}" if label else ""


def name_of(node: Node) -> str:
    """What people would call a node: the first line of its text, its label, or where it leads."""
    text = _text(node.get("text")) or _text(node.get("label")) or link_of(node)
    return text.split("\n")[0].lstrip("# ")


def _labels(node: Node, groups: list[tuple[str, Node]]) -> tuple[str, ...]:
    """Labels of the groups around a node's centre, the largest first."""
    around = [(-area(group), label) for label, group in groups if holds(group, node)]
    return tuple(label for _, label in sorted(around))


def _box(node: Node) -> tuple[float, float, float, float]:
    values = [node.get(key) for key in ("x", "y", "width", "height")]
    x, y, width, height = (float(value) if isinstance(value, int | float) else 0.0 for value in values)
    return x, y, width, height
