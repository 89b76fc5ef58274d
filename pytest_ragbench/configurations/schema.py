"""The file schema of `configs.yaml`, strict; what the declarations mean together is decided in `loading`."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from pytest_ragbench.configurations.names import check_factor_name, check_name
from pytest_ragbench.questions.border import STRICT, refusal
from pytest_ragbench.questions.scalars import Ambiguous, kind_of

_METRIC = re.compile(r"[a-z][a-z_]*(@(k|\d+))?")


def _name(text: str) -> str:
    complaint = check_name(text)
    if complaint:
        raise refusal("bad_name", f"{text[:60]!r}: {complaint}")
    return text


def _factor_name(text: str) -> str:
    complaint = check_factor_name(text)
    if complaint:
        raise refusal("bad_name", f"{text[:60]!r}: {complaint}")
    return text


def _override_key(text: str) -> str:
    if not text.isidentifier():
        raise refusal("bad_override", f"{text[:60]!r}: an override is a keyword argument of `search`, as top_k")
    if text == "query":
        raise refusal("bad_override", "`query` is the question itself and cannot be overridden")
    return text


def _override_value(value: Any) -> Any:
    """A value that strict JSON can hold, for the run record."""
    if isinstance(value, Ambiguous):
        raise refusal(
            "bad_override",
            f"unquoted `{value.text[:60]}` is read as {kind_of(value)}; quote it, or write plain decimals",
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise refusal("bad_override", "NaN and infinities cannot stand in a record")
    if isinstance(value, dict):
        return {key: _override_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_override_value(inner) for inner in value]
    return value


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _metric(text: str) -> str:
    if not _METRIC.fullmatch(text):
        raise refusal("bad_name", f"{text[:60]!r} is no name of a metric, as recall@k or hit@1")
    return text


Name = Annotated[str, AfterValidator(_name)]
Metrics = Annotated[list[Annotated[str, AfterValidator(_metric)]], BeforeValidator(_one_or_more)]
FactorName = Annotated[str, AfterValidator(_factor_name)]
Overrides = dict[Annotated[str, AfterValidator(_override_key)], Annotated[Any, BeforeValidator(_override_value)]]


class _Strict(BaseModel):
    model_config = STRICT


class RungRecord(_Strict):
    """A rung of the ladder: exactly these factors."""

    name: Name
    factors: list[str]


class ArmRecord(_Strict):
    """A hand-written configuration, or an arm of an experiment."""

    factors: list[str] = []
    overrides: Overrides = {}
    paired: Annotated[list[str], BeforeValidator(_one_or_more)] = []


class ExperimentRecord(_Strict):
    """A named set of arms, and the metrics that its comparisons show in place of the usual ones."""

    arms: Annotated[dict[Name, ArmRecord], Field(min_length=1)]
    judged_by: Metrics = []
    guarded_by: Metrics = []


class CatalogueRecord(_Strict):
    """A whole `configs.yaml`."""

    defaults: Overrides = {}
    factors: dict[FactorName, Overrides] = {}
    ladder: list[RungRecord] = []
    experiments: dict[Name, ExperimentRecord] = {}
    configurations: dict[Name, ArmRecord] = {}
    lanes: list[str] = []
    warm_up: list[str] = []
