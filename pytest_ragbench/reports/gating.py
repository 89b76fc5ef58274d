"""The relevance gate: what it removed, what abstaining was worth, and how that moves with the threshold."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.reports.model import Block, Bullets, Cell, Column, Number, Section, Sentences, Table
from pytest_ragbench.reports.plots import unit_plot
from pytest_ragbench.reports.view import RunView, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

COVERAGES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the questions at which a curve is read."""

_MEASURES = (
    Column("answered"),
    Column("risk"),
    Column("gold removed"),
    Column("chunks removed"),
    Column("abstained, unanswerable"),
    Column("abstained, answerable"),
)
_KEYS = ("coverage", "risk", "gold_removed", "removed", "abstained_unanswerable", "abstained_answerable")

_LEGEND = (
    "answered: share of questions, unanswerable ones included, with a ranking that is not empty; the others abstained.",
    "risk: share of losses among the answered: unanswerable, or no required source in the kept ranking.",
    "gold removed: share of the required sources retrieved that only removed chunks satisfied, a mean over questions.",
    "abstained: over unanswerable questions that is right, over answerable ones wrong.",
)


def gates(view: RunView) -> Iterator[Section]:
    """What each gate did at its threshold, and its risk-coverage curve."""
    found = _found(view)
    if not found:
        return
    columns = (Column("configuration", numeric=False), Column("scorer", numeric=False), Column("threshold"), *_MEASURES)
    rows = tuple((name, _scorers(gate), _threshold(gate), *_measures(gate)) for name, gate in found.items())
    yield Section("Relevance gate", (Table(columns, rows), Bullets(_LEGEND), *_curves(found)))


def _curves(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    curves = {name: gate["risk_coverage"] for name, gate in found.items() if gate.get("risk_coverage")}
    if not curves:
        return
    columns = (
        Column("configuration", numeric=False),
        *(Column(f"risk at {coverage:.0%}") for coverage in COVERAGES),
        Column("AURC"),
        Column("best AURC"),
        Column("n"),
    )
    rows = tuple(
        (
            name,
            *(_risk_at(curve["points"], coverage) for coverage in COVERAGES),
            Number(curve["aurc"]),
            Number(curve["aurc_best"]),
            curve["n"],
        )
        for name, curve in curves.items()
    )
    yield Table(columns, rows)
    yield Sentences(
        "Risk if only the questions with the highest confidence had been answered, that share of them or the next that "
        "one confidence allows. AURC: mean risk over all shares, lower is better; best: what the same losses would "
        "give if the confidence put every one of them last."
    )


def _risk_at(points: Sequence[Sequence[float]], coverage: float) -> Cell:
    """The risk of the first step that answers at least so many."""
    return next((Number(risk) for covered, risk in points if covered >= coverage - TOLERANCE), None)


def sweeps(view: RunView) -> Iterator[Section]:
    """Configurations that differ only in the threshold, as one table and one plot."""
    found = _found(view)
    for sweep in ((view.summary or {}).get("attribution") or {}).get("sweeps") or ():
        arms = [name for name in sweep["arms"] if name in found]
        if len(arms) > 1:
            scorers = ", ".join(sweep.get("scorers") or ())
            title = f"Gate sweep: {sweep['over']}" + (f" of {scorers}" if scorers else "")
            yield Section(title, tuple(_sweep(view, arms, found)))


def _sweep(view: RunView, arms: Sequence[str], found: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    marks = dict(zip(arms, _marks(len(arms)), strict=True))
    main = view.metrics[:1]
    columns = (
        Column("mark", numeric=False),
        Column("configuration", numeric=False),
        Column("threshold"),
        *(Column(metric) for metric in main),
        *_MEASURES,
    )
    rows = tuple(
        (
            marks[name],
            name,
            _threshold(found[name]),
            *(estimate((view.results[name].get("overall") or {}).get(metric)) for metric in main),
            *_measures(found[name]),
        )
        for name in arms
    )
    yield Table(columns, rows, keys=3)
    curve = found[arms[0]].get("risk_coverage") or {}
    series: dict[str, list[tuple[float, float]]] = {}
    if curve:
        series["."] = [(coverage, risk) for coverage, risk in curve["points"]]
    for name in arms:
        answered, risk = (found[name][key]["mean"] for key in ("coverage", "risk"))
        if answered is not None and risk is not None:
            series.setdefault(marks[name], []).append((answered, risk))
    yield unit_plot(series, "answered", "risk")
    yield Sentences(
        f"Each mark is a configuration, by rising threshold from {marks[arms[0]]}: further left it answers fewer, and "
        "further down it errs less often where it answers."
        + (f" Dots: the curve of {arms[0]} by its confidence." if curve else "")
    )


def _marks(count: int) -> Iterator[str]:
    """`a`, `b`, … and `+` for those beyond the alphabet."""
    return (ascii_lowercase[number] if number < len(ascii_lowercase) else "+" for number in range(count))


def _found(view: RunView) -> dict[str, Mapping[str, Any]]:
    return {name: view.results[name]["gate"] for name in view.names if view.results[name].get("gate")}


def _measures(gate: Mapping[str, Any]) -> tuple[Cell, ...]:
    return tuple(estimate(gate[key]) for key in _KEYS)


def _scorers(gate: Mapping[str, Any]) -> Cell:
    return ", ".join(gate["scorers"]) or None


def _threshold(gate: Mapping[str, Any]) -> Cell:
    return ", ".join(f"{threshold:g}" for threshold in gate["thresholds"]) or None
