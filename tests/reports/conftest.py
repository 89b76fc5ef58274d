"""A scripted run, measured, summarised and recorded through the real code, for reports to show."""

import random
from datetime import UTC, datetime
from functools import partial

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import chunk_line
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.reports.commands import render_record

NOON = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)
ARMS = (
    Configuration("R0-bm25", "R0-bm25", {"share": 0.3}, ("sparse",)),
    Configuration("R2-hybrid", "R2-hybrid", {"share": 0.95}, ("sparse", "dense"), ("R0-bm25",)),
    Configuration("R5-rerank", "R5-rerank", {"share": 0.95}, ("sparse", "dense", "rerank"), ("R2-hybrid",)),
)


def make_questions(texts=()):
    """Forty questions over ten files: two hops in the suite multihop, no gold in unanswerable."""
    questions = []
    for number in range(40):
        suite = ("lexical", "code", "multihop", "unanswerable")[number % 4]
        files = {"unanswerable": 0, "multihop": 2}.get(suite, 1)
        gold = tuple(
            GoldSource(Locator(f"f{(number + hop) % 10}.pdf", pages=(1, 3)), hop=hop + 1 if files > 1 else None)
            for hop in range(files)
        )
        text = texts[number] if number < len(texts) else f"question {number}?"
        tier = ("T1", "T2", "T3", "T4")[number % 3]
        questions.append(Question(f"lex-{number:04d}", text, suite, tier, "dev", answerable=bool(gold), gold=gold))
    return questions


class Scripted:
    """Finds a question's files with a given share of luck; fails where it is told to."""

    def __init__(self, questions, fails=()):
        self._questions = {question.text: question for question in questions}
        self._fails = dict(fails)

    def search(self, query, share):
        question = self._questions[query]
        if (question.id, share) in self._fails:
            raise ValueError(self._fails[question.id, share])
        luck = random.Random(f"{question.id} {share}")
        found = [source.locator.file for source in question.gold if luck.random() < share]
        chunks = [{"file": file, "pages": [2, 4], "score": 1.0, "text": f"passage of {file}"} for file in found]
        return {"chunks": [*chunks, {"file": "other.md"}], "timings": {"search": 10.0 + 30.0 * share, "sparse": 2.0}}


@pytest.fixture(scope="session")
def recorded_in():
    """Makes a record in a folder: `recorded_in(folder, questions=..., arms=..., pipeline=..., **run keys)`."""

    def make(
        folder, *, questions=None, arms=ARMS, fails=(), pipeline=None, finish=True, status="done", reason=None, **run
    ):
        questions = questions or make_questions()
        pipeline, table = pipeline or Scripted(questions, fails), RowTable(metric_names(10))
        facts = {
            "configurations": [
                {"name": c.name, "marker": c.marker, "overrides": c.overrides, "pairs": c.pairs, "factors": c.factors}
                for c in arms
            ],
            "experiments": [{"name": "ladder", "arms": [arm.name for arm in arms]}],
            "git": {"sha": "a" * 40, "dirty": True},
            "split": "dev",
            "questions_digest": "d" * 64,
            "ledger": {"count": 2, "last_hash": "e" * 64},
            "bootstrap": {"seed": 20260901, "resamples": 10_000, "confidence": 0.95, "cluster": "file"},
            **run,
        }
        writer = RunWriter.create(folder / "runs", started_at=NOON, sha="a" * 40, run=facts, questions=questions)
        for question in questions:
            for arm in arms:
                measured = measure(pipeline, question, arm, k=10)
                table.add(measured.row)
                writer.add(canonical.dumps(measured.row), map(chunk_line, measured.chunks))
        if not finish:
            return writer
        plan = Plan(tuple(questions), tuple(arms), (Experiment("ladder", tuple(arm.name for arm in arms)),))
        return writer.finish(
            status=status,
            reason=reason,
            finished_at=NOON,
            summary=summarise(table, plan, complete=True),
            render=render_record,
            complete=True,
            partial=False,
        )

    return make


@pytest.fixture
def recorded(recorded_in, tmp_path):
    """Makes a record of the test's own: `recorded(questions=..., arms=..., fails=..., **run keys)`."""
    return partial(recorded_in, tmp_path)


@pytest.fixture
def scripted_questions():
    """The questions of a scripted run."""
    return make_questions()


@pytest.fixture
def scripted_arms():
    """Its configurations."""
    return ARMS
