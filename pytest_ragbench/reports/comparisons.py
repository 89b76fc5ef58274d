"""Arm against arm: one sentence in words for each step, then the table that the sentence rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.reports.attribution import Pair, factorial_pairs, factors_in_words
from pytest_ragbench.reports.model import (
    Block,
    Bullets,
    Cell,
    Column,
    Estimate,
    Intervals,
    Mark,
    Number,
    Probability,
    Section,
    Sentences,
    Table,
)
from pytest_ragbench.reports.suites import suites_in_words
from pytest_ragbench.reports.text import VERDICT_WORDS, cell_text, milliseconds, plural, probability
from pytest_ragbench.reports.view import RunView, difference, estimate
from pytest_ragbench.statistics.verdicts import LEVEL, MEANINGS, WORDS, fewest_differing, meanings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SENTENCES_SHOWN = 12
ROWS_SHOWN = 60
"""Rows of one family's table; above, only the main metric, then only the first so many comparisons."""

LEADERS_NAMED = 4
"""Configurations that share the highest mean and are named."""

CHARTED = 20
"""Comparisons in a chart."""

ROWS_AT_END = 10
"""Up to so many rows, the table also stands in the summary of a session: a ladder's does, a factorial's does not."""

_COLUMNS = (
    Column("configuration", numeric=False),
    Column("against", numeric=False),
    Column("metric", numeric=False),
    Column("difference"),
    Column("verdict", numeric=False),
    Column("p sign-flip"),
    Column("p Holm"),
    Column("p McNemar"),
    Column("smallest p"),
    Column("detectable"),
    Column("n"),
)


def headline(view: RunView) -> Iterator[Section]:
    """Which component helps, by how much and at what cost, and what cannot be told, in words."""
    if not view.metrics or not view.names:
        return
    metric = view.metrics[0]
    weighed = factorial_pairs(view)  # in a factorial the factors are told, not each subset against none
    pairs = tuple(pair for pair in view.pairs if pair not in weighed)
    if len(pairs) > SENTENCES_SHOWN:  # those that say something first
        pairs = tuple(sorted(pairs, key=lambda pair: view.paired(pair[0], pair[1], metric).get("verdict") != "real"))
    shown = [*_means(view, metric), *factors_in_words(view, metric)]
    shown += [_sentence(view, *pair, metric) for pair in pairs[:SENTENCES_SHOWN]]
    if len(pairs) > SENTENCES_SHOWN:
        shown.append(f"{len(pairs) - SENTENCES_SHOWN:,} more comparisons stand below and in summary.json.")
    shown += suites_in_words(view)
    if shown:
        yield Section("In words", (Bullets(tuple(shown)),))


def _means(view: RunView, metric: str) -> Iterator[str]:
    """The highest mean and the next, with what is known of their difference; a mean alone decides nothing."""
    means = {name: view.results[name].get("overall", {}).get(metric) or {} for name in view.names}
    scored = {name: entry for name, entry in means.items() if entry.get("mean") is not None}
    order = sorted(scored, key=lambda name: -scored[name]["mean"])
    if not order:
        return
    top = scored[order[0]]
    if len(order) == 1:
        yield f"{order[0]}: {metric} {cell_text(estimate(top))}; nothing to compare it with."
        return
    leaders = [name for name in order if top["mean"] - scored[name]["mean"] <= TOLERANCE]
    more = f" and {len(leaders) - LEADERS_NAMED:,} more" if len(leaders) > LEADERS_NAMED else ""
    text = f"Highest {metric}: {', '.join(leaders[:LEADERS_NAMED])}{more}, {cell_text(estimate(top))}"
    if len(leaders) < len(order):
        second = order[len(leaders)]
        text += f"; next {second}, {cell_text(estimate(scored[second]))} ({_relation(view, order[0], second, metric)})"
    yield f"{text}."
    sizes = sorted({entry["n"] for entry in scored.values() if entry.get("n") is not None})
    if len(sizes) > 1:
        yield (
            f"The arms scored different questions ({sizes[0]:,} to {sizes[-1]:,}), so their means cannot be compared; "
            "the comparisons take only questions that both scored."
        )
    if not view.pairs:
        yield "No arm is paired with another, so no difference was tested."


