"""Measuring in the process that runs items: warm-up, the search, the row, and its way onto the test report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.errors import UsageError
from pytest_ragbench.execution.cell import Measured, error_row, error_text, measure
from pytest_ragbench.execution.warmup import warm_up
from pytest_ragbench.harness.cells import Cell
from pytest_ragbench.harness.rows import RagRow, Requirement, describe_error
from pytest_ragbench.records.chunks import chunk_line, chunk_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ragbench.configurations.model import Configuration
    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.cells import Key

ROW_ATTRIBUTE = "ragbench_row"
"""Attribute of a test report: the row's JSON, then one line for each chunk that this process has not sent before."""

PIPELINE_ATTRIBUTE = "ragbench_pipeline"
"""Attribute of the first such report of a process: what the pipeline says of itself, as JSON."""

_measured = pytest.StashKey[str]()


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell of an item, or None for a test that is none of ours."""
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("rag_row") if callspec is not None else None
    return cell if isinstance(cell, Cell) else None


class Measurer:
    """Measures cells for the items of one process.

    A cell that several tests ask for is searched once, by whichever item comes first; an item that runs again (a rerun)
    searches again.
    """

    def __init__(self, bench: Bench, requirements: Iterable[Requirement]) -> None:
        self._bench = bench
        self._requirements = tuple(requirements)
        self._tests_of: Counter[Key] = Counter()
        self._shared: dict[Key, tuple[str, RagRow]] = {}
        self._rows: dict[str, RagRow] = {}
        self._sent: set[str] = set()
        self._warm: bool | None = None
        self._description: str | None = None

    def expect(self, items: Iterable[pytest.Item]) -> None:
        """Learn which cells more than one test will ask for; only their rows are kept."""
        self._tests_of.update(cell.key for item in items if (cell := cell_of(item)))

    def row(self, item: pytest.Item, cell: Cell, pipeline: Any) -> RagRow:
        """Measure a cell, or hand out the row that another test's item measured."""
        known = self._shared.get(cell.key)
        if known is not None and known[0] != item.nodeid:
            row = known[1]
        else:
            row = self._measure(item, cell, pipeline)
            if self._tests_of[cell.key] > 1:
                self._shared[cell.key] = (item.nodeid, row)
        self._rows[item.nodeid] = row
        return row

    def _measure(self, item: pytest.Item, cell: Cell, pipeline: Any) -> RagRow:
        if self._warm is None:
            self._warm = self._prepare(pipeline, cell)
            # Without a warm-up the first search of a process pays for loading, whether or not the pipeline says so.
            cold = not self._warm and cell.configuration.searches
        else:
            cold = False
        settings = self._bench.settings
        root = None if settings.corpus is None else str(settings.corpus)
        measured = measure(pipeline, cell.question, cell.configuration, k=settings.k, root=root, cold=cold)
        item.stash[_measured] = self._text(measured)
        return RagRow(measured.row, cell.question)

    def _prepare(self, pipeline: Any, cell: Cell) -> bool:
        """Check every configuration's overrides, let the pipeline describe itself, warm up; whether it searched."""
        configurations = self._bench.configurations
        refuse_overrides(pipeline, configurations)
        self._description = describe(pipeline)
        return bool(warm_up(pipeline, cell.question, configurations, self._bench.catalogue.warm_up))

    def _text(self, measured: Measured) -> str:
        lines = [canonical.dumps(measured.row)]
        for chunk in measured.chunks:
            name = chunk_name(chunk)
            if name not in self._sent:
                self._sent.add(name)
                lines.append(chunk_line(chunk))
        return "\n".join(lines)

    def report(self, item: pytest.Item, cell: Cell, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """Put a new row onto the report, and fail the item that its row or a requirement fails."""
        text = item.stash.get(_measured, None)
        if text is None and report.when == "setup" and report.failed and call.excinfo is not None:
            error = f"SetupError: {error_text(call.excinfo.value)}"
            text = canonical.dumps(error_row(cell.question, cell.configuration, error, k=self._bench.settings.k))
        if text is not None:
            setattr(report, ROW_ATTRIBUTE, text)
            if _measured in item.stash:
                del item.stash[_measured]
            if self._description is not None:
                setattr(report, PIPELINE_ATTRIBUTE, self._description)
                self._description = None
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self._judge(item, report)
        if report.when == "teardown":
            self._rows.pop(item.nodeid, None)

    def _judge(self, item: pytest.Item, report: pytest.TestReport) -> None:
        row = self._rows.get(item.nodeid)
        if row is None:
            return
        if row.error is not None:
            complaints = [describe_error(row.fields)]
        else:
            complaints = [text for rule in self._requirements if (text := rule.complaint(row.fields))]
        if complaints:
            report.outcome = "failed"
            report.longrepr = "\n".join(complaints)


def refuse_overrides(pipeline: Any, configurations: Iterable[Configuration]) -> None:
    """Let a pipeline that can check overrides do so, for every configuration, before anything is searched.

    Raises:
        UsageError: It refuses one; the text names the configuration.
    """
    check = getattr(pipeline, "check_overrides", None)
    if check is None:
        return
    for configuration in configurations:
        if not configuration.searches:
            continue
        try:
            check(**configuration.overrides)
        except Exception as error:
            raise UsageError(f"configuration {configuration.name}: {error}") from error


def describe(pipeline: Any) -> str | None:
    """What the pipeline says of itself, as strict JSON; None when it says nothing that JSON can hold."""
    method = getattr(pipeline, "describe", None)
    if not callable(method):
        return None
    try:
        said = method()
        return canonical.dumps(dict(said))
    except Exception:  # noqa: BLE001 - a description is optional, and a foreign one may fail in any way
        return None
