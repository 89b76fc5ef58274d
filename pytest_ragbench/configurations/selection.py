"""From the names that were typed to the configurations and experiments of a run."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.configurations.model import Catalogue, Configuration, Experiment

_GENERATED = {
    "ladder": "no `ladder` is declared",
    "loo": "`loo` is generated from `factors`, and none is declared",
    "factorial": "`factorial` is generated from 1 to 10 `factors`",
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run measures.

    Attributes:
        configurations: Each once, in the order of the names and of the arms within an experiment.
        experiments: The experiments that were named; a configuration named alone belongs to none.
    """

    configurations: tuple[Configuration, ...]
    experiments: tuple[Experiment, ...]


def select(catalogue: Catalogue, names: Sequence[str]) -> Selection:
    """Resolve names of experiments (all their arms) and configurations, by name or marker form, matched whole.

    Raises:
        UsageError: A name is unknown, or none is given; the text suggests near names.
    """
    by_marker = {configuration.marker: configuration for configuration in catalogue.configurations.values()}
    configurations: dict[str, Configuration] = {}
    experiments: dict[str, Experiment] = {}
    unknown: list[str] = []
    wanted = [stripped for name in names if (stripped := name.strip())]
    if not wanted:
        raise UsageError(f"no configuration is named; {_declared(catalogue)}")
    for name in wanted:
        experiment = catalogue.experiments.get(name)
        found = catalogue.configurations.get(name) or by_marker.get(name)
        if experiment is not None:
            experiments[name] = experiment
            configurations.update((arm, catalogue.configurations[arm]) for arm in experiment.arms)
        elif found is not None:
            configurations[found.name] = found
        else:
            unknown.append(name)
    if unknown:
        raise UsageError("\n".join(_unknown(catalogue, name) for name in dict.fromkeys(unknown)))
    return Selection(tuple(configurations.values()), tuple(experiments.values()))


def _declared(catalogue: Catalogue) -> str:
    """The names to choose from; arms that experiments spell out are left to the experiment's name."""
    arms = {
        arm
        for name in ("loo", "factorial")
        if name in catalogue.experiments
        for arm in catalogue.experiments[name].arms
    }
    names = [*catalogue.experiments, *(name for name in catalogue.configurations if name not in arms)]
    return "declared are " + ", ".join(names)


def _unknown(catalogue: Catalogue, name: str) -> str:
    spellings = [*catalogue.experiments, *catalogue.configurations]
    spellings += [configuration.marker for configuration in catalogue.configurations.values()]
    folded: dict[str, str] = {}
    for spelling in spellings:
        folded.setdefault(spelling.lower(), spelling)
    near = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)
    why = f" ({_GENERATED[name]})" if name in _GENERATED else ""
    hint = f"did you mean {' or '.join(folded[match] for match in near)}?" if near else f"{_declared(catalogue)}."
    return f"unknown configuration or experiment {name!r}{why}: {hint}"