def _relation(view: RunView, name: str, other: str, metric: str) -> str:
    for pair in ((name, other), (other, name)):
        if pair in view.pairs:
            verdict = str(view.paired(*pair, metric).get("verdict"))
            return f"the difference: {VERDICT_WORDS.get(verdict, verdict)}"
    return "the two were not compared"


def _sentence(view: RunView, name: str, other: str, metric: str) -> str:
    entry = view.paired(name, other, metric)
    changed, added = component(view, name, other)
    cost = _cost(view, name, other)
    if other in (view.results[name].get("inert") or ()):
        return f"{changed or name} is inert: {name} ranked exactly as {other} on every question{cost}."
    if entry.get("delta") is None:
        return f"{name} and {other} scored no question in common."
    numbers = f"{metric} {cell_text(difference(entry))}, {_grounds(entry, view.level)}{cost}."
    verdict = str(entry.get("verdict"))
    both = f"{name} against {other}"
    if verdict != "real":
        words = VERDICT_WORDS.get(verdict, verdict)
        return f"{changed}, {words}: {both}, {numbers}" if changed else f"{both}, {words}: {numbers}"
    up = entry["delta"] > 0
    if not changed:
        said = ("beats", "beat") if up else ("loses to", "lose to")
        return f"{name} {_verb(entry, *said, view.level)} {other}: {numbers}"
    said = ("helps", "help") if up == added else ("makes it worse", "make it worse")
    return f"{changed} {_verb(entry, *said, view.level)}: {both}, {numbers}"


def _verb(entry: Mapping[str, Any], said: str, plain: str, level: float = LEVEL) -> str:
    """What a real difference does; only `seems to` where it does not survive the adjustment for its family."""
    adjusted = entry.get("p_holm")
    return said if adjusted is None or adjusted <= level else f"seems to {plain} (not once adjusted)"


def component(view: RunView, name: str, other: str) -> tuple[str, bool]:
    """The factors by which the two differ, and whether the first has them; empty where they differ in none."""
    mine, theirs = view.factors(name), view.factors(other)
    added = " + ".join(factor for factor in mine if factor not in theirs)
    removed = " + ".join(factor for factor in theirs if factor not in mine)
    if added and removed:
        return f"{added} in place of {removed}", True
    return added or removed, bool(added)


def _grounds(entry: Mapping[str, Any], level: float) -> str:
    verdict = str(entry.get("verdict"))
    if verdict == "no difference":
        return MEANINGS["no difference"]
    if verdict == "unresolvable":
        differing = plural(entry.get("differing") or 0, "cluster")
        return f"{differing} with a difference, and fewer than {fewest_differing(level)} cannot reach p {level:.4g}"
    if verdict == "indeterminate":
        return MEANINGS["indeterminate"]
    parts = []
    if entry.get("p_sign_flip") is not None:
        parts.append(f"p {probability(entry['p_sign_flip'])}")
    if entry.get("p_holm") is not None and (entry.get("comparisons") or 0) > 1:
        parts.append(f"{probability(entry['p_holm'])} adjusted for {entry['comparisons']} comparisons")
    if verdict != "real" and entry.get("mde") is not None:
        parts.append(f"a difference below {entry['mde']:.3f} may go unseen")
    return ", ".join(parts) or VERDICT_WORDS.get(verdict, verdict)


def _cost(view: RunView, name: str, other: str) -> str:
    """The median search times of the two, over warm rows."""
    mine, theirs = ((view.latency(arm).get("search") or {}).get("p50") for arm in (name, other))
    if mine is None or theirs is None:
        return "; its cost cannot be told, for want of warm searches" if view.latency(name) else ""
    return f"; median search {milliseconds(mine)} ms instead of {milliseconds(theirs)} ms"


def comparisons(view: RunView) -> Iterator[Section]:
    """One section for each experiment, and one for the comparisons of none."""
    legend = _legend(view)
    for title, pairs in view.families():
        metrics = shown_metrics(view, title)
        if len(pairs) * len(metrics) > ROWS_SHOWN:
            metrics = metrics[:1]
        rows = [_row(view, pair, metric) for pair in pairs[:ROWS_SHOWN] for metric in metrics]
        chart = _chart(view, title, pairs, metrics[0]) if metrics else ()
        blocks: list[Block] = [Sentences(_family(view, title, pairs)), *chart, Table(_COLUMNS, tuple(rows), keys=3)]
        if len(pairs) > ROWS_SHOWN:
            blocks.append(Sentences(f"{len(pairs) - ROWS_SHOWN:,} more comparisons stand in summary.json."))
        yield Section(
            f"Comparisons: {title or 'outside experiments'}", (*blocks, *legend), detail=len(rows) > ROWS_AT_END
        )
        legend = ()


