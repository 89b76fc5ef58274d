"""The summary of a run: a pure function of its rows and its plan, whatever order and processes the rows came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.attribution import attribution
from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.gate import gates, sweeps
from pytest_ragbench.analysis.latency import latency
from pytest_ragbench.analysis.losses import losses
from pytest_ragbench.analysis.means import GROUPINGS, grouped, mark_suites, overall, recall_by_hop
from pytest_ragbench.analysis.pairs import families, inert, paired, paired_by_suite
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.prefixes import by_prefix
from pytest_ragbench.analysis.route import routes
from pytest_ragbench.analysis.table import TIED
from pytest_ragbench.analysis.walk import walks
from pytest_ragbench.canonical import number
from pytest_ragbench.metrics.catalogue import METRICS_VERSION

if TYPE_CHECKING:
    from pytest_ragbench.analysis.table import RowTable

__all__ = ["SCHEMA_VERSION", "Plan", "summarise"]

SCHEMA_VERSION = 1


def summarise(table: RowTable, plan: Plan, *, complete: bool) -> dict[str, Any]:
    """All of `summary.json`.

    Args:
        table: The rows; those of cells that were not planned are ignored.
        plan: The cells that were planned, and how to judge them.
        complete: Whether every planned cell was run.

    Returns:
        Strict JSON values: `schema_version`, `metrics_version`, `complete`; `results`, the same bytes for the same
        rows; `attribution`, the experiments' families of comparisons and what the factors of a factorial carry;
        `latency`, which depends on the machine.
    """
    cells = Cells(table, plan)
    comparisons = {name: len(pairs) for name, pairs in families(plan).items()}
    results = _results(cells)
    swept = sweeps(plan, {name: found["gate"] for name, found in results.items() if "gate" in found})
    return {
        "schema_version": SCHEMA_VERSION,
        "metrics_version": METRICS_VERSION,
        "complete": complete,
        "results": results,
        "attribution": {
            "families": {
                experiment.name: {"arms": list(experiment.arms), "comparisons": comparisons[experiment.name]}
                for experiment in plan.experiments
                if experiment.name in comparisons
            },
            **({"sweeps": swept} if swept else {}),
            **attribution(cells),
        },
        "latency": latency(cells),
    }


def _results(cells: Cells) -> dict[str, Any]:
    sections: dict[str, dict[str, Any]] = {"overall": overall(cells)}
    for section, group_of in GROUPINGS.items():
        sections[section] = grouped(cells, group_of)
    mark_suites(cells, sections["by_suite"])
    sections["by_hop"] = recall_by_hop(cells)
    sections["paired"] = paired(cells)
    sections["inert"] = inert(cells)
    told = {
        "losses": losses(cells),
        "gate": gates(cells),
        "walk": walks(cells),
        "route": routes(cells),
        "by_prefix": by_prefix(cells),
        "paired_by_suite": paired_by_suite(cells),
    }
    return {
        name: {
            **{section: found[name] for section, found in sections.items()},
            **{section: found[name] for section, found in told.items() if name in found},
            **_counts(cells, name),
        }
        for name in cells.arms
    }


def _counts(cells: Cells, name: str) -> dict[str, Any]:
    """What was measured: rows, unanswerable questions, the set of scored questions, pages of matched chunks.

    `tied_top`, rows whose first two scores are one, only where there are any.
    """
    arm = cells.arms[name]
    scored, errored = int(arm.scored.sum()), int(arm.errored.sum())
    tied = int(cells.table.flagged(arm.slots, TIED).sum())
    return {
        **({"tied_top": tied} if tied else {}),
        "rows": {"scored": scored, "errored": errored, "not_run": int((~arm.present).sum())},
        "unanswerable": int(arm.present.sum()) - scored - errored,
        "set": cells.set_size(np.flatnonzero(arm.scored)),
        "page_span": _page_span(cells.table.spans(arm.slots)),
    }


def _page_span(spans: list[int]) -> dict[str, float | None]:
    """Median and largest number of pages of the chunks that satisfied a source; a chunk may be a whole book."""
    if not spans:
        return {"median": None, "max": None}
    return {"median": number(float(np.median(spans))), "max": spans[-1]}
