"""`ragbench compare` and `--rag-compare`: the rows of comparable runs, paired by question; the first is the old one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.analysis.between import Pairing, between, label
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.records.record import row_key
from pytest_ragbench.reports.commands import as_written
from pytest_ragbench.runs.comparable import asked_by, obstacles, unfit
from pytest_ragbench.runs.differing import differences, unknown
from pytest_ragbench.runs.reading import complete_rows, configuration_named, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.record import RunRecord
    from pytest_ragbench.runs.comparable import Asked

SCHEMA_VERSION = 1
"""Of what `ragbench compare --json` prints."""


def compare_runs(records: Sequence[RunRecord], named: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """Compare every later run with the first.

    Args:
        records: Two or more.
        named: (configuration of the first run, configuration of the later ones); without any, those of one name.

    Returns:
        Strict JSON values: `runs`, `differences`, `unknown` (what no run tells) and `comparisons`, among others; the
        same records give the same value.

    Raises:
        UsageError: The runs are not comparable, the text saying why and what to do; or they share no configuration.
        RecordError: A record is damaged, or rows of it are missing.
    """
    asked = _comparable(records)
    pairings = list(_pairings([record.run for record in records], named))
    plan = _plan(records, asked[0].questions)
    found = between(_rows(records, pairings, plan.k), plan.questions, pairings, plan)
    runs = [record.run for record in records]
    return {
        "schema_version": SCHEMA_VERSION,
        "metrics_version": asked[0].metrics_version,
        "split": runs[0]["split"],
        "k": plan.k,
        "questions": len(plan.questions),
        "sealed": sum(question.split == "test" for question in plan.questions),
        "bootstrap": {
            "seed": plan.seed,
            "resamples": plan.resamples,
            "confidence": plan.confidence,
            "cluster": plan.cluster,
        },
        "runs": [_identity(run) for run in runs],
        "differences": differences(runs, [one.questions for one in asked]),
        "unknown": unknown(runs),
        "comparisons": [
            {**_of(pairing, records), **comparison} for pairing, comparison in zip(pairings, found, strict=True)
        ],
    }


def _comparable(records: Sequence[RunRecord]) -> list[Asked]:
    """What each run asked, all of them alike.

    Raises:
        UsageError: They are not comparable.
    """
    if len(records) < 2:
        raise UsageError("name two runs or more; the later ones are compared with the first")
    if complaints := [text for record in records if (text := unfit(record))]:
        raise UsageError(f"not comparable: {'; '.join(complaints)}")
    asked = [asked_by(record) for record in records]
    if complaints := [text for other in asked[1:] for text in obstacles(asked[0], other)]:
        raise UsageError(f"not comparable: {'; '.join(complaints)}")
    return asked


def _plan(records: Sequence[RunRecord], questions: Sequence[Question]) -> Plan:
    """How to judge: as the first run, but at the strictest level, which later looks at the test split may have."""
    strictest = max((plan_of(record, ()) for record in records), key=lambda found: found.confidence)
    plan = plan_of(records[0], questions)
    return replace(plan, confidence=strictest.confidence, resamples=strictest.resamples)


def _pairings(runs: Sequence[Mapping[str, Any]], named: Sequence[tuple[str, str]]) -> Iterator[Pairing]:
    """What is compared, run by run, in the order of the first run's configurations or as it was named."""
    names = [[entry["name"] for entry in run["configurations"]] for run in runs]
    for position in range(1, len(runs)):
        pairs = [(name, name) for name in names[0] if name in names[position]]
        if named:
            pairs = [
                (configuration_named(runs[0], old, "--config"), configuration_named(runs[position], new, "--config"))
                for old, new in named
            ]
        if not pairs:
            raise UsageError(
                f"{runs[0]['run_id']} ({', '.join(names[0])}) and {runs[position]['run_id']} "
                f"({', '.join(names[position])}) share no configuration; pair two with --config A=B"
            )
        yield from (Pairing((0, old), (position, new)) for old, new in dict.fromkeys(pairs))


def _rows(records: Sequence[RunRecord], pairings: Sequence[Pairing], k: int) -> RowTable:
    """The rows of every side in one table."""
    wanted = {side for pairing in pairings for side in pairing}
    table = RowTable(metric_names(k))
    for position, record in enumerate(records):
        with as_written(record):
            for row in complete_rows(record):
                side = (position, row_key(row)[1])
                if side in wanted:
                    table.add({**row, "configuration": label(side)})
            len(table)  # rows are taken apart in batches: the last ones here, where a damaged one is told by its record
    return table


def _identity(run: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("run_id", "started_at", "git", "questions_digest", "config_digest", "index", "ledger", "merged_from")
    return {key: run[key] for key in keys}


def _of(pairing: Pairing, records: Sequence[RunRecord]) -> dict[str, Any]:
    """What is compared: runs, configurations, and the overrides that differ, as (old value, new value)."""
    runs = [records[position].run for position, _ in pairing]
    old, new = (
        next(entry["overrides"] for entry in run["configurations"] if entry["name"] == name)
        for run, (_, name) in zip(runs, pairing, strict=True)
    )
    return {
        "run": runs[1]["run_id"],
        "against": runs[0]["run_id"],
        "configuration": pairing.new[1],
        "other": pairing.old[1],
        "overrides": {
            key: [old.get(key), new.get(key)]
            for key in sorted({*old, *new})
            if canonical.dumps(old.get(key)) != canonical.dumps(new.get(key))  # 1 and true are two values
        },
    }
