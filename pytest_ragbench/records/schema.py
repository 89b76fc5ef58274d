"""The keys of `run.json`, checked when it is written and when it is read; unknown ones are refused."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_ragbench.errors import RecordError
from pytest_ragbench.statistics.spending import MOST_RESAMPLES

SCHEMA_VERSION = 2
"""Of `run.json`, and with it of the rows and chunks beside it: 1 kept the chunks of every stage."""

SUMMARY_VERSION = 1
"""Of `summary.json`."""

GATE_VERSION = 1
"""Of `gate.json`."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class GitModel(_Strict):
    """Commit and cleanliness of the measured repository; null where unknown."""

    sha: str | None = None
    dirty: bool | None = None


class ConfigurationModel(_Strict):
    """One configuration as it ran."""

    name: str
    overrides: dict[str, Any] = Field(default_factory=dict)
    pairs: list[str] = Field(default_factory=list)
    marker: str | None = None
    factors: list[str] = Field(default_factory=list)
    searches: bool = True


class ExperimentModel(_Strict):
    """A family of comparisons."""

    name: str
    arms: list[str]
    judged_by: list[str] = Field(default_factory=list)
    guarded_by: list[str] = Field(default_factory=list)


class BootstrapModel(_Strict):
    """How the intervals were resampled; `look` where the level is what alpha spending leaves for that look."""

    seed: int = Field(ge=0)
    resamples: int = Field(ge=2, le=MOST_RESAMPLES)
    confidence: float = Field(gt=0.0, lt=1.0)
    cluster: Literal["file", "none"]
    look: int | None = Field(default=None, ge=1)


class LedgerModel(_Strict):
    """The ledger of looks as this run left it: number of entries, and the hash of the last."""

    count: int = Field(ge=0)
    last_hash: str | None = None


class ShardModel(_Strict):
    """Which part of a run this is: number `index` of `of`, from 1, and how many questions the whole run has."""

    index: int = Field(ge=1)
    of: int = Field(ge=1)
    questions: int = Field(ge=0)


class RunModel(_Strict):
    """`run.json`."""

    schema_version: Literal[2]
    run_id: str
    status: Literal["running", "done", "failed"]
    reason: str | None = None
    started_at: str
    finished_at: str | None = None
    pid: int | None = None
    host: str | None = None
    process_started: str | None = None
    git: GitModel = Field(default_factory=GitModel)
    config_digest: str | None = None
    index: Any = None
    questions_digest: str | None = None
    split: str | None = None
    suites: list[str] | None = None
    domains: list[str] | None = None
    configurations: list[ConfigurationModel] = Field(default_factory=list)
    experiments: list[ExperimentModel] = Field(default_factory=list)
    bootstrap: BootstrapModel | None = None
    ledger: LedgerModel | None = None
    llm: dict[str, Any] | None = None
    k: int = Field(default=10, ge=1)
    sets: Any = None
    limit: int | None = None
    selection: Any = None
    left_out: dict[str, int] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
    warm_up: list[str] = Field(default_factory=list)
    complete: bool | None = None
    partial: bool | None = None
    resumed_from: str | None = None
    shard: ShardModel | None = None
    merged_from: list[str] = Field(default_factory=list)
    workers: int | None = None
    pipeline: dict[str, Any] | None = None
    versions: dict[str, str] = Field(default_factory=dict)


def check_version(version: Any, path: str, *, reads: int = SCHEMA_VERSION) -> None:
    """Refuse a file of another schema.

    Raises:
        RecordError: `version` is not the one that this code `reads`.
    """
    if version == reads and not isinstance(version, bool):
        return
    found = "no schema_version" if version is None else f"schema_version {version!r}"
    newer = isinstance(version, int) and version > reads
    advice = "upgrade pytest-ragbench to read it" if newer else "it was not written by a released version"
    raise RecordError(f"{path}: it has {found}; this version reads {reads}; {advice}")


def check_run(value: dict[str, Any], path: str) -> dict[str, Any]:
    """The same mapping, with the defaults of absent keys.

    Raises:
        RecordError: Another schema version, an unknown key, or a value of the wrong type; each is named.
    """
    check_version(value.get("schema_version"), path)
    try:
        return RunModel.model_validate(value).model_dump()
    except ValidationError as error:
        problems = [
            f"{path}: {'.'.join(map(str, problem['loc'])) or 'root'}: {problem['msg']}" for problem in error.errors()
        ]
        raise RecordError("\n".join(problems)) from None
