"""A configuration and an experiment, as values: no files, no YAML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Configuration:
    """A name and the overrides that `search` gets.

    Attributes:
        name: As declared (`F:sparse+dense`, `-rerank`).
        marker: The name as a marker and in node ids (`F.sparse+dense`, `no-rerank`).
        overrides: Defaults, then factors in declared order, then the configuration's own.
        factors: Names of the factors that are on, in declared order.
        pairs: Names of the configurations that it is compared with, the first being the main one.
        searches: False for a subset without a lane: it scores 0 and never searches.
    """

    name: str
    marker: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    searches: bool = True


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named set of arms; its comparisons are one family for Holm's adjustment.

    Attributes:
        name: `ladder`, `loo`, `factorial` or a declared name.
        arms: Configuration names in display order.
        judged_by: Metrics by which its arms are to be told apart, `@k` for the depth of the run; empty for the usual.
        guarded_by: Metrics that must not suffer.
    """

    name: str
    arms: tuple[str, ...]
    judged_by: tuple[str, ...] = ()
    guarded_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every configuration and experiment of a project.

    Attributes:
        configurations: Name to configuration, in declared order.
        experiments: Name to experiment, in declared order.
        factors: Names of the factors, in declared order.
        warm_up: Override keys whose distinct values each get one discarded search.
        digest: sha256 of the declarations, for the run record.
    """

    configurations: Mapping[str, Configuration]
    experiments: Mapping[str, Experiment] = field(default_factory=dict)
    factors: tuple[str, ...] = ()
    warm_up: tuple[str, ...] = ()
    digest: str = ""
