"""Joins the shards of one run into one record, as if it had been measured in one place; or says why they are not."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import METRICS_VERSION, metric_names
from pytest_ragbench.questions.shards import Shard
from pytest_ragbench.records.record import row_key
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.reports.commands import as_written, render_record
from pytest_ragbench.reports.text import plural
from pytest_ragbench.runs.reading import complete_rows, metrics_version, plan_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.record import RunRecord

SAME: tuple[tuple[str, Callable[[dict[str, Any]], Any]], ...] = (
    ("number of shards", lambda run: (run["shard"]["of"], run["shard"]["questions"])),
    ("question set", lambda run: run["questions_digest"]),
    ("selection", lambda run: _selection(run)),  # noqa: PLW0108 - it stands further down
    ("split", lambda run: run["split"]),
    ("k", lambda run: run["k"]),
    ("configurations", lambda run: (run["config_digest"], run["configurations"], run["experiments"])),
    ("bootstrap", lambda run: run["bootstrap"]),
    ("commit", lambda run: run["git"]["sha"]),
    ("state of the working tree", lambda run: run["git"]["dirty"]),
    ("index", lambda run: run["index"]),
    ("language model", lambda run: (run["llm"] or {}).get("model")),
)
"""What the shards of one run have in common, and where `run.json` says so; the pipeline's own words beside."""

TAKEN = (
    *("git", "config_digest", "index", "questions_digest", "split", "suites", "domains", "configurations"),
    *("experiments", "bootstrap", "llm", "k", "sets", "limit", "left_out", "warm_up", "pipeline", "versions"),
)
"""Keys of `run.json` that the whole run takes from its first shard."""


def merge(records: Sequence[RunRecord], runs_dir: Path) -> RunRecord:
    """Write one record of all shards of a run: rows sorted, chunks joined, summary and report made anew.

    Args:
        records: The shards, in any order.
        runs_dir: The folder of records in which the new one is made.

    Raises:
        UsageError: They are not the shards of one run, or not all of them; the text names each reason.
        RecordError: A record is damaged, or the new one cannot be written.
    """
    shards = _checked(records)
    plan = plan_of(shards[0], _joined(shards))
    finished_at = max(map(_finished_at, shards))
    first = shards[0].run
    writer = RunWriter.create(
        runs_dir,
        started_at=datetime.now(UTC),
        sha=first["git"]["sha"],
        run=_facts(shards),
        questions=plan.questions,
    )
    try:
        writer.update(started_at=min(shard.run["started_at"] for shard in shards))
        table = _copied(shards, writer, plan.k)
        return writer.finish(
            status="done",
            finished_at=finished_at,
            summary=summarise(table, plan, complete=True),
            render=render_record,
            complete=True,
            partial=False,
        )
    except BaseException:
        writer.discard()  # half of a run would be the latest record, and look like one that broke off
        raise


def _copied(shards: Sequence[RunRecord], writer: RunWriter, k: int) -> RowTable:
    """Copy the rows and chunks of every shard.

    Raises:
        RecordError: A shard does not have the rows that it says it has, or the disk refuses.
    """
    table = RowTable(metric_names(k))
    for shard in shards:
        with as_written(shard):
            chunks = [canonical.dumps(chunk) for chunk in shard.chunks()]
            for row in complete_rows(shard):
                writer.add(canonical.dumps(row), chunks, key=row_key(row))
                table.add(row)
                chunks.clear()  # all of them went with the shard's first row
            len(table)  # rows are taken apart in batches: the last ones here, where a damaged one is told by its record
    lost = {f"{shard.run['run_id']}: {words}" for shard in shards for words in shard.missing}
    if lost:
        writer.update(notes=sorted({*writer.run["notes"], *lost}))
    return table


def _finished_at(shard: RunRecord) -> datetime:
    with as_written(shard):
        return datetime.fromisoformat(shard.run["finished_at"])


