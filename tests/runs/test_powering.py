"""`ragbench power`: what a recorded run could find, and what an effect would need. Small runs, arithmetic shown."""

from __future__ import annotations

import json
from math import pi, sqrt

import numpy as np
import pytest

from pytest_ragbench.cli import main
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.runs.powering import power_of

ARMS = [Configuration("a", "a", {"name": "a"}), Configuration("b:1", "b.1", {"name": "b:1"}, pairs=("a",))]


@pytest.fixture
def record(run_of, question_of):
    """Forty questions of files of their own: `a` finds 20, `b:1` the same but for 8 gained and 4 lost."""
    questions = [question_of(number, suite="lexical" if number <= 30 else "code") for number in range(1, 41)]
    found = {q.id: [q.gold[0].locator.file] for q in questions}
    ids = [q.id for q in questions]
    first, second = set(ids[::2]), (set(ids[::2]) - set(ids[:8:2])) | set(ids[1:17:2])
    lists = {"a": {i: found[i] for i in first}, "b:1": {i: found[i] for i in second}}
    return run_of(questions, lists, arms=ARMS)


def entry(found, metric="hit@1", suite=""):
    return next(one for one in found["entries"] if (one["metric"], one["suite"]) == (metric, suite))


def test_the_detectable_effect_is_that_of_the_runs_own_comparison(record):
    found = power_of(record, 0.03)
    told = record.summary()["results"]["b:1"]["paired"]["a"]
    for metric in ("ndcg@10", "recall@10", "hit@1"):
        assert entry(found, metric)["detectable"] == told[metric]["mde"]
        assert entry(found, metric)["delta"] == told[metric]["delta"]


def test_by_hand_with_a_file_a_question(record):
    one = entry(power_of(record, 0.1))
    # differences: 8 times +1, 4 times -1, 28 times 0: mean 0.1, variance 12/40 - 0.01 = 0.29
    assert one["delta"] == pytest.approx(0.1)
    assert one["detectable"] == pytest.approx(2.8 * sqrt(0.29 / 40), rel=0.03)  # Monte Carlo: 1 / sqrt(2 * 10,000)
    assert one["needs"]["questions"] == one["needs"]["clusters"] == pytest.approx(2.8**2 * 0.29 / 0.01, rel=0.06)
    assert one["design_effect"] == pytest.approx(1.0, abs=0.05)
    assert (one["icc"], one["in_these_clusters"]) == (None, {"possible": None, "questions": None})
    # Connor: share 12/40 = 0.3, effect 0.1
    assert (one["mcnemar"]["discordant"], one["mcnemar"]["questions"]) == (12, 234)
    # and with n = 40 given, the effect d of sqrt(n) d = 1.959964 sqrt(0.3) + 0.841621 sqrt(0.3 - d^2)
    detectable = one["mcnemar"]["detectable"]
    assert sqrt(40) * detectable == pytest.approx(1.959964 * sqrt(0.3) + 0.841621 * sqrt(0.3 - detectable**2), abs=1e-5)


def test_suites_stand_behind_all_questions_and_small_ones_are_diagnostic(record):
    found = power_of(record, 0.03, metrics=["hit@1"])
    assert [(one["suite"], one["n"], one["diag"]) for one in found["entries"]] == [
        ("", 40, False), ("code", 10, True), ("lexical", 30, False),
    ]  # fmt: skip
    assert entry(found, suite="code")["needs"] is None  # the arms agree on every question there
    assert entry(found, suite="code")["mcnemar"] == {"discordant": 0, "detectable": None, "questions": None}


