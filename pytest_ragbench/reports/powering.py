"""How many questions? The detectable effect of each suite and metric, and what an effect needs, as a report."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import (
    Block,
    Bullets,
    Cell,
    Column,
    Estimate,
    Number,
    Report,
    Section,
    Sentences,
    Table,
)
from pytest_ragbench.reports.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PAIRS_SHOWN = 6

_LEGEND = """\
detectable: the smallest true difference that n such questions find four times in five, at 5 % two-sided.
design effect: the variance with whole clusters resampled / the variance of as many independent questions.
ICC: the likeness within a file that this amounts to; empty where fewer than 10 questions share a file with another.
needs: questions in all, and the files for them, when new files come with as many questions each as the present ones.
in these files: questions in all when all are about the present files; never: no number would do; empty: not known.
McNemar: from the share of questions on which the arms disagree; it takes questions for independent.
"""
_OF_CLUSTERS = ("design effect", "ICC", "in these files")


def power_report(found: Mapping[str, Any]) -> Report:
    """The report of `ragbench power`.

    Args:
        found: What `--json` prints: `run_id`, `split`, `effect`, `cluster`, and `entries` as `analysis.power` has them.
    """
    groups = groupby(found["entries"], key=lambda entry: (entry["configuration"], entry["other"]))
    pairs = [(pair, list(entries)) for pair, entries in groups]
    clustered = found["cluster"] == "file"
    sections = [_opening(found, clustered=clustered)]
    sections += [_section(pair, entries, found["effect"], clustered=clustered) for pair, entries in pairs[:PAIRS_SHOWN]]
    if not pairs:
        sections.append(Section("Nothing to tell", (Sentences("The arms scored no question in common."),)))
    if len(pairs) > PAIRS_SHOWN:
        more = f"{len(pairs) - PAIRS_SHOWN:,} more pairs: --config NAME picks those of a configuration, --json has all."
        sections.append(Section("Not shown here", (Sentences(more),)))
    return Report(f"How many questions: {found['run_id']}", tuple(sections))


def _opening(found: Mapping[str, Any], *, clustered: bool) -> Section:
    text = (
        f"For an effect of {found['effect']:g}, at a power of 80 % and a two-sided level of 5 %, from the paired "
        f"differences of run {found['run_id']} (split {found['split']})."
    )
    blocks = [Sentences(text), *_mind(found)]
    legend = [line for line in _LEGEND.splitlines() if clustered or not line.startswith(_OF_CLUSTERS)]
    return Section("What is asked", (*blocks, Bullets(tuple(legend))))


def _mind(found: Mapping[str, Any]) -> Iterator[Sentences]:
    """The seal, and a level that is not the usual one."""
    if found["sealed"]:
        yield Sentences(
            f"{plural(found['sealed'], 'question')} of the sealed test split: this reads what was measured and is no "
            f"look; the split was opened {plural(found['looks'], 'time')}."
        )
    if found["judged_at"] != found["level"]:
        yield Sentences(
            f"The run itself is judged at {found['judged_at']:.4g}, its share by alpha spending, so what its own "
            "report calls detectable is larger. The numbers here are for runs that are judged at the usual level, as "
            "those on dev are."
        )


def _section(pair: tuple[str, str], entries: Sequence[Mapping[str, Any]], effect: float, *, clustered: bool) -> Section:
    columns = [Column("metric", numeric=False), Column("questions", numeric=False), Column("n")]
    columns += [Column("files")] if clustered else []
    columns += [Column("difference"), Column("detectable")]
    columns += [Column("design effect"), Column("ICC")] if clustered else []
    columns += [Column("needs")]
    columns += [Column("files for it"), Column("in these files")] if clustered else []
    rows = tuple(tuple(_row(entry, clustered=clustered)) for entry in entries)
    blocks: list[Block] = [Table(tuple(columns), rows, keys=2), *_mcnemar(entries)]
    if notes := [*_notes(entries, effect, clustered=clustered)]:
        blocks.append(Bullets(tuple(notes)))
    return Section(f"{pair[0]} against {pair[1]}", tuple(blocks))


def _row(entry: Mapping[str, Any], *, clustered: bool) -> Iterator[Cell]:
    needs, here = entry["needs"] or {}, entry["in_these_clusters"]
    yield entry["metric"]
    yield _label(entry)
    yield entry["n"]
    if clustered:
        yield entry["clusters"]
    yield Estimate(entry["delta"], signed=True)
    yield _number(entry["detectable"])
    if clustered:
        yield _number(entry["design_effect"], 2)
        yield _number(entry["icc"], 2)
    yield needs.get("questions")
    if clustered:
        yield needs.get("clusters")
        yield "never" if here["possible"] is False else here["questions"]


def _mcnemar(entries: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    found = [(entry, entry["mcnemar"]) for entry in entries if entry["mcnemar"]]
    if found:
        names = (Column("McNemar", numeric=False), Column("questions", numeric=False))
        numbers = tuple(Column(title) for title in ("n", "discordant", "detectable", "needs"))
        rows = tuple(
            (
                entry["metric"],
                _label(entry),
                entry["n"],
                one["discordant"],
                _number(one["detectable"]),
                one["questions"],
            )
            for entry, one in found
        )
        yield Table((*names, *numbers), rows, keys=2)


def _label(entry: Mapping[str, Any]) -> str:
    suite = entry["suite"] or "all"
    return f"{suite} (diag)" if entry["diag"] else suite


def _number(value: float | None, digits: int = 3) -> Cell:
    return None if value is None else Number(value, digits)


def _notes(entries: Sequence[Mapping[str, Any]], effect: float, *, clustered: bool) -> Iterator[str]:
    """What is enough already, and what cannot be reached, in words."""
    enough = [entry for entry in entries if entry["reached"]]
    if enough:
        yield f"Enough already: {_names(enough)}."
    if still := [entry for entry in entries if entry["needs"] is None]:
        yield (
            f"Nothing to reckon with: {_names(still)}. The arms differ on no question, or by the same on all; such "
            "questions find no effect, however many."
        )
    few = [entry for entry in entries if clustered and entry["in_these_clusters"]["possible"] is False]
    if few:
        yield (
            f"Never with these files: {_names(few)}. Fewer than six files, or questions about one file so alike that "
            "more of them add too little; ask about other files."
        )
    if full := [entry for entry in entries if entry["ceiling"]]:
        yield f"No room for a gain of {effect:g}: {_names(full)}. The mean of {full[0]['other']} is too near 1."
    rare = [entry for entry in entries if entry["mcnemar"] and entry["mcnemar"]["questions"] is None]
    if rare:
        yield f"Never by McNemar's test: {_names(rare)}. The arms disagree on less than {effect:g} of the questions."


def _names(entries: Sequence[Mapping[str, Any]]) -> str:
    """Suites by metric: `ndcg@10 (books, code), hit@1 (all)`."""
    by_metric: dict[str, list[str]] = {}
    for entry in entries:
        by_metric.setdefault(entry["metric"], []).append(entry["suite"] or "all")
    return ", ".join(f"{metric} ({', '.join(suites)})" for metric, suites in by_metric.items())
