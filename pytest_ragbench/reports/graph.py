"""What a walk over a graph contributed, and whether questions that need none suffered from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import Block, Bullets, Cell, Column, Number, Section, Sentences, Table
from pytest_ragbench.reports.text import cell_text, plural
from pytest_ragbench.reports.view import RunView, difference, estimate
from pytest_ragbench.statistics.verdicts import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COLUMNS = (
    Column("configuration", numeric=False),
    Column("added"),
    Column("kept"),
    Column("found by the walk alone"),
    Column("sources"),
    Column("questions"),
    Column("generated"),
    Column("query seeds"),
)
_LEGEND = (
    "added: chunks a question that the walk brought and the search alone did not return; kept: in the final ranking.",
    "found by the walk alone: share of required sources that added chunks satisfy and the search's own first k do not.",
    "sources, questions: the same counted, and the questions that have any.",
    "generated: share of the added chunks that a machine wrote; query seeds: starts that the query itself gave.",
)
_WORDS: Mapping[str, str] = {str(verdict): words for verdict, words in WORDS.items()}


def graph(view: RunView) -> Iterator[Section]:
    """Chunks and finds of each walk, then the single-hop controls against each partner."""
    found = {name: view.results[name]["walk"] for name in view.names if view.results[name].get("walk")}
    if not found:
        return
    rows = tuple(
        (
            name,
            *(estimate(walk[key]) for key in ("added", "kept", "found")),
            walk["found_sources"],
            walk["found_questions"],
            _share(walk["generated"]),
            estimate(walk["query_seeds"]),
        )
        for name, walk in found.items()
    )
    yield Section("Graph contribution", (Table(_COLUMNS, rows), Bullets(_LEGEND), *_controls(found)))


def _share(generated: Mapping[str, Any]) -> Cell:
    return None if generated["share"] is None else Number(generated["share"])


def _controls(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    paired = [(name, *pair) for name, walk in found.items() for pair in walk["controls"]["paired"].items()]
    pairs = [pair for pair in paired if any(entry["n"] for entry in pair[2].values())]
    if paired:
        yield Sentences(
            "Single-hop controls: questions of tier T1 or T2, or without a source of a second hop. They need no walk, "
            "so a walk must not make them worse." + ("" if pairs else " None was scored, so nothing is known of them.")
        )
    if not pairs:
        return
    yield Bullets(tuple(_sentence(*pair) for pair in pairs))
    titles = ("configuration", "against", "metric", "difference", "verdict", "detectable", "n")
    columns = tuple(Column(title, numeric=title in ("difference", "detectable", "n")) for title in titles)
    rows = tuple(
        (name, other, metric, *_compared(entry)) for name, other, metrics in pairs for metric, entry in metrics.items()
    )
    yield Table(columns, rows, keys=3)


def _compared(entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    verdict = str(entry["verdict"])
    detectable = None if verdict == "real" or entry["mde"] is None else Number(entry["mde"])
    return difference(entry), _WORDS.get(verdict, verdict), detectable, entry["n"]


def _sentence(name: str, other: str, metrics: Mapping[str, Mapping[str, Any]]) -> str:
    """Whether the controls regress; a lower mean without a verdict is said, and proves nothing."""
    count = plural(max(entry["n"] for entry in metrics.values()), "control")
    worse = {metric: entry for metric, entry in metrics.items() if entry["delta"] is not None and entry["delta"] < 0}
    real = {metric: entry for metric, entry in worse.items() if entry["verdict"] == "real"}
    if real:
        numbers = ", ".join(f"{metric} {cell_text(difference(entry))}" for metric, entry in real.items())
        return f"{name} against {other}, {count}: they regress: {numbers}."
    if all(entry["verdict"] == "no difference" for entry in metrics.values()):
        return f"{name} against {other}, {count}: they do not regress: every one of them scored the same."
    if not worse:
        return f"{name} against {other}, {count}: they do not regress: no metric below is lower."
    named = ", ".join(f"{metric} {entry['delta']:+.3f}" for metric, entry in worse.items())
    return f"{name} against {other}, {count}: no regression is shown, and none excluded: lower, not real: {named}."
