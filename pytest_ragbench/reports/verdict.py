"""The gate's verdict in words and tables, as a section of the terminal's summary and of `report.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.reports.model import Block, Bullets, Cell, Column, Estimate, Number, Section, Sentences, Table
from pytest_ragbench.reports.question import without_empty
from pytest_ragbench.reports.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ragbench.gates.model import GateLine, Refresh, Refusal, Verdict
    from pytest_ragbench.reports.view import RunView

NAMES_SHOWN = 3
"""Failing numbers told by name in the sentence."""

_COLUMNS = (
    Column("metric", numeric=False),
    Column("configuration", numeric=False),
    Column("verdict", numeric=False),
    Column("baseline"),
    Column("current"),
    Column("delta"),
    Column("floor"),
    Column("allowed"),
    Column("n"),
)

_CHANGES = (
    Column("configuration", numeric=False),
    Column("metric", numeric=False),
    Column("before"),
    Column("now"),
    Column("change"),
)


def headline(verdict: Verdict) -> str:
    """The verdict in one sentence."""
    against = ", floors alone" if _floors_alone(verdict) else ""
    if verdict.status == "refused":
        what = ", ".join(dict.fromkeys(refusal.what for refusal in verdict.refusals))
        return f"Gate refused: {what}."
    judged = [line for line in verdict.lines if line.judged]
    failed = verdict.failures
    if failed:
        names = ", ".join(f"{_of(line)} {line.outcome}" for line in failed[:NAMES_SHOWN])
        more = f" and {len(failed) - NAMES_SHOWN:,} more" if len(failed) > NAMES_SHOWN else ""
        return f"Gate failed{against}: {len(failed):,} of {plural(len(judged), 'number')}: {names}{more}."
    unsure = sum(line.outcome == "inconclusive" for line in judged)
    without = sum(line.gated and not line.judged for line in verdict.lines)
    beside = f", {unsure:,} inconclusive" if unsure else ""
    beside += f", {without:,} without a baseline" if without else ""
    return f"Gate passed{against}: {plural(len(judged), 'number')} judged{beside}."


def _floors_alone(verdict: Verdict) -> bool:
    return verdict.mode == "floors" or verdict.baseline is None


def _of(line: GateLine) -> str:
    scope = "" if line.scope == "overall" else f" in {line.scope}"
    return f"{line.metric} of {line.configuration}{scope}"


def _noted(line: GateLine) -> str:
    return line.note if line.note.startswith(line.outcome) else f"{line.outcome}; {line.note}"


def verdict_sections(view: RunView) -> Iterator[Section]:
    """The gate's sections: its verdict, and as details what it only shows; none for a run without a gate."""
    verdict = view.verdict
    if verdict is None:
        return
    yield Section(f"Gate: {verdict.status}", verdict_blocks(verdict))
    if changed := tuple(_changes(verdict)):
        yield Section("Gate: questions that changed", changed, detail=True)
    if shown := [line for line in verdict.lines if not line.gated and not _elsewhere(line)]:
        yield Section("Gate: shown, not judged", (_table(verdict, shown),), detail=True)


def verdict_blocks(verdict: Verdict) -> tuple[Block, ...]:
    """The verdict: its sentence, what is refused, the numbers that are judged, the failing ones first, and notes."""
    blocks: list[Block] = [Sentences(headline(verdict))]
    if verdict.refusals:
        blocks.append(_refused(verdict.refusals))
    judged = sorted((line for line in verdict.lines if line.gated), key=lambda line: not line.failed)
    if judged:
        blocks.append(_table(verdict, judged))
    told = [f"{_of(line)}: {_noted(line)}." for line in judged if line.note]
    told += [f"{line.metric}: {line.note}; not judged here." for line in verdict.lines if _elsewhere(line)]
    if items := (*told, *verdict.notes):
        blocks.append(Bullets(items))
    return tuple(blocks)


def refresh_blocks(refresh: Refresh) -> tuple[Block, ...]:
    """What became of the baseline: why it was not written, or which means it has changed."""
    if refresh.refusals:
        sentence = f"{refresh.shown} was not written: this run stands for less than it planned."
        force = "--rag-force writes it all the same; it then says what is missing, until a whole run replaces it."
        return Sentences(sentence), _refused(refresh.refusals), Sentences(force)
    blocks: list[Block] = []
    if refresh.forced:
        missing = "; ".join(refresh.forced)
        until = f"{refresh.shown} says so until a whole run replaces it."
        blocks.append(Sentences(f"FORCED from a run that is not whole: {missing}. {until}"))
    if not refresh.written:
        return (*blocks, Sentences(f"{refresh.shown} is unchanged, to the last byte."))
    blocks.append(
        Sentences(f"{refresh.shown} was written, with the rows beside it: look through the change and commit it.")
    )
    changed = [line for line in refresh.lines if line.delta]
    if changed:
        rows = tuple(
            (line.configuration, line.metric, _number(line.baseline), _number(line.current), _signed(line.delta))
            for line in changed
        )
        blocks.append(Table(_CHANGES, rows, keys=2))
    return tuple(blocks)


def _refused(refusals: Iterable[Refusal]) -> Bullets:
    return Bullets(
        tuple(
            f"{refusal.what}: found {refusal.found}; expected {refusal.expected}. To mend it: {refusal.remedy}"
            for refusal in refusals
        )
    )


def _elsewhere(line: GateLine) -> bool:
    return line.outcome == "enforced elsewhere"


def _table(verdict: Verdict, lines: Sequence[GateLine]) -> Table:
    """A row for each line. A sole configuration gets no column; by floors alone, neither does what has no value."""
    several = len({line.configuration for line in lines}) > 1
    kept = [index for index, column in enumerate(_COLUMNS) if several or column.title != "configuration"]
    rows = [_row(line) for line in lines]
    table = Table(
        tuple(_COLUMNS[index] for index in kept),
        tuple(tuple(row[index] for index in kept) for row in rows),
        keys=3 if several else 2,
    )
    return without_empty(table) if _floors_alone(verdict) else table


def _row(line: GateLine) -> tuple[Cell, ...]:
    return (
        line.metric if line.scope == "overall" else f"{line.metric}, {line.scope}",
        line.configuration,
        line.outcome,
        _number(line.baseline),
        _number(line.current),
        _signed(line.delta),
        _number(line.floor),
        _number(line.allowed),
        line.n,
    )


def _number(value: float | None) -> Cell:
    return None if value is None else Number(value)


def _signed(value: float | None) -> Cell:
    return None if value is None else Estimate(value, signed=True)


def _changes(verdict: Verdict) -> Iterator[Block]:
    """The questions that scored otherwise than in the baseline, the greatest losses first."""
    flips = verdict.flips
    if not flips:
        return
    worse = sum(flip.after < flip.before for flip in flips)
    questions = plural(len({flip.question for flip in flips}), "question")
    yield Sentences(
        f"{questions} scored otherwise than in the baseline by a judged metric: {worse:,} values are lower, "
        f"{len(flips) - worse:,} higher."
    )
    columns = (
        Column("question", numeric=False),
        Column("configuration", numeric=False),
        Column("metric", numeric=False),
        Column("baseline"),
        Column("current"),
        Column("delta"),
    )
    rows: Sequence[tuple[Cell, ...]] = [
        (
            flip.question,
            flip.configuration,
            flip.metric,
            Number(flip.before),
            Number(flip.after),
            _signed(flip.after - flip.before),
        )
        for flip in flips
    ]
    yield Table(columns, tuple(rows), keys=3)
