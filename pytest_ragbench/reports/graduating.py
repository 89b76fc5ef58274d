"""A verdict of graduation as a report: each clause with its evidence, the suites, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.means import MIN_SCORED
from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.reports.model import Bullets, Cell, Column, Estimate, Report, Section, Sentences, Table
from pytest_ragbench.reports.text import plural
from pytest_ragbench.statistics.verdicts import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_EVIDENCE = (
    Column("difference"),
    Column("confidence"),
    Column("n"),
    Column("verdict", numeric=False),
    Column("run", numeric=False),
)
_WORDS: Mapping[str, str] = {str(verdict): words for verdict, words in WORDS.items()}


def graduation_report(found: Mapping[str, Any]) -> Report:
    """The report of `ragbench graduate`, of what `--json` prints."""
    sections = [_verdict(found), _clauses(found), *_suites(found), *_missing(found)]
    if found["notes"]:
        sections.append(Section("Mind", (Bullets(tuple(f"{_upper(note)}." for note in found["notes"])),)))
    return Report(f"Graduation: {found['configuration']} against {found['against']}", tuple(sections))


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _verdict(found: Mapping[str, Any]) -> Section:
    name, clauses = found["configuration"], found["clauses"]
    counts = {state: sum(clause["state"] == state for clause in clauses) for state in ("failed", "missing")}
    if found["graduated"]:
        said = f"{name} graduates: all {len(clauses)} clauses are met."
    else:
        why = [f"{plural(counts['failed'], 'clause')} failed"] if counts["failed"] else []
        why += [f"evidence is missing for {plural(counts['missing'], 'clause')}"] if counts["missing"] else []
        said = f"{name} does not graduate: {', '.join(why)}."
    digest = found["questions_digest"]
    asked = "" if digest is None else f" Question set {digest[:12]}."
    return Section("Verdict", (Sentences(f"{said}{asked} {_looks(found['looks'])}."),))


def _looks(count: int) -> str:
    return f"The test split was opened {plural(count, 'time')}"


def _clauses(found: Mapping[str, Any]) -> Section:
    columns = (Column("clause", numeric=False), Column("state", numeric=False), *_EVIDENCE)
    table = Table(columns, tuple(_row(found, clause) for clause in found["clauses"]))
    return Section("Clauses", (table, Bullets(tuple(map(_said, found["clauses"])))))


def _short(clause: Mapping[str, Any]) -> str:
    return str(clause["clause"]).replace("loo:", "without ")


def _said(clause: Mapping[str, Any]) -> str:
    """The finding first: what the clause asks for, standing behind `failed`, would read as if it were found."""
    return f"{_short(clause)}, {clause['state']}: {clause['found']}. {_upper(clause['asks'])}."


def _row(found: Mapping[str, Any], clause: Mapping[str, Any]) -> tuple[Cell, ...]:
    whole = next((one for one in clause["evidence"] if one["suite"] is None), None)
    return (_short(clause), clause["state"], *_evidence(found, whole))


def _evidence(found: Mapping[str, Any], one: Mapping[str, Any] | None) -> tuple[Cell, ...]:
    if one is None:
        return (None,) * len(_EVIDENCE)
    difference = None if one["delta"] is None else Estimate(one["delta"], one["low"], one["high"], signed=True)
    look = next((run["look"] for run in found["runs"] if run["run_id"] == one["run"]), None)
    run = one["run"] if look is None else f"{one['run']} (look {look})"
    verdict = _WORDS.get(one["verdict"], one["verdict"])
    return (difference, f"{100 * one['confidence']:.6g} %", one["n"], verdict, run)


def _suites(found: Mapping[str, Any]) -> Iterator[Section]:
    evidence = [one for clause in found["clauses"] if clause["clause"] == "suites" for one in clause["evidence"]]
    if not evidence:
        return
    columns = (
        Column("suite", numeric=False),
        Column("split", numeric=False),
        Column("tolerance", numeric=False),
        *_EVIDENCE,
    )
    rows = tuple(
        (one["suite"], one["split"], _held(one, found["tolerance"]), *_evidence(found, one)) for one in evidence
    )
    text = (
        f"{evidence[0]['metric']}; the tolerance is {found['tolerance']:g}, and the difference alone is held against "
        "it. The verdicts are of each suite by itself, not adjusted for the number of suites, and decide nothing. "
        f"diag: fewer than {MIN_SCORED} questions."
    )
    yield Section("Suites", (Table(columns, rows, keys=2), Sentences(text)))


def _held(one: Mapping[str, Any], tolerance: float) -> str:
    if one["n"] < MIN_SCORED:
        return "no (diag)"
    return "falls too far" if one["delta"] < -tolerance - TOLERANCE else "keeps within"


def _missing(found: Mapping[str, Any]) -> Iterator[Section]:
    if not found["missing"]:
        if any(clause["state"] == "missing" for clause in found["clauses"]):
            text = "Dev has decided against it already, so no look at the test split is worth its cost."
            yield Section("Missing", (Sentences(text),))
        return
    lines: list[str] = []
    for one in found["missing"]:
        clauses = ", ".join(_short({"clause": key}) for key in one["clauses"])
        cost = ""
        if one["opens_test"]:
            cost = f" It opens the sealed test split and costs a look, number {found['looks'] + 1} of the ledger."
        lines.append(f"For {clauses}: `{one['command']}`.{cost}")
    yield Section("Missing", (Bullets(tuple(lines)), *_order(found["missing"])))


def _order(missing: Sequence[Mapping[str, Any]]) -> Iterator[Sentences]:
    if {one["opens_test"] for one in missing} == {True, False}:
        yield Sentences("Run dev first, and look at test only when it is won there.")
