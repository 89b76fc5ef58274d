"""The hooks of a session in which the bench is awake; each hands over to the session, the recorder or the measurer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ragbench.errors import RagbenchError, UsageError
from pytest_ragbench.harness import collector, terminal
from pytest_ragbench.harness.cells import cell_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ragbench.harness.session import BenchSession


class BenchHooks:
    """Registered when the bench wakes, so that a session that never asks has none of these."""

    def __init__(self, session: BenchSession) -> None:
        self._session = session

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Say what is about to be measured."""
        recorder = self._session.recorder
        return terminal.header(config, self._session.bench, None if recorder is None else recorder.gating)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pycollect_makeitem(self) -> Generator[None, object, object]:
        """Make a test's thousands of items, all kept, without the garbage collector; modules are imported with it."""
        with collector.paused():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Select after everyone else has."""
        yield
        self._session.select(session, items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Leave the items that will run to themselves."""
        collector.freeze(session.config)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin the record before fixtures are set up; not first of all, since a mark may skip the item."""
        self._session.set_up(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the row onto the report, and fail the item that its row fails."""
        report = yield
        measurer = self._session.measurer
        if measurer is None or (cell := cell_of(item)) is None:
            return report
        if call.when == "teardown":
            measurer.torn_down(item, report)
            return report
        if measurer.report(item, cell, call, report):
            self._session.begin(cell)  # another plugin's setup may have failed before ours began the record
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a row as soon as its report is here."""
        recorder = self._session.recorder
        if recorder is None:
            return
        try:
            recorder.take(report)
        except UsageError as error:
            pytest.exit(str(error), returncode=int(pytest.ExitCode.USAGE_ERROR))
        except RagbenchError as error:  # a full disk, say: nothing more can be kept
            pytest.exit(str(error), returncode=int(pytest.ExitCode.INTERNAL_ERROR))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember why the session ends early."""
        if self._session.recorder is not None:
            self._session.recorder.interrupted(excinfo.value)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Finish the record, and fail a session whose rows failed."""
        recorder = self._session.recorder
        if recorder is not None:
            with collector.paused():
                session.exitstatus = recorder.finish(session, int(exitstatus))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report."""
        recorder = self._session.recorder
        if recorder is not None:
            terminal.summary(terminalreporter, recorder, self._session.earlier)
