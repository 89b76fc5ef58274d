"""What a session with the bench awake says on the terminal: one line before, the report after."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pytest_ragbench.harness import options
from pytest_ragbench.harness.narrowing import narrowed_to

if TYPE_CHECKING:
    import pytest

    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.recorder import Recorder

FEW_CELLS = 8
"""Up to so many rows, a miss shows its ranked list beside the gold."""


def header(config: pytest.Config, bench: Bench | None) -> list[str]:
    """What is about to be measured; nothing when nobody asked."""
    if bench is None or not (options.asked(config) or options.ini_values(config)):
        return []
    from pytest_ragbench.reports.text import plural

    questions = plural(len(bench.planned), "question")
    configurations = plural(len(bench.configurations), "configuration")
    line = f"ragbench: {questions} x {configurations} ({', '.join(bench.names)}), split {bench.split}"
    if config.stash.get(narrowed_to, None):
        line += f", collecting {config.stash[narrowed_to]} only"
    return [line, *(f"ragbench: {note}" for note in bench.notes())]


def summary(reporter: pytest.TerminalReporter, recorder: Recorder) -> None:
    """Print the report of the run that was recorded, if one was."""
    if recorder.problem is not None:
        reporter.section("ragbench")
        reporter.write_line(recorder.problem, red=True)
    if recorder.nothing_left:
        reporter.write_line("ragbench: nothing is left to finish: every selected cell has a row without an error")
    record = recorder.record
    if record is None:
        return
    from pytest_ragbench.reports.commands import render_for_terminal, render_misses

    reporter.section("ragbench")
    if recorder.rows_kept <= FEW_CELLS and (misses := render_misses(record)):
        reporter.write_line(misses)
    width = shutil.get_terminal_size((100, 24)).columns
    reporter.write_line(render_for_terminal(record, width))
    reporter.write_line(f"record: {record.folder}")
