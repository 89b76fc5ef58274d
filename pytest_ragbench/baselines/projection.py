"""From a run to its baseline: what of a summary and its rows is worth keeping, and nothing of clock or machine.

The same metrics give the same bytes, whatever order, workers, locale or files the rows came from: rows are sorted by
(question, configuration), keys by name, and every number is rounded once, to 12 decimal places.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.baselines.model import GROUPINGS, SCHEMA_VERSION, Baseline, BaselineRow
from pytest_ragbench.canonical import number
from pytest_ragbench.questions.serial import to_mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ragbench.baselines.model import Means
    from pytest_ragbench.questions.model import Question

_UNMEASURED = ("notes", "provenance", "source_id")
"""Keys of a question that change no score."""


def measured_digest(questions: Iterable[Question]) -> str:
    """sha256 (hex) of what questions ask and accept, sorted by id: not of notes, nor of who wrote or reviewed them."""
    mappings = [to_mapping(question) for question in sorted(questions, key=lambda question: question.id)]
    return canonical.digest([{k: v for k, v in mapping.items() if k not in _UNMEASURED} for mapping in mappings])


def project(
    run: Mapping[str, Any],
    summary: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    questions: Sequence[Question],
    clusters: Mapping[str, str],
    *,
    forced: Sequence[str] = (),
) -> Baseline:
    """The baseline of a run.

    Args:
        run: `run.json`.
        summary: `summary.json`.
        rows: Those of `per_query.jsonl`, in any order; what has no metric is left out.
        questions: The planned questions, in any order.
        clusters: Question id to what it is resampled with.
        forced: What is wrong with the run, where it is captured all the same.
    """
    kept = sorted((_row(row, clusters) for row in rows if _scored(row)), key=row_key)
    selection = ("suites", "domains")
    suites, domains = (tuple(sorted(run[key])) if run.get(key) else None for key in selection)
    return Baseline(
        metrics_version=summary["metrics_version"],
        questions_digest=measured_digest(questions),
        split=run["split"],
        suites=suites,
        domains=domains,
        limit=run["limit"],
        k=run["k"],
        configurations={entry["name"]: dict(entry["overrides"]) for entry in run["configurations"]},
        ledger=dict(run["ledger"] or {"count": 0, "last_hash": None}),
        results=_results(summary["results"], kept),
        forced=tuple(forced),
        rows=tuple(kept),
    )


def row_key(row: BaselineRow) -> tuple[str, str]:
    """The order of rows."""
    return row.question, row.configuration


def _scored(row: Mapping[str, Any]) -> bool:
    return row.get("error") is None and any(value is not None for value in row["metrics"].values())


def _row(row: Mapping[str, Any], clusters: Mapping[str, str]) -> BaselineRow:
    return BaselineRow(
        question=row["question"],
        configuration=row["configuration"],
        suite=row["suite"],
        domain=row["domain"],
        difficulty=row["difficulty"],
        cluster=clusters[row["question"]],
        metrics={metric: number(value) for metric, value in sorted(row["metrics"].items())},
    )


def _results(results: Mapping[str, Mapping[str, Any]], rows: Sequence[BaselineRow]) -> dict[str, dict[str, Any]]:
    """Means and counts of every configuration, of the groups alone that a scored row belongs to."""
    found: dict[str, dict[str, Any]] = {}
    for name, result in results.items():
        own = [row for row in rows if row.configuration == name]
        found[name] = {"overall": _means(result["overall"]), "rows": {"scored": len(own)}}
        for grouping in GROUPINGS:
            groups = {row.group(grouping) for row in own} - {None}
            section = result[f"by_{grouping}"]
            found[name][f"by_{grouping}"] = {group: _means(section[group]) for group in section if group in groups}
    return found


def _means(section: Mapping[str, Any]) -> Means:
    """A section of a summary without intervals and without what is no metric."""
    return {
        metric: {"mean": entry["mean"], "n": entry["n"]}
        for metric, entry in section.items()
        if not metric.startswith("_")
    }


def encode_rows(rows: Iterable[BaselineRow]) -> bytes:
    """`main.rows.jsonl`."""
    lines = (
        canonical.dumps(
            {
                "question": row.question,
                "configuration": row.configuration,
                "suite": row.suite,
                "domain": row.domain,
                "difficulty": row.difficulty,
                "cluster": row.cluster,
                "metrics": dict(row.metrics),
            }
        )
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def rows_digest(data: bytes) -> str:
    """sha256 (hex) of `main.rows.jsonl`, whichever line ends a checkout has given it."""
    return hashlib.sha256(unix_lines(data)).hexdigest()


def unix_lines(data: bytes) -> bytes:
    r"""A text with `\n` alone at the end of its lines, as the files of a baseline are written."""
    return data.replace(b"\r\n", b"\n")


def encode_main(baseline: Baseline, digest: str) -> bytes:
    """`main.json`, with the digest of the rows that belong to it."""
    value: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "metrics_version": baseline.metrics_version,
        "questions_digest": baseline.questions_digest,
        "split": baseline.split,
        "suites": _list(baseline.suites),
        "domains": _list(baseline.domains),
        "limit": baseline.limit,
        "k": baseline.k,
        "configurations": {name: dict(overrides) for name, overrides in baseline.configurations.items()},
        "ledger": dict(baseline.ledger),
        "rows_digest": digest,
        "results": {name: dict(result) for name, result in baseline.results.items()},
    }
    if baseline.forced:
        value["forced"] = list(baseline.forced)
    return canonical.dumps_pretty(value).encode("utf-8", "backslashreplace")


def _list(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)