def _chart(view: RunView, title: str, pairs: Sequence[Pair], metric: str) -> Iterator[Intervals]:
    """The differences of an experiment; of a factorial none, since its factors are charted where they are weighed."""
    if set(pairs) <= factorial_pairs(view):
        return
    marks = []
    for name, other in pairs[:CHARTED]:
        entry = view.paired(name, other, metric)
        cell, verdict = difference(entry), str(entry.get("verdict"))
        if isinstance(cell, Estimate):
            sure = verdict == "real" and (entry.get("p_holm") is None or entry["p_holm"] <= view.level)
            words = "real, not once adjusted" if verdict == "real" and not sure else VERDICT_WORDS.get(verdict, verdict)
            marks.append(Mark(_label(view, name, other), cell, words, sure))
    note = "Right of zero the first of the two is better. Filled: the difference is real, also once adjusted."
    if len(pairs) > CHARTED:
        note = f"The first {CHARTED} of {len(pairs):,} comparisons. {note}"
    if marks:
        what = {"ladder": "What each step of the ladder adds", "loo": "Leave-one-out: each factor taken away"}
        heading = f"{what.get(title, 'Differences')}: {metric}"
        yield Intervals(heading, f"difference of {metric}", note, tuple(marks))


def _label(view: RunView, name: str, other: str) -> str:
    """`with rerank: R5-rerank against R4-code`."""
    changed, added = component(view, name, other)
    pair = f"{name} against {other}"
    if not changed or " in place of " in changed:
        return pair
    return f"{'with' if added else 'without'} {changed}: {pair}"


def shown_metrics(view: RunView, title: str = "") -> list[str]:
    """What the experiment is judged and guarded by, where it says so and the run has it.

    Else the main metric, then recall and the binary hit, which McNemar's test can judge.
    """
    judged, guarded = view.judged(title)
    known = {metric for name in view.names for metric in view.results[name].get("overall") or {}}
    if declared := [metric for metric in dict.fromkeys((*judged, *guarded)) if metric in known]:
        return declared
    return [*view.metrics[:1], *(metric for metric in view.metrics[1:] if metric.startswith(("recall@", "hit@")))]


def _family(view: RunView, title: str, pairs: Sequence[tuple[str, str]]) -> str:
    count = len({frozenset(pair) for pair in pairs})
    level = view.run.get("bootstrap") or {}
    chance = 1.0 - float(level.get("confidence") or 0.95)
    text = f"{plural(count, 'comparison')}, paired by question; a difference is the first minus the second"
    if count > 1 and title:
        expected = count * chance
        text += f". At this level about {expected:.2g} of them would look real by chance alone, so p Holm is beside p"
    judged, guarded = view.judged(title)
    if judged:
        text += f". Declared to be judged by {', '.join(judged)}"
        text += f", guarded by {', '.join(guarded)}" if guarded else ""
    return text + "."


def _row(view: RunView, pair: tuple[str, str], metric: str) -> tuple[Cell, ...]:
    entry = view.paired(*pair, metric)
    verdict = str(entry.get("verdict") or "")
    return (
        *pair,
        metric,
        difference(entry),
        VERDICT_WORDS.get(verdict, verdict),
        *(_probability(entry.get(key)) for key in ("p_sign_flip", "p_holm", "p_mcnemar", "p_smallest")),
        Number(entry["mde"]) if entry.get("mde") is not None and verdict != "real" else None,
        entry.get("n"),
    )


def _probability(value: float | None) -> Cell:
    return None if value is None else Probability(value)


def _legend(view: RunView) -> tuple[Bullets, ...]:
    """What the verdicts that occur mean."""
    used = {
        str(view.paired(*pair, metric).get("verdict"))
        for title, pairs in view.families()
        for pair in pairs
        for metric in shown_metrics(view, title)
    }
    lines = [f"{WORDS[verdict]}: {meaning}" for verdict, meaning in meanings(view.level).items() if verdict in used]
    if not lines:
        return ()
    lines.append("smallest p: the smallest that so many differing clusters could have given")
    lines.append("detectable: the smallest true difference that would be called real four times in five")
    return (Bullets(tuple(f"{line}." for line in lines)),)
