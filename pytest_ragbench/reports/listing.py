"""The list of runs: of each what it measured, how far it got, its headline and its verdict, a line a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import Column, Report, Section, Sentences, Table
from pytest_ragbench.reports.text import cell_text, plural
from pytest_ragbench.reports.view import RunView, estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMES_SHOWN = 3
"""Configurations told by name in a line; of more, their number."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One run as a line of the list.

    Attributes:
        run: Its id.
        started: ISO 8601, UTC.
        state: `done`, `failed`, `running`, `aborted`; `partial` or `incomplete` where it is done and not whole.
        questions: Number of questions planned, or None where no summary says so.
        configurations: Their names.
        metric: The main metric, or None where nothing was scored.
        headline: The mean of a single configuration with its interval, the range of several.
        verdict: What the gate said; without a gate how many differences are real, of those tested.
    """

    run: str
    started: str
    state: str
    questions: int | None
    configurations: tuple[str, ...]
    metric: str | None
    headline: str
    verdict: str


def listed(view: RunView, gate: Mapping[str, Any] | None = None) -> Listed:
    """The line of a run, from its record's values and the verdict of its gate."""
    metric = view.metrics[0] if view.metrics and view.names else None
    return Listed(
        run=str(view.run["run_id"]),
        started=str(view.run["started_at"]),
        state=_state(view),
        questions=_questions(view),
        configurations=tuple(entry["name"] for entry in view.run.get("configurations") or ()),
        metric=metric,
        headline="" if metric is None else _headline(view, metric),
        verdict=_verdict(view, metric, gate),
    )


def runs_report(lines: Sequence[Listed], *, more: int = 0, unreadable: Sequence[str] = ()) -> Report:
    """The list as a report.

    Args:
        lines: In display order.
        more: Number of older runs that are not shown.
        unreadable: Folders that hold no readable record.
    """
    columns = ("run", "state", "questions", "configurations", "headline", "verdict")
    rows = tuple(
        (line.run, line.state, line.questions, _named(line.configurations), line.headline, line.verdict)
        for line in lines
    )
    table = Table(tuple(Column(name, numeric=name == "questions") for name in columns), rows)
    told = [f"{plural(more, 'older run')} not shown; `--limit N` shows more."] if more else []
    told += [f"No readable record: {', '.join(unreadable)}."] if unreadable else []
    return Report("Runs", (Section("Latest first", (table, *map(Sentences, told))),))


def _state(view: RunView) -> str:
    if view.status != "done":
        return view.status
    if view.run.get("shard"):
        return f"shard {view.run['shard']['index']} of {view.run['shard']['of']}"
    return "partial" if view.run.get("partial") else "done" if view.run.get("complete") else "incomplete"


def _questions(view: RunView) -> int | None:
    counts = [
        sum((view.results[name].get("rows") or {}).values()) + int(view.results[name].get("unanswerable") or 0)
        for name in view.names
    ]
    return max(counts, default=None)


def _headline(view: RunView, metric: str) -> str:
    means = {name: (view.results[name].get("overall") or {}).get(metric) or {} for name in view.names}
    scored = {name: entry for name, entry in means.items() if entry.get("mean") is not None}
    if not scored:
        return "nothing scored"
    if len(scored) == 1:
        return f"{metric} {cell_text(estimate(next(iter(scored.values()))))}"
    low, high = (pick(entry["mean"] for entry in scored.values()) for pick in (min, max))
    return f"{metric} {low:.3f} to {high:.3f}"


def _verdict(view: RunView, metric: str | None, gate: Mapping[str, Any] | None) -> str:
    if gate is not None:
        return f"gate {gate['status']}"
    if metric is None or not view.pairs:
        return ""
    verdicts = [view.paired(*pair, metric).get("verdict") for pair in view.pairs]
    tested = sum(verdict is not None for verdict in verdicts)
    return f"{sum(verdict == 'real' for verdict in verdicts)} of {plural(tested, 'difference')} real"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= NAMES_SHOWN else f"{len(names)} configurations"