def test_files_with_many_questions_need_more_and_too_few_files_never_do(run_of, question_of):
    """Seven files of ten questions, all ten of a file alike, against an arm that finds none."""
    questions = [question_of(number, files=[f"book{number % 7}.pdf"]) for number in range(70)]
    good = {q.id: [q.gold[0].locator.file] if int(q.id[-2:]) % 7 < 4 else [] for q in questions}
    bad = {q.id: [q.gold[0].locator.file] if int(q.id[-2:]) % 7 > 4 else [] for q in questions}
    found = power_of(run_of(questions, {"a": bad, "b:1": good}, arms=ARMS), 0.1)
    one = entry(found)
    # values by file 1 1 1 1 0 -1 -1: variance 6/7 - (2/7)^2 = 0.7755 over 7 files, not over 70 questions
    assert (one["n"], one["clusters"], one["differing"]) == (70, 7, 6)
    assert one["design_effect"] == pytest.approx(10.0, rel=0.05)
    assert one["icc"] == pytest.approx(1.0, abs=0.06)
    assert one["needs"]["clusters"] == pytest.approx(2.8**2 * 0.7755 / 0.01, rel=0.06)
    assert one["needs"]["questions"] == pytest.approx(10 * one["needs"]["clusters"], abs=10)
    assert one["in_these_clusters"] == {"possible": False, "questions": None}


def test_questions_as_clusters_where_the_run_had_them_so(run_of, question_of):
    questions = [question_of(number, files=[f"book{number % 7}.pdf"]) for number in range(70)]
    lists = {"a": {}, "b:1": {q.id: [q.gold[0].locator.file] for q in questions[::2]}}
    own = {"seed": 20260901, "resamples": 10_000, "confidence": 0.95, "cluster": "none"}
    found = power_of(run_of(questions, lists, arms=ARMS, bootstrap=own), 0.1)
    assert (entry(found)["clusters"], found["cluster"]) == (70, "none")


def test_it_is_told_where_the_other_arm_leaves_no_room_for_a_gain(run_of, question_of):
    questions = [question_of(number) for number in range(1, 51)]
    best = {q.id: [q.gold[0].locator.file] for q in questions}
    lists = {"a": best | {"lex-0001": []}, "b:1": best | {"lex-0002": []}}  # means of 0.98
    record = run_of(questions, lists, arms=ARMS)
    assert [entry(power_of(record, effect))["ceiling"] for effect in (0.02, 0.03)] == [False, True]


def test_arms_without_a_scored_question_in_common_are_told_so(run_of, question_of, command):
    questions = [question_of(number) for number in range(1, 4)]
    failed = {question.id: ValueError("x") for question in questions}
    run_of(questions, {"a": {}, "b:1": failed}, arms=ARMS)
    status, said = command("last")
    assert (status, "The arms scored no question in common." in said.out) == (0, True)


def test_the_same_record_gives_the_same_bytes(record):
    assert json.dumps(power_of(record, 0.03)) == json.dumps(power_of(record, 0.03))


def test_any_two_arms_can_be_paired(record):
    found = power_of(record, 0.03, configurations=["a"], against="b.1", metrics=["hit@1"])
    assert {(one["configuration"], one["other"]) for one in found["entries"]} == {("a", "b:1")}
    assert entry(found)["delta"] == pytest.approx(-0.1)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"metrics": ["ndcg@5"]}, "--metric ndcg@5: .* has no such metric; it has: hit@1"),
        ({"configurations": ["c"]}, "--config c: .* it has: a, b:1"),
        ({"configurations": ["a"], "against": "c"}, "--against c"),
        ({"against": "a"}, "--against needs another configuration"),
        ({"configurations": ["a"], "against": "a"}, "--against needs another configuration"),
    ],
)
def test_what_the_run_does_not_have_is_refused(record, keys, said):
    with pytest.raises(UsageError, match=said):
        power_of(record, 0.03, **keys)


def test_a_run_without_pairs_and_an_unfinished_one_are_refused(run_of, question_of):
    questions = [question_of(1)]
    with pytest.raises(UsageError, match=r"measured a alone.*run two configurations with --rag-configs=A,B"):
        power_of(run_of(questions, {"a": {}}), 0.03)
    two = run_of(questions, {"a": {}, "b": {}})
    with pytest.raises(UsageError, match=r"declares no pair of its configurations; pair two .* \(it has: a, b\)"):
        power_of(two, 0.03)
    with pytest.raises(UsageError, match="declares no partner of b; pair two with --config NAME --against NAME"):
        power_of(two, 0.03, configurations=["b"])
    with pytest.raises(UsageError, match="incomplete"):
        power_of(run_of(questions, {"a": {}}, complete=False), 0.03)


