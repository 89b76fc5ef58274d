"""Whether routing chose what the questions expect, what a wrong choice cost, and what generated documents led to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import Cell, Column, Section, Sentences, Table
from pytest_ragbench.reports.view import RunView, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CONFIGURATION = Column("configuration", numeric=False)
_OUTCOMES = ("right", "wrong", "none")
_COUNTS = {
    "router_hits": "router hits",
    "routed": "routed",
    "unrouted": "unrouted",
    "targets": "targets",
    "targets_missing": "targets missing",
    "new": "new",
}


def routing(view: RunView) -> Iterator[Section]:
    """Right, wrong and no choice where a question expects a course, and the main metric by the scope searched."""
    found = {name: route for name, route in _found(view).items() if route.get("accuracy")}
    if not found:
        return
    main = view.metrics[0] if view.metrics else "score"
    columns = (
        _CONFIGURATION,
        Column("accuracy"),
        *map(Column, _OUTCOMES),
        *(Column(f"{main}, scope {outcome}") for outcome in _OUTCOMES),
    )
    rows = tuple(
        (
            name,
            estimate(route["accuracy"]),
            *(route["accuracy"][outcome] for outcome in _OUTCOMES),
            *(_with_count((route.get("scope") or {}).get(outcome)) for outcome in _OUTCOMES),
        )
        for name, route in found.items()
    )
    sentence = (
        "Over questions that expect a course or an area. Right: routing named it; wrong: it named another; none: it "
        f"named nothing. Then the mean {main} by the scope that was searched apart, with the number of questions: "
        "wrong against none is what a wrong scope cost, but these are different questions and no pair."
    )
    yield Section("Routing accuracy", (Table(columns, rows), Sentences(sentence)))


def _with_count(entry: Mapping[str, Any] | None) -> Cell:
    return None if entry is None or entry["mean"] is None else f"{entry['mean']:.3f} (n {entry['n']:,})"


def generated_routing(view: RunView) -> Iterator[Section]:
    """Means of the six counts."""
    found = {name: route["counts"] for name, route in _found(view).items() if route.get("counts")}
    shown = [count for count in _COUNTS if any(count in counts for counts in found.values())]
    if not shown:
        return
    columns = (_CONFIGURATION, *(Column(_COUNTS[count]) for count in shown))
    rows = tuple((name, *(estimate(counts.get(count)) for count in shown)) for name, counts in found.items())
    sentence = (
        "Means over the rows without an error. Router hits: generated chunks that were found and followed; routed and "
        "unrouted: those that led to a primary chunk, and to none; targets: places that they cite, and those of them "
        "that the index does not hold; new: chunks that came by this way alone."
    )
    yield Section("Generated routing", (Table(columns, rows), Sentences(sentence)))


def by_prefix(view: RunView) -> Iterator[Section]:
    """The main metric by the prefix of a question's id, over all suites and in each."""
    found = {name: view.results[name]["by_prefix"] for name in view.names if view.results[name].get("by_prefix")}
    if not found or not view.metrics:
        return
    main = view.metrics[0]
    groups = dict.fromkeys(
        (prefix, suite)
        for prefixes in found.values()
        for prefix, held in prefixes.items()
        for suite in ("", *held["by_suite"])
    )
    columns = (Column("prefix", numeric=False), Column("suite", numeric=False), *map(Column, found))
    rows = tuple(
        (prefix, suite or "all", *(estimate(_group(prefixes, prefix, suite).get(main)) for prefixes in found.values()))
        for prefix, suite in groups
    )
    sentence = (
        "By the letters before the - of a question's id. In a set that asks about generated documents, rtc says that "
        "the answer stands on pages that one cites, rtu that none does; what helps the first may harm the second."
    )
    yield Section(f"Questions by prefix: {main}", (Table(columns, rows, keys=2), Sentences(sentence)))


def _group(prefixes: Mapping[str, Any], prefix: str, suite: str) -> Mapping[str, Any]:
    held: Mapping[str, Any] = prefixes.get(prefix) or {}
    means = (held.get("by_suite") or {}).get(suite) if suite else held.get("all")
    return means or {}


def _found(view: RunView) -> dict[str, Mapping[str, Any]]:
    return {name: view.results[name]["route"] for name in view.names if view.results[name].get("route")}
