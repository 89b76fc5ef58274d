"""A run's report as a file, Markdown or HTML by the file's suffix; what an HTML page needs of a record. It only reads.

HTML takes jinja2 and matplotlib, the extra `html`; they are imported when a page is made.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pytest_ragbench.errors import UsageError
from pytest_ragbench.records.chunks import text_digest
from pytest_ragbench.records.files import check_target, write_atomic
from pytest_ragbench.records.record import find_run, row_key
from pytest_ragbench.reports.build import compose
from pytest_ragbench.reports.commands import as_written, render_record, view_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from pytest_ragbench.records.record import CellKey, RunRecord
    from pytest_ragbench.reports.html.questions import QuestionList
    from pytest_ragbench.reports.view import RunView

SUFFIXES = (".html", ".htm")
"""Of files that are written as HTML."""

NEEDED = ("jinja2", "matplotlib")

_KEPT = ("question", "configuration", "metrics", "error", "ranking", "losses", "gate", "walk", "route")
"""What is kept of a row: a page needs neither its stages nor its timings."""


def check_report_file(path: Path, option: str) -> None:
    """Refuse a file that cannot be written, or whose kind of report cannot be made here.

    Args:
        path: Where the report is to go.
        option: What asked for it, as the user typed it.

    Raises:
        UsageError: No file may take its place; or it is HTML, and a package that makes it is not installed.
    """
    check_target(path, option)
    absent = [name for name in NEEDED if not _installed(name)] if path.suffix.lower() in SUFFIXES else []
    if absent:
        raise UsageError(_missing(option, path.name, " and ".join(absent)))


def save_report(name: str, runs_dir: Path, path: Path) -> str:
    """`ragbench report RUN --to FILE`: write the report, and say where.

    Raises:
        RecordError: There is no such record, a file of it is damaged, or the report cannot be written.
        UsageError: It is HTML, and a package that makes it is not installed.
    """
    check_report_file(path, "--to")
    record = find_run(name, runs_dir)
    with as_written(record):
        text = report_text(record, path)
    write_atomic(path, [text.encode("utf-8")])
    return f"report: {path}\n"


def report_text(record: RunRecord, path: Path) -> str:
    """The report of a record in the form that the file's suffix asks for.

    Raises:
        RecordError: A file of the record is damaged.
        UsageError: It is HTML, and a package that makes it cannot be imported.
    """
    return render_html(record) if path.suffix.lower() in SUFFIXES else render_record(record)


def render_html(record: RunRecord) -> str:
    """`report.html` of a record; the same record gives the same text.

    Raises:
        RecordError: A file of the record is damaged.
        UsageError: A package that makes it cannot be imported.
    """
    with _importing():
        from pytest_ragbench.reports.html.document import build_page
        from pytest_ragbench.reports.html.rendering import render_page
        from pytest_ragbench.reports.html.words import glossary
    view = view_of(record)
    questions = _questions(record, view)
    return render_page(build_page(compose(view), questions, glossary(view)))


@contextmanager
def _importing() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise UsageError(_missing("report", "HTML", str(error))) from error


def _missing(asked: str, file: str, what: str) -> str:
    return (
        f"{asked}: {file} needs packages that are not there ({what}); install pytest-ragbench[html], or name "
        "a file that ends with .md"
    )


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # a module that was put in its place and has no spec
        return False


def _questions(record: RunRecord, view: RunView) -> QuestionList | None:
    """The list of questions; None where the record has none."""
    from pytest_ragbench.reports.html.questions import choose, list_questions

    questions = record.questions()
    choice = choose(view, len(questions))
    if choice is None or not questions:
        return None
    rows = _rows(record, set(choice.names))
    wanted = {(entry["id"], entry["file"]) for row in rows.values() for entry in row.get("ranking") or ()}
    return list_questions(view, choice, questions, rows, _texts(record, wanted))


def _rows(record: RunRecord, names: Collection[str]) -> dict[CellKey, dict[str, Any]]:
    """The last row of each cell of these configurations, without what no page shows."""
    return {
        row_key(row): {key: row[key] for key in _KEPT if key in row}
        for row in record.rows()
        if row_key(row)[1] in names
    }


def _texts(record: RunRecord, wanted: Collection[tuple[str, str]]) -> Mapping[tuple[str, str, str | None], str]:
    """(id, file, digest of the text, or None for any) to the start of the text."""
    from pytest_ragbench.reports.html.questions import TEXT_CHARACTERS

    texts: dict[tuple[str, str, str | None], str] = {}
    for chunk in record.chunks():
        place = (chunk["id"], chunk["file"])
        if place in wanted:
            text = chunk.get("text", "")
            start = text[: 4 * TEXT_CHARACTERS]
            texts[*place, text_digest(text)] = start
            texts.setdefault((*place, None), start)
    return texts
