"""The keys of `main.json` and of a line of `main.rows.jsonl`, checked when they are read; unknown ones are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_ragbench.baselines.model import Baseline, BaselineRow
from pytest_ragbench.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Model = TypeVar("Model", bound=BaseModel)

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class MeanModel(_Strict):
    """A mean and the number of its questions; null where there is none."""

    mean: Share | None
    n: Count


class CountsModel(_Strict):
    """Rows of a configuration."""

    scored: Count


class ResultModel(_Strict):
    """The numbers of one configuration."""

    overall: dict[str, MeanModel]
    by_suite: dict[str, dict[str, MeanModel]]
    by_domain: dict[str, dict[str, MeanModel]]
    by_difficulty: dict[str, dict[str, MeanModel]]
    rows: CountsModel


class LedgerModel(_Strict):
    """The ledger of looks as the captured run left it."""

    count: Count
    last_hash: str | None


class MainModel(_Strict):
    """`main.json`."""

    schema_version: Literal[1]
    metrics_version: int
    questions_digest: str
    split: str | None
    suites: list[str] | None
    domains: list[str] | None
    limit: Annotated[int, Field(ge=1)] | None
    k: Annotated[int, Field(ge=1)]
    configurations: dict[str, dict[str, Any]]
    ledger: LedgerModel
    rows_digest: str
    results: dict[str, ResultModel]
    forced: list[str] = Field(default_factory=list)


class RowModel(_Strict):
    """A line of `main.rows.jsonl`."""

    question: str
    configuration: str
    suite: str
    domain: str | None
    difficulty: str | None
    cluster: str
    metrics: dict[str, Share | None]


def check_main(value: Mapping[str, Any], path: str) -> MainModel:
    """`main.json`, of this schema.

    Raises:
        RecordError: An unknown or missing key, or a value of another kind; each is named.
    """
    return _checked(MainModel, value, path)


def check_row(value: Mapping[str, Any], place: str) -> BaselineRow:
    """A line of the rows.

    Raises:
        RecordError: As `check_main`.
    """
    return BaselineRow(**dict(_checked(RowModel, value, place)))


def baseline_of(main: MainModel, rows: Sequence[BaselineRow]) -> Baseline:
    """Both files as one value."""
    return Baseline(
        metrics_version=main.metrics_version,
        questions_digest=main.questions_digest,
        split=main.split,
        suites=None if main.suites is None else tuple(main.suites),
        domains=None if main.domains is None else tuple(main.domains),
        limit=main.limit,
        k=main.k,
        configurations=main.configurations,
        ledger=main.ledger.model_dump(),
        results={name: result.model_dump() for name, result in main.results.items()},
        forced=tuple(main.forced),
        rows=tuple(rows),
    )


def _checked(model: type[Model], value: Mapping[str, Any], path: str) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = [
            f"{path}: {'.'.join(map(str, problem['loc'])) or 'root'}: {problem['msg']}" for problem in error.errors()
        ]
        raise RecordError("\n".join(problems)) from None
