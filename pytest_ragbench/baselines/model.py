"""A baseline as values: no files, no JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1

GROUPINGS = ("suite", "domain", "difficulty")
"""By what a baseline has means beside those of all questions; the section of each is called `by_…`."""

Means = dict[str, dict[str, Any]]
"""Metric to `{mean, n}`."""


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A scored row of the baseline.

    Attributes:
        question: Id.
        configuration: Name.
        suite: Of the question.
        domain: Of the question, or None.
        difficulty: Of the question, or None.
        cluster: What the question is resampled with.
        metrics: Metric to value, 12 decimals; None where the question has none.
    """

    question: str
    configuration: str
    suite: str
    domain: str | None
    difficulty: str | None
    cluster: str
    metrics: Mapping[str, float | None]

    def group(self, grouping: str) -> str | None:
        """Its suite, domain or difficulty."""
        found: str | None = getattr(self, grouping)
        return found


@dataclass(frozen=True, slots=True)
class Baseline:
    """What `main.json` and `main.rows.jsonl` hold.

    Attributes:
        metrics_version: Of the definitions that scored it.
        questions_digest: Of the questions that were measured, without notes and provenance.
        split: Which split was measured.
        suites: The suites asked for; None for all.
        domains: The domains asked for; None for all.
        limit: How many questions were asked for; None for all.
        k: Depth of the rankings.
        configurations: Name to overrides.
        ledger: `{count, last_hash}` of the test split's ledger when it was captured.
        results: Configuration to `{overall, by_suite, by_domain, by_difficulty, rows}`.
        forced: What was wrong with the run when it was captured with `--rag-force`, in words; else empty.
        rows: The scored rows by question and configuration.
    """

    metrics_version: int
    questions_digest: str
    split: str | None
    suites: tuple[str, ...] | None
    domains: tuple[str, ...] | None
    limit: int | None
    k: int
    configurations: Mapping[str, Mapping[str, Any]]
    ledger: Mapping[str, Any]
    results: Mapping[str, Mapping[str, Any]]
    forced: tuple[str, ...]
    rows: tuple[BaselineRow, ...]
