"""Saved runs for the command line: the list of them, and one of them as JSON for scripts. It only reads."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pytest_ragbench import canonical
from pytest_ragbench.errors import RecordError
from pytest_ragbench.records.record import RunRecord, find_run, run_folders
from pytest_ragbench.reports.commands import as_written, printable, view_of
from pytest_ragbench.reports.listing import Listed, listed, runs_report
from pytest_ragbench.reports.terminal import render_terminal
from pytest_ragbench.reports.view import RunView

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
"""Of what `--json` prints."""


def show_as_json(name: str, runs_dir: Path) -> str:
    """`ragbench show RUN --json`: what the report is made from, as one JSON object.

    Raises:
        RecordError: There is no such record, or a file of it is damaged.
    """
    record = find_run(name, runs_dir)
    with as_written(record):
        view = view_of(record)
        values = {
            "schema_version": SCHEMA_VERSION,
            "status": view.status,
            "run": view.run,
            "summary": view.summary,
            "gate": record.gate(),
            "errors": list(view.errors),
            "missing": list(view.missing),
        }
        return canonical.dumps(values) + "\n"


def list_runs(runs_dir: Path, *, limit: int, width: int = 100) -> str:
    """`ragbench runs`: the latest runs for a terminal.

    Args:
        runs_dir: The folder of the records.
        limit: At most so many.
        width: Columns of the terminal.

    Raises:
        RecordError: No folder of a run lies there.
    """
    lines, more, unreadable = _lines(runs_dir, limit)
    return printable(render_terminal(runs_report(lines, more=more, unreadable=unreadable), width))


def list_as_json(runs_dir: Path, *, limit: int) -> str:
    """`ragbench runs --json`: the same lines as one JSON object.

    Raises:
        RecordError: No folder of a run lies there.
    """
    lines, more, unreadable = _lines(runs_dir, limit)
    fields = Listed.__slots__
    runs = [{field: getattr(line, field) for field in fields} for line in lines]
    return (
        canonical.dumps({"schema_version": SCHEMA_VERSION, "runs": runs, "more": more, "unreadable": unreadable}) + "\n"
    )


def _lines(runs_dir: Path, limit: int) -> tuple[list[Listed], int, list[str]]:
    folders = run_folders(runs_dir)
    if not folders:
        raise RecordError(f"{runs_dir}: there is no record of a run here; run the bench first")
    found: list[Listed] = []
    unreadable: list[str] = []
    for folder in islice(folders, limit):
        try:
            record = RunRecord.load(folder)
            with as_written(record):
                found.append(listed(RunView(record.run, record.summary(), record.status), record.gate()))
        except RecordError:
            unreadable.append(folder.name)
    return found, max(len(folders) - limit, 0), unreadable
