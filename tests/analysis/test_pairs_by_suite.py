"""Comparisons within a suite: those of a run over that suite alone, adjusted for the suites of a comparison."""

from __future__ import annotations

import random

import pytest
from statsmodels.stats.multitest import multipletests

from pytest_ragbench.analysis.pairs import FEW_COMPARISONS
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.execution.cell import error_row, measure
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question

SUITES = ("code", "lexical", "paraphrase")
LOW, HIGH = Configuration("low", "low"), Configuration("high", "high", pairs=("low",))


def question(number, suite):
    return Question(f"q-{number:04d}", "?", suite, "T1", gold=(GoldSource(Locator(f"{number}.md")),))


def hit(asked, arm):
    return measure(lambda _: [asked.gold[0].locator.file], asked, arm, k=10).row


def miss(asked, arm):
    return measure(lambda _: ["elsewhere.md"], asked, arm, k=10).row


def results_of(rows, questions, *arms, experiments=(), resamples=500):
    table = RowTable(metric_names(10))
    for row in rows:
        table.add(row)
    plan = Plan(tuple(questions), arms, tuple(experiments), resamples=resamples)
    return summarise(table, plan, complete=True)["results"]


def ladder(*arms):
    return (Experiment("ladder", tuple(arm.name for arm in arms)),)


@pytest.fixture(scope="module")
def questions():
    """Forty of each suite; every question has a file of its own, and so is a cluster."""
    return [question(40 * at + n, suite) for at, suite in enumerate(SUITES) for n in range(1, 41)]


@pytest.fixture(scope="module")
def rows(questions):
    """Of code the high arm finds much more, of lexical as much, of paraphrase a little more."""
    luck = random.Random(7)
    chance = {"low": {"code": 0.2, "lexical": 0.8, "paraphrase": 0.5}, "high": {"code": 0.9, "paraphrase": 0.65}}
    rows = []
    for asked in questions:
        found = luck.random() < chance["low"][asked.suite]
        rows.append((hit if found else miss)(asked, LOW))
        rows.append((hit if luck.random() < chance["high"].get(asked.suite, found) else miss)(asked, HIGH))
    return rows


@pytest.fixture(scope="module")
def told(rows, questions):
    found = results_of(rows, questions, LOW, HIGH, experiments=ladder(LOW, HIGH), resamples=2_000)
    assert "paired_by_suite" not in found["low"]
    return found["high"]["paired_by_suite"]["low"]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_is_compared_as_in_a_run_of_that_suite_alone(told, rows, questions, suite):
    inside = [asked for asked in questions if asked.suite == suite]
    names = {asked.id for asked in inside}
    kept = [one for one in rows if one["question"] in names]
    alone = results_of(kept, inside, LOW, HIGH, experiments=ladder(LOW, HIGH), resamples=2_000)["high"]
    assert "paired_by_suite" not in alone  # one suite tells nothing apart
    own = {"p_holm", "comparisons", "diag"}
    expected = {key: value for key, value in alone["paired"]["low"]["ndcg@10"].items() if key not in own}
    assert {key: value for key, value in told[suite].items() if key not in own} == expected


def test_the_suites_of_a_comparison_are_a_family(told):
    expected = multipletests([told[suite]["p_sign_flip"] for suite in SUITES], method="holm")[1]
    assert [told[suite]["p_holm"] for suite in SUITES] == pytest.approx(expected.tolist(), abs=1e-11)
    assert {entry["comparisons"] for entry in told.values()} == {3}
    assert told["code"]["verdict"] == "real"
    assert told["lexical"]["verdict"] == "no difference"


def test_a_suite_with_few_questions_is_a_diagnostic_and_one_that_both_scored_nowhere_is_left_out():
    few = [question(n, "lexical") for n in range(1, 31)] + [question(n, "code") for n in range(31, 60)]
    lost = [question(60, "books")]
    rows = [hit(asked, arm) for asked in few for arm in (LOW, HIGH)]
    rows += [hit(lost[0], LOW), error_row(lost[0], HIGH, "ValueError: boom", k=10)]
    found = results_of(rows, few + lost, LOW, HIGH, experiments=ladder(LOW, HIGH))["high"]
    suites = found["paired_by_suite"]["low"]
    assert {suite: (entry["n"], entry["diag"]) for suite, entry in suites.items()} == {
        "code": (29, True),
        "lexical": (30, False),
    }


@pytest.mark.parametrize(("arms", "shown"), [(FEW_COMPARISONS, FEW_COMPARISONS), (FEW_COMPARISONS + 1, 0)])
@pytest.mark.parametrize("inside", [True, False], ids=["experiment", "alone"])
def test_only_few_comparisons_of_an_experiment_are_told_by_suite(arms, shown, inside):
    asked = [question(1, "lexical"), question(2, "code")]
    others = [Configuration(f"arm{n}", f"arm{n}", pairs=("low",)) for n in range(arms)]
    rows = [hit(one, arm) for one in asked for arm in (LOW, *others)]
    experiments = ladder(LOW, *others) if inside else ()
    found = results_of(rows, asked, LOW, *others, experiments=experiments, resamples=10)
    assert sum("paired_by_suite" in one for one in found.values()) == shown


def test_beside_a_suite_without_gold_one_suite_tells_nothing_apart():
    asked = [question(1, "lexical"), Question("q-0002", "?", "unanswerable", "T1", answerable=False)]
    rows = [hit(asked[0], arm) for arm in (LOW, HIGH)] + [
        measure(lambda _: ["x.md"], asked[1], arm, k=10).row for arm in (LOW, HIGH)
    ]
    assert "paired_by_suite" not in results_of(rows, asked, LOW, HIGH, experiments=ladder(LOW, HIGH))["high"]
