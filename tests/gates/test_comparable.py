"""What a gate refuses: each with what was found, what was expected, and the command that mends it."""

from __future__ import annotations

import shlex

import pytest

from pytest_ragbench.errors import BaselineError
from pytest_ragbench.gates.comparable import command, measured_by, obstacles, remarks, taken_over, unfit, unusable

MAIN = "baselines/main.json"
WHOLE = {"run_id": "R", "complete": True, "partial": False, "reason": None, "shard": None}
AGAIN = "pytest --rag-configs=one --rag-gate"


def refused(*args):
    return [(refusal.what, refusal.found, refusal.expected, refusal.remedy) for refusal in obstacles(*args, MAIN)]


def test_a_run_like_its_baseline_is_not_refused(measured, baseline):
    assert not refused(measured(), measured_by(baseline()))
    assert not list(unfit(WHOLE, [], AGAIN))


@pytest.mark.parametrize(
    ("run", "then", "refusal"),
    [
        (
            {"split": "test"},
            {},
            ("split", "test", f"dev, as in {MAIN}", "pytest --rag-configs=one --rag-gate"),
        ),
        (
            {"k": 5},
            {},
            ("k", "rankings cut at 5", f"cut at 10, as in {MAIN}", "pytest --rag-configs=one --rag-gate"),
        ),
        (
            {},
            {"k": 5},
            ("k", "rankings cut at 10", f"cut at 5, as in {MAIN}", "pytest --rag-configs=one --rag-k=5 --rag-gate"),
        ),
        (
            {"limit": 20, "questions_digest": "e" * 64},
            {},
            ("another selection", "--rag-limit=20", f"every question, as in {MAIN}", AGAIN),
        ),
        (
            {"domains": ("a b",), "questions_digest": "e" * 64},
            {"suites": ("books", "lexical")},
            (
                "another selection",
                "--rag-domain=a b",
                f"--rag-suites=books,lexical, as in {MAIN}",
                "pytest --rag-configs=one --rag-suites=books,lexical --rag-gate",
            ),
        ),
        (
            {},
            {"configurations": {"one": {}, "two": {}}},
            ("configurations left out", "one", f"one, two, as in {MAIN}", "pytest --rag-configs=one,two --rag-gate"),
        ),
        (
            {},
            {"configurations": {"old": {}}},
            ("no configuration in common", "one", f"old, as in {MAIN}", "pytest --rag-configs=old --rag-gate"),
        ),
    ],
    ids=["split", "k", "k of the baseline", "limit", "domain", "left out", "none in common"],
)
def test_what_differs_is_refused_alone_and_by_name(measured, baseline, run, then, refusal):
    assert refused(measured(**run), measured_by(baseline(**then))) == [refusal]


def test_gat_10_another_definition_of_the_metrics_is_refused_with_both_versions(measured, baseline):
    assert refused(measured(metrics_version=2), measured_by(baseline(metrics_version=1))) == [
        (
            "metric definitions",
            "definitions 2 in this run",
            f"definitions 1 in {MAIN}",
            "pytest --rag-configs=one --rag-update-baseline",
        )
    ]


def test_another_question_set_names_the_questions(measured, baseline, row):
    then = measured_by(baseline([row(1, 1.0), row(3, 1.0)]))
    ((what, found, expected, remedy),) = refused(measured(questions_digest="e" * 64), then)
    assert what == "question set"
    assert found == "1 that it has not (lex-0002) and without 1 of its own (lex-0003) (eeeeeeeeeeee)"
    assert expected == f"the 2 questions of {MAIN} (dddddddddddd)"
    assert remedy == "pytest --rag-configs=one --rag-update-baseline"


def test_questions_reworded_under_their_ids_are_another_question_set(measured, baseline, row):
    then = measured_by(baseline([row(1, 1.0), row(2, 1.0)]))
    ((what, found, *_),) = refused(measured(questions_digest="e" * 64), then)
    assert what == "question set"
    assert found.startswith("questions of the same ids, with another text, gold, nuggets or label")


