"""What a session with the bench awake says on the terminal: one line before, the report after."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from pytest_ragbench.errors import SealedError
from pytest_ragbench.harness import guard, options
from pytest_ragbench.harness.narrowing import narrowed_to

if TYPE_CHECKING:
    import pytest

    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.comparing import Earlier
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
    if bench.settings.shard is not None:
        line += f", shard {bench.settings.shard} of {plural(len(bench.whole), 'question')}"
    if config.stash.get(narrowed_to, None):
        line += f", collecting {config.stash[narrowed_to]} only"
    return [line, *(f"ragbench: {note}" for note in [*bench.notes(), *_spending(bench)])]


def _spending(bench: Bench) -> list[str]:
    """How the look that the run is about to take will be judged, where the project spends alpha."""
    try:
        look = guard.next_look(bench) if bench.settings.alpha_spending else None
    except SealedError:  # said where the run is refused for it
        look = None
    if look is None:
        return []
    from pytest_ragbench.reports.text import look_sentence
    from pytest_ragbench.statistics.spending import spent_level
    from pytest_ragbench.statistics.verdicts import LEVEL

    return [look_sentence(look, spent_level(look, LEVEL))]


def summary(reporter: pytest.TerminalReporter, recorder: Recorder, earlier: Earlier | None = None) -> None:
    """Print the report of the run that was recorded, if one was, and how it compares with an earlier one."""
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
    if earlier is not None:
        from pytest_ragbench.harness.comparing import comparison_text

        reporter.section("ragbench compare")
        reporter.write_line(comparison_text(earlier, record, width))
