"""Reads the value of one commit from its run's record, and refuses what does not stand for the same measurement."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench.bisection.model import UnscorableError
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.metrics.catalogue import measures, metric_names
from pytest_ragbench.records.record import RunRecord, newest

if TYPE_CHECKING:
    from pathlib import Path

_ERROR_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Score:
    """What a run scored.

    Attributes:
        value: The metric's mean over the scored questions.
        metric: The metric's full name.
        configuration: The configuration that was read.
        questions: Ids of the scored questions.
        asked: What was asked for, as `run.json` tells it: questions, split, suites, domains, limit, depth.
    """

    value: float
    metric: str
    configuration: str
    questions: frozenset[str]
    asked: dict[str, Any]


def check_metric(name: str) -> None:
    """Refuse, before anything is measured, a name that is no metric at any depth.

    Raises:
        UsageError: It is none; the nearest ones are named.
    """
    stem, at, cutoff = name.removesuffix("@k").partition("@")
    known = {measure.name.partition("@")[0]: measure.cutoff for measure in measures()}
    if stem in known and (not at or (known[stem] is not None and cutoff.isdecimal() and int(cutoff) > 0)):
        return
    raise UsageError(_unknown(name, [measure.name for measure in measures()]))


def read_score(runs: Path, metric: str, configuration: str | None, sha: str) -> Score:
    """The score of the one record in a folder.

    Raises:
        UnscorableError: There is no record, it is broken off, rows errored, or the metric has no value.
        UsageError: The run does not measure the metric, or has several configurations and none was named.
    """
    record = next(newest(runs), None)
    if record is None:
        raise UnscorableError("pytest left no record")
    try:
        return _score(record, metric, configuration, sha)
    except RecordError as error:
        raise UnscorableError(f"its record cannot be read: {error}") from None


def check_same(score: Score, reference: Score) -> None:
    """Refuse a score over other questions, or by another depth, than that of the bad end.

    Raises:
        UnscorableError: They differ; the text says in what.
    """
    for name, wanted in reference.asked.items():
        if score.asked[name] != wanted:
            raise UnscorableError(f"measured with another {name}: {score.asked[name]}, and the bad end with {wanted}")
    if score.questions != reference.questions:
        lacks, has = len(reference.questions - score.questions), len(score.questions - reference.questions)
        raise UnscorableError(
            f"scored other questions than the bad end: {lacks} of its {len(reference.questions)} are missing, "
            f"{has} were added"
        )


def _score(record: RunRecord, metric: str, configuration: str | None, sha: str) -> Score:
    run = record.run
    if record.status != "done":
        raise UnscorableError(f"its run broke off: {run['reason'] or record.status}")
    if run["git"]["sha"] != sha:
        raise UnscorableError(f"its worktree moved to {run['git']['sha']} while it was measured")
    name = _configuration(run, configuration)
    _check_rows(record, name)
    full = _metric(metric, run["k"])
    results = (record.summary() or {}).get("results", {}).get(name, {})
    value = results.get("overall", {}).get(full, {}).get("mean")
    if value is None:
        raise UnscorableError(f"{full} has no value: no question of the run was scored")
    scored = (row for row in record.rows() if row["configuration"] == name and row["metrics"].get(full) is not None)
    asked = {
        "question set": run["questions_digest"],
        **{key: run[key] for key in ("split", "suites", "domains", "limit", "k")},
    }
    return Score(float(value), full, name, frozenset(str(row["question"]) for row in scored), asked)


def _check_rows(record: RunRecord, configuration: str) -> None:
    errors = [row for row in record.errored_rows() if row["configuration"] == configuration]
    if errors:
        rows = "1 row" if len(errors) == 1 else f"{len(errors)} rows"
        raise UnscorableError(f"{rows} errored, first {errors[0]['question']}: {_short(str(errors[0]['error']))}")


def _configuration(run: dict[str, Any], named: str | None) -> str:
    names = [str(entry["name"]) for entry in run["configurations"]]
    if named in names:
        return str(named)
    if named is None and len(names) == 1:
        return names[0]
    if named is None:
        raise UsageError(f"the run has {len(names)} configurations; name one with --configuration: {', '.join(names)}")
    raise UnscorableError(f"its run has no configuration {named}; it has {', '.join(names)}")


def _metric(name: str, k: int) -> str:
    """The full name of a metric; one without a cut-off, or with `@k`, is read at its deepest.

    Raises:
        UsageError: No run of this depth measures it.
    """
    found = metric_names(k)
    if name in found:
        return name
    deepest = [full for full in found if full.partition("@")[0] == name.removesuffix("@k")]
    if not deepest:
        raise UsageError(f"{_unknown(name, list(found))}; the run is cut at k = {k}")
    return deepest[-1]


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(
        name.lower(), [*known, *(full.partition("@")[0] for full in known)], n=2, cutoff=0.5
    )
    hint = f"; did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
    return f"--metric: no metric is called {name!r}{hint} (known: {', '.join(known)})"


def _short(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "without a message"
    return line if len(line) <= _ERROR_CHARACTERS else line[:_ERROR_CHARACTERS] + "…"
