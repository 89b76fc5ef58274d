"""What each factor carries: ladder step, leave-one-out delta and Shapley value side by side, and the interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import (
    Block,
    Bullets,
    Cell,
    Column,
    Estimate,
    Intervals,
    Mark,
    Probability,
    Section,
    Sentences,
    Table,
)
from pytest_ragbench.reports.text import cell_text, plural
from pytest_ragbench.reports.view import RunView, difference
from pytest_ragbench.statistics.verdicts import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INTERACTIONS_TOLD = 3
"""Interactions named in words."""

_WORDS: Mapping[str, str] = {str(verdict): words for verdict, words in WORDS.items()}
_FACTOR = Column("factor", numeric=False)
_VERDICT = Column("verdict", numeric=False)

Pair = tuple[str, str]


def factorial_pairs(view: RunView) -> frozenset[Pair]:
    """The comparisons of the factorial whose factors were weighed: each subset against none, which says little."""
    experiment = (attribution_of(view).get("factorial") or {}).get("experiment")
    return frozenset(pair for title, pairs in view.families() if title and title == experiment for pair in pairs)


def factors_in_words(view: RunView, metric: str) -> Iterator[str]:
    """What all factors of a factorial bring together, how it divides among them, and the strongest interactions."""
    shares = shapley(view, metric)
    if not shares:
        return
    total = attribution_of(view)["factorial"]["total"][metric]
    ranked = sorted(shares, key=lambda factor: -shares[factor]["value"])
    groups = {
        "carried by": [f for f in ranked if resolved(view, shares[f]) and shares[f]["value"] > 0],
        "made worse by": [f for f in reversed(ranked) if resolved(view, shares[f]) and shares[f]["value"] < 0],
        "not resolved for": [f for f in ranked if not resolved(view, shares[f])],
    }
    told = [f"{words} {_listed(shares, names)}" for words, names in groups.items() if names]
    yield f"All {len(shares)} factors against none: {metric} {_value(total)}, by Shapley value {'; '.join(told)}."
    pairs = [(pair, entry) for pair, entry in _interactions(view, metric) if resolved(view, entry)]
    if pairs:
        shown = ", ".join(
            f"{one} with {two} {_value(entry)} ({'they overlap' if entry['value'] < 0 else 'more together'})"
            for (one, two), entry in pairs[:INTERACTIONS_TOLD]
        )
        yield f"Strongest interactions: {shown}."


def _listed(shares: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_value(shares[name])}" for name in names)


def _value(entry: Mapping[str, Any]) -> str:
    return cell_text(weighed(entry))


def weighed(entry: Mapping[str, Any] | None) -> Cell:
    """A `{value, low, high}` of the attribution as a cell; None where there is none."""
    return None if not entry else Estimate(entry["value"], entry["low"], entry["high"], signed=True)


def resolved(view: RunView, entry: Mapping[str, Any]) -> bool:
    """Real, and so after the adjustment for the other factors, or pairs, of the metric."""
    return entry["verdict"] == "real" and float(entry["p_holm"]) <= view.level


def _interactions(view: RunView, metric: str) -> list[tuple[Pair, Mapping[str, Any]]]:
    """Every pair of factors, the strongest first."""
    found: Mapping[str, Any] = (attribution_of(view).get("interactions") or {}).get(metric) or {}
    pairs = [((one, two), entry) for one, others in found.items() for two, entry in others.items()]
    return sorted(pairs, key=lambda pair: (-abs(pair[1]["value"]), pair[0]))


def shapley(view: RunView, metric: str) -> dict[str, Mapping[str, Any]]:
    """Factor, in declared order, to its Shapley value; empty without a factorial."""
    found: Mapping[str, Any] = (attribution_of(view).get("shapley") or {}).get(metric) or {}
    return {factor: found[factor] for factor in attribution_of(view)["factorial"]["factors"]} if found else {}


def attribution_of(view: RunView) -> Mapping[str, Any]:
    """What the summary says of factors; empty without a factorial or a ladder."""
    found: Mapping[str, Any] = (view.summary or {}).get("attribution") or {}
    return found


def factors(view: RunView) -> Iterator[Section]:
    """The table of the factors by the main metric, then interactions, then the Shapley values of every metric.

    Without a factorial there is a table only where a run has both a ladder and leave-one-out.
    """
    if not view.metrics:
        return
    metric = view.metrics[0]
    shares = shapley(view, metric)
    steps, left_out = _ladder_steps(view, metric), _left_out(view, metric)
    if shares or (steps and left_out):
        blocks = (*_charts(view, metric, shares), *_side_by_side(view, metric, steps, left_out, shares))
        yield Section(f"What each factor carries: {metric}", tuple(blocks))
    if shares:
        yield _interaction_section(view, metric)
        yield from _every_metric(view, list(shares))


def _charts(view: RunView, metric: str, shares: Mapping[str, Mapping[str, Any]]) -> Iterator[Intervals]:
    """Of a factorial: its Shapley values as bars, and what each factor adds to all the others."""
    alone = (attribution_of(view).get("leave_one_out") or {}).get(metric) or {}
    for title, entries, note, bars in (
        (
            f"Shapley value of each factor: {metric}",
            shares,
            "The bars sum to what all factors bring together. Filled: real, also once adjusted for the other factors.",
            True,
        ),
        (
            f"Leave-one-out, what each factor adds to all the others: {metric}",
            alone,
            "Right of zero, taking the factor away makes the whole worse. Filled: real, also once adjusted.",
            False,
        ),
    ):
        marks = tuple(
            Mark(name, cell, _WORDS.get(entry["verdict"], entry["verdict"]), resolved(view, entry))
            for name in shares
            if (entry := entries.get(name)) and isinstance(cell := weighed(entry), Estimate)
        )
        if marks:
            yield Intervals(title, f"difference of {metric}", note, marks, bars)


def _side_by_side(
    view: RunView,
    metric: str,
    steps: Mapping[str, Cell],
    left_out: Mapping[str, Cell],
    shares: Mapping[str, Mapping[str, Any]],
) -> Iterator[Block]:
    kinds = [(title, cells) for title, cells in (("ladder step", steps), ("leave-one-out", left_out)) if cells]
    columns = [_FACTOR, *(Column(title) for title, _ in kinds)]
    columns += [Column("Shapley value"), _VERDICT, Column("p Holm")] if shares else []
    names = list(dict.fromkeys((*shares, *steps, *left_out)))
    rows = []
    for name in names:
        row: list[Cell] = [name, *(cells.get(name) for _, cells in kinds)]
        if shares:
            row += _judged(shares.get(name))
        rows.append(tuple(row))
    yield Table(tuple(columns), tuple(rows))
    yield Sentences(_how_to_read(view, metric, shares=bool(shares)))
    silent = len((attribution_of(view).get("factorial") or {}).get("without_lane") or ())
    if silent:
        told = (
            f"{plural(silent, 'arm')} without a lane did not search and scored 0 by rule: what needs a lane earns "
            "nothing there, and the lanes are credited with what rests on them."
        )
        yield Bullets((told,))


def _judged(entry: Mapping[str, Any] | None) -> tuple[Cell, Cell, Cell]:
    if entry is None:
        return None, None, None
    return weighed(entry), _WORDS.get(entry["verdict"], entry["verdict"]), Probability(entry["p_holm"])


def _how_to_read(view: RunView, metric: str, *, shares: bool) -> str:
    text = (
        "A ladder step is what a factor adds to the rungs below it and a leave-one-out delta what it adds to all the "
        "others, so the first depends on the order, and two factors that do the same work both show little in the "
        "second."
    )
    if not shares:
        return f"{text} Read the step for what to build next, leave-one-out for what to drop."
    total = _value(attribution_of(view)["factorial"]["total"][metric])
    return (
        f"{text} A Shapley value is the mean over all orders of switching on, and the values sum to what all factors "
        f"bring, {total}: read it for credit, leave-one-out for what to drop, the step for what to build next."
    )


def _ladder_steps(view: RunView, metric: str) -> dict[str, Cell]:
    """Factor to the difference of the rung that adds it, and nothing else, to the rung before."""
    found: dict[str, Cell] = {}
    for name, other in _pairs_of(view, "ladder"):
        added = set(view.factors(name)) - set(view.factors(other))
        if len(added) == 1 and set(view.factors(other)) < set(view.factors(name)):
            found.setdefault(added.pop(), difference(view.paired(name, other, metric)))
    return found


def _left_out(view: RunView, metric: str) -> dict[str, Cell]:
    """Factor to the difference of everything to everything else: an arm of `loo`, or two of the factorial."""
    found: dict[str, Cell] = {
        factor: weighed(entry)
        for factor, entry in ((attribution_of(view).get("leave_one_out") or {}).get(metric) or {}).items()
    }
    for name, other in _pairs_of(view, "loo"):
        removed = set(view.factors(other)) - set(view.factors(name))
        entry = view.paired(name, other, metric)
        if len(removed) == 1 and set(view.factors(name)) < set(view.factors(other)) and entry.get("delta") is not None:
            found[removed.pop()] = Estimate(-entry["delta"], -entry["high"], -entry["low"], signed=True)
    return found


def _pairs_of(view: RunView, experiment: str) -> tuple[Pair, ...]:
    return next((pairs for title, pairs in view.families() if title == experiment), ())


def _interaction_section(view: RunView, metric: str) -> Section:
    columns = (_FACTOR, Column("with", numeric=False), Column("interaction"), _VERDICT, Column("p Holm"))
    rows = tuple((*pair, *_judged(entry)) for pair, entry in _interactions(view, metric))
    sentence = (
        "Both factors, minus each alone, plus neither; all others off. Below zero they overlap, above zero they bring "
        "more together than apart. Where one of them needs a lane and the other is a lane, it is what the first adds "
        "to that lane alone."
    )
    return Section(f"Interactions of factors: {metric}", (Table(columns, rows, keys=2), Sentences(sentence)))


def _every_metric(view: RunView, names: Sequence[str]) -> Iterator[Section]:
    found: Mapping[str, Any] = attribution_of(view)["shapley"]
    metrics = [metric for metric in view.metrics if metric in found]
    columns = (_FACTOR, *(Column(metric) for metric in metrics))
    rows = [(name, *(weighed(found[metric].get(name)) for metric in metrics)) for name in names]
    totals = attribution_of(view)["factorial"]["total"]
    rows.append(("all", *(weighed(totals.get(metric)) for metric in metrics)))
    yield Section("Shapley values of every metric", (Table(columns, tuple(rows)),), detail=True)
