"""Runs of a few questions as values, with means worked out here."""

import random

import pytest

from pytest_ragbench.baselines.projection import project
from pytest_ragbench.questions.model import GoldSource, Locator, Question

METRICS = ("hit@10", "recall@10")


def question_of(number, **keys):
    gold = (GoldSource(Locator(f"g{number}.md")),)
    suite = "lexical" if number % 2 else "books"
    values = {"domain": "networking" if number % 3 else None, "difficulty": "hard", "gold": gold, **keys}
    return Question(f"lex-{number:04d}", f"question {number}", suite, "T1", "dev", **values)


def row_of(question, values, configuration="one", error=None):
    metrics = dict.fromkeys(METRICS) if values is None else dict(zip(METRICS, values, strict=True))
    return {
        "question": question.id,
        "configuration": configuration,
        "suite": question.suite,
        "domain": question.domain,
        "difficulty": question.difficulty,
        "metrics": metrics,
        "error": error,
    }


def means_of(rows):
    found = {}
    for column, metric in enumerate(METRICS):
        values = [list(row["metrics"].values())[column] for row in rows]
        values = [value for value in values if value is not None]
        mean = round(sum(values) / len(values), 12) if values else None
        found[metric] = {"mean": mean, "n": len(values), "low": 0.0, "high": 1.0}
    return found


def summary_of(rows):
    results = {}
    for name in sorted({row["configuration"] for row in rows}):
        own = [row for row in rows if row["configuration"] == name]
        sections = {"overall": means_of(own), "rows": {"scored": 0, "errored": 0, "not_run": 0}}
        for grouping in ("suite", "domain", "difficulty"):
            groups = {row[grouping] for row in own} - {None}
            sections[f"by_{grouping}"] = {
                group: means_of([row for row in own if row[grouping] == group]) | {"_set": {"n": 1}} for group in groups
            }
        results[name] = sections
    return {"metrics_version": 1, "results": results}


def run_of(names):
    return {
        "split": "dev",
        "suites": None,
        "domains": None,
        "limit": None,
        "k": 10,
        "configurations": [{"name": name, "overrides": {"b": 1, "a": None}} for name in names],
        "ledger": {"count": 0, "last_hash": "0" * 64},
    }


@pytest.fixture
def capture():
    """`capture(values by question number, configurations, shuffled by a seed)`: a baseline."""

    def make(values, names=("one",), *, shuffled=None, forced=(), **keys):
        questions = [question_of(number, **keys) for number in sorted(values)]
        rows = [row_of(question, values[int(question.id[4:])], name) for question in questions for name in names]
        if shuffled is not None:
            order = random.Random(shuffled)
            order.shuffle(rows)
            order.shuffle(questions)
            rows = [dict(sorted(row.items(), key=lambda _: order.random())) for row in rows]
        clusters = {question.id: f"g{int(question.id[4:])}.md" for question in questions}
        return project(run_of(names), summary_of(rows), rows, questions, clusters, forced=forced)

    return make


@pytest.fixture
def question():
    return question_of
