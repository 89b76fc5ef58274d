"""JSON Canvas boards: a passage a text node under the labels of its groups, and one for links and labelled edges."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from rag.records import Document, Finding, Passage
from rag.text import clean

Node = dict[str, Any]


def read_canvas(file: str, data: bytes) -> list[Document]:
    """One document; heading paths are the file's own name, then the groups that hold the node, outermost first.

    An empty file is a new board and gives no passage. Source: jsoncanvas.org, version 1.0.
    """
    name = PurePosixPath(file).name
    if not data.strip():
        return [Document(file, name)]
    try:
        board = json.loads(data.decode("utf-8-sig"))
        nodes, edges = _list(board, "nodes"), _list(board, "edges")
    except (ValueError, RecursionError) as error:
        return [Document(file, name, findings=(Finding(file, "failed", f"no canvas: {error}"),))]
    known = {node["id"]: node for node in nodes if isinstance(node.get("id"), str)}
    sound = [edge for edge in edges if _end(edge, "from") in known and _end(edge, "to") in known]
    findings = (Finding(file, "dangling-edge", f"{len(edges) - len(sound)} of {len(edges)} edges lead nowhere"),)
    passages = [
        Passage((text,), (name, *_labels(node, nodes)))
        for node in nodes
        if node.get("type") == "text" and (text := _text(node.get("text")))
    ]
    links = [line for node in nodes if (line := _link(node))]
    relations = [line for edge in sound if (line := _relation(edge, known))]
    if links or relations:
        passages.append(Passage((*links, *relations), (name,)))
    return [Document(file, name, tuple(passages), findings=findings if len(sound) < len(edges) else ())]


def _list(board: Any, key: str) -> list[Node]:
    if not isinstance(board, dict):
        raise ValueError(f"expected an object, found {type(board).__name__}")  # noqa: TRY004 the file is wrong, no caller
    items = board.get(key) or []
    if not isinstance(items, list):
        raise ValueError(f"{key!r} is no list")  # noqa: TRY004 as above
    return [item for item in items if isinstance(item, dict)]


def _end(edge: Node, side: str) -> str:
    return str(edge.get(f"{side}Node"))


def _text(value: Any) -> str:
    return clean(value).strip() if isinstance(value, str) else ""


def _link(node: Node) -> str:
    """A file node as its path and subpath, a link node as its address."""
    if node.get("type") == "file":
        return _text(node.get("file")) + _text(node.get("subpath"))
    return _text(node.get("url")) if node.get("type") == "link" else ""


def _relation(edge: Node, known: dict[str, Node]) -> str:
    """A labelled edge as `from -- label -> to`; an unlabelled one says nothing that can be searched."""
    label = _text(edge.get("label"))
    ends = (_name(known[_end(edge, "from")]), _name(known[_end(edge, "to")]))
    return f"{ends[0]} -- {label} -> {ends[1]}" if label else ""


def _name(node: Node) -> str:
    text = _text(node.get("text")) or _text(node.get("label")) or _link(node)
    return text.split("\n")[0].lstrip("# ")


def _labels(node: Node, nodes: list[Node]) -> tuple[str, ...]:
    """Labels of the groups around a node's centre, the largest first."""
    x, y, width, height = _box(node)
    centre = (x + width / 2, y + height / 2)
    around = []
    for group in nodes:
        if group.get("type") != "group" or not _text(group.get("label")):
            continue
        left, top, across, down = _box(group)
        if left <= centre[0] <= left + across and top <= centre[1] <= top + down:
            around.append((-across * down, _text(group.get("label"))))
    return tuple(label for _, label in sorted(around))


def _box(node: Node) -> tuple[float, float, float, float]:
    values = [node.get(key) for key in ("x", "y", "width", "height")]
    x, y, width, height = (float(value) if isinstance(value, int | float) else 0.0 for value in values)
    return x, y, width, height
