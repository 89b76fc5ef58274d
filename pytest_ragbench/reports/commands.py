"""What the harness and the command line show of a record: the one place where reports meet files. It only reads."""

from __future__ import annotations

import difflib
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.records.chunks import text_digest
from pytest_ragbench.records.record import CellKey, RunRecord, find_run, row_key
from pytest_ragbench.reports.build import compose
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.model import Report, Section
from pytest_ragbench.reports.question import build_question
from pytest_ragbench.reports.terminal import render_section, render_terminal
from pytest_ragbench.reports.text import encodable
from pytest_ragbench.reports.view import RunView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.reports.model import Block

MISSES_SHOWN = 8


def report_run(name: str, runs_dir: Path) -> str:
    """`ragbench report RUN`: the text of `report.md`, made again from the record.

    Raises:
        RecordError: There is no such record, or a file of it is damaged.
    """
    record = find_run(name, runs_dir)
    with as_written(record):
        return render_record(record)


def show_run(name: str, runs_dir: Path, *, whole: bool = False, width: int = 100) -> str:
    """`ragbench show RUN`: the report for a terminal, as at the end of its session, or with `whole` all of it.

    Args:
        name: `last`, a run id or a path.
        runs_dir: Where run ids are looked up.
        whole: With every detail.
        width: Columns of the terminal.

    Raises:
        RecordError: There is no such record, or a file of it is damaged.
    """
    record = find_run(name, runs_dir)
    with as_written(record):
        view = view_of(record)
        return printable(render_terminal(compose(view), width)) if whole else render_for_terminal(view, width)


def show_question(
    name: str, runs_dir: Path, question: str, configurations: Iterable[str] = (), *, width: int = 100
) -> str:
    """`ragbench show RUN --question ID`: its ranked lists beside the gold.

    Args:
        name: `last`, a run id or a path.
        runs_dir: Where run ids are looked up.
        question: Id of one question.
        configurations: Names (or their markers) of those to show; all when empty.
        width: Columns of the terminal.

    Raises:
        RecordError: There is no such record, or a file of it is damaged.
        UsageError: The record has no such question or configuration.
    """
    record = find_run(name, runs_dir)
    with as_written(record):
        return printable(render_terminal(question_report(record, question, configurations), width))


@contextmanager
def as_written(record: RunRecord) -> Iterator[None]:
    """Name the record when a file of it is strict JSON but not of the shape that a run writes: edited, or foreign.

    Raises:
        RecordError: The block fell over a value of another type, or one that is not there.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"{record.folder}: a file of this record is not what a run writes ({type(error).__name__}: {error}); "
            "it was edited, or is of another tool"
        ) from error


def render_record(record: RunRecord) -> str:
    """`report.md` of a record."""
    return render_markdown(report_of(record))


def render_for_terminal(view: RunView, width: int = 100) -> str:
    """The summary at the end of a session: the report without its details, in characters that the terminal can show."""
    whole = f"\n`ragbench show {view.run['run_id']} --verbose` prints all of it.\n"
    return printable(render_terminal(compose(view).brief(), width) + whole)


def render_blocks(blocks: tuple[Block, ...], width: int = 100) -> str:
    """Blocks of a report on their own, as the end of a session prints them: long tables and lists cut."""
    (section,) = Report("", (Section("", blocks),)).brief(limit=20).sections
    return printable(render_section(section, width))


def render_misses(record: RunRecord, width: int = 100) -> str:
    """The first questions of a small run that some configuration did not answer completely, beside their gold."""
    complete = f"complete@{record.run['k']}"
    missed = dict.fromkeys(
        row["question"] for row in _last(record.rows()).values() if (row.get("metrics") or {}).get(complete) == 0
    )
    reports = [question_report(record, question) for question in list(missed)[:MISSES_SHOWN]]
    return printable("\n".join(render_terminal(report, width) for report in reports))


def report_of(record: RunRecord) -> Report:
    """The report of a record, whatever became of its run."""
    return compose(view_of(record))


def view_of(record: RunRecord) -> RunView:
    """What reports are made from, whatever became of the run."""
    summary = record.summary()
    if record.status in {"done", "failed"}:
        rows_kept = None if summary is not None else sum(1 for _ in record.rows())
        errored = [_brief(row) for row in record.errored_rows()]
        if summary is not None:
            record.check_rows(_told(summary))
    else:  # several attempts at a cell may be there, and the last counts
        last: dict[CellKey, dict[str, Any] | None] = {}
        for row in record.rows():
            last[row_key(row)] = _brief(row) if row.get("error") is not None else None
        rows_kept = len(last)
        errored = [brief for brief in last.values() if brief is not None]
    verdict = None
    if (gate := record.gate()) is not None:
        from pytest_ragbench.gates.serial import from_values

        verdict = from_values(gate)
    return RunView(record.run, summary, record.status, tuple(errored), tuple(record.missing), rows_kept, verdict)


def _told(summary: Mapping[str, Any]) -> int:
    """How many rows a summary was made from."""
    results = (summary.get("results") or {}).values()
    return sum(one["rows"]["scored"] + one["rows"]["errored"] + int(one.get("unanswerable") or 0) for one in results)


def question_report(record: RunRecord, question: str, configurations: Iterable[str] = ()) -> Report:
    """The ranked lists of one question beside its gold.

    Raises:
        UsageError: The record has no such question or configuration.
    """
    golden = _question(record, question)
    markers = {entry["marker"]: entry["name"] for entry in record.run["configurations"]}
    wanted = [markers.get(name, name) for name in configurations]
    rows = {key[1]: row for key, row in _last(r for r in record.rows() if r.get("question") == question).items()}
    unknown = [name for name in wanted if name not in rows]
    if unknown:
        known = ", ".join(rows) or "none"
        raise UsageError(f"{unknown[0]}: no row of {question} under this configuration; the record has: {known}")
    order = [entry["name"] for entry in record.run["configurations"]]
    names = wanted or sorted(rows, key=lambda name: (order.index(name) if name in order else len(order), name))
    shown = [rows[name] for name in names]
    ids = {entry["id"] for row in shown for entry in row.get("ranking") or ()}
    texts: dict[tuple[str, str, str | None], str] = {}
    for chunk in record.chunks():
        if chunk["id"] in ids:
            text = chunk.get("text", "")
            texts[chunk["id"], chunk["file"], text_digest(text)] = text
            texts.setdefault((chunk["id"], chunk["file"], None), text)  # for rows that do not say which text
    return build_question(golden, shown, texts, record.run["k"])


def _question(record: RunRecord, name: str) -> Question:
    questions = {question.id: question for question in record.questions()}
    if name in questions:
        return questions[name]
    near = difflib.get_close_matches(name, questions, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise UsageError(f"{name}: {record.run['run_id']} has no such question{hint}")


def _last(rows: Iterable[dict[str, Any]]) -> Mapping[CellKey, dict[str, Any]]:
    return {row_key(row): row for row in rows}


def _brief(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a report needs of an errored row."""
    return {key: row.get(key) for key in ("question", "configuration", "error")}


def printable(text: str) -> str:
    """In the characters of the terminal, which may be ASCII; what pytest captures is not asked."""
    stream = sys.__stdout__ or sys.stdout
    return encodable(text, getattr(stream, "encoding", None))
