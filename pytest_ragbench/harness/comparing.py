"""`--rag-compare`: which earlier run a session is compared with, and what that comparison says at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.errors import RagbenchError, UsageError
from pytest_ragbench.metrics.catalogue import METRICS_VERSION
from pytest_ragbench.records.record import RunRecord, find_run, newest
from pytest_ragbench.reports.between import build_between
from pytest_ragbench.reports.commands import printable
from pytest_ragbench.reports.terminal import render_terminal
from pytest_ragbench.runs.comparable import Asked, asked_by, obstacles, unfit
from pytest_ragbench.runs.comparing import compare_runs

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ragbench.harness.bench import Bench

THIS_RUN = "this run"
LAST = "last"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The run to compare with, looked up before this one has a record: `last` is then the one before it.

    Attributes:
        record: The earlier run; None where there is none to compare with.
        problem: Why there is none, or None.
    """

    record: RunRecord | None
    problem: str | None = None


def earlier_run(bench: Bench, *, typed: bool) -> Earlier | None:
    """The run that a session is to be compared with; None where none was asked for.

    Raises:
        UsageError: It is not there, or asked something else, and an option asked for it. Where an ini key did, the
            session goes on and says so at its end.
    """
    name = bench.settings.compare
    if name is None:
        return None
    try:
        record = _named(name, bench.settings.runs_dir)
        _check(bench, record)
    except RagbenchError as error:
        if typed:
            raise UsageError(f"--rag-compare={name}: {error}") from error
        return Earlier(None, str(error))
    return Earlier(record)


def _named(name: str, runs_dir: Path) -> RunRecord:
    """The record of a name; `last` is the latest that can be compared, so that a run of one question bars no other.

    Raises:
        RecordError: There is none.
    """
    if name == LAST:
        whole = next((record for record in newest(runs_dir) if unfit(record) is None), None)
        if whole is not None:
            return whole
    return find_run(name, runs_dir)


def _check(bench: Bench, record: RunRecord) -> None:
    """Refuse before anything is measured what can be known by then.

    Raises:
        UsageError: The runs will not be comparable.
    """
    if bench.settings.shard is not None:
        raise UsageError("a shard stands for its part alone; compare the run that `ragbench merge` makes")
    if complaint := unfit(record):
        raise UsageError(complaint)
    this = Asked(THIS_RUN, bench.split, bench.settings.k, METRICS_VERSION, bench.planned)
    if complaints := obstacles(asked_by(record), this):
        raise UsageError(f"not comparable: {'; '.join(complaints)}")
    known = [entry["name"] for entry in record.run["configurations"]]
    if not {configuration.name for configuration in bench.configurations} & set(known):
        raise UsageError(f"{record.run['run_id']} has none of this run's configurations; it has: {', '.join(known)}")


def comparison_text(earlier: Earlier, record: RunRecord, width: int) -> str:
    """What the end of a session says of the difference to the earlier run, or why it says nothing."""
    if earlier.record is None:
        return f"Not compared: {earlier.problem}"
    try:
        report = build_between(compare_runs([earlier.record, record]))
    except RagbenchError as error:
        return f"Not compared: {error}"
    both = f"{earlier.record.run['run_id']} {record.run['run_id']}"
    return printable(render_terminal(report.brief(), width) + f"\n`ragbench compare {both}` prints all of it.")
