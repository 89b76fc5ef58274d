"""Claims about two hundred comparisons of retrievers that know nothing: how many come out real."""

from __future__ import annotations

import random
from itertools import pairwise
from math import comb

import pytest

from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.contract import Chunk
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question

FILES = [f"{number:02d}.md" for number in range(30)]
LADDERS, STEPS, QUESTIONS = 40, 5, 45
METRICS = ("hit@1", "hit@10", "recall@10", "mrr@10", "ndcg@10")


def asked(number):
    """Three questions share their first gold file; every third has a second source."""
    files = [FILES[number // 3 % 15], *([FILES[15 + number % 15]] if number % 3 == 0 else [])]
    return Question(f"q-{number:04d}", f"{number}", "s", "T1", gold=tuple(GoldSource(Locator(file)) for file in files))


@pytest.fixture(scope="module")
def ladders():
    """Forty ladders of five steps, every arm an order of its own that knows nothing of the question."""
    questions = tuple(asked(number) for number in range(QUESTIONS))
    names = [[f"l{ladder}-{arm}" for arm in range(STEPS + 1)] for ladder in range(LADDERS)]
    arms = [
        Configuration(name, name, pairs=tuple(ladder[at - 1 : at]))
        for ladder in names
        for at, name in enumerate(ladder)
    ]
    rows = RowTable(metric_names())
    for arm in arms:
        generator = random.Random(arm.name)
        for question in questions:
            found = [Chunk(file) for file in generator.sample(FILES, 10)]
            rows.add(measure(lambda _, found=found: found, question, arm, k=10).row)
    experiments = tuple(Experiment(f"ladder{at}", tuple(ladder)) for at, ladder in enumerate(names))
    results = summarise(rows, Plan(questions, tuple(arms), experiments, resamples=2000), complete=True)["results"]
    return [[results[new]["paired"][old] for old, new in pairwise(one)] for one in names]


def bound(trials, rate=0.05, risk=0.001):
    """The count that so many independent trials exceed with at most that risk."""
    below, count = (1 - rate) ** trials, 0
    while 1 - below > risk:
        count += 1
        below += comb(trials, count) * rate**count * (1 - rate) ** (trials - count)
    return count


@pytest.mark.parametrize("metric", METRICS)
def test_alike_retrievers_are_real_no_oftener_than_the_nominal_rate_allows(ladders, metric):
    """Of the first, third and fifth steps, which share no arm, so that they are independent."""
    verdicts = [step[metric]["verdict"] for steps in ladders for step in steps[::2]]
    assert len(verdicts) == 120
    assert bound(120) == 14  # six are expected
    assert verdicts.count("real") <= 14


@pytest.mark.parametrize("metric", METRICS)
def test_ladders_of_alike_retrievers_hold_an_adjusted_finding_no_oftener_either(ladders, metric):
    found = [
        any(step[metric]["verdict"] == "real" and step[metric]["p_holm"] <= 0.05 for step in one) for one in ladders
    ]
    assert bound(40) == 7  # two are expected
    assert sum(found) <= 7


def test_alike_retrievers_are_called_real_now_and_then(ladders):
    """A count of none in a thousand would say that nothing can be found, not that nothing is there."""
    verdicts = [step[metric]["verdict"] for metric in METRICS for steps in ladders for step in steps]
    assert 0 < verdicts.count("real") < 0.07 * len(verdicts)
