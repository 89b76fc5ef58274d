"""Which questions stand in which number: a run full of gaps, summarised again row by row in plain Python.

Rows fail, are missing, or have null for some metrics, and not for the same questions in both arms. Nothing is shared
with the product but the names of the sections.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ragbench.analysis.summary import Plan, summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.canonical import digest
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.questions.model import GoldSource, Locator, Question

METRICS = ("hit@1", "recall@10", "faithfulness")
ARMS = (
    Configuration("r0", "r0"),
    Configuration("r1", "r1", pairs=("r0",)),
    Configuration("r2", "r2", pairs=("r1", "r0")),
)
STEPS = (("r1", "r0"), ("r2", "r1"), ("r2", "r0"))
GROUPS = {
    "by_suite": "suite",
    "by_tier": "tier",
    "by_domain": "domain",
    "by_difficulty": "difficulty",
    "by_strategy": "strategy",
}


def a_question(number: int) -> Question:
    gold = tuple(GoldSource(Locator(f"file{(number + hop) % 13}.md"), hop=hop) for hop in range(1, 1 + number % 3 + 1))
    answerable = number % 10 != 0
    return Question(
        f"q-{number:04d}",
        "?",
        suite=("lexical", "code", "books")[number % 3],
        tier="T1" if number % 2 else "T3",
        answerable=answerable,
        gold=gold if answerable else (),
        domain=(None, "maths", "physics")[number % 3],
        difficulty=(None, "easy")[number % 2],
        strategy="fact" if number % 5 else None,
    )


QUESTIONS = [a_question(number) for number in range(90)]


def a_row(asked: Question, arm: str, generator: random.Random) -> dict:
    error = "TimeoutError: slow" if generator.random() < 0.15 else None
    found = [index for index in range(len(asked.gold)) if generator.random() < 0.6]
    values = {
        "hit@1": float(bool(found) and generator.random() < 0.7),
        "recall@10": len(found) / max(1, len(asked.gold)),
        "faithfulness": None if generator.random() < 0.3 else generator.randrange(9) / 8,
    }
    counts = asked.answerable and error is None
    return {
        "question": asked.id,
        "configuration": arm,
        "metrics": {name: values[name] if counts else None for name in METRICS},
        "error": error,
        "timings": {"search": generator.random()},
        "ranking": []
        if error
        else [{"id": "c", "file": "f", "pages": [2, 4], "heading": [], "matches": found, "doc_matches": found}],
    }


def the_rows() -> list[dict]:
    generator = random.Random(11)
    rows = [a_row(asked, arm.name, generator) for arm in ARMS for asked in QUESTIONS]
    return [row for row in rows if generator.random() < 0.95]


ROWS = the_rows()


def summary(rows: list[dict], questions: list[Question]) -> dict:
    table = RowTable(METRICS)
    for row in rows:
        table.add(row)
    ladder = Experiment("ladder", tuple(arm.name for arm in ARMS))
    return summarise(table, Plan(tuple(questions), ARMS, (ladder,), k=10, resamples=300), complete=False)


RESULTS = summary(ROWS, QUESTIONS)["results"]


def values_of(arm: str, metric: str) -> dict[str, float]:
    """Question to value, of the rows that have one."""
    rows = (row for row in ROWS if row["configuration"] == arm and row["error"] is None)
    return {row["question"]: row["metrics"][metric] for row in rows if row["metrics"][metric] is not None}


def assert_mean(entry: dict, values: list[float]) -> None:
    assert entry["n"] == len(values)
    if values:
        assert entry["mean"] == pytest.approx(statistics.fmean(values), abs=1e-12)
        assert entry["low"] <= entry["mean"] <= entry["high"]
    else:
        assert (entry["mean"], entry["low"], entry["high"]) == (None, None, None)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("arm", ["r0", "r1", "r2"])
def test_a_mean_is_over_the_questions_that_have_a_value_overall_and_in_every_group(arm, metric):
    values = values_of(arm, metric)
    assert_mean(RESULTS[arm]["overall"][metric], list(values.values()))
    for section, attribute in GROUPS.items():
        groups = {getattr(asked, attribute) for asked in QUESTIONS if asked.answerable} - {None}
        assert set(RESULTS[arm][section]) == groups
        for group in groups:
            members = [q.id for q in QUESTIONS if getattr(q, attribute) == group]
            assert_mean(RESULTS[arm][section][group][metric], [values[one] for one in members if one in values])


@pytest.mark.parametrize("arm", ["r0", "r1", "r2"])
def test_recall_by_hop_is_over_the_scored_questions_with_a_source_of_the_hop(arm):
    found = {
        row["question"]: row["ranking"][0]["matches"] for row in ROWS if row["configuration"] == arm and row["ranking"]
    }
    scored = values_of(arm, "recall@10")
    assert set(RESULTS[arm]["by_hop"]) == {"1", "2", "3"}
    for hop in (1, 2, 3):
        satisfied = [
            float(hop - 1 in found[asked.id]) for asked in QUESTIONS if asked.id in scored and len(asked.gold) >= hop
        ]
        assert_mean(RESULTS[arm]["by_hop"][str(hop)]["recall@10"], satisfied)


@pytest.mark.parametrize("arm", ["r0", "r1", "r2"])
def test_every_cell_is_in_one_count(arm):
    rows = {row["question"]: row for row in ROWS if row["configuration"] == arm}
    answered = [q for q in QUESTIONS if q.id in rows and rows[q.id]["error"] is None]
    scored = [q for q in answered if q.answerable]
    assert RESULTS[arm]["rows"] == {
        "scored": len(scored), "errored": len(rows) - len(answered), "not_run": len(QUESTIONS) - len(rows),
    }  # fmt: skip
    assert RESULTS[arm]["unanswerable"] == len(answered) - len(scored)
    assert RESULTS[arm]["set"]["n"] == len(scored)
    assert RESULTS[arm]["set"]["clusters"] == len({asked.gold[0].locator.file for asked in scored})
    for suite in ("lexical", "code", "books"):
        members = [asked for asked in scored if asked.suite == suite]
        size = RESULTS[arm]["by_suite"][suite]["_set"]
        assert (size["n"], size["diag"]) == (len(members), len(members) < 30)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("arm", "other"), STEPS)
def test_a_pair_is_over_the_questions_that_both_arms_have_a_value_for(arm, other, metric):
    ours, theirs = values_of(arm, metric), values_of(other, metric)
    both = ours.keys() & theirs.keys()
    assert 0 < len(both) < min(len(ours), len(theirs))  # the gaps are not the same, or this would show nothing
    differences = [ours[one] - theirs[one] for one in both]
    found = RESULTS[arm]["paired"][other][metric]
    assert found["n"] == len(both)
    assert found["delta"] == pytest.approx(statistics.fmean(differences), abs=1e-12)
    assert (found["gained"], found["lost"]) == (sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    assert (found["p_mcnemar"] is None) is (metric != "hit@1")


@pytest.mark.parametrize("metric", METRICS)
def test_holm_runs_over_the_three_comparisons_of_the_ladder(metric):
    found = [RESULTS[arm]["paired"][other][metric] for arm, other in STEPS]
    smallest, middle, largest = sorted(entry["p_sign_flip"] for entry in found)
    first = min(1.0, 3 * smallest)
    second = max(first, min(1.0, 2 * middle))
    expected = {smallest: first, middle: second, largest: max(second, largest)}
    assert [entry["p_holm"] for entry in found] == pytest.approx([expected[e["p_sign_flip"]] for e in found], abs=1e-11)
    assert {entry["comparisons"] for entry in found} == {3}


PRINT_DIGEST = """
import importlib.util, random, sys
spec = importlib.util.spec_from_file_location("by_hand", sys.argv[1])
by_hand = importlib.util.module_from_spec(spec)
spec.loader.exec_module(by_hand)
print(by_hand.shuffled_digest(int(sys.argv[2])))
"""


def shuffled_digest(seed: int) -> str:
    """Digest of the results of the same rows in another order."""
    rows, questions = ROWS.copy(), QUESTIONS.copy()
    random.Random(seed).shuffle(rows)
    random.Random(seed + 1).shuffle(questions)
    return digest(summary(rows, questions)["results"])


def test_neither_order_nor_hashes_nor_threads_nor_kernels_change_a_byte_of_the_results():
    environments = [
        {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1"},
        {"PYTHONHASHSEED": "2", "OPENBLAS_NUM_THREADS": "3"},
        {"PYTHONHASHSEED": "3", "OPENBLAS_CORETYPE": "Haswell"},
    ]
    found = {digest(RESULTS)}
    for seed, environment in enumerate(environments):
        command = [sys.executable, "-c", PRINT_DIGEST, str(Path(__file__)), str(seed)]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True)
        found.add(done.stdout.strip())
    assert len(found) == 1
