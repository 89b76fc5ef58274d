"""What each factor carries: ladder step, leave-one-out delta, Shapley value; then interactions and main effects."""

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
    experiment = _factorial(view)["experiment"] if attribution_of(view).get("shapley") else None
    return frozenset(pair for title, pairs in view.families() if title and title == experiment for pair in pairs)


def factors_in_words(view: RunView, metric: str) -> Iterator[str]:
    """What all factors of a factorial bring together, how it divides among them, and the strongest interactions."""
    shares = shapley(view, metric)
    if not shares:
        return
    total = _factorial(view)["total"][metric]
    groups: dict[str, list[str]] = {words: [] for words in _GROUPS}
    for factor in sorted(shares, key=lambda factor: -shares[factor]["value"]):
        groups[_group(view, shares[factor])].append(factor)
    groups[_WORSE].reverse()  # the worst first
    told = [f"{words} {_listed(shares, names)}" for words, names in groups.items() if names]
    yield f"All {len(shares)} factors against none: {metric} {_value(total)}, by Shapley value {'; '.join(told)}."
    pairs = [(pair, entry) for pair, entry in _interactions(view, metric) if resolved(view, entry)]
    if pairs:
        shown = ", ".join(
            f"{one} with {two} {_value(entry)} ({'they overlap' if entry['value'] < 0 else 'more together'})"
            for (one, two), entry in pairs[:INTERACTIONS_TOLD]
        )
        yield f"Strongest interactions: {shown}."


_CARRIED, _WORSE, _UNADJUSTED = "carried by", "made worse by", "not resolved once adjusted for"
_GROUPS = (_CARRIED, _WORSE, _UNADJUSTED, *(f"{words} for" for name, words in WORDS.items() if name != "real"))


def _group(view: RunView, entry: Mapping[str, Any]) -> str:
    """The words under which a factor is told, one of `_GROUPS`."""
    if entry["verdict"] != "real":
        return f"{_WORDS[entry['verdict']]} for"
    if not resolved(view, entry):
        return _UNADJUSTED
    return _CARRIED if entry["value"] > 0 else _WORSE


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
    return {factor: found[factor] for factor in _factorial(view)["factors"]} if found else {}


def _factorial(view: RunView) -> Mapping[str, Any]:
    """What was weighed; empty without a factorial."""
    found: Mapping[str, Any] = attribution_of(view).get("factorial") or {}
    return found


def attribution_of(view: RunView) -> Mapping[str, Any]:
    """What the summary says of factors; empty without a factorial or a ladder."""
    found: Mapping[str, Any] = (view.summary or {}).get("attribution") or {}
    return found


def factors(view: RunView) -> Iterator[Section]:
    """The table of the factors by the main metric, interactions, main effects, and the Shapley values of every metric.

    Without a factorial there is a table only where a run has both a ladder and leave-one-out; of one whose arms scored
    no question in common there is only that it is so.
    """
    if not view.metrics:
        return
    metric = view.metrics[0]
    shares = shapley(view, metric)
    kinds = {"ladder step": _ladder_steps(view, metric), "leave-one-out": _left_out(view, metric)}
    if shares or all(kinds.values()):
        blocks = (*_charts(view, metric, shares), *_side_by_side(view, metric, kinds, shares))
        yield Section(f"What each factor carries: {metric}", tuple(blocks))
    elif notes := tuple(_notes(view, shares, metric)):
        yield Section(f"What each factor carries: {metric}", (Bullets(notes),))
    if shares:
        yield _interaction_section(view, metric)
        yield from _main_effects(view, metric, list(shares))
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
    view: RunView, metric: str, kinds: Mapping[str, Mapping[str, Cell]], shares: Mapping[str, Mapping[str, Any]]
) -> Iterator[Block]:
    """Of the kinds of effect, column title to factor to cell, those that some factor has, and the shares."""
    shown = {title: cells for title, cells in kinds.items() if cells}
    columns = [_FACTOR, *map(Column, shown)]
    columns += [Column("Shapley value"), _VERDICT, Column("p Holm")] if shares else []
    names = dict.fromkeys((*shares, *(name for cells in shown.values() for name in cells)))
    rows = []
    for name in names:
        row: list[Cell] = [name, *(cells.get(name) for cells in shown.values())]
        if shares:
            row += _judged(shares.get(name))
        rows.append(tuple(row))
    yield Table(tuple(columns), tuple(rows))
    yield Sentences(_how_to_read(view, metric, [*shown, *(["Shapley value"] if shares else [])]))
    if notes := tuple(_notes(view, shares, metric)):
        yield Bullets(notes)


