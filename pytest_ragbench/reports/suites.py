"""Arm against arm within each suite: which capability a component is good for, and which one pays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import Block, Cell, Column, Probability, Section, Sentences, Table
from pytest_ragbench.reports.text import DIAG, VERDICT_WORDS, cell_text, plural
from pytest_ragbench.reports.view import RunView, difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ragbench.reports.attribution import Pair

TOLD = 8
"""Suites that are told in words."""

ROWS_SHOWN = 60

_COLUMNS = (
    Column("configuration", numeric=False),
    Column("against", numeric=False),
    Column("suite", numeric=False),
    Column("difference"),
    Column("verdict", numeric=False),
    Column("p sign-flip"),
    Column("p Holm"),
    Column("n"),
)


def suites_in_words(view: RunView) -> Iterator[str]:
    """The suites in which a comparison comes out real, also when its suites are adjusted for, the largest first."""
    sure = [
        (pair, suite, entry)
        for pair, suite, entry in _entries(view)
        if entry["verdict"] == "real" and entry["p_holm"] <= view.level
    ]
    if not sure:
        return
    largest = sorted(sure, key=lambda one: -abs(one[2]["delta"]))[:TOLD]
    told: dict[str, list[str]] = {}
    for pair, suite, entry in (one for one in sure if one in largest):  # in display order
        said = f"{pair[0]} is {'higher' if entry['delta'] > 0 else 'lower'} than {pair[1]} in"
        told.setdefault(said, []).append(f"{_suite(suite, entry)} {cell_text(difference(entry))}")
    words = "; ".join(f"{said} {', '.join(where)}" for said, where in told.items())
    more = f"; {len(sure) - TOLD:,} more below" if len(sure) > TOLD else ""
    yield f"By suite, each adjusted for the suites of its comparison: {words}{more}."


def suite_comparisons(view: RunView) -> Iterator[Section]:
    """The main metric's differences suite by suite, of the suites in which some question scored otherwise."""
    entries = list(_entries(view))
    rows = [_row(pair, suite, entry) for pair, suite, entry in entries if entry["gained"] or entry["lost"]]
    if not rows:
        return
    blocks: list[Block] = [Sentences(_tested(view, entries)), Table(_COLUMNS, tuple(rows[:ROWS_SHOWN]), keys=3)]
    if len(rows) > ROWS_SHOWN:
        blocks.append(Sentences(f"{len(rows) - ROWS_SHOWN:,} more stand in summary.json."))
    if len(rows) < len(entries):
        blocks.append(Sentences("In a suite that is not shown every question scored alike."))
    if any(entry["diag"] for *_, entry in entries):
        blocks.append(Sentences(DIAG))
    yield Section(f"Comparisons by suite: {view.metrics[0]}", tuple(blocks), detail=True)


def _entries(view: RunView) -> Iterator[tuple[Pair, str, Mapping[str, Any]]]:
    """Every comparison within a suite, in display order."""
    for name in view.names:
        for other, suites in (view.results[name].get("paired_by_suite") or {}).items():
            for suite, entry in suites.items():
                yield (name, other), suite, entry


def _tested(view: RunView, entries: list[tuple[Pair, str, Mapping[str, Any]]]) -> str:
    """How many chances for a difference that is none there are: a suite with too few differing files has none."""
    able = sum(entry["p_smallest"] is not None and entry["p_smallest"] <= view.level for *_, entry in entries)
    text = f"{plural(len(entries), 'comparison')} within a suite, paired by question"
    if not able:
        return f"{text}; in none do files enough differ for it to be called real."
    return (
        f"{text}; of the {able:,} that could be called real, about {able * view.level:.2g} would be by chance alone, "
        "so p Holm, over the suites of a comparison, is beside p."
    )


def _suite(suite: str, entry: Mapping[str, Any]) -> str:
    return f"{suite} (diag)" if entry["diag"] else suite


def _row(pair: Pair, suite: str, entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        *pair,
        _suite(suite, entry),
        difference(entry),
        VERDICT_WORDS[entry["verdict"]],
        *(None if entry[key] is None else Probability(entry[key]) for key in ("p_sign_flip", "p_holm")),
        entry["n"],
    )