def _checked(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The shards in their order.

    Raises:
        UsageError: One is not whole, two are one, one is missing, or two were measured under different conditions.
    """
    complaints = []
    for record in records:
        with as_written(record):
            complaints += [text] if (text := _unfit(record)) else []
    if complaints:
        raise UsageError("; ".join(complaints))
    shards = sorted(records, key=lambda record: (record.run["shard"]["index"], record.run["run_id"]))
    if differing := _differences(shards):
        raise UsageError(f"these are not shards of one run: {'; '.join(differing)}; measure all of them alike")
    by_index = itertools.groupby(shards, key=lambda record: int(record.run["shard"]["index"]))
    same = {index: [record.run["run_id"] for record in group] for index, group in by_index}
    overlap = [f"{' and '.join(names)} are both shard {index}" for index, names in same.items() if len(names) > 1]
    if overlap:
        raise UsageError(f"overlap: {'; '.join(overlap)}; give each shard once")
    of, total = (shards[0].run["shard"][key] for key in ("of", "questions"))
    missing = [str(Shard(index, of)) for index in range(1, min(of, total) + 1) if index not in same]
    if missing:
        raise UsageError(
            f"gap: there is no shard {', '.join(missing)}; run it with --rag-shard={missing[0]}, or name its record too"
        )
    return shards


def _unfit(record: RunRecord) -> str | None:
    """Why a record is no shard that can be joined.

    Raises:
        RecordError: It is damaged.
    """
    _selection(record.run)
    name = record.run["run_id"]
    if joined := record.run["merged_from"]:
        return f"{name} is no shard: it is a whole run, merged from {', '.join(map(str, joined))}"
    if record.run["shard"] is None:
        return f"{name} is no shard: it was run without --rag-shard"
    if complaint := whole(record):
        return complaint
    version = metrics_version(record)
    if version != METRICS_VERSION:
        return f"{name} was scored by metric definitions {version}, this version has {METRICS_VERSION}; run it again"
    return None


def _differences(shards: Sequence[RunRecord]) -> list[str]:
    """What the shards do not have in common, with the runs that differ from the first."""
    first, *others = (shard.run for shard in shards)
    said = [(f"the pipeline's {key}", key) for key in _keys_of_pipelines(shards) if key != "index"]
    found = []
    for run in others:
        names = [name for name, value in SAME if value(run) != value(first)]
        names += [name for name, key in said if _pipeline(run).get(key) != _pipeline(first).get(key)]
        if names:
            found.append(f"{run['run_id']} differs from {first['run_id']} in: {', '.join(names)}")
    return found


def _keys_of_pipelines(shards: Sequence[RunRecord]) -> list[str]:
    return sorted({key for shard in shards for key in _pipeline(shard.run)})


def _pipeline(run: dict[str, Any]) -> dict[str, Any]:
    return run["pipeline"] or {}


def _joined(shards: Sequence[RunRecord]) -> list[Question]:
    """All questions, by id.

    Raises:
        UsageError: A question is in two shards, or the parts are not those that `--rag-shard` makes.
    """
    parts = [(Shard(shard.run["shard"]["index"], shard.run["shard"]["of"]), shard.questions()) for shard in shards]
    joined = {question.id: question for _, part in parts for question in part}
    total = sum(len(part) for _, part in parts)
    if total != len(joined):
        twice = plural(total - len(joined), "question is", "questions are")
        raise UsageError(f"overlap: {twice} in more than one of these shards")
    questions = sorted(joined.values(), key=lambda question: question.id)
    planned = shards[0].run["shard"]["questions"]
    if len(questions) != planned or any(shard.part(questions) != part for shard, part in parts):
        raise UsageError(
            f"gap: the shards hold {plural(len(questions), 'question')} of the {planned:,} of the run, or not as "
            "--rag-shard divides them; a questions.jsonl was edited or is torn"
        )
    return questions


def _selection(run: dict[str, Any]) -> dict[str, Any]:
    """What a shard's run was told to select, as the whole run would have been."""
    return {key: value for key, value in (run["selection"] or {}).items() if key != "shard"}


def _facts(shards: Sequence[RunRecord]) -> dict[str, Any]:
    """What `run.json` says of the whole run."""
    runs = [shard.run for shard in shards]
    first = runs[0]
    claims = [run["ledger"] for run in runs if run["ledger"] is not None]
    workers = [run["workers"] for run in runs if run["workers"] is not None]
    return {
        **{key: first[key] for key in TAKEN},
        "selection": _selection(first),
        "merged_from": [run["run_id"] for run in runs],
        "ledger": max(claims, key=lambda claim: int(claim["count"]), default=None),
        "workers": sum(workers) if workers else None,
        "notes": sorted({note for run in runs for note in run["notes"]} | set(_notes(runs))),
    }


def _notes(runs: Sequence[dict[str, Any]]) -> list[str]:
    """What cannot be told of the shards, and where they differ in what need not change a number."""
    notes = []
    if len(runs) > 1 and runs[0]["git"]["sha"] is None:
        notes.append("no commit is known of the shards, so nothing says that they measured one state of the code")
    elif len(runs) > 1 and runs[0]["git"]["dirty"]:
        notes.append("the shards were measured with changes in their working trees, which nobody can compare")
    if len({(run["llm"] or {}).get("digest") for run in runs}) > 1:
        notes.append("the stores of completions that the shards asked do not hold the same answers")
    packages = sorted({name for run in runs for name in run["versions"]})
    for name in packages:
        found = sorted({str(run["versions"].get(name, "none")) for run in runs})
        if len(found) > 1:
            notes.append(f"the shards ran on different versions of {name}: {', '.join(found)}")
    return notes