@pytest.mark.parametrize(
    ("run", "what", "remedy"),
    [
        ({"complete": False}, "incomplete run", "pytest --rag-resume=R --rag-gate"),
        ({"complete": None}, "incomplete run", "pytest --rag-resume=R --rag-gate"),
        ({"partial": True}, "partial run", AGAIN),
        ({"partial": True, "shard": {"index": 1, "of": 3, "questions": 9}}, "shard", AGAIN),
    ],
)
def test_a_run_that_is_not_whole_is_refused(run, what, remedy):
    assert [(refusal.what, refusal.remedy) for refusal in unfit(WHOLE | run, [], AGAIN)] == [(what, remedy)]


def test_errored_rows_are_counted_and_the_first_is_told():
    errors = [
        {"question": "lex-0009", "configuration": "one", "error": "x"},
        {"question": "lex-0002", "configuration": "one", "error": "RuntimeError: " + "long " * 50},
    ]
    (refusal,) = unfit(WHOLE, errors, AGAIN)
    assert refusal.what == "errored rows"
    assert refusal.found.startswith("2 rows failed, the first: lex-0002 under one: RuntimeError: long")
    assert len(refusal.found) < 200
    assert refusal.remedy == "pytest --rag-resume=R --rag-gate"


def test_a_name_with_a_space_survives_the_shell(measured):
    shown = command(measured(domains=("machine learning",), limit=5, split="test"), "--rag-gate")
    assert shlex.split(shown) == [
        "pytest",
        "--rag-configs=one",
        "--rag-split=test",
        "--unseal-test",
        "--rag-domain=machine learning",
        "--rag-limit=5",
        "--rag-gate",
    ]


def test_other_overrides_are_told_and_judged(measured, baseline):
    run = measured(configurations={"one": {"rerank": "none", "rrf_k": 60}})
    then = baseline(configurations={"one": {"rerank": "laya", "gate": "off"}})
    assert not refused(run, measured_by(then))
    (remark,) = remarks(run, then, MAIN)
    assert 'gate: "off" to unset, rerank: "laya" to "none", rrf_k: unset to 60' in remark


def test_a_configuration_that_the_baseline_lacks_is_told(measured, baseline):
    run = measured(configurations={"one": {}, "new": {}})
    assert not refused(run, measured_by(baseline()))
    assert list(remarks(run, baseline(), MAIN)) == [f"new is not in {MAIN}: it is held to the floors alone."]


def test_a_forced_baseline_says_what_it_lacks(measured, baseline):
    (remark,) = remarks(measured(), baseline(forced=("errored rows: 1 row failed",)), MAIN)
    assert "captured with --rag-force" in remark
    assert "errored rows: 1 row failed" in remark


def test_a_baseline_that_is_none_is_refused_with_both_ways_out(measured):
    refusal = unusable(BaselineError("baseline schema", "schema_version 9", "schema_version 1"), measured(), MAIN)
    assert (refusal.what, refusal.found, refusal.expected) == (
        "baseline schema",
        "schema_version 9",
        "schema_version 1",
    )
    both = "baselines/main.json baselines/main.rows.jsonl"
    assert refusal.remedy == f"git checkout -- {both}, or pytest --rag-configs=one --rag-update-baseline"


@pytest.mark.parametrize(
    ("git", "told"),
    [
        ({"sha": "a" * 40, "dirty": False}, False),
        ({"sha": "a" * 40, "dirty": True}, True),
        ({"sha": None, "dirty": None}, True),
    ],
)
def test_rows_of_an_earlier_run_are_told_where_no_commit_vouches_for_the_code(git, told):
    assert bool(list(taken_over({"resumed_from": "R", "git": git}))) is told
    assert not list(taken_over({"resumed_from": None, "git": git}))
