"""`thresholds.yaml`: what a project tolerates. What is held against it is decided elsewhere."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from pytest_ragbench.configurations.hard_gates import OVERALL, GateRule, never_gates, resolve_metric
from pytest_ragbench.configurations.reading import read_mapping
from pytest_ragbench.errors import InputError, Problem, UsageError
from pytest_ragbench.questions.border import STRICT, Place, line_of, refusal
from pytest_ragbench.questions.loading import shown_path
from pytest_ragbench.questions.scalars import kind_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from pytest_ragbench.questions.strict_yaml import Path as FieldPath
    from pytest_ragbench.questions.strict_yaml import YamlMapping

FILE_NAME = "thresholds.yaml"
"""Its name in the folder of baselines."""


def _share(value: float | None) -> float | None:
    if value is not None and (not math.isfinite(value) or not 0.0 <= value <= 1.0):
        raise refusal("bad_value", f"must be a number from 0 to 1, found {value:g}")
    return value


def _given(value: Any) -> Any:
    """Refuse a key without a value: a floor that nobody wrote down would hold nothing."""
    if value is None:
        raise refusal("bad_value", "nothing stands here; write a value, or leave the key out")
    return value


def _named(value: str | None) -> str | None:
    if value is not None and not value.strip():
        raise refusal("bad_value", "must not be empty")
    return value


def _listed(value: Any) -> Any:
    """One rule as a list of one."""
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise refusal("wrong_type", f"must be a rule, as `min: 0.8`, or a list of rules, found {kind_of(value)}")
    if not value:
        raise refusal("bad_value", "must not be empty; write a rule, as `min: 0.8`, or leave the metric out")
    return value


_Tolerance = Annotated[float | None, BeforeValidator(_given), AfterValidator(_share)]
_Name = Annotated[str | None, BeforeValidator(_given), AfterValidator(_named)]


class Rule(BaseModel):
    """One rule of `hard_gates`.

    Attributes:
        min: The mean must be at least this.
        max_regression_delta: How far the mean may fall below the baseline's.
        significant: Whether a fall counts only when the paired difference is real.
        configuration: Only of this configuration, in place of a rule without one.
        suite: Only over this suite's questions.
        domain: Only over this domain's questions.
        enforced_by: Judged by someone else; shown, and not judged here.
    """

    model_config = STRICT

    min: _Tolerance = None
    max_regression_delta: _Tolerance = None
    significant: bool = False
    configuration: _Name = None
    suite: _Name = None
    domain: _Name = None
    enforced_by: _Name = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.enforced_by is not None:
            if others := sorted(self.model_fields_set - {"enforced_by"}):
                raise refusal("bad_value", f"`enforced_by` stands alone: who enforces it judges it; remove {others[0]}")
        elif self.min is None and self.max_regression_delta is None:
            raise refusal("bad_value", "judges nothing; write `min`, `max_regression_delta`, or `enforced_by` alone")
        if self.significant and self.max_regression_delta is None:
            raise refusal("bad_value", "`significant` says which falls count; write `max_regression_delta` with it")
        if self.suite is not None and self.domain is not None:
            raise refusal("bad_value", "a rule is about one suite or one domain; remove one of the two")
        return self

    @property
    def scope(self) -> str:
        """`overall`, `suite:NAME` or `domain:NAME`."""
        if self.suite is not None:
            return f"suite:{self.suite}"
        return OVERALL if self.domain is None else f"domain:{self.domain}"


class Thresholds(BaseModel):
    """A whole `thresholds.yaml`; every key may be left out.

    Attributes:
        max_suite_regression: How far the main metric (nDCG at the depth of the run) of a suite may fall.
        hard_gates: Metric to its rules; a single one may be written without a list.
    """

    model_config = STRICT

    max_suite_regression: Annotated[float, AfterValidator(_share)] = 0.02
    hard_gates: dict[str, Annotated[list[Rule], BeforeValidator(_listed)]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """What the names in a rule may refer to.

    Attributes:
        k: Depth of the rankings.
        metrics: Names of the run's metrics.
        configurations: Every configuration declared.
        suites: Every suite that a question has.
        domains: Every domain that a question has.
    """

    k: int
    metrics: Collection[str]
    configurations: Collection[str]
    suites: Collection[str]
    domains: Collection[str]


def load_thresholds(path: Path | None, *, shown_as: str | None = None) -> Thresholds:
    """The thresholds of a project.

    Args:
        path: The file, or None for the defaults.
        shown_as: What messages write for `path`.

    Raises:
        InputError: With all problems of the file.
        UsageError: There is no such file, or it cannot be read.
    """
    return Thresholds() if path is None else _read(path, shown_as or shown_path(path))[1]


def load_hard_gates(path: Path, known: Known, *, shown_as: str | None = None) -> tuple[GateRule, ...]:
    """The rules of a project, in the order of the file, with every name checked.

    Args:
        path: The file.
        known: What the names may refer to.
        shown_as: What messages write for `path`.

    Raises:
        InputError: With all problems of the file, unknown names and rules of one scope included.
        UsageError: There is no such file, or it cannot be read.
    """
    shown = shown_as or shown_path(path)
    root, thresholds = _read(path, shown)
    found: dict[tuple[str, str, str | None], tuple[GateRule, int | None]] = {}
    problems: list[Problem] = []
    place = Place(shown, None, None)
    for written, rules in thresholds.hard_gates.items():
        for number, rule in enumerate(rules):
            at: FieldPath = ("hard_gates", written, number)
            at = at[:2] if isinstance(root["hard_gates"][written], dict) else at
            line = line_of(root, at)
            wrong = list(_unknown(written, rule, known))
            problems += [place.problem(line_of(root, (*at, *field)), (*at, *field), *rest) for field, *rest in wrong]
            one = _rule(written, rule, known)
            if one.place in found:
                text = f"two rules for {one.metric} of the same scope, the first on line {found[one.place][1]}"
                problems.append(place.problem(line, at, f"{text}; keep one", "duplicate-rule"))
            found.setdefault(one.place, (one, line))
    if problems:
        raise InputError(problems)
    return tuple(rule for rule, _ in found.values())


def _read(path: Path, shown: str) -> tuple[YamlMapping, Thresholds]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"no thresholds: {shown} cannot be read: {error.strerror or error}") from None
    return read_mapping(data, shown, Thresholds, "thresholds", ("max_suite_regression", "hard_gates"))


def _rule(written: str, rule: Rule, known: Known) -> GateRule:
    return GateRule(
        metric=resolve_metric(written, known.k, known.metrics) or written,
        scope=rule.scope,
        configuration=rule.configuration,
        floor=rule.min,
        allowed=rule.max_regression_delta,
        significant=rule.significant,
        enforced_by=rule.enforced_by,
    )


def _unknown(written: str, rule: Rule, known: Known) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Where names refer to nothing: the field below the rule, the message, its code."""
    if rule.enforced_by is None:
        metric = resolve_metric(written, known.k, known.metrics)
        if metric is None:
            near = _near(written, known.metrics)
            text = f"no metric of a run with rankings cut at {known.k} is called `{written}`; {near}"
            yield (), text, "unknown-metric"
        elif never_gates(metric):
            yield (), f"`{metric}` rises with every repeat of one source, so it never gates", "bad-value"
    for field, names in (
        ("configuration", known.configurations),
        ("suite", known.suites),
        ("domain", known.domains),
    ):
        name = getattr(rule, field)
        if name is not None and name not in names:
            yield (field,), f"there is no {field} `{name}`; {_near(name, sorted(names))}", "unknown-name"


def _near(found: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(found, list(known), n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known) or 'none'}"
