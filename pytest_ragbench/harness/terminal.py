"""What a session with the bench awake says on the terminal: one line before, the report after."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ragbench.errors import SealedError
from pytest_ragbench.harness import guard, options
from pytest_ragbench.harness.narrowing import narrowed_to

if TYPE_CHECKING:
    import pytest

    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.comparing import Earlier
    from pytest_ragbench.harness.gating import Gating
    from pytest_ragbench.harness.recorder import Recorder
    from pytest_ragbench.records.record import RunRecord
    from pytest_ragbench.reports.view import RunView

FEW_CELLS = 8
"""Up to so many rows, a miss shows its ranked list beside the gold."""

NOTHING_MEASURED = "no cell was measured here; see that tests that take rag_row run"
NOTHING_LEFT = "the run has every row already, and nothing was left to measure; run without --rag-resume"


def header(config: pytest.Config, bench: Bench | None, gating: Gating | None = None) -> list[str]:
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
    notes = [*bench.notes(), *_spending(bench), *_foreseen(gating)]
    return [line, *(f"ragbench: {note}" for note in notes)]


def _foreseen(gating: Gating | None) -> list[str]:
    """What the gate will refuse whatever the run measures."""
    refusals = () if gating is None else gating.foreseen
    return [f"the gate will refuse this run: {one.what}: {one.found}; expected {one.expected}" for one in refusals]


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
    """Print the report of the run that was recorded, what it was held against, and last of all what went wrong."""
    if recorder.nothing_left:
        reporter.write_line("ragbench: nothing is left to finish: every selected cell has a row without an error")
    if recorder.record is not None and recorder.view is not None:
        _report(reporter, recorder, recorder.record, recorder.view, earlier)
    elif recorder.gating is not None and recorder.gating.idle:
        _idle(reporter, NOTHING_LEFT if recorder.nothing_left else NOTHING_MEASURED, recorder.gating)
    if recorder.problem is not None:  # below a green verdict, since the session fails for it
        reporter.section("ragbench")
        reporter.write_line(recorder.problem, red=True)


def _report(
    reporter: pytest.TerminalReporter, recorder: Recorder, record: RunRecord, view: RunView, earlier: Earlier | None
) -> None:
    """Print the report of a record, how it compares with an earlier one, and the verdict of its gate."""
    from pytest_ragbench.reports.commands import render_for_terminal, render_misses

    reporter.section("ragbench")
    if recorder.rows_kept <= FEW_CELLS and (misses := render_misses(record)):
        reporter.write_line(misses)
    width = shutil.get_terminal_size((100, 24)).columns
    reporter.write_line(render_for_terminal(replace(view, verdict=None), width))  # that stands at the end
    reporter.write_line(f"record: {record.folder}")
    if earlier is not None:
        from pytest_ragbench.harness.comparing import comparison_text

        reporter.section("ragbench compare")
        reporter.write_line(comparison_text(earlier, record, width))
    if recorder.gating is not None:
        _gating(reporter, recorder.gating, width)


def _idle(reporter: pytest.TerminalReporter, why: str, gating: Gating) -> None:
    """Say why a session that was to judge or to keep a run fails without one."""
    what, sentence = ("baseline", "No baseline was written") if gating.keeps else ("gate", "The gate judged nothing")
    reporter.section(f"ragbench {what}")
    reporter.write_line(f"{sentence}: {why}", red=True)


def _gating(reporter: pytest.TerminalReporter, gating: Gating, width: int) -> None:
    """Print what the gate says, or what became of the baseline, last of all."""
    from pytest_ragbench.reports.commands import render_blocks
    from pytest_ragbench.reports.verdict import refresh_blocks, verdict_blocks

    if gating.verdict is not None:
        reporter.section("ragbench gate")
        sentence, *rest = verdict_blocks(gating.verdict)
        passed = gating.verdict.status == "passed"
        reporter.write_line(render_blocks(tuple(rest), width) + "\n")
        reporter.write_line(render_blocks((sentence,), width), green=passed, red=not passed)
    if gating.refresh is not None:
        reporter.section("ragbench baseline")
        reporter.write_line(render_blocks(refresh_blocks(gating.refresh), width), red=bool(gating.refresh.refusals))
