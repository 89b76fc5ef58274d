"""Where required sources were lost, layer by layer; what the pool would allow; and the lost questions by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.layers import LAYERS
from pytest_ragbench.reports.model import Block, Bullets, Cell, Column, Section, Sentences, Share, Stack, Stacks, Table
from pytest_ragbench.reports.text import plural
from pytest_ragbench.reports.view import MANY_CONFIGURATIONS, RunView, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAMED = 20
"""Questions named on a line."""

ROWS_SHOWN = 80
"""Rows of the table by suite; above, only the configuration with the highest main metric is shown."""

CHARTED = 14
"""Configurations in the chart."""

_CONFIGURATION = Column("configuration", numeric=False)
_MEANINGS = {
    "not indexed": "the index holds no chunk that satisfies it: look at readers and chunking",
    "not in any lane": "no lane returned it: look at the lanes, the words of the question, the depth of the pools",
    "fusion": "a lane, or an earlier stage, had it high enough, and fusion (or a boost, or a walk) put it too low",
    "rerank": "the reranker judged it and ranked it below k",
    "gate": "the gate removed it",
    "cut-off": "the depth, of the rerank's pool or k, ended above it, and nothing had it higher; or a limit by file",
    "answer": "it was in the final ranking, and the answer does not cite it",
}


def losses(view: RunView) -> Iterator[Section]:
    """Counts by layer and the pool's ceiling, then the layers by suite, then the questions."""
    found = {name: view.results[name]["losses"] for name in view.names if view.results[name].get("losses")}
    if not found:
        return
    layers = [layer for layer in LAYERS if any(layer in held["layers"] for held in found.values())]
    columns = (_CONFIGURATION, Column("lost"), *map(Column, layers))
    rows = tuple((name, *_counts(held, layers)) for name, held in found.items())
    legend = Bullets(tuple(f"{layer}: {_MEANINGS[layer]}." for layer in layers))
    sentence = (
        "Required sources that the final ranking lacks, of all of them, over the scored questions whose stages were "
        "reported; each is charged to one layer, the first that lost it for good."
    )
    chart = _chart(found, layers)
    blocks: list[Block] = [*chart, Table(columns, rows), Sentences(sentence), *([legend] if layers else [])]
    yield Section("Where sources are lost", (*blocks, *_ceilings(view, found)))
    yield from _by_suite(view, found, layers)
    yield from _questions(view, found, layers)


def _chart(found: Mapping[str, Mapping[str, Any]], layers: Sequence[str]) -> Iterator[Stacks]:
    """Lost sources by layer, of all configurations or of those that lose the most."""
    if not layers:
        return
    names = list(found)
    note = "A shorter bar loses less. A search passes the layers in the order of the legend."
    if len(names) > CHARTED:
        names = sorted(names, key=lambda name: -found[name]["lost"] / (found[name]["sources"] or 1))[:CHARTED]
        note = f"The {len(names)} of {len(found)} configurations that lose the most. {note}"
    stacks = tuple(
        Stack(name, tuple(found[name]["layers"].get(layer, 0) for layer in layers), found[name]["sources"])
        for name in names
    )
    title = "Share of the required sources that each layer lost"
    yield Stacks(title, "share of required sources", note, tuple(layers), stacks)


def _counts(held: Mapping[str, Any], layers: Sequence[str]) -> tuple[Cell, ...]:
    return Share(held["lost"], held["sources"]), *(held["layers"].get(layer, 0) for layer in layers)


def _ceilings(view: RunView, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    depths = list(dict.fromkeys(depth for held in found.values() for depth in held["ceiling"]))
    depths.sort(key=int)
    recall = f"recall@{view.k}"
    columns = (_CONFIGURATION, *(Column(f"pool, first {depth}") for depth in depths), Column(recall))
    rows = tuple(
        (
            name,
            *(estimate(held["ceiling"].get(depth)) for depth in depths),
            estimate((view.results[name].get("overall") or {}).get(recall)),
        )
        for name, held in found.items()
    )
    yield Table(columns, rows)
    yield Sentences(
        "Ceiling: share of a question's required sources among the first so many of the pool, which is what the "
        f"rerank is given, or what is cut where nothing reranks. No rerank of that pool could give a higher {recall}: "
        "a gap between the two is for the reranker to close, and what is missing from the ceiling is for the lanes."
    )


def _shown(view: RunView, found: Mapping[str, Mapping[str, Any]], rows: int) -> list[str]:
    """All configurations, or only the one with the highest main metric where they would fill pages."""
    if len(found) <= MANY_CONFIGURATIONS and rows <= ROWS_SHOWN:
        return list(found)
    main = view.metrics[0] if view.metrics else ""

    def mean(name: str) -> float:
        value = ((view.results[name].get("overall") or {}).get(main) or {}).get("mean")
        return -1.0 if value is None else float(value)

    return [max(found, key=mean)]


def _by_suite(view: RunView, found: Mapping[str, Mapping[str, Any]], layers: Sequence[str]) -> Iterator[Section]:
    names = _shown(view, found, sum(len(held["by_suite"]) for held in found.values()))
    columns = (_CONFIGURATION, Column("suite", numeric=False), Column("lost"), *map(Column, layers))
    rows = tuple(
        (name, suite, *_counts(held, layers)) for name in names for suite, held in found[name]["by_suite"].items()
    )
    shown: list[Block] = [Table(columns, rows, keys=2), *_only(names, found)]
    yield Section("Where sources are lost, by suite", tuple(shown), detail=True)


def _questions(view: RunView, found: Mapping[str, Mapping[str, Any]], layers: Sequence[str]) -> Iterator[Section]:
    names = _shown(view, found, 0)
    lines = [
        f"{name}, {layer}, {plural(held['n'], 'question')}: {_ids(held)}."
        for name in names
        for layer in layers
        if (held := found[name]["questions"].get(layer))
    ]
    if lines:
        yield Section("Lost questions", (Bullets(tuple(lines)), *_only(names, found)), detail=True)


def _ids(held: Mapping[str, Any]) -> str:
    more = held["n"] - len(held["ids"][:NAMED])
    return ", ".join(held["ids"][:NAMED]) + (f" and {more:,} more" if more else "")


def _only(names: Sequence[str], found: Mapping[str, Any]) -> Iterator[Sentences]:
    if len(names) < len(found):
        yield Sentences(f"Only {names[0]}, with the highest main metric; the others stand in summary.json.")
