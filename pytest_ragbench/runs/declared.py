"""Configurations and experiments as `run.json` tells them; `reading` makes values of them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ragbench.configurations.model import Configuration, Experiment


def declared(configurations: Iterable[Configuration], experiments: Iterable[Experiment]) -> dict[str, Any]:
    """The keys `configurations` and `experiments` of a record."""
    return {
        "configurations": [
            {
                "name": one.name,
                "overrides": dict(one.overrides),
                "pairs": list(one.pairs),
                "marker": one.marker,
                "factors": list(one.factors),
                "searches": one.searches,
            }
            for one in configurations
        ],
        "experiments": [
            {
                "name": one.name,
                "arms": list(one.arms),
                "judged_by": list(one.judged_by),
                "guarded_by": list(one.guarded_by),
            }
            for one in experiments
        ],
    }
