"""The one process that records: rows from reports into the record, and at the end summary, report and exit status."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import CONFIDENCE, RESAMPLES, SEED, Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.errors import RagbenchError
from pytest_ragbench.execution.cell import error_row
from pytest_ragbench.harness import guard, models, publishing
from pytest_ragbench.harness.environment import versions, workers
from pytest_ragbench.harness.measuring import FIELDS_ATTRIBUTE, PIPELINE_ATTRIBUTE, ROW_ATTRIBUTE
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.records.files import write_atomic
from pytest_ragbench.records.git import git_state
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.runs.declared import declared
from pytest_ragbench.seal.ledger import Claim
from pytest_ragbench.statistics.spending import resamples_for, spent_level
from pytest_ragbench.statistics.verdicts import LEVEL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.cells import Cell, Key
    from pytest_ragbench.harness.gating import Gating
    from pytest_ragbench.records.record import RunRecord
    from pytest_ragbench.reports.view import RunView


class Recorder:
    """Takes rows in any order and from any number of workers, and writes them down.

    Attributes:
        config: pytest's configuration.
        record: The finished record, or None.
        view: What its report was made from.
        problem: Why the record, or its copy for `--rag-report`, could not be written, or None.
        gating: Judges the run, or makes it the baseline; None where neither was asked for.
        nothing_left: Whether the run that was to be finished has every row that was asked for, so that nothing ran.
    """

    def __init__(self, config: pytest.Config, bench: Bench) -> None:
        self.config = config
        self._bench = bench
        self._cells: Mapping[str, Cell] = {}
        self._waiting: set[str] = set()
        self._finished: Collection[Key] = ()
        self._owners: dict[Key, str] = {}
        self._from: dict[Key, str] = {}
        self._measured: set[Key] = set()
        self._table = RowTable(metric_names(bench.settings.k))
        self._writer: RunWriter | None = None
        self._reason: str | None = None
        self._described = False
        self._worth_keeping = False
        self._resumed: RunRecord | None = None
        self.record: RunRecord | None = None
        self.view: RunView | None = None
        self.problem: str | None = None
        self.gating: Gating | None = None
        self.nothing_left = False

    @property
    def started(self) -> bool:
        """Whether a record has been begun."""
        return self._writer is not None

    @property
    def rows_kept(self) -> int:
        """Number of cells that have a row by now."""
        return 0 if self._writer is None else self._writer.rows_kept

    def expect(self, cells: Mapping[str, Cell], finished: Collection[Key]) -> None:
        """Learn which items will run (node id to cell), and which cells an earlier run has measured."""
        self._cells = cells
        self._waiting = set(cells)
        self._finished = finished
        for node_id in sorted(cells):
            self._owners.setdefault(cells[node_id].key, node_id)

    def start(self) -> None:
        """Begin the record; where the run looks at the test split, write that down before anything is searched.

        Raises:
            RagbenchError: The record cannot be begun, the ledger refuses, or a resumed run no longer fits.
        """
        settings = self._bench.settings
        git = git_state(settings.root)
        resumed = self._resumed = guard.resumed_record(settings)
        if resumed is not None:
            guard.check_resumable(self._bench, resumed, git["sha"])
        now = datetime.now(UTC)
        facts = self._facts() | {"git": git}
        writer = RunWriter.create(
            settings.runs_dir, started_at=now, sha=git["sha"], run=facts, questions=self._bench.planned
        )
        self._writer = writer
        try:
            self._open_ledger(writer, now)
        except RagbenchError as error:
            self._reason = str(error)
            raise
        if resumed is not None:
            wanted = {cell.key for cell in self._bench.planned_cells}
            self._measured |= writer.resume_from(resumed, wanted=wanted, seen=self._table.add)

    def _bootstrap(self, look: int | None) -> dict[str, Any]:
        """How differences are judged; a look at the test split gets its share of the level where the project asks."""
        found = {
            "seed": SEED,
            "resamples": RESAMPLES,
            "confidence": CONFIDENCE,
            "cluster": self._bench.settings.cluster,
        }
        if look is None or not self._bench.settings.alpha_spending:
            return found
        level = spent_level(look, LEVEL)
        return found | {
            "resamples": resamples_for(level, RESAMPLES),
            "confidence": canonical.number(1.0 - level),
            "look": look,
        }

    def _open_ledger(self, writer: RunWriter, now: datetime) -> None:
        ledger = guard.ledger_of(self._bench.settings)
        if guard.opens(self._bench):
            entry = ledger.open(
                time=now.isoformat(timespec="seconds"),
                run_id=writer.run["run_id"],
                split=self._bench.split,
                configurations=[configuration.name for configuration in self._bench.configurations],
                git=writer.run["git"],
                questions_digest=self._bench.questions.digest,
                budget=self._bench.settings.test_looks,
            )
            self._worth_keeping = True
            claim = Claim(count=entry.index, last_hash=entry.hash)  # another run may have opened it since
            writer.update(bootstrap=self._bootstrap(entry.index))
        else:
            claim = ledger.claim()
        writer.update(ledger=claim)

    def _facts(self) -> dict[str, Any]:
        """What `run.json` says of the request."""
        bench, settings = self._bench, self._bench.settings
        return {
            "config_digest": bench.catalogue.digest,
            "questions_digest": bench.questions.digest,
            "split": bench.split,
            "suites": list(settings.suites) or None,
            "domains": list(settings.domains) or None,
            **declared(bench.configurations, bench.experiments),
            "bootstrap": self._bootstrap(None),
            "k": settings.k,
            "llm": models.described(settings),
            "sets": settings.shown(settings.sets),
            "limit": settings.limit,
            "shard": bench.shard_fact,
            "selection": {
                "configs": list(bench.names),
                "suites": list(settings.suites),
                "domains": list(settings.domains),
                "split": bench.split,
                "limit": settings.limit,
                "k": settings.k,
                "shard": None if settings.shard is None else str(settings.shard),
            },
            "left_out": bench.left_out,
            "notes": [*bench.split_note, *models.notes(settings)],
            "workers": workers(self.config),
            "versions": versions(),
        }

    def take(self, report: pytest.TestReport) -> None:
        """Record the row on a report, if one is there. Of several tests on one cell, the first by node id counts."""
        if report.when not in ("call", "teardown"):  # the first of an item is its setup, or the crash of its worker
            self._waiting.discard(report.nodeid)
        attributes = vars(report)
        if ROW_ATTRIBUTE not in attributes:
            return
        described = attributes.get(PIPELINE_ATTRIBUTE)
        if described is not None and self._writer is not None:
            self._describe(**json.loads(described))
        # pytest keeps every report to the end; the row goes to the disk
        row_text, _, chunks = attributes.pop(ROW_ATTRIBUTE).partition("\n")
        row = attributes.pop(FIELDS_ATTRIBUTE, None) or json.loads(row_text)
        key = (row["question"], row["configuration"])
        recorded = self._from.get(key, report.nodeid)
        if recorded != report.nodeid and recorded == self._owners.get(key):
            return
        self._from[key] = report.nodeid
        self._add(key, row, row_text, chunks.split("\n") if chunks else ())

    def _add(self, key: Key, row: Mapping[str, Any], text: str, chunks: Collection[str] = ()) -> None:
        if self._writer is None:
            return
        self._worth_keeping = True
        self._writer.add(text, chunks, key=key)
        self._measured.add(key)
        self._table.add(row)

    def _describe(self, pipeline: dict[str, Any] | None, warm_up: list[str]) -> None:
        """Keep what was warmed up and what the pipeline says of itself; a worker that says otherwise is noted."""
        writer = self._writer
        if writer is None:
            return
        if self._resumed is not None:
            guard.check_same_pipeline(self._resumed, pipeline)
        if not self._described:
            self._described = True
            writer.update(pipeline=pipeline, index=(pipeline or {}).get("index"), warm_up=warm_up)
        elif writer.run["pipeline"] != pipeline:
            note = "workers measured pipelines that describe themselves differently"
            writer.update(notes=sorted({*writer.run["notes"], note}))

    def crashed(self, node_id: str, text: str) -> None:
        """Give a cell an error row when its worker died in it, unless its row is already here."""
        cell = self._cells.get(node_id)
        if cell is None or cell.key in self._from:
            return
        row = error_row(cell.question, cell.configuration, f"WorkerCrash: {text}", k=self._bench.settings.k)
        self._add(cell.key, row, canonical.dumps(row))

    def interrupted(self, reason: BaseException) -> None:
        """Remember why the session ends before its end; what was said first stands."""
        if isinstance(reason, pytest.exit.Exception):
            told = reason.msg or "pytest.exit"
        else:  # a subclass carries a text of pytest's or xdist's, such as "stopping after 1 failures"
            told = "interrupted" if type(reason) is KeyboardInterrupt else str(reason)
        self._reason = self._reason or told

    def finish(self, session: pytest.Session, exitstatus: int) -> int:
        """Write summary and report, and say with which exit status the session ends.

        One that was refused before it had a row of its own leaves no record, unless the ledger names it.
        """
        if self._writer is not None and exitstatus == pytest.ExitCode.USAGE_ERROR and not self._worth_keeping:
            self._writer.discard()
            return exitstatus
        if self._writer is None:
            self.nothing_left = bool(self._finished) and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
            return self._without_record(exitstatus)
        reason = self._reason_of(session, exitstatus)
        try:
            self.record = self._write(reason)
            self._write_report(self.record)
            if self.gating is not None:
                self.gating.update(self.record)
                if self.gating.verdict is not None:
                    publishing.publish(self.config, self._bench.settings, self.record, self.gating.verdict)
        except RagbenchError as error:
            self.problem = str(error)
            return exitstatus or int(pytest.ExitCode.INTERNAL_ERROR)
        errored = self.view is not None and bool(self.view.errors)
        lost = bool(self._waiting) and self._reason is None
        red = self.gating is not None and self.gating.failed
        if exitstatus == pytest.ExitCode.OK and (errored or lost or red):
            return int(pytest.ExitCode.TESTS_FAILED)
        return exitstatus

    def _without_record(self, exitstatus: int) -> int:
        """The exit status of a session that measured nothing: a gate that was asked for is not green by that."""
        status = int(pytest.ExitCode.OK) if self.nothing_left else exitstatus
        if self.gating is None or status != pytest.ExitCode.OK:
            return status
        self.gating.idle = self.gating.typed or bool(self._cells) or self.nothing_left
        return int(pytest.ExitCode.TESTS_FAILED) if self.gating.failed else status

    def _reason_of(self, session: pytest.Session, exitstatus: int) -> str | None:
        """Why the session did not run all that it selected, or None."""
        if told := self._reason or session.shouldstop or session.shouldfail:
            return str(told)
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return f"pytest ended with exit status {exitstatus}"
        if self._waiting:  # a worker died, and xdist was told not to replace it
            return f"{len(self._waiting)} of {len(self._cells)} selected items never ran"
        return None

    def _render(self, record: RunRecord) -> str:
        """The report of a record whose rows and summary are written, its verdict being reached before."""
        from pytest_ragbench.reports.build import compose  # reports are made once, on the process that writes
        from pytest_ragbench.reports.commands import view_of
        from pytest_ragbench.reports.markdown import render_markdown

        if self.gating is not None:
            self.gating.judge(record)
        self.view = view_of(record)
        return render_markdown(compose(self.view))

    def _write(self, reason: str | None) -> RunRecord:
        bench, settings, writer = self._bench, self._bench.settings, self._writer
        if writer is None:
            raise RagbenchError("no record was begun")
        planned = {cell.key for cell in bench.planned_cells}
        selected = {cell.key for cell in self._cells.values()} | set(self._finished)
        complete = planned <= self._measured  # rows of other cells stand for none of them
        plan = Plan(
            questions=bench.planned,
            configurations=bench.configurations,
            experiments=bench.experiments,
            k=settings.k,
            resamples=writer.run["bootstrap"]["resamples"],
            confidence=writer.run["bootstrap"]["confidence"],
            cluster="none" if settings.cluster == "none" else "file",
        )
        return writer.finish(
            status="failed" if reason else "done",
            reason=reason,
            finished_at=datetime.now(UTC),
            summary=summarise(self._table, plan, complete=complete),
            render=self._render,
            complete=complete,
            partial=settings.shard is not None or not planned <= selected,
        )

    def _write_report(self, record: RunRecord) -> None:
        """Write the report once more, where `--rag-report` says; its folders are made, as `--junitxml` makes them."""
        from pytest_ragbench.reports.saving import report_text

        path = self._bench.settings.report
        if path is None:
            return
        with contextlib.suppress(OSError):  # what is wrong with the folder is said when the file is written
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_atomic(path, [report_text(record, path).encode("utf-8")])
        except RagbenchError as error:
            raise RagbenchError(f"--rag-report: {error}") from error
