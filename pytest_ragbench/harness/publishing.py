"""How a verdict leaves the session: as the comment's file, in the step summary of a CI run, in the JUnit file."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.records.files import check_target, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pytest

    from pytest_ragbench.gates.model import Verdict
    from pytest_ragbench.harness.settings import Settings
    from pytest_ragbench.records.record import RunRecord

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable that names the file whose Markdown a CI host shows beside a job."""

SUMMARY_BYTES = 1_000_000
"""A step summary may be sixteen times as long as a comment."""


def check_files(config: pytest.Config, settings: Settings) -> None:
    """Refuse a report or a comment that could not be written, and a comment on a verdict that nobody asked for.

    As a setting, `--rag-comment` waits for a gate; typed, it asks for one.

    Raises:
        UsageError: There is no gate, or a file that cannot be made.
    """
    if settings.comment is not None:
        typed = any(str(arg).startswith("--rag-comment") for arg in config.invocation_params.args)
        if typed and settings.gate is None:
            raise UsageError("--rag-comment writes what the gate says; type --rag-gate or --rag-gate=floors with it")
        check_target(settings.comment, "--rag-comment")
    if settings.report is not None:
        from pytest_ragbench.reports.saving import check_report_file

        check_report_file(settings.report, "--rag-report")


def publish(config: pytest.Config, settings: Settings, record: RunRecord, verdict: Verdict) -> None:
    """Write the comment, append to the step summary and add to the JUnit file, each where it is asked for.

    Raises:
        RecordError: A file cannot be written; the message says which option named it.
    """
    if settings.comment is not None:
        _write(settings.comment, comment_of(record, verdict, settings.comment.stem))
    if summary := os.environ.get(STEP_SUMMARY):
        _append(Path(summary), comment_of(record, verdict, limit=SUMMARY_BYTES))
    _describe_suite(config, record, verdict)


def comment_of(record: RunRecord, verdict: Verdict, key: str = "gate", limit: int | None = None) -> str:
    """The comment on a finished run.

    Raises:
        RecordError: The record is damaged.
    """
    from pytest_ragbench.reports.comment import LIMIT, render_comment

    changed = {flip.question for flip in verdict.flips}
    texts = {question.id: question.text for question in record.questions() if question.id in changed}
    sha = record.run["git"]["sha"]
    told = {"run": record.run["run_id"], **({"commit": sha[:12]} if sha else {})}
    return render_comment(verdict, texts=texts, run=told, key=key, limit=limit or LIMIT)


def properties(row: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """What a JUnit test case tells of a row: its cell and every metric that has a value."""
    yield "ragbench.question", row["question"]
    yield "ragbench.configuration", row["configuration"]
    for metric, value in (row["metrics"] or {}).items():
        if value is not None:
            yield f"ragbench.{metric}", value


def _describe_suite(config: pytest.Config, record: RunRecord, verdict: Verdict) -> None:
    """Add what the run and its gated numbers are to the file of `--junit-xml`."""
    from _pytest.junitxml import xml_key  # pytest offers a suite's properties as a fixture alone

    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    xml.add_global_property("ragbench.run", record.run["run_id"])
    xml.add_global_property("ragbench.gate", verdict.status)
    for line in verdict.lines:
        if line.gated and line.current is not None:
            place = "" if line.scope == "overall" else f".{line.scope}"
            xml.add_global_property(f"ragbench.{line.configuration}{place}.{line.metric}", f"{line.current:.6f}")


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # what is wrong with the folder is said when the file is written
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_atomic(path, [text.encode("utf-8", "backslashreplace")])
    except RecordError as error:
        raise RecordError(f"--rag-comment: {error}") from error


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise RecordError(f"{STEP_SUMMARY}: {path} cannot be written: {error.strerror or error}") from error
