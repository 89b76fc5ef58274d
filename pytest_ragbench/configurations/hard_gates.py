"""The rules of `hard_gates`, as values: which number is judged where, and by what. Reading them is for `thresholds`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

OVERALL = "overall"
"""The scope of a rule without `suite` and `domain`."""


@dataclass(frozen=True, slots=True)
class GateRule:
    """One rule, its metric spelt as the run's rows spell it.

    Attributes:
        metric: `recall@10`; of a rule that is enforced elsewhere, whatever name the file gives.
        scope: `overall`, `suite:NAME` or `domain:NAME`.
        configuration: The one that it judges; None for every configuration that has no rule of its own in this scope.
        floor: The mean must be at least this; None for no floor.
        allowed: How far the mean may fall below the baseline; None for no such rule.
        significant: Whether a fall counts only when it is more than chance would give.
        enforced_by: Who judges it in place of this gate, or None.
    """

    metric: str
    scope: str = OVERALL
    configuration: str | None = None
    floor: float | None = None
    allowed: float | None = None
    significant: bool = False
    enforced_by: str | None = None

    @property
    def place(self) -> tuple[str, str, str | None]:
        """What no two rules may share."""
        return self.metric, self.scope, self.configuration


def resolve_metric(written: str, k: int, known: Collection[str]) -> str | None:
    """The run's name of a metric: as written, with `@k` for its depth, or without a cut-off; None where there is none.

    Args:
        written: As in the file: `recall@10`, `recall@k`, `recall`.
        k: Depth of the rankings.
        known: Names of the run's metrics.
    """
    spelt = re.sub("@k$", f"@{k}", written)
    return next((name for name in (spelt, f"{spelt}@{k}") if name in known), None)


def never_gates(metric: str) -> bool:
    """Whether a metric is unfit to gate: precision at a depth rises with every repeat of one source."""
    return metric.partition("@")[0] in {"p", "doc_p"}
