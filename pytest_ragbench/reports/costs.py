"""What a configuration costs: latency percentiles of each stage over warm rows, with the cold ones counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import (
    Cell,
    Column,
    Estimate,
    Milliseconds,
    Point,
    Scatter,
    Section,
    Sentences,
    Table,
)
from pytest_ragbench.reports.view import RunView, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROWS_SHOWN = 80
"""Rows with stages; above, only the whole search is shown."""

COUNTS = 6
"""Columns before those that count whole rows."""

_COLUMNS = (
    Column("configuration", numeric=False),
    Column("stage", numeric=False),
    Column("p50 ms"),
    Column("p95 ms"),
    Column("p99 ms"),
    Column("warm"),
    Column("cold"),
    Column("cached"),
)


def costs(view: RunView) -> Iterator[Section]:
    """Latency of the whole search by configuration, then of each stage."""
    timed = {name: view.latency(name) for name in view.names}
    stages = {name: [stage for stage in _in_order(entry) if "p50" in entry[stage]] for name, entry in timed.items()}
    whole = tuple(_row(name, "search", timed[name]) for name, found in stages.items() if "search" in found)
    parts = tuple(_row(name, stage, timed[name]) for name, found in stages.items() for stage in found)
    if whole:
        sentence = (
            "Milliseconds on this machine as it was loaded, percentiles by linear interpolation over warm rows. A cold "
            "row paid for loading something and is only counted; a cached one carries the time that its stages first "
            "took, maybe in an earlier session. A cache that a pipeline does not report looks like speed."
        )
        columns = (_COLUMNS[0], *_COLUMNS[2:])
        table = Table(columns, tuple((row[0], *row[2:]) for row in whole))
        yield Section("Latency", (*_chart(view), table, Sentences(sentence)))
    if len(whole) < len(parts) <= ROWS_SHOWN:
        table = Table(_COLUMNS[:COUNTS], tuple(row[:COUNTS] for row in parts), keys=2)
        yield Section("Latency by stage", (table,), detail=True)


def _chart(view: RunView) -> Iterator[Scatter]:
    """The main metric against the median search, of every configuration with warm searches; a free 0 is no point."""
    if not view.metrics:
        return
    metric = view.metrics[0]
    points = []
    silent = {entry["name"] for entry in view.run.get("configurations") or () if entry.get("searches") is False}
    for name in view.names:
        median = (view.latency(name).get("search") or {}).get("p50")
        mean = estimate((view.results[name].get("overall") or {}).get(metric))
        if median is not None and isinstance(mean, Estimate) and name not in silent:
            points.append(Point(name, float(median), mean))
    if len(points) > 1:
        note = (
            "Up and to the left is better. Filled: no other configuration has a higher mean in as little time; those "
            "that are not filled are beaten on both, as far as means tell."
        )
        title = f"{metric} against the median search"
        yield Scatter(title, metric, note, "median search, ms", tuple(points))


def _in_order(entry: Mapping[str, Any]) -> list[str]:
    """The whole search first, then its stages by name."""
    return sorted((stage for stage in entry if not stage.startswith("_")), key=lambda stage: (stage != "search", stage))


def _row(name: str, stage: str, entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    counts = entry.get("_rows") or {} if stage == "search" else {}
    percentiles = (entry[stage].get(key) for key in ("p50", "p95", "p99"))
    shown = (None if value is None else Milliseconds(value) for value in percentiles)
    return (name, stage, *shown, entry[stage].get("n"), counts.get("cold"), counts.get("cached"))
