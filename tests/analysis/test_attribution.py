"""Claims about what factors carry. Rows are scripted; the second implementation works from them, question by question."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations, permutations

import numpy as np
import pytest

from pytest_ragbench.analysis.attribution import find_factorial
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.canonical import dumps
from pytest_ragbench.configurations.designs import factorial_arms
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.questions.model import GoldSource, Locator, Question

METRICS = ("ndcg@10", "recall@10")
SEED, RESAMPLES = 5, 200


def arms_of(factors, *, base=(), searches=lambda _: True, **overrides):
    """The arms that the bench generates, with an override for each factor."""
    return tuple(
        Configuration(
            arm.name, arm.name, {f: f in arm.factors for f in factors} | overrides, (*base, *arm.factors), arm.pairs,
            searches(arm.factors),
        )
        for arm in factorial_arms(factors)
    )  # fmt: skip


def experiment(arms, name="factorial"):
    return Experiment(name, tuple(arm.name for arm in arms))


def questions_of(count, files):
    return tuple(
        Question(f"q-{at:04d}", "?", "s", "T1", gold=(GoldSource(Locator(f"{at % files}.md")),)) for at in range(count)
    )


def row(question, arm, values, error=None):
    metrics = dict(zip(METRICS, values, strict=True))
    return {"question": question.id, "configuration": arm.name, "metrics": metrics, "ranking": [], "error": error}


def summary_of(rows, questions, arms, experiments=None, **settings):
    table = RowTable(METRICS)
    for one in rows:
        table.add(one)
    found = (experiment(arms),) if experiments is None else experiments
    plan = Plan(questions, arms, found, **{"seed": SEED, "resamples": RESAMPLES, **settings})
    return summarise(table, plan, complete=True)


def scripted(questions, arms, seed=1):
    luck = random.Random(seed)
    return [
        row(question, arm, [luck.random() * (0.3 + 0.2 * len(arm.factors)), float(luck.random() < 0.6)])
        for question in questions
        for arm in arms
    ]


# --- a second implementation --------------------------------------------------------------------------------------------


def resampled_worths(rows, questions, arms, metric):
    """For the questions as they are, then for each resample: frozenset of factors -> mean score, from the rows."""
    score = {(r["question"], r["configuration"]): r["metrics"][metric] for r in rows}
    files = defaultdict(list)
    for question in questions:
        files[question.gold[0].locator.file].append(question.id)
    clusters = [files[file] for file in sorted(files)]
    generator = np.random.default_rng(SEED)
    samples = [[question.id for question in questions]]
    draws = generator.integers(0, len(clusters), (RESAMPLES, len(clusters)))
    samples += [[question for number in drawn for question in clusters[number]] for drawn in draws]
    return [
        {frozenset(arm.factors): sum(score[q, arm.name] for q in sample) / len(sample) for arm in arms}
        for sample in samples
    ]


def share(worth, factor, factors):
    orders = list(permutations(factors))
    added = [
        worth[frozenset(order[: order.index(factor) + 1])] - worth[frozenset(order[: order.index(factor)])]
        for order in orders
    ]
    return sum(added) / len(orders)


def interaction(worth, one, two):
    v = lambda *names: worth[frozenset(names)]  # noqa: E731
    return v(one, two) - v(one) - v(two) + v()


def agrees(entry, values):
    assert entry["value"] == pytest.approx(values[0], abs=1e-11)
    assert (entry["low"], entry["high"]) == pytest.approx(tuple(np.quantile(values[1:], [0.025, 0.975])), abs=1e-11)
    assert entry["mde"] == pytest.approx(2.80 * np.std(values[1:], ddof=1), abs=1e-11)


def test_intervals_equal_those_of_resampling_the_questions_and_working_all_out_again_from_the_rows():
    factors = ("s", "d", "r")
    questions, arms = questions_of(23, files=9), arms_of(factors)
    rows = scripted(questions, arms)
    found = summary_of(rows, questions, arms)["attribution"]
    assert list(found["shapley"]) == list(METRICS)
    for metric in METRICS:
        worths = resampled_worths(rows, questions, arms, metric)
        everything = frozenset(factors)
        agrees(found["factorial"]["total"][metric], [w[everything] - w[frozenset()] for w in worths])
        for factor in factors:
            agrees(found["shapley"][metric][factor], [share(w, factor, factors) for w in worths])
            others = everything - {factor}
            agrees(found["leave_one_out"][metric][factor], [w[everything] - w[others] for w in worths])
            effects = [
                sum(w[subset | {factor}] - w[subset] for subset in w if factor not in subset) / 4 for w in worths
            ]
            agrees(found["main_effects"][metric][factor], effects)
        for one, two in combinations(factors, 2):
            agrees(found["interactions"][metric][one][two], [interaction(w, one, two) for w in worths])


def test_shares_sum_to_what_all_factors_bring():
    factors = ("a", "b", "c", "d")
    questions, arms = questions_of(30, files=12), arms_of(factors)
    found = summary_of(scripted(questions, arms), questions, arms)["attribution"]
    for metric in METRICS:
        total = sum(entry["value"] for entry in found["shapley"][metric].values())
        assert total == pytest.approx(found["factorial"]["total"][metric]["value"], abs=1e-11)


def test_sta_11_eight_scores_as_a_factorial():
    worth = {"": 0, "s": 0.5, "d": 0.4, "r": 0, "sd": 0.62, "sr": 0.6, "dr": 0.55, "sdr": 0.75}
    questions, arms = questions_of(8, files=8), arms_of(("s", "d", "r"))
    rows = [row(q, arm, [worth["".join(arm.factors)], 1.0]) for q in questions for arm in arms]
    found = summary_of(rows, questions, arms)["attribution"]
    shares = {factor: entry["value"] for factor, entry in found["shapley"]["ndcg@10"].items()}
    assert shares == pytest.approx({"s": 0.37, "d": 0.295, "r": 0.085}, abs=1e-12)
    # Every question says the same, so the interval has no width and the verdict claims nothing of other questions.
    assert {entry["verdict"] for entry in found["shapley"]["ndcg@10"].values()} == {"indeterminate"}
    assert {entry["verdict"] for entry in found["shapley"]["recall@10"].values()} == {"no difference"}


def test_sta_11_where_a_subset_is_missing_nothing_is_attributed():
    questions, arms = questions_of(8, files=8), arms_of(("s", "d", "r"))
    left = tuple(arm for arm in arms if arm.factors != ("s", "r"))
    assert set(summary_of(scripted(questions, left), questions, left)["attribution"]) == {"families"}


def test_an_arm_without_a_lane_enters_with_its_zeros_and_is_named():
    questions = questions_of(12, files=12)
    arms = arms_of(("lane", "rerank"), searches=lambda factors: "lane" in factors)
    worth = {(): 0.0, ("lane",): 0.5, ("rerank",): 0.0, ("lane", "rerank"): 0.75}
    rows = [row(q, arm, [worth[arm.factors], 0.0]) for q in questions for arm in arms]
    found = summary_of(rows, questions, arms)["attribution"]
    assert found["factorial"]["without_lane"] == ["F:none", "F:rerank"]
    # rerank: the mean of 0 (first on) and 0.25 (last on); what it adds to the lane alone is the interaction.
    values = {factor: entry["value"] for factor, entry in found["shapley"]["ndcg@10"].items()}
    assert values == {"lane": 0.625, "rerank": 0.125}
    assert found["interactions"]["ndcg@10"]["lane"]["rerank"]["value"] == 0.25


def test_only_questions_that_every_arm_scored_count():
    questions, arms = questions_of(20, files=20), arms_of(("a", "b"))
    rows = scripted(questions, arms)
    broken = [row(questions[0], arms[1], [None, None], error="OSError: x")]
    found = summary_of([*rows, *broken], questions, arms)["attribution"]
    fewer = summary_of(rows, questions[1:], arms)["attribution"]
    assert found["shapley"]["ndcg@10"]["a"]["n"] == 19
    assert dumps(found["shapley"]) == dumps(fewer["shapley"])


def test_without_a_question_that_all_arms_scored_the_factorial_is_named_and_nothing_attributed():
    questions, arms = questions_of(6, files=6), arms_of(("a", "b"))
    rows = [r for r in scripted(questions, arms) if r["configuration"] != "F:a"]
    found = summary_of(rows, questions, arms)["attribution"]
    assert set(found) == {"families", "factorial"}
    assert (found["factorial"]["experiment"], found["factorial"]["total"]) == ("factorial", {})


def test_the_order_of_the_rows_changes_no_byte():
    questions, arms = questions_of(25, files=8), arms_of(("a", "b", "c"))
    rows = scripted(questions, arms)
    shuffled = random.Random(3).sample(rows, len(rows))
    one, two = (summary_of(given, questions, arms)["attribution"] for given in (rows, shuffled))
    assert dumps(one) == dumps(two)


def test_sta_14_p_is_adjusted_for_all_the_factors_and_apart_for_all_the_pairs():
    questions, arms = questions_of(40, files=40), arms_of(("a", "b", "c"))
    luck = random.Random(2)
    rows = [
        row(q, arm, [min(1.0, 0.3 * ("a" in arm.factors) + 0.5 * luck.random()), 0.0])
        for q in questions
        for arm in arms
    ]
    found = summary_of(rows, questions, arms, resamples=2_000)["attribution"]
    shares = found["shapley"]["ndcg@10"]
    assert (shares["a"]["verdict"], shares["a"]["differing"]) == ("real", 40)
    assert shares["a"]["p_holm"] == pytest.approx(3 * shares["a"]["p_sign_flip"])
    assert shares["b"]["p_holm"] >= shares["b"]["p_sign_flip"]
    assert shares["b"]["mde"] > 0


# --- which experiments are factorials -----------------------------------------------------------------------------------


def factorial_of(*arms, experiments=None):
    return find_factorial(Plan((), arms, experiments or (experiment(arms),)))


def test_factors_that_are_on_in_every_arm_are_its_base():
    found = factorial_of(*arms_of(("b", "c"), base=("a",)))
    assert (found.factors, found.base) == (("b", "c"), ("a",))
    assert found.arms == ("F:none", "F:b", "F:c", "F:b+c")


def test_an_arm_with_an_override_of_its_own_makes_it_no_factorial():
    arms = arms_of(("a", "b"), depth=10)
    odd = Configuration("F:a+b", "m", {**arms[-1].overrides, "depth": 20}, ("a", "b"))
    assert factorial_of(*arms)
    assert factorial_of(*arms[:-1], odd) is None


def test_two_arms_of_the_same_factors_make_it_no_factorial():
    arms = arms_of(("a", "b"))
    assert factorial_of(*arms, Configuration("again", "again", arms[0].overrides)) is None


def test_a_pair_of_arms_is_no_factorial():
    assert factorial_of(*arms_of(("a",))) is None


def test_factors_that_set_one_key_alike_are_no_override_of_an_arm():
    def arm(name, on):
        return Configuration(name, name, {"mode": "fast" if on else "slow"}, on)

    assert factorial_of(arm("0", ()), arm("a", ("a",)), arm("b", ("b",)), arm("ab", ("a", "b")))


def test_of_several_factorials_the_one_with_most_factors_is_taken():
    small, large = arms_of(("a", "b")), arms_of(("a", "b", "c"))
    renamed = tuple(Configuration(f"2{arm.name}", f"2{arm.name}", arm.overrides, arm.factors) for arm in small)
    experiments = (experiment(renamed, "small"), experiment(large, "large"))
    assert factorial_of(*renamed, *large, experiments=experiments).experiment == "large"
    again = (experiment(renamed, "first"), experiment(renamed, "second"))
    assert factorial_of(*renamed, experiments=again).experiment == "first"


def test_an_experiment_of_which_arms_did_not_run_is_none():
    arms = arms_of(("a", "b"))
    assert find_factorial(Plan((), arms[:3], (experiment(arms),))) is None
