"""Measuring in the process that runs items: warm-up, the search, the row, and its way onto the test report."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.execution.cell import Measured, error_row, error_text, measure
from pytest_ragbench.execution.paths import forget
from pytest_ragbench.execution.pipelines import describe, refuse_overrides
from pytest_ragbench.execution.warmup import warm_up
from pytest_ragbench.harness.cells import cell_of
from pytest_ragbench.harness.publishing import properties
from pytest_ragbench.harness.rows import RagRow, Requirement, describe_error
from pytest_ragbench.records.chunks import chunk_line
from pytest_ragbench.records.rowline import row_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.cells import Cell, Key
    from pytest_ragbench.records.chunks import LineKey

ROW_ATTRIBUTE = "ragbench_row"
"""Attribute of a test report: the row's JSON, then one line for each chunk that this process has not sent before."""

FIELDS_ATTRIBUTE = "ragbench_fields"
"""Attribute of the same report where one process measures and records: the row itself, which need not be parsed."""

PIPELINE_ATTRIBUTE = "ragbench_pipeline"
"""Attribute of the first such report of a process: JSON of what the pipeline says of itself, and what was warmed up."""

_measured = pytest.StashKey[tuple[str, dict[str, Any]]]()
"""Of an item whose row is not on a report yet: its text for the report, and the row."""


class Measurer:
    """Measures cells for the items of one process.

    A cell that several tests ask for is searched once, by whichever item comes first. An item that runs again (a rerun)
    searches again where its search failed; a row that was scored stands, whatever made the item fail, or whoever
    searches until a question is answered would measure the best of several attempts.

    Args:
        bench: What the session plans.
        requirements: What `--rag-require` asks of every row.
        remote: Whether another process records.
    """

    def __init__(self, bench: Bench, requirements: Iterable[Requirement], *, remote: bool) -> None:
        self._bench = bench
        self._remote = remote
        self._requirements = tuple(requirements)
        forget()  # what file names were below the folder that another session of this process ran in
        self._tests_of: Counter[Key] = Counter()
        self._shared: dict[Key, tuple[str, RagRow]] = {}
        self._rows: dict[str, RagRow] = {}
        self._scored: dict[str, RagRow] = {}
        self._last: tuple[str, RagRow] | None = None
        self._sent: set[LineKey] = set()
        self._prepared = False
        self._cold = False
        self._description: str | None = None

    def expect(self, items: Iterable[pytest.Item]) -> None:
        """Learn which cells more than one test will ask for; only their rows are kept."""
        self._tests_of.update(cell.key for item in items if (cell := cell_of(item)))

    def row(self, item: pytest.Item, cell: Cell, pipeline: Any) -> RagRow:
        """Measure a cell, or hand out the row that another test's item measured, or this one before it failed."""
        known = self._shared.get(cell.key)
        if item.nodeid in self._scored:
            row = self._scored[item.nodeid]
        elif known is not None and known[0] != item.nodeid:
            row = known[1]
        else:
            row = self._measure(item, cell, pipeline)
            if self._tests_of[cell.key] > 1:
                self._shared[cell.key] = (item.nodeid, row)
        self._rows[item.nodeid] = row
        return row

    def _measure(self, item: pytest.Item, cell: Cell, pipeline: Any) -> RagRow:
        if not self._prepared:
            self._prepare(pipeline, cell)
        cold = self._cold and cell.configuration.searches
        self._cold = self._cold and not cold
        settings = self._bench.settings
        root = str(settings.corpus or settings.root)
        measured = measure(pipeline, cell.question, cell.configuration, k=settings.k, root=root, cold=cold)
        text = row_line(measured.row)
        item.stash[_measured] = ("\n".join([text, *self._new_chunks(measured)]), measured.row)
        return RagRow(text, cell.question, measured.row["error"])

    def _prepare(self, pipeline: Any, cell: Cell) -> None:
        """Once a process: check every configuration's overrides, let the pipeline describe itself, warm up."""
        configurations = self._bench.configurations
        refuse_overrides(pipeline, configurations)
        description = describe(pipeline)
        warmed = warm_up(pipeline, cell.question, configurations, self._bench.catalogue.warm_up)
        self._description = canonical.dumps({"pipeline": description, "warm_up": warmed})
        # Without a warm-up the first search of a process pays for loading, whether or not the pipeline says so.
        self._cold = not warmed
        self._prepared = True

    def _new_chunks(self, measured: Measured) -> Iterator[str]:
        """Lines of the chunks that this process has not sent before."""
        for key, chunk in measured.told.items():
            if key not in self._sent:
                self._sent.add(key)
                yield chunk_line(chunk)

    def report(self, item: pytest.Item, cell: Cell, call: pytest.CallInfo[None], report: pytest.TestReport) -> bool:
        """Put a new row onto the report of a setup or a call, and fail the item that its row or a requirement fails.

        Returns:
            Whether a row is on the report.
        """
        measured = item.stash.get(_measured, None)
        if measured is not None:
            del item.stash[_measured]
        elif report.when == "setup" and report.failed and call.excinfo is not None and not self._has_row(item.nodeid):
            error = f"SetupError: {error_text(call.excinfo.value)}"
            row = error_row(cell.question, cell.configuration, error, k=self._bench.settings.k)
            measured = (canonical.dumps(row), row)
        if measured is not None:
            self._attach(item, report, *measured)
        if report.when == "call" or not report.passed:
            handed_out = self._rows.pop(item.nodeid, None)
            if handed_out is not None and report.passed and not hasattr(report, "wasxfail"):
                self._judge(handed_out, report)
            if handed_out is not None and handed_out.error is None:
                self._last = (item.nodeid, handed_out)
                if report.failed:
                    self._scored[item.nodeid] = handed_out
        return measured is not None

    def _has_row(self, node_id: str) -> bool:
        """Whether an item was handed a row, now or in an attempt before."""
        return node_id in self._rows or node_id in self._scored

    def torn_down(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Keep the row of an item whose teardown fails: a rerun comes of that as well."""
        if report.failed and self._last is not None and self._last[0] == item.nodeid:
            self._scored[item.nodeid] = self._last[1]

    def _attach(self, item: pytest.Item, report: pytest.TestReport, text: str, row: dict[str, Any]) -> None:
        if item.config.getoption("xmlpath", None):
            others = [
                told for told in item.user_properties if not told[0].startswith("ragbench.")
            ]  # of a first attempt
            item.user_properties[:] = [*others, *properties(row)]
        setattr(report, ROW_ATTRIBUTE, text)
        if not self._remote:
            setattr(report, FIELDS_ATTRIBUTE, row)
        if self._description is not None:
            setattr(report, PIPELINE_ATTRIBUTE, self._description)
            self._description = None

    def _judge(self, row: RagRow, report: pytest.TestReport) -> None:
        if row.error is not None:
            complaints = [describe_error(row.fields)]
        else:
            complaints = [text for rule in self._requirements if (text := rule.complaint(row.fields))]
        if complaints:
            report.outcome = "failed"
            report.longrepr = "\n".join(complaints)
