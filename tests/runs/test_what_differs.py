"""What was not alike in two comparable runs, in words that a user can act on."""

from dataclasses import replace

import pytest

from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.questions.model import Provenance
from pytest_ragbench.reports.between import build_between
from pytest_ragbench.reports.terminal import render_terminal
from pytest_ragbench.runs.comparing import compare_runs
from pytest_ragbench.runs.differing import differences

OLD, NEW = "1" * 64, "2" * 64
"""Two digests."""


@pytest.fixture
def questions(question_of):
    return [question_of(number) for number in range(1, 5)]


@pytest.fixture
def compared(run_of, questions):
    """`compared(old keys, new keys)`: the two runs under one configuration, what differs, and how it reads."""

    def compare(old=None, new=None, *, later=None, arms=None):
        records = [
            run_of(asked, {"base": {}}, arms=mine, **(keys or {}))
            for asked, mine, keys in ((questions, None, old), (later or questions, arms, new))
        ]
        found = compare_runs(records)
        section = next(one for one in build_between(found).sections if one.title == "What differs")
        text = render_terminal(replace(build_between(found), sections=(section,)), 200)
        return found, {row["what"]: row for row in found["differences"]}, text

    return compare


def test_values_that_tell_the_difference_stand_side_by_side(compared):
    _, told, text = compared(
        {"pipeline": {"pool": 3, "walk": True}, "versions": {"numpy": "2.1"}},
        {"pipeline": {"pool": 5, "walk": False}, "versions": {"numpy": "2.2"}, "git": {"sha": "b" * 40, "dirty": True}},
    )
    assert {name: row["values"] for name, row in told.items()} == {
        "commit": ["a" * 40, "b" * 40],
        "uncommitted changes": [False, True],
        "pipeline: pool": [3, 5],
        "pipeline: walk": [True, False],
        "version: numpy": ["2.1", "2.2"],
    }
    lines = [line.split() for line in text.splitlines()]
    assert ["commit", "a" * 12, "b" * 12] in lines
    assert ["uncommitted", "changes", "no", "yes"] in lines
    assert ["pipeline:", "walk", "yes", "no"] in lines
    assert "A run with changes measured a working tree" in text


def test_what_is_alike_is_not_listed(compared):
    _, told, text = compared()
    assert told == {}
    assert "Nothing that the records tell" in text


def test_a_nested_setting_is_told_by_its_path_and_not_by_two_texts_that_begin_alike(compared):
    settings = {"lanes": {"dense": {"pool": 50}, "sparse": {"pool": 50}}, "name": "the same for both of the runs"}
    changed = {**settings, "lanes": {"dense": {"pool": 100}, "sparse": {"pool": 50}}}
    _, told, _ = compared({"pipeline": {"settings": settings}}, {"pipeline": {"settings": changed}})
    assert {name: row["values"] for name, row in told.items()} == {"pipeline: settings.lanes.dense.pool": [50, 100]}


def test_long_values_are_shown_from_where_they_part(compared):
    shared = "https://models.example/" + "folder/" * 20
    _, _, text = compared({"pipeline": {"model": f"{shared}small"}}, {"pipeline": {"model": f"{shared}large"}})
    assert "…/folder/small" in text
    assert "…/folder/large" in text
    assert "models.example" not in text


def test_of_the_question_sets_it_is_said_which_asked_ones_were_reviewed_and_where_the_rest_can_be(compared, questions):
    noted = replace(questions[0], notes="asked again", provenance=Provenance(status="verified"))
    _, told, text = compared(
        {"questions_digest": OLD, "left_out": {"rejected": 2, "unsplit": 0}},
        {"questions_digest": NEW, "left_out": {"rejected": 5, "unsplit": 0}},
        later=[noted, *questions[1:]],
    )
    said = told["question sets"]["said"]
    assert said == (
        "notes or reviews of lex-0001, on which no score depends; rejected questions: 2, then 5; anything else is in questions "
        "that none of these runs asked: new, gone or changed ones of another split, suite or domain"
    )
    assert list(told) == ["question sets"]
    assert OLD[:8] not in text
    _, told, _ = compared({"questions_digest": OLD}, {"questions_digest": NEW})
    assert told["question sets"]["said"].startswith("in questions that none of these runs asked")


def test_of_the_configurations_it_is_said_which_have_other_overrides_and_in_what(run_of, questions):
    def run(digest, *arms):
        return run_of(questions, {arm.name: {} for arm in arms}, arms=list(arms), config_digest=digest)

    def arm(name, **overrides):
        return Configuration(name, name, {"name": name, **overrides})

    def told(one, other):
        return {row["what"]: row["said"] for row in differences([one.run, other.run])}

    old = run(OLD, arm("a", pool=50), arm("b"), arm("gone"))
    new = run(NEW, arm("a", pool=100, walk=True), arm("b"), arm("new"))
    assert told(old, new) == {
        "declared configurations": "other overrides: a (pool, walk)",
        "measured configurations": f"not in every run: gone ({old.run['run_id']}), new ({new.run['run_id']})",
    }
    alike = told(run(OLD, arm("b")), run(NEW, arm("b")))
    assert alike["declared configurations"].startswith("those that these runs share are alike; it is in configurations")


