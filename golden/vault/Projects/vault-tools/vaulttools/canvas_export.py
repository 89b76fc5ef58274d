"""Canvas files as an outline or as Mermaid text, and a check of their parts.

Names follow the keys of the JSON Canvas format (`fromNode`, `toSide`), hence
camelCase in this module: the first version was a port of my own plugin.
"""

import json
from pathlib import Path

ARROWS = {(False, True): "-->", (True, True): "<-->", (False, False): "---", (True, False): "<--"}


class CanvasError(ValueError):
    """A canvas that would be drawn wrongly, or not at all."""


def loadCanvas(path):
    """Return (nodesById, edges); unknown node types are kept as they are."""
    board = json.loads(Path(path).read_text(encoding="utf-8") or "{}")
    nodesById = {}
    for node in board.get("nodes", []):
        if node["id"] in nodesById:
            raise CanvasError(f"{path}: node id '{node['id']}' is used twice")
        nodesById[node["id"]] = node
    return nodesById, board.get("edges", [])


def nodeTitle(node, limit=40):
    """First line of a text node, label of a group, path, or address."""
    text = {"text": node.get("text", ""), "group": node.get("label", ""),
            "file": node.get("file", "") + node.get("subpath", ""),
            "link": node.get("url", "")}.get(node["type"], node["type"])
    first = text.split("\n", 1)[0].lstrip("# ").strip()
    return first if len(first) <= limit else first[:limit - 3] + "..."


def isInside(node, group):
    """A node belongs to a group if its CENTRE lies in it, touching edges included."""
    x, y = node["x"] + node["width"] / 2, node["y"] + node["height"] / 2
    return (group["x"] <= x <= group["x"] + group["width"]
            and group["y"] <= y <= group["y"] + group["height"])


def checkCanvas(path, vault):
    """Problems as text: dangling edges, missing files, labels of two lines."""
    nodesById, edges = loadCanvas(path)
    problems = []
    for edge in edges:
        for end in ("fromNode", "toNode"):
            if edge.get(end) not in nodesById:
                problems.append(f"edge '{edge['id']}': {end} '{edge.get(end)}' does not exist")
        if "\n" in edge.get("label", ""):
            problems.append(f"edge '{edge['id']}': label has more than one line")
    for node in nodesById.values():
        if node["type"] == "file" and not (Path(vault) / node["file"]).exists():
            problems.append(f"node '{node['id']}': no file {node['file']}")
    return problems


def toMermaid(path):
    """Flow chart; groups become subgraphs, both ends of an edge are respected."""
    nodesById, edges = loadCanvas(path)
    short = {nodeId: f"n{k}" for k, nodeId in enumerate(nodesById)}
    groups = [n for n in nodesById.values() if n["type"] == "group"]
    lines, placed = ["flowchart LR"], set()
    for group in groups:
        lines.append(f'  subgraph {short[group["id"]]}["{nodeTitle(group)}"]')
        for nodeId, node in nodesById.items():
            if node["type"] != "group" and nodeId not in placed and isInside(node, group):
                placed.add(nodeId)
                lines.append(f'    {short[nodeId]}["{escape(nodeTitle(node))}"]')
        lines.append("  end")
    for nodeId, node in nodesById.items():
        if node["type"] != "group" and nodeId not in placed:
            lines.append(f'  {short[nodeId]}["{escape(nodeTitle(node))}"]')
    for edge in edges:
        ends = (edge.get("fromEnd", "none") == "arrow", edge.get("toEnd", "arrow") == "arrow")
        label = f'|"{escape(edge["label"])}"|' if edge.get("label") else ""
        lines.append(f'  {short[edge["fromNode"]]} {ARROWS[ends]}{label} {short[edge["toNode"]]}')
    return "\n".join(lines)


def escape(text):
    """Mermaid knows no backslash; quotes go in as an entity."""
    return text.replace('"', "#quot;")


def sharedFiles(paths):
    """Files that lie on more than one canvas: {file: [canvas names]}."""
    found = {}
    for path in sorted(map(Path, paths)):
        nodesById, _ = loadCanvas(path)
        for file in {n["file"] for n in nodesById.values() if n["type"] == "file"}:
            found.setdefault(file, []).append(path.stem)
    return {file: names for file, names in sorted(found.items()) if len(names) > 1}
