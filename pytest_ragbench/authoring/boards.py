"""What people read on a canvas: the texts of its nodes, labels, addresses, paths, and what its edges say of their ends.

Source: jsoncanvas.org, version 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def board_text(board: Mapping[str, Any]) -> str:
    """Everything on a canvas that a reader of it may index, a paragraph each.

    Raises:
        TypeError: Nodes or edges are no lists of objects; AttributeError likewise.
    """
    return "\n\n".join(part for part in _parts(board) if part)


def _parts(board: Mapping[str, Any]) -> Iterator[str]:
    nodes = board.get("nodes") or ()
    names = {node.get("id"): _name(node) for node in nodes if isinstance(node.get("id"), str)}
    for node in nodes:
        yield from (_field(node, "text"), _field(node, "label"), _target(node))
    for edge in board.get("edges") or ():
        if label := _field(edge, "label"):
            start, end = (names.get(_field(edge, side), "") for side in ("fromNode", "toNode"))
            yield " ".join(part for part in (start, label, end) if part)


def _field(node: Mapping[str, Any], key: str) -> str:
    value = node.get(key)
    return value.strip() if isinstance(value, str) else ""


def _target(node: Mapping[str, Any]) -> str:
    """Where a file node or a link node leads."""
    return _field(node, "file") + _field(node, "subpath") or _field(node, "url")


def _name(node: Mapping[str, Any]) -> str:
    """What people would call a node: the first line of its text, its label, or where it leads."""
    return (_field(node, "text") or _field(node, "label") or _target(node)).partition("\n")[0].lstrip("# ")
