"""What a report is made from, and the ways every section reads it; absent data reads as nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.plan import CONFIDENCE
from pytest_ragbench.metrics.catalogue import headline
from pytest_ragbench.reports.model import Cell, Estimate
from pytest_ragbench.statistics.verdicts import level_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.gates.model import Verdict

MANY_CONFIGURATIONS = 6
"""Beyond so many configurations, tables by group turn so that configurations are rows."""


@dataclass(frozen=True)
class RunView:
    """A run as its record tells it.

    Attributes:
        run: `run.json`.
        summary: `summary.json`, or None.
        status: `done`, `failed`, `running` or `aborted`.
        errors: Rows with an error, each at least `question`, `configuration` and `error`.
        missing: What of the record is absent or torn, in words.
        rows_kept: Number of cells with a row, where there is no summary to say so.
        verdict: What the gate said, or None where the run was not gated.
    """

    run: Mapping[str, Any]
    summary: Mapping[str, Any] | None = None
    status: str = "done"
    errors: Sequence[Mapping[str, Any]] = ()
    missing: Sequence[str] = field(default=())
    rows_kept: int | None = None
    verdict: Verdict | None = None

    @cached_property
    def results(self) -> Mapping[str, Mapping[str, Any]]:
        """Configuration to its results; empty without a summary."""
        return (self.summary or {}).get("results") or {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Configurations with results, in the run's order."""
        declared = [entry["name"] for entry in self.run.get("configurations") or ()]
        return (*(name for name in declared if name in self.results), *sorted(self.results.keys() - set(declared)))

    @property
    def level(self) -> float:
        """Largest p of a `real` difference."""
        return level_of(float((self.run.get("bootstrap") or {}).get("confidence") or CONFIDENCE))

    @property
    def k(self) -> int:
        """Depth of the rankings."""
        return int(self.run.get("k") or 10)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The headline metrics that the summary has, the main one first; of an unknown set, the first six by name."""
        known = {metric for name in self.names for metric in self.results[name].get("overall") or {}}
        return tuple(metric for metric in headline(self.k) if metric in known) or tuple(sorted(known)[:6])

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """(configuration, other) of every comparison, in display order."""
        return tuple((name, other) for name in self.names for other in self.results[name].get("paired") or {})

    def families(self) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
        """Each experiment with its comparisons, then those of no experiment under the empty name."""
        left = dict.fromkeys(self.pairs)
        for experiment in self.run.get("experiments") or ():
            arms = set(experiment["arms"])
            inside = tuple(pair for pair in self.pairs if set(pair) <= arms)
            if inside:
                yield experiment["name"], inside
            for pair in inside:
                left.pop(pair, None)
        if left:
            yield "", tuple(left)

    def judged(self, family: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The metrics that an experiment says it is judged by, and those that guard it; none where it does not say."""
        declared: Sequence[Mapping[str, Any]] = self.run.get("experiments") or ()
        found: Mapping[str, Any] = next((one for one in declared if one["name"] == family), {})
        named = (tuple(found.get(key) or ()) for key in ("judged_by", "guarded_by"))
        judged, guarded = (tuple(re.sub("@k$", f"@{self.k}", name) for name in names) for names in named)
        return judged, guarded

    def paired(self, name: str, other: str, metric: str) -> Mapping[str, Any]:
        """One comparison; empty where it was not made."""
        entry: Mapping[str, Any] = self.results[name]["paired"][other].get(metric) or {}
        return entry

    def leading(self, limit: int) -> tuple[str, ...]:
        """At most `limit` configurations by falling main metric."""
        metric = self.metrics[0] if self.metrics else ""

        def below(name: str) -> float:
            mean = ((self.results[name].get("overall") or {}).get(metric) or {}).get("mean")
            return 1.0 if mean is None else -float(mean)

        return tuple(sorted(self.names, key=below)[:limit])

    def latency(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Stage to percentiles, and `_rows`; empty where nothing was timed."""
        found: Mapping[str, Mapping[str, Any]] = ((self.summary or {}).get("latency") or {}).get(name) or {}
        return found

    def factors(self, name: str) -> tuple[str, ...]:
        """Factors that are on in a configuration."""
        entries = {entry["name"]: entry for entry in self.run.get("configurations") or ()}
        return tuple(entries.get(name, {}).get("factors") or ())


def estimate(entry: Mapping[str, Any] | None) -> Cell:
    """A `{mean, low, high, n}` as a cell; None where nothing was scored."""
    if not entry or entry.get("mean") is None:
        return None
    return Estimate(entry["mean"], entry.get("low"), entry.get("high"))


def difference(entry: Mapping[str, Any]) -> Cell:
    """A comparison's delta as a cell; None where no question was shared."""
    if entry.get("delta") is None:
        return None
    return Estimate(entry["delta"], entry.get("low"), entry.get("high"), signed=True)
