"""Whether the means of a baseline are those that its rows give: a baseline is captured, never written by hand."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any

from pytest_ragbench.baselines.model import GROUPINGS
from pytest_ragbench.canonical import TOLERANCE, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.baselines.model import Baseline, BaselineRow


def disagreements(baseline: Baseline) -> Iterator[tuple[str, str, str]]:
    """Where means and rows part: the dotted path of the value, what stands there, and what the rows give."""
    if strange := sorted({row.configuration for row in baseline.rows} - baseline.results.keys()):
        yield f"results.{strange[0]}", "nothing", "rows"
    if strange := sorted(baseline.configurations.keys() ^ baseline.results.keys()):
        stands = "nothing" if strange[0] in baseline.results else "overrides"
        yield f"configurations.{strange[0]}", stands, "rows" if stands == "nothing" else "none"
    for name, result in baseline.results.items():
        own = [row for row in baseline.rows if row.configuration == name]
        path = f"results.{name}"
        if result["rows"]["scored"] != len(own):
            yield f"{path}.rows.scored", str(result["rows"]["scored"]), str(len(own))
        yield from _means(f"{path}.overall", result["overall"], own)
        for grouping in GROUPINGS:
            groups = result[f"by_{grouping}"]
            given = {row.group(grouping) for row in own} - {None}
            if other := sorted(group for group in given ^ groups.keys() if group is not None):
                stands, rows = ("means", "none") if other[0] in groups else ("nothing", "rows")
                yield f"{path}.by_{grouping}.{other[0]}", stands, rows
            for group in sorted(given & groups.keys()):
                members = [row for row in own if row.group(grouping) == group]
                yield from _means(f"{path}.by_{grouping}.{group}", groups[group], members)


def _means(
    path: str, means: Mapping[str, Mapping[str, Any]], rows: Sequence[BaselineRow]
) -> Iterator[tuple[str, str, str]]:
    measured = {metric for row in rows for metric in row.metrics}
    if lost := sorted(measured - means.keys()):
        yield f"{path}.{lost[0]}", "nothing", "values"
    for metric, entry in means.items():
        values = [value for row in rows if (value := row.metrics.get(metric)) is not None]
        if entry["n"] != len(values):
            yield f"{path}.{metric}.n", str(entry["n"]), str(len(values))
            continue
        mean = fsum(values) / len(values) if values else None
        if (mean is None) != (entry["mean"] is None) or abs((mean or 0.0) - (entry["mean"] or 0.0)) > TOLERANCE:
            yield f"{path}.{metric}.mean", str(entry["mean"]), str(number(mean))