def test_an_override_that_one_of_them_does_not_have_is_not_set_and_one_is_not_true(compared):
    arms = [Configuration("base", "base", {"name": "base", "pool": True, "walk": 3})]
    found, _, text = compared(None, None, arms=arms)
    assert found["comparisons"][0]["overrides"] == {"pool": [None, True], "walk": [None, 3]}
    lines = [line.split() for line in text.splitlines()]
    assert ["base", "pool", "not", "set", "yes"] in lines
    assert "not known" not in text


def test_true_and_1_are_two_values_of_an_override(run_of, questions):
    one, other = (
        run_of(questions, {"base": {}}, arms=[Configuration("base", "base", {"name": "base", "walk": value})])
        for value in (1, True)
    )
    assert compare_runs([one, other])["comparisons"][0]["overrides"] == {"walk": [1, True]}


def test_another_index_is_told_by_what_the_pipeline_says_of_it(compared):
    facts = {"chunks": 900, "model": "mini", "model_digest": OLD}
    _, told, text = compared({"index": OLD, "pipeline": facts}, {"index": NEW, "pipeline": {**facts, "chunks": 950}})
    assert told["index"]["said"] == "another one; of what the pipeline tells, chunks differ too"
    assert told["pipeline: chunks"]["values"] == [900, 950]
    assert OLD[:8] not in text


def test_a_digest_is_shown_shortened_where_nothing_better_is_known(compared):
    _, told, text = compared({"index": OLD}, {"index": NEW})
    assert told["index"] == {"what": "index", "values": [OLD, NEW], "said": None}
    assert ["index", OLD[:12], NEW[:12]] in [line.split() for line in text.splitlines()]
    assert OLD not in text


def test_the_digest_of_a_model_says_nothing_beside_another_name_of_it(compared):
    _, told, _ = compared(
        {"pipeline": {"model": "mini", "model_digest": OLD}}, {"pipeline": {"model": "large", "model_digest": NEW}}
    )
    assert list(told) == ["pipeline: model"]
    _, told, _ = compared(
        {"pipeline": {"model": "mini", "model_digest": OLD}}, {"pipeline": {"model": "mini", "model_digest": NEW}}
    )
    assert list(told) == ["pipeline: model_digest"]


def test_other_answers_of_one_language_model_are_told_by_label_and_store(compared):
    def llm(model, digest):
        return {"llm": {"mode": "replay", "store": "drafts.jsonl", "model": model, "digest": digest}}

    _, told, text = compared(llm("m1", OLD), llm("m1", NEW))
    assert told["language model: answers"]["said"] == (
        "other answers under the label m1: the store drafts.jsonl has changed"
    )
    assert OLD[:8] not in text
    _, told, _ = compared(llm("m1", OLD), llm("m2", NEW))
    assert list(told) == ["language model: model"]


def test_failed_searches_are_counted_and_stay_out_of_the_pairs(run_of, questions):
    broken = [Configuration("base", "base", {"name": "base", "pool": 100})]  # this pipeline knows no `pool`
    found = compare_runs([run_of(questions, {"base": {}}), run_of(questions, {"base": {}}, arms=broken)])
    assert found["comparisons"][0]["errored"] == [0, 4]
    text = render_terminal(build_between(found), 200)
    assert "base: no question was scored in both runs." in text
    assert "base: 4 questions of 4 not compared, the search failed: lex-0001, lex-0002, lex-0003 and 1 more in" in text
    assert "None changed" not in text
    assert "New against old" not in text


def test_a_question_whose_search_failed_in_both_runs_is_one_question_and_both_runs_are_named(run_of, questions):
    answers = {question.id: [f"g{number}.md"] for number, question in enumerate(questions, start=1)}
    broken = answers | {"lex-0003": ValueError("gone")}
    runs = [run_of(questions, {"base": broken, "other": answers}) for _ in range(2)]
    found = compare_runs(runs)
    base, other = found["comparisons"]
    assert (base["answered"], base["errored"], base["failed"]) == (3, [1, 1], [["lex-0003"], ["lex-0003"]])
    assert (other["answered"], other["failed"]) == (4, [[], []])
    old, new = (record.run["run_id"] for record in runs)
    text = render_terminal(build_between(found), 200)
    assert f"base: 1 question of 4 not compared, the search failed: lex-0003 in {old}, lex-0003 in {new}." in text
    assert f"base ranked exactly as in {old} on every question that both answered (3 of 4)." in text
    assert f"other ranked exactly as in {old} on every question." in text


def test_what_no_record_tells_is_said_to_be_unknown_and_not_alike(compared):
    found, _, text = compared({"git": {"sha": None, "dirty": None}}, {"git": {"sha": None, "dirty": None}})
    assert found["unknown"] == ["commit", "index", "pipeline"]
    assert "Nothing that the records tell: configurations and versions agree." in text
    assert "No record tells its commit, index or pipeline: there may be a difference unseen." in text
    known = {"index": "i1", "pipeline": {"pool": 3}}
    found, _, text = compared(known, known)
    assert found["unknown"] == []
    assert "Nothing that the records tell: commit, index, pipeline, configurations and versions agree." in text
    assert "No record tells" not in text


def test_what_is_unknown_is_said_beside_a_difference_too(compared):
    _, told, text = compared({"versions": {"numpy": "2.1"}}, {"versions": {"numpy": "2.2"}})
    assert list(told) == ["version: numpy"]
    assert "No record tells its index or pipeline" in text
    assert "agree" not in text


def test_what_one_run_tells_and_the_other_does_not_differs(compared):
    found, told, _ = compared({"index": "i1"}, {})
    assert (told["index"]["values"], found["unknown"]) == (["i1", None], ["pipeline"])
