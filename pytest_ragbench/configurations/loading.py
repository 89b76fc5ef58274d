"""`configs.yaml` to a catalogue: every conflict of every declaration, or the configurations.

Defaults < factors in declared order < a configuration's own overrides. `loo` and `factorial` are generated.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import digest
from pytest_ragbench.configurations.designs import (
    MAX_FACTORIAL_FACTORS,
    Arm,
    factorial_arms,
    ladder_arms,
    leave_one_out_arms,
)
from pytest_ragbench.configurations.model import Catalogue, Configuration, Experiment
from pytest_ragbench.configurations.names import marker_name
from pytest_ragbench.configurations.reading import read_mapping
from pytest_ragbench.configurations.schema import ArmRecord, CatalogueRecord
from pytest_ragbench.errors import InputError, Problem, UsageError
from pytest_ragbench.questions.border import Place, line_of
from pytest_ragbench.questions.loading import shown_path
from pytest_ragbench.questions.strict_yaml import Path as FieldPath
from pytest_ragbench.questions.strict_yaml import YamlMapping
from pytest_ragbench.questions.suites import RESERVED_MARKERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

DEFAULT = "default"
_GENERATED = ("ladder", "loo", "factorial")
_MISSING = object()


def load_catalogue(path: Path | None, *, reserved: Collection[str] = (), shown_as: str | None = None) -> Catalogue:
    """Every configuration and experiment of a project.

    Args:
        path: The file, or None for one configuration, `default`, without overrides.
        reserved: Markers that mean something else in this project, as its suites; tiers, pytest's own marks, `sealed`
            and `ragbench` are reserved in any case.
        shown_as: What messages write for `path`.

    Raises:
        InputError: With all problems of the file.
        UsageError: There is no such file, or it cannot be read.
    """
    if path is None:
        return _Declarations("", CatalogueRecord(), YamlMapping(1), reserved).catalogue()
    shown = shown_as or shown_path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"no configurations: {shown} cannot be read: {error.strerror or error}") from None
    raw, record = _read(data, shown)
    return _Declarations(shown, record, raw, reserved).catalogue()


def missing_off_values(path: Path, *, shown_as: str | None = None) -> list[Problem]:
    """Overrides that a factor switches on and `defaults` does not switch off: without the factor the pipeline decides.

    Nothing is reported for a file that `load_catalogue` refuses.
    """
    shown = shown_as or shown_path(path)
    try:
        raw, record = _read(path.read_bytes(), shown)
    except (InputError, OSError):
        return []
    place = Place(shown, None, None)
    message = "`defaults` holds no off value for this key, so arms without the factor run with the pipeline's own"
    return [
        place.problem(line_of(raw, at), at, message, "no-off-value")
        for factor, overrides in record.factors.items()
        for key in overrides
        if key not in record.defaults
        for at in [("factors", factor, key)]
    ]


def _read(data: bytes, shown: str) -> tuple[YamlMapping, CatalogueRecord]:
    return read_mapping(data, shown, CatalogueRecord, "configurations", ("factors", "ladder"))


class _Declarations:
    """One file's declarations, checked against each other while they are resolved."""

    def __init__(self, file: str, record: CatalogueRecord, raw: YamlMapping, reserved: Collection[str]) -> None:
        self._file = file
        self._record = record
        self._raw = raw
        self._reserved = {*RESERVED_MARKERS, *reserved}
        self._problems: list[Problem] = []
        self._factors = tuple(record.factors)
        self._configurations: dict[str, Configuration] = {}
        self._experiments: dict[str, Experiment] = {}
        self._declared_at: dict[str, FieldPath] = {}

    def catalogue(self) -> Catalogue:
        """The catalogue.

        Raises:
            InputError: With every conflict.
        """
        self._check_factors()
        self._check_warm_up()
        self._check_names_of_factors(self._record.lanes, ("lanes",))
        for name, arms, paths in self._designs():
            for arm, path in zip(arms, paths, strict=True):
                self._add(arm, path)
            if name is not None:
                self._experiments[name] = self._experiment(name, arms)
        if not self._configurations:
            self._add(Arm(DEFAULT), ())
        self._check_pairs()
        self._check_markers()
        if self._problems:
            raise InputError(sorted(self._problems, key=lambda problem: problem.line or 0))
        warm_up = tuple(self._record.warm_up)
        return Catalogue(self._configurations, self._experiments, self._factors, warm_up, self._digest())

    def _experiment(self, name: str, arms: Sequence[Arm]) -> Experiment:
        names = tuple(dict.fromkeys(arm.name for arm in arms))
        record = self._record.experiments.get(name)
        if record is None or name in _GENERATED:
            return Experiment(name, names)
        return Experiment(name, names, tuple(record.judged_by), tuple(record.guarded_by))

    def _problem(self, path: FieldPath, message: str, code: str) -> None:
        place = Place(self._file, None, None)
        self._problems.append(place.problem(line_of(self._raw, path), path, message, code))

    def _designs(self) -> Iterator[tuple[str | None, Sequence[Arm], Sequence[FieldPath]]]:
        """Every experiment (None for hand-written configurations) with its arms and where each is declared."""
        record = self._record
        if record.ladder:
            rungs = self._rungs()
            paths: list[FieldPath] = [("ladder", index) for index in rungs.values()]
            chosen = [
                (name, self._ordered(record.ladder[index].factors, ("ladder", index))) for name, index in rungs.items()
            ]
            yield "ladder", ladder_arms(chosen), paths
        if record.configurations:
            paths = [("configurations", name) for name in record.configurations]
            yield None, self._written(record.configurations, paths), paths
        for name, experiment in record.experiments.items():
            path: FieldPath = ("experiments", name)
            if name in _GENERATED:
                self._problem(path, f"{name!r} is generated; give the experiment another name", "name-taken")
                continue
            paths = [(*path, "arms", arm) for arm in experiment.arms]
            yield name, self._written(experiment.arms, paths), paths
        if self._factors:
            arms = leave_one_out_arms(self._factors)
            yield "loo", arms, [("factors",), *(("factors", name) for name in self._factors)]
        if 0 < len(self._factors) <= MAX_FACTORIAL_FACTORS:
            arms = factorial_arms(self._factors)
            yield "factorial", arms, [("factors",)] * len(arms)

    def _rungs(self) -> dict[str, int]:
        """Name of each rung to its place in the ladder; a name that stands twice is complained about."""
        rungs: dict[str, int] = {}
        for index, rung in enumerate(self._record.ladder):
            if rungs.setdefault(rung.name, index) != index:
                message = f"the rung {rung.name!r} is declared twice; rename one"
                self._problem(("ladder", index, "name"), message, "name-twice")
        return rungs

    def _written(self, records: Mapping[str, ArmRecord], paths: Sequence[FieldPath]) -> list[Arm]:
        return [
            Arm(name, self._ordered(record.factors, path), record.overrides, tuple(dict.fromkeys(record.paired)))
            for (name, record), path in zip(records.items(), paths, strict=True)
        ]

    def _ordered(self, factors: Sequence[str], path: FieldPath) -> tuple[str, ...]:
        """The factors of an arm in declared order, unknown ones complained about."""
        self._check_names_of_factors(factors, (*path, "factors"))
        return tuple(name for name in self._factors if name in factors)

    def _check_names_of_factors(self, names: Sequence[str], path: FieldPath) -> None:
        for index, name in enumerate(names):
            if name not in self._factors:
                message = f"no factor {name!r} is declared; {_hint(name, self._factors)}"
                self._problem((*path, index), message, "unknown-factor")

    def _check_factors(self) -> None:
        """Two factors that set one key differently leave it to their order what an arm with both does."""
        setters: dict[str, tuple[str, Any]] = {}
        for factor, overrides in self._record.factors.items():
            for key, value in overrides.items():
                other, before = setters.setdefault(key, (factor, value))
                if not _same(before, value):
                    message = f"the factor {other!r} sets `{key}` to another value; an arm with both would be ambiguous"
                    self._problem(("factors", factor, key), message, "factor-conflict")

    def _check_warm_up(self) -> None:
        record = self._record
        arms = [
            *record.configurations.values(),
            *(arm for one in record.experiments.values() for arm in one.arms.values()),
        ]
        known = {**record.defaults}
        for overrides in (*record.factors.values(), *(arm.overrides for arm in arms)):
            known.update(overrides)
        for index, key in enumerate(record.warm_up):
            if key not in known:
                self._problem(
                    ("warm_up", index), f"no override {key!r} is set anywhere; {_hint(key, known)}", "unknown-override"
                )

    def _add(self, arm: Arm, path: FieldPath) -> None:
        overrides = dict(self._record.defaults)
        for factor in arm.factors:
            overrides.update(self._record.factors[factor])
        overrides.update(arm.overrides)
        searches = self._searches(arm, overrides)
        new = Configuration(arm.name, marker_name(arm.name), overrides, arm.factors, arm.pairs, searches)
        known = self._configurations.get(arm.name)
        if known is None:
            self._configurations[arm.name] = new
            self._declared_at[arm.name] = path
            return
        if not _same(known.overrides, overrides) or known.searches != new.searches:
            self._clash(path, self._declared_at[arm.name], f"{arm.name!r} means two things", "name-with-two-meanings")
            return
        pairs = tuple(dict.fromkeys((*known.pairs, *arm.pairs)))
        self._configurations[arm.name] = Configuration(
            known.name, known.marker, known.overrides, known.factors or arm.factors, pairs, known.searches
        )

    def _searches(self, arm: Arm, overrides: Mapping[str, Any]) -> bool:
        """Whether a lane is on: by its factor unless overridden to its off value, or by the arm's own overrides."""
        lanes = [name for name in self._record.lanes if name in self._factors]
        return not lanes or any(self._is_on(lane, arm, overrides) for lane in lanes)

    def _is_on(self, lane: str, arm: Arm, overrides: Mapping[str, Any]) -> bool:
        keys = self._record.factors[lane]
        own = [key for key in keys if key in arm.overrides]
        switched = any(not _same(overrides[key], self._record.defaults.get(key, _MISSING)) for key in own)
        return switched if own else lane in arm.factors

    def _check_pairs(self) -> None:
        for configuration in self._configurations.values():
            path = self._declared_at[configuration.name]
            for name in configuration.pairs:
                if name == configuration.name:
                    self._problem((*path, "paired"), "a configuration has no pair in itself", "paired-with-itself")
                elif name not in self._configurations:
                    hint = _hint(name, self._configurations)
                    self._problem((*path, "paired"), f"no configuration {name!r} is declared; {hint}", "unknown-pair")

    def _check_markers(self) -> None:
        markers: dict[str, str] = {}
        for name, configuration in self._configurations.items():
            path, marker = self._declared_at[name], configuration.marker
            other = markers.setdefault(marker, name)
            if other != name:
                message = f"{name!r} and {other!r} are one marker, `{marker}`"
                self._clash(path, self._declared_at[other], message, "marker-clash")
            if marker in self._reserved or name in self._reserved:
                text = f"{name!r} is already a marker (of pytest, a suite, a tier or the bench); rename it"
                self._problem(path, text, "marker-clash")
        for name in self._experiments:
            if name in self._configurations or name in markers:
                text = f"{name!r} is an experiment and a configuration (or its marker); rename one"
                self._problem(self._declared_at.get(name, ("experiments", name)), text, "name-with-two-meanings")

    def _clash(self, path: FieldPath, other: FieldPath, message: str, code: str) -> None:
        """A conflict of two declarations, told at the one that can be renamed: not at a generated arm."""
        at, against = (other, path) if path[:1] == ("factors",) else (path, other)
        line = line_of(self._raw, against)
        source = "the arm generated from the factors" if against[:1] == ("factors",) else "the other"
        self._problem(at, f"{message}: {source} is declared on line {line}; rename this one", code)

    def _digest(self) -> str:
        configurations = [
            [one.name, one.overrides, one.factors, one.pairs, one.searches] for one in self._configurations.values()
        ]
        experiments = [[experiment.name, experiment.arms] for experiment in self._experiments.values()]
        return digest([configurations, experiments, list(self._factors), list(self._record.warm_up)])


def _same(one: Any, other: Any) -> bool:
    """Equality of override values in which `1`, `1.0` and `true` are three values."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _hint(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return "declared are " + ", ".join(known) if known else "none is declared"