def _notes(view: RunView, shares: Mapping[str, Mapping[str, Any]], metric: str) -> Iterator[str]:
    """Which questions a factorial rests on, where some arm scored more than all did, and the rule of the lanes."""
    yield from _questions_shared(view, shares, metric)
    silent = len(_factorial(view).get("without_lane") or ())
    if silent and shares:
        yield (
            f"{plural(silent, 'arm')} without a lane did not search and scored 0 by rule: what needs a lane earns "
            "nothing there, and the lanes are credited with what rests on them."
        )


def _questions_shared(view: RunView, shares: Mapping[str, Mapping[str, Any]], metric: str) -> Iterator[str]:
    name = _factorial(view).get("experiment")
    arms = next((one["arms"] for one in view.run.get("experiments") or () if one["name"] == name), ())
    if not arms:
        return
    scored = {arm: _scored(view, arm, metric) for arm in arms}
    fewest, most = min(arms, key=lambda arm: scored[arm]), max(scored.values())
    by_all = max((int(entry["n"]) for entry in shares.values()), default=0)
    least = f"{fewest} scored fewest, {plural(scored[fewest], 'question')}"
    if not shares:
        yield f"No factor of {name} was weighed: no question was scored by all {len(arms)} arms; {least}."
    elif by_all < most:
        yield (
            f"What comes of {name} rests on the {plural(by_all, 'question')} that all {len(arms)} arms scored, where "
            f"one scored {most:,}; {least}."
        )


def _scored(view: RunView, arm: str, metric: str) -> int:
    entry = ((view.results.get(arm) or {}).get("overall") or {}).get(metric) or {}
    return int(entry.get("n") or 0)


def _judged(entry: Mapping[str, Any] | None) -> tuple[Cell, Cell, Cell]:
    if entry is None:
        return None, None, None
    return weighed(entry), _WORDS.get(entry["verdict"], entry["verdict"]), Probability(entry["p_holm"])


_READ: Mapping[str, tuple[str, str]] = {
    "ladder step": (
        "a ladder step adds it to the rungs below, so it depends on their order",
        "the step for what to build next",
    ),
    "leave-one-out": (
        "a leave-one-out delta adds it to all the others, so two factors that do the same work both show little",
        "leave-one-out for what to drop",
    ),
    "Shapley value": (
        "a Shapley value is the mean over all orders of switching on, and the values sum to what they all bring{total}",
        "the Shapley value for credit",
    ),
}
"""Column to what a factor adds there, and what to read it for."""


def _how_to_read(view: RunView, metric: str, titles: Sequence[str]) -> str:
    """One sentence on what the columns that are there say of a factor, and one on what each is good for."""
    entry = _factorial(view).get("total", {}).get(metric)
    total = f", {_value(entry)}" if entry else ""
    says, reads = zip(*(_READ[title] for title in titles), strict=True)
    return f"What a factor adds: {'; '.join(says).format(total=total)}. Read {', '.join(reads)}."


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


def _main_effects(view: RunView, metric: str, names: Sequence[str]) -> Iterator[Section]:
    found: Mapping[str, Any] = (attribution_of(view).get("main_effects") or {}).get(metric) or {}
    if not found:
        return
    columns = (_FACTOR, Column("main effect"), _VERDICT, Column("p Holm"))
    rows = tuple((name, *_judged(found.get(name))) for name in names)
    sentence = (
        "What a factor adds, a mean over all settings of the others, each counted alike. A Shapley value counts each "
        "number of others alike, so that none of them and all of them weigh more; main effects need not sum to what "
        "all factors bring."
    )
    yield Section(f"Main effects of factors: {metric}", (Table(columns, rows), Sentences(sentence)), detail=True)


def _every_metric(view: RunView, names: Sequence[str]) -> Iterator[Section]:
    found: Mapping[str, Any] = attribution_of(view)["shapley"]
    metrics = [metric for metric in view.metrics if metric in found]
    columns = (_FACTOR, *(Column(metric) for metric in metrics))
    rows = [(name, *(weighed(found[metric].get(name)) for metric in metrics)) for name in names]
    totals = _factorial(view)["total"]
    rows.append(("all", *(weighed(totals.get(metric)) for metric in metrics)))
    yield Section("Shapley values of every metric", (Table(columns, tuple(rows)),), detail=True)