def test_rec_02_rows_that_a_complete_record_lost_are_told_and_not_passed_over(record):
    path = record.folder / "per_query.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordError, match=r"has 79 of 80 rows, none of lex-0040 under b:1; the last line .* is torn"):
        power_of(record, 0.03)


# --- the command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        status = main(["power", *arguments, "--runs-dir", "runs"])
        return status, capsys.readouterr()

    return call


def test_the_text_says_what_is_needed_and_what_cannot_be_reached(record, command):
    status, said = command("last", "--effect", "0.1")
    assert status == 0
    assert "For an effect of 0.1, at a power of 80 % and a two-sided level of 5 %" in " ".join(said.out.split())
    assert "b:1 against a" in said.out
    row = next(line.split() for line in said.out.splitlines() if line.startswith("hit@1") and " 12 " in line)
    assert row[:4] == ["hit@1", "all", "40", "12"]
    assert row[-1] == "234"
    assert "Nothing to reckon with: ndcg@10 (code), recall@10 (code), hit@1 (code)." in " ".join(said.out.split())


def test_questions_of_the_sealed_split_are_called_that(run_of, question_of, command):
    questions = [question_of(number, split="test" if number > 10 else "dev") for number in range(1, 31)]
    lists = {"a": {}, "b:1": {q.id: [q.gold[0].locator.file] for q in questions[::2]}}
    run_of(questions, lists, arms=ARMS, split="all", ledger={"count": 3, "last_hash": "f" * 64})
    words = " ".join(command("last")[1].out.split())
    assert "20 questions of the sealed test split: this reads what was measured and is no look" in words
    assert "the split was opened 3 times" in words
    found = json.loads(command("last", "--json")[1].out)
    assert (found["sealed"], found["looks"]) == (20, 3)


def test_a_dev_run_is_not_said_to_be_sealed(record, command):
    assert "sealed" not in command("last")[1].out


def test_a_run_that_is_judged_at_its_share_of_the_level_is_said_to_be(run_of, question_of, command):
    """The second look: 6 x 0.05 / (pi^2 x 4) = 0.0076, at which the run's report has a larger detectable effect."""
    questions = [question_of(number) for number in range(1, 31)]
    lists = {"a": {}, "b:1": {q.id: [q.gold[0].locator.file] for q in questions[::2]}}
    level = 6 * 0.05 / (pi**2 * 4)
    bootstrap = {"seed": 20260901, "resamples": 10_000, "confidence": 1 - level, "cluster": "file", "look": 2}
    run_of(questions, lists, arms=ARMS, bootstrap=bootstrap)
    words = " ".join(command("last")[1].out.split())
    assert "The run itself is judged at 0.007599, its share by alpha spending" in words
    found = json.loads(command("last", "--json")[1].out)
    assert (found["level"], found["judged_at"]) == (0.05, pytest.approx(level, abs=1e-12))


def test_json_holds_everything(record, command):
    status, said = command("last", "--json", "--metric", "hit@1")
    assert (status, json.loads(said.out)) == (0, power_of(record, 0.03, metrics=["hit@1"]))


@pytest.mark.parametrize("typed", ["0", "-0.1", "x", "1.5", "nan"])
def test_what_is_no_effect_is_refused(record, command, typed):
    status, said = command("last", f"--effect={typed}")
    assert (status, "is no effect" in said.err) == (4, True)


def test_many_pairs_are_cut_and_it_is_said(run_of, question_of, command):
    questions = [question_of(number) for number in range(1, 9)]
    arms = [Configuration("a", "a", {"name": "a"})]
    arms += [Configuration(f"b{n}", f"b{n}", {"name": "b"}, pairs=("a",)) for n in range(8)]
    run_of(questions, {"a": {}, "b": {q.id: [q.gold[0].locator.file] for q in questions[::2]}}, arms=arms)
    _, said = command("last")
    assert "b5 against a" in said.out
    assert "b6 against a" not in said.out
    assert "2 more pairs: --config NAME" in said.out
    assert (
        np.unique([one["configuration"] for one in json.loads(command("last", "--json")[1].out)["entries"]]).size == 8
    )
