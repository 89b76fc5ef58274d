"""What routing decided and what it was worth, for configurations whose rows tell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.extras import CHOICE, NONE, RIGHT, ROUTED, SCOPE, WRONG
from pytest_ragbench.analysis.means import means_of
from pytest_ragbench.contract import ROUTE_COUNTS
from pytest_ragbench.metrics.catalogue import headline
from pytest_ragbench.statistics.exact import QUANTUM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ragbench.analysis.cells import Cells

OUTCOMES = {"right": RIGHT, "wrong": WRONG, "none": NONE}


def routes(cells: Cells) -> dict[str, dict[str, Any]]:
    """Configuration to what its routing did; configurations without any are absent.

    Returns:
        `counts`, those of the six that a row has, as `{mean, low, high, n}` over the rows that have them; where some
        question expects a course, `accuracy` (`{mean, low, high, n}` of routing right, and how often it was `right`,
        `wrong`, `none`) and, where the main metric is among the columns, `scope`, by what the searched scope was: its
        `{mean, low, high, n}`.
    """
    extras = cells.table.extras
    routed = [name for name, arm in cells.arms.items() if not np.isnan(extras.numbers(ROUTED, arm.slots)).all()]
    if not routed:
        return {}
    columns: dict[tuple[str, str, str], NDArray[np.float64]] = {}
    choices: dict[str, NDArray[np.float64]] = {}
    for name in routed:
        slots = cells.arms[name].slots
        counts = {count: extras.numbers(f"{ROUTED}.{count}", slots) for count in ROUTE_COUNTS}
        columns.update((("counts", name, count), held) for count, held in counts.items() if not np.isnan(held).all())
        chosen = extras.numbers(CHOICE, slots)
        if not np.isnan(chosen).all():
            choices[name] = chosen
            columns["accuracy", name, ""] = np.where(np.isnan(chosen), np.nan, chosen == RIGHT)
            columns.update((("scope", name, outcome), held) for outcome, held in _by_scope(cells, name))
    means = means_of(cells, columns)
    return {name: _assembled(means, name, choices.get(name)) for name in routed}


def _by_scope(cells: Cells, name: str) -> list[tuple[str, NDArray[np.float64]]]:
    """The main metric of the questions whose scope was right, wrong, none; nothing where no column has it."""
    main, metrics = headline(cells.plan.k)[0], cells.table.metric_names
    if main not in metrics:
        return []
    values = cells.metric(name, metrics.index(main)) * QUANTUM
    scopes = cells.table.extras.numbers(SCOPE, cells.arms[name].slots)
    return [(outcome, np.where(scopes == code, values, np.nan)) for outcome, code in OUTCOMES.items()]


def _assembled(
    means: dict[tuple[str, str, str], dict[str, Any]], name: str, chosen: NDArray[np.float64] | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "counts": {key: entry for (what, arm, key), entry in means.items() if (what, arm) == ("counts", name)}
    }
    if chosen is not None:
        outcomes = {outcome: int((chosen == code).sum()) for outcome, code in OUTCOMES.items()}
        found["accuracy"] = {**means["accuracy", name, ""], **outcomes}
        scope = {outcome: means["scope", name, outcome] for outcome in OUTCOMES if ("scope", name, outcome) in means}
        found |= {"scope": scope} if scope else {}
    return found
