"""Composes the report of a run from its record's values; the same values give the same report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.attribution import factors
from pytest_ragbench.reports.comparisons import comparisons, headline
from pytest_ragbench.reports.costs import costs
from pytest_ragbench.reports.gating import gates, sweeps
from pytest_ragbench.reports.graph import graph
from pytest_ragbench.reports.losses import losses
from pytest_ragbench.reports.model import Report
from pytest_ragbench.reports.opening import errors, opening
from pytest_ragbench.reports.routing import by_prefix, generated_routing, routing
from pytest_ragbench.reports.suites import suite_comparisons
from pytest_ragbench.reports.tables import groups, hops, main_table, twins
from pytest_ragbench.reports.verdict import verdict_sections
from pytest_ragbench.reports.view import RunView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def build(
    run: Mapping[str, Any],
    summary: Mapping[str, Any] | None,
    *,
    status: str | None = None,
    errored: Sequence[Mapping[str, Any]] = (),
    missing: Sequence[str] = (),
    rows_kept: int | None = None,
) -> Report:
    """The report of a run.

    Args:
        run: `run.json`.
        summary: `summary.json`, or None where it is missing; there are then no numbers.
        status: As a reader should see it; `run["status"]` when None.
        errored: Rows with an error.
        missing: What of the record is absent or torn, in words.
        rows_kept: Number of cells with a row, shown for a run that did not end.

    Returns:
        Sections in the order of reading: what ran, errors, verdicts in words, results, comparisons, the rest. Data that
        is absent has no section.
    """
    return compose(RunView(run, summary, status or str(run["status"]), tuple(errored), tuple(missing), rows_kept))


def compose(view: RunView) -> Report:
    """The report of a run that is already read; see `build`."""
    sections = [
        opening(view),
        *errors(view),
        *verdict_sections(view),
        *headline(view),
        *main_table(view),
        *factors(view),
        *comparisons(view),
        *groups(view),
        *suite_comparisons(view),
        *twins(view),
        *hops(view),
        *losses(view),
        *graph(view),
        *routing(view),
        *generated_routing(view),
        *by_prefix(view),
        *gates(view),
        *sweeps(view),
        *costs(view),
    ]
    return Report(f"Retrieval bench: {view.run['run_id']}", tuple(sections))
