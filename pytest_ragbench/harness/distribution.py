"""The hooks of an xdist controller: the scheduler, what workers collected, crashes and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ragbench.errors import RagbenchError
from pytest_ragbench.harness import guard
from pytest_ragbench.harness.scheduler import QuestionScheduling
from pytest_ragbench.harness.session import REFUSAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdist.workermanage import WorkerController

    from pytest_ragbench.harness.session import BenchSession


class DistributionHooks:
    """Registered on a controller only; xdist is there, so its hooks are known."""

    def __init__(self, session: BenchSession) -> None:
        self._session = session
        self._scheduler: QuestionScheduling | None = None
        self._collection_errors = 0

    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> QuestionScheduling | None:
        """Keep one question's cells together under `--dist load`; leave every other mode to xdist."""
        if config.getoption("dist") != "load" or self._session.bench is None:
            return None
        self._scheduler = QuestionScheduling(config, self._unit_of, self._before_first)
        return self._scheduler

    def _unit_of(self, node_id: str) -> str | None:
        bench = self._session.bench
        cell = bench.finder.find(node_id) if bench is not None else None
        return None if cell is None else cell.question.id

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count what could not be collected: the seal stays shut after that."""
        self._collection_errors += report.failed

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Begin the record for schedulers that are not ours."""
        if self._scheduler is None:
            self._before_first(ids)

    def _before_first(self, ids: Sequence[str]) -> None:
        """Begin the record, and open the seal where it was asked for, before anything is sent to a worker."""
        bench, recorder = self._session.bench, self._session.recorder
        if bench is None or recorder is None or recorder.started:
            return
        cells = {node_id: cell for node_id in ids if (cell := bench.finder.find(node_id))}
        if not cells:
            recorder.expect(cells, self._session.finished)  # a run that is resumed may have nothing left
            return
        sealed = sum(cell.sealed for cell in cells.values())
        if sealed and not guard.opens(bench):
            raise pytest.UsageError(guard.sealed_alone(bench, sealed))  # some plugin brought back what workers drop
        if self._collection_errors and guard.opens(bench):
            raise pytest.UsageError(guard.sealed_after_errors(self._collection_errors))
        try:
            recorder.expect(cells, self._session.finished)
            recorder.start()
        except RagbenchError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell the scheduler which item a worker is in."""
        if self._scheduler is not None:
            self._scheduler.mark_test_started(nodeid)

    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """Pass on why a worker ends the session, and blame no item for that."""
        output: dict[str, Any] = getattr(node, "workeroutput", None) or {}
        scheduler = self._scheduler
        if REFUSAL in output:
            self._interrupted(pytest.exit.Exception(output[REFUSAL]))
            raise pytest.UsageError(output[REFUSAL])
        if error == "keyboard-interrupt":
            self._interrupted(KeyboardInterrupt())
            if scheduler is not None:
                scheduler.excuse(node)
        elif error is None and scheduler is not None and scheduler.is_inside_item(node):
            status = output["exitstatus"]  # of `pytest.exit` in a test; xdist itself passes on an interrupt only
            if status != pytest.ExitCode.INTERRUPTED:
                pytest.exit(f"{node.gateway.id} ended the session inside an item", returncode=status)

    def _interrupted(self, reason: BaseException) -> None:
        if self._session.recorder is not None:
            self._session.recorder.interrupted(reason)

    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """Give the item in which a worker died its error row."""
        if self._session.recorder is not None:
            self._session.recorder.crashed(crashitem, str(report.longrepr))
