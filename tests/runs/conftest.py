"""Records of small runs, measured, summarised and written through the real code."""

from datetime import UTC, datetime

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.contract import SearchResult
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import chunk_line
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.reports.commands import render_record

NOON = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)


def one_question(number, *, text=None, files=None, suite="lexical", **keys):
    """Its gold is `g<number>.md` unless files are given."""
    gold = tuple(GoldSource(Locator(file)) for file in ([f"g{number}.md"] if files is None else files))
    return Question(
        f"lex-{number:04d}", text or f"question {number}", suite, "T1", keys.pop("split", "dev"), gold=gold, **keys
    )


class Answers:
    """A list of files for each question, or an exception to raise."""

    def __init__(self, questions, lists):
        self._ids = {question.text: question.id for question in questions}
        self._lists = lists

    def search(self, query, name):
        answer = self._lists[name].get(self._ids[query], [])
        if isinstance(answer, Exception):
            raise answer
        return SearchResult(
            [chunk if isinstance(chunk, dict) else {"file": chunk} for chunk in answer], {"search": 5.0}
        )


@pytest.fixture
def run_of(tmp_path):
    """`run_of(questions, {configuration: {question id: files}}, **run keys)`: a finished record."""

    def make(questions, lists, *, k=10, arms=None, **run):
        arms = arms or [Configuration(name, name.replace(":", "."), {"name": name}) for name in lists]
        pipeline, table = Answers(questions, lists), RowTable(metric_names(k))
        ended = {key: run.pop(key, default) for key, default in (("complete", True), ("partial", False))}
        facts = {
            "configurations": [
                {"name": arm.name, "marker": arm.marker, "overrides": dict(arm.overrides), "pairs": list(arm.pairs)}
                for arm in arms
            ],
            "git": {"sha": "a" * 40, "dirty": False},
            "split": "dev",
            "k": k,
            "questions_digest": "d" * 64,
            "config_digest": "c" * 64,
            "ledger": {"count": 0, "last_hash": None},
            "bootstrap": {"seed": 20260901, "resamples": 10_000, "confidence": 0.95, "cluster": "file"},
            **run,
        }
        writer = RunWriter.create(tmp_path / "runs", started_at=NOON, sha="a" * 40, run=facts, questions=questions)
        for question in questions:
            for arm in arms:
                measured = measure(pipeline, question, arm, k=k)
                table.add(measured.row)
                writer.add(canonical.dumps(measured.row), map(chunk_line, measured.chunks))
        summary = summarise(table, Plan(tuple(questions), tuple(arms), k=k), complete=True)
        return writer.finish(status="done", finished_at=NOON, summary=summary, render=render_record, **ended)

    return make


@pytest.fixture
def question_of():
    """`question_of(number, ...)`."""
    return one_question
