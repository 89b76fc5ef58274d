"""`ragbench graduate`: which records it takes, which it passes over and why, and what it says is missing."""

from __future__ import annotations

import json

import pytest

from pytest_ragbench.cli import main
from pytest_ragbench.configurations.model import Catalogue, Configuration
from pytest_ragbench.errors import UsageError
from pytest_ragbench.records.record import newest
from pytest_ragbench.runs.graduating import graduate

FACTORS = {
    "old": ["sparse"],
    "new": ["sparse", "rerank"],
    "full": ["sparse", "rerank"],
    "-rerank": ["sparse"],
    "-sparse": ["rerank"],
}


def entry(name, **overrides):
    return {"name": name, "marker": name.replace("-", "no-"), "overrides": overrides, "factors": FACTORS[name]}


@pytest.fixture
def record(run_of, question_of):
    """`record("dev", "new", "old", ...)`: a run of forty questions of a split, of which good arms find all but every
    fourth at rank 1, and the other arms half at rank 2."""

    def make(split, *names, bad=(), better=(), count=40, suites=("lexical",), **run):
        start = 1 if split == "dev" else 101
        questions = [
            question_of(number, split=split, suite=suites[number % len(suites)])
            for number in range(start, start + count)
        ]
        good = {q.id: [q.gold[0].locator.file] for at, q in enumerate(questions) if at % 4}
        worse = {q.id: ["x.md", q.gold[0].locator.file] for at, q in enumerate(questions) if at % 2}
        late = {"old", "-rerank", "-sparse", *bad} - {*better}
        lists = {name: worse if name in late else good for name in names}
        entries = run.pop("configurations", [entry(name) for name in names])
        return run_of(questions, lists, split=split, configurations=entries, **run)

    return make


@pytest.fixture
def held(tmp_path):
    """`held(...)`: `new` against `old` by every record there is."""

    def hold(name="new", against="old", **keys):
        keys = {"tolerance": 0.02, "looks": 3, **keys}
        return graduate(newest(tmp_path / "runs"), name, against, **keys)

    return hold


def states(found):
    return {clause["clause"]: clause["state"] for clause in found["clauses"]}


def runs(found):
    return {
        clause["clause"]: {one["run"] for one in clause["evidence"]}
        for clause in found["clauses"]
        if clause["evidence"]
    }


def test_with_all_three_kinds_of_evidence_it_graduates_and_names_each_run(record, held):
    dev, test, loo = (
        record("dev", "new", "old"),
        record("test", "new", "old"),
        record("test", "full", "-rerank", "-sparse"),
    )
    found = held()
    assert states(found) == {"dev": "met", "test": "met", "loo:rerank": "met", "loo:sparse": "met", "suites": "met"}
    assert (found["graduated"], found["missing"]) == (True, [])
    names = [one.run["run_id"] for one in (dev, test, loo)]
    assert runs(found) == {
        "dev": {names[0]}, "test": {names[1]}, "loo:rerank": {names[2]}, "loo:sparse": {names[2]}, "suites": {names[0], names[1]}
    }  # fmt: skip
    # good: 30 of 40 at rank 1 = 0.75; worse: 20 of 40 at rank 2, 0.5 / log2(3) = 0.315465
    (evidence,) = found["clauses"][0]["evidence"]
    assert evidence["delta"] == pytest.approx(0.75 - 0.5 / 1.5849625007)
    assert (evidence["n"], evidence["metric"], evidence["split"]) == (40, "ndcg@10", "dev")


def test_one_run_of_the_test_split_may_show_the_pair_and_the_factors(record, held):
    record("dev", "new", "old")
    both = record("test", "new", "old", "full", "-rerank", "-sparse")
    found = held()
    assert found["graduated"]
    assert runs(found)["loo:rerank"] == runs(found)["test"] == {both.run["run_id"]}


def test_a_run_of_all_splits_shows_each_split_by_its_own_questions(run_of, question_of, held):
    questions = [question_of(n, split="dev" if n <= 40 else "test") for n in range(1, 61)]
    best = {q.id: [q.gold[0].locator.file] for q in questions}
    lists = {"new": best, "old": {q.id: ["x.md", *best[q.id]] for q in questions if q.split == "dev"} | {
        q.id: best[q.id] for q in questions if q.split == "test"}}  # fmt: skip
    for at, q in enumerate(questions):  # some spread
        if q.split == "dev" and at % 3 == 0:
            lists["old"][q.id] = []
    run_of(questions, lists, split="all", configurations=[entry("new"), entry("old")])
    found = held()
    assert [(clause["state"], clause["evidence"][0]["n"]) for clause in found["clauses"][:2]] == [
        ("met", 40),
        ("met", 20),
    ]
    assert found["clauses"][1]["evidence"][0]["delta"] == 0.0


def test_what_is_missing_is_named_with_one_command_a_split_and_the_cost_of_a_look(record, held):
    record("dev", "new", "old")
    found = held()
    assert states(found) == {
        "dev": "met",
        "test": "missing",
        "loo:rerank": "missing",
        "loo:sparse": "missing",
        "suites": "missing",
    }
    assert found["missing"] == [
        {
            "clauses": ["test", "loo:rerank", "loo:sparse", "suites"],
            "command": "pytest --rag-configs=new,old,loo --rag-split=test --unseal-test",
            "opens_test": True,
        }
    ]
    record("test", "new", "old")
    assert held()["missing"] == [
        {
            "clauses": ["loo:rerank", "loo:sparse"],
            "command": "pytest --rag-configs=loo --rag-split=test --unseal-test",
            "opens_test": True,
        }
    ]


def test_without_any_evidence_both_runs_are_proposed(record, held):
    record("dev", "new")
    record("dev", "old")
    found = held()
    assert [one["command"] for one in found["missing"]] == [
        "pytest --rag-configs=new,old",
        "pytest --rag-configs=new,old,loo --rag-split=test --unseal-test",
    ]
    assert [one["clauses"] for one in found["missing"]] == [
        ["dev", "suites"],
        ["test", "loo:rerank", "loo:sparse", "suites"],
    ]


def test_each_missing_clause_has_a_run_that_shows_it(record, held):
    """Only dev is missing here: the suites of test are known, and those of dev come with the run of the pair."""
    record("test", "new", "old", "full", "-rerank", "-sparse")
    found = held()
    assert {name for name, state in states(found).items() if state == "missing"} == {"dev", "suites"}
    assert [one["clauses"] for one in found["missing"]] == [["dev", "suites"]]


def test_no_look_at_test_is_proposed_once_dev_has_decided_against_it(record, held):
    record("dev", "new", "old")
    found = held("old", "new")
    assert (states(found)["dev"], states(found)["test"], found["missing"]) == ("failed", "missing", [])


def test_the_newest_complete_record_counts(record, held):
    record("dev", "new", "old")
    record("dev", "new", "old", bad=("new",))
    assert states(held())["dev"] == "failed"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"domains": ["numerics"]}, "its domains left questions out"),
        ({"limit": 40}, "its limit left questions out"),
        ({"partial": True}, "its selection left questions out"),
        ({"complete": False}, "incomplete"),
    ],
)
def test_a_record_of_a_part_is_passed_over_and_it_is_said_why(record, held, keys, said):
    whole = record("dev", "new", "old")
    record("dev", "new", "old", **keys)
    found = held()
    assert runs(found)["dev"] == {whole.run["run_id"]}
    assert any(said in note for note in found["notes"])


def test_a_record_with_failed_searches_of_the_arms_is_passed_over(run_of, question_of, held):
    questions = [question_of(number) for number in range(1, 11)]
    best = {q.id: [q.gold[0].locator.file] for q in questions}
    broken = best | {"lex-0003": ValueError("gone")}
    run_of(questions, {"new": best, "old": broken}, configurations=[entry("new"), entry("old")])
    found = held()
    assert states(found)["dev"] == "missing"
    assert any("1 of its searches failed; --rag-resume=" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"questions_digest": "e" * 64}, "it asked other questions (set eeeeeeeeeeee, not dddddddddddd"),
        ({"k": 5}, "its rankings are cut at 5, not at 10"),
        ({"configurations": [entry("new", pool=9), entry("old")]}, "new had other overrides"),
    ],
)
def test_test_evidence_of_other_questions_depth_or_overrides_is_none(record, held, keys, said):
    record("test", "new", "old", **keys)
    record("dev", "new", "old")
    found = held()
    assert states(found)["test"] == "missing"
    assert any(said in note for note in found["notes"])


def test_a_record_that_other_definitions_scored_is_passed_over(record, held):
    file = record("dev", "new", "old").folder / "summary.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"metrics_version": 0}))
    found = held()
    assert states(found)["dev"] == "missing"
    assert "scored by metric definitions 0, and this version has 1" in found["notes"][-1]


def test_rec_02_a_damaged_record_is_passed_over_and_named_and_an_older_whole_one_serves(record, held):
    whole = record("dev", "new", "old")
    torn, empty = record("dev", "new", "old"), record("dev", "new", "old")
    path = torn.folder / "per_query.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    (empty.folder / "summary.json").write_text("{")
    found = held()
    assert runs(found)["dev"] == {whole.run["run_id"]}
    damaged = [note for note in found["notes"] if "it is damaged" in note]
    assert len(damaged) == 2
    assert "has 79 of 80 rows" in " ".join(damaged)
    assert "summary.json" in " ".join(damaged)


def test_of_many_records_that_do_not_serve_five_are_named(record, held):
    for _ in range(7):
        record("dev", "new", "old", count=4, limit=4)
    notes = [note for note in held()["notes"] if "limit" in note or "older records" in note]
    assert (len(notes), notes[-1]) == (6, "2 older records have the arms too, and do not serve either")


def test_a_suite_that_falls_on_test_stops_it(run_of, question_of, record, held):
    record("dev", "new", "old")
    record("test", "full", "-rerank", "-sparse")
    questions = [question_of(100 + n, split="test", suite="books" if n < 30 else "code") for n in range(90)]
    best = {q.id: [q.gold[0].locator.file] for q in questions}
    late = {q.id: ["x.md", q.gold[0].locator.file] for q in questions}
    lists = {
        "new": {q.id: late[q.id] if q.suite == "books" else best[q.id] for q in questions},
        "old": {q.id: best[q.id] if q.suite == "books" else late[q.id] for q in questions},
    }
    run_of(questions, lists, split="test", configurations=[entry("new"), entry("old")])
    found = held()
    assert states(found) == {"dev": "met", "test": "met", "loo:rerank": "met", "loo:sparse": "met", "suites": "failed"}
    assert found["clauses"][-1]["found"] == "falls too far: books on test"
    assert held(tolerance=0.5)["graduated"]  # 1 - 1 / log2(3) = 0.369


def test_evidence_that_a_reader_should_mind_is_noted(record, held):
    file = record("test", "new", "old", git={"sha": "b" * 40, "dirty": False}).folder / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"started_at": "2026-08-01T00:00:00Z"}))
    record("dev", "new", "old")
    notes = " ".join(held()["notes"])
    assert "older than the dev run" in notes
    assert "different commits" in notes
    assert "uncommitted" not in notes
    assert "not measured alike" not in notes


def test_what_was_not_alike_in_the_records_is_noted_by_its_name(record, held):
    dirty = {"sha": "a" * 40, "dirty": True}
    dev = record("dev", "new", "old", git=dirty, index="i1", versions={"numpy": "2.1"})
    record("test", "new", "old", index="i2", versions={"numpy": "2.2"})
    notes = held()["notes"]
    assert f"{dev.run['run_id']} measured uncommitted changes, which no commit holds" in notes
    assert any("not measured alike; they differ in index, version: numpy" in note for note in notes)


def test_what_is_on_by_default_already_has_to_be_worth_its_place_too(record, held):
    """`sparse` is on in both; leaving it out of `full` gains on test, so it may not stay on by default."""
    record("dev", "new", "old")
    record("test", "new", "old")
    questions = record("test", "full", "-rerank")
    found = held()
    assert states(found)["loo:sparse"] == "missing"
    assert found["missing"][0]["clauses"] == ["loo:sparse"]
    assert found["missing"][0]["opens_test"]
    assert questions.run["run_id"] in runs(found)["loo:rerank"]
    losing = record("test", "full", "-rerank", "-sparse", bad=("full",), better=("-sparse",))
    found = held()
    assert (states(found)["loo:rerank"], states(found)["loo:sparse"], found["graduated"]) == ("met", "failed", False)
    (clause,) = [clause for clause in found["clauses"] if clause["clause"] == "loo:sparse"]
    # full: 20 of 40 at rank 2, 0.5 / log2(3) = 0.315465; without sparse: 30 of 40 at rank 1, 0.75
    assert clause["evidence"][0]["delta"] == pytest.approx(0.5 / 1.5849625007 - 0.75)
    assert clause["evidence"][0]["run"] == losing.run["run_id"]
    assert "on by default already" in clause["asks"]


def test_a_configuration_without_factors_is_asked_for_no_leave_one_out_difference(record, held):
    bare = [{**entry(name), "factors": []} for name in ("new", "old")]
    record("dev", "new", "old", configurations=bare)
    record("test", "new", "old", configurations=bare)
    found = held()
    assert states(found) == {"dev": "met", "test": "met", "suites": "met"}
    assert found["graduated"]
    assert "it has no factor that can be left out, so no leave-one-out difference is asked for" in found["notes"]


def test_a_clause_that_failed_says_first_what_was_found(record, command):
    record("dev", "old", "new")
    words = " ".join(command("old", "--against", "new")[1].out.split())
    assert "dev, failed: the whole interval lies below zero. It has to beat the default on dev: " in words


def test_what_graduates_is_not_said_to_have_lost_on_dev(record, command):
    record("dev", "new", "old")
    record("test", "new", "old", "full", "-rerank", "-sparse")
    status, said = command("new", "--against", "old")
    assert status == 0
    assert "Dev has decided" not in said.out
    assert "Missing" not in said.out


def test_what_lost_on_dev_is_said_to_be_worth_no_look(record, command):
    record("dev", "new", "old")
    status, said = command("old", "--against", "new")
    assert status == 1
    assert "Dev has decided against it already, so no look at the test split is worth its cost." in " ".join(
        said.out.split()
    )


@pytest.mark.parametrize(("gained", "verdict"), [(12, "indeterminate"), (5, "unresolvable")])
def test_sta_04_an_interval_that_proves_nothing_wins_nothing_on_dev(run_of, question_of, held, gained, verdict):
    """Twelve of twelve questions won: an interval of no width. Five of six: it excludes zero, and no p could be 0.05."""
    asked = [question_of(number) for number in range(1, 13 if gained == 12 else 7)]
    best = {q.id: [q.gold[0].locator.file] for q in asked}
    other = {q.id: best[q.id] for q in asked[gained:]}
    run_of(asked, {"new": best, "old": other}, configurations=[entry("new"), entry("old")])
    clause = held()["clauses"][0]
    (evidence,) = clause["evidence"]
    assert evidence["low"] > 0
    assert evidence["verdict"] == verdict
    assert (clause["state"], clause["found"].partition(", but ")[0]) == ("failed", "the interval lies above zero")


def test_a_name_that_nothing_has_is_refused_with_the_nearest(record, held):
    record("dev", "new", "old")
    with pytest.raises(
        UsageError, match="newt: no record has such a configuration, and none is declared; did you mean"
    ):
        held("newt")
    with pytest.raises(UsageError, match="new cannot be held against itself"):
        held("new", "new")


def test_a_name_in_other_letters_is_near(record, held):
    record("dev", "full", "-rerank")
    with pytest.raises(UsageError, match=r"did you mean no-rerank or -rerank\?$"):
        held("NO-RERANK")


@pytest.mark.parametrize(("count", "more"), [(10, ""), (13, " and 3 more"), (1_210, " and 1,200 more")])
def test_where_no_name_is_near_ten_are_told_and_the_number_of_the_others(count, more):
    known = {name: Configuration(name, name, {}) for name in (f"arm-{number}" for number in range(count))}
    catalogue = Catalogue(known)
    ten = "arm-0, arm-1, arm-2, arm-3, arm-4, arm-5, arm-6, arm-7, arm-8, arm-9"
    with pytest.raises(UsageError) as refused:
        graduate([], "zzz", "arm-0", tolerance=0.02, looks=0, catalogue=catalogue)
    assert str(refused.value).endswith(f"none is declared; known are {ten}{more}")


# --- the command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    (tmp_path / "pytest.ini").write_text("[pytest]\nrag_runs_dir = runs\n")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = main(["graduate", *arguments])
        return status, capsys.readouterr()

    return call


def test_the_exit_status_is_0_when_it_graduates_1_when_not_and_4_for_a_mistake(record, command):
    record("dev", "new", "old")
    assert command("new", "--against", "old")[0] == 1
    record("test", "new", "old", "full", "-rerank", "-sparse")
    status, said = command("new", "--against", "old")
    assert status == 0
    assert "new graduates: all 5 clauses are met." in said.out
    assert command("old", "--against", "new")[0] == 1
    for mistake in (("new",), ("new", "--against", "nwe"), ("new", "--against", "old", "--run", "nowhere")):
        assert command(*mistake)[0] == 4
    assert command("new", "--against", "old", "--thresholds", "none.yaml")[0] == 4


def test_only_the_named_records_are_used(record, command):
    dev, test = record("dev", "new", "old"), record("test", "new", "old", "full", "-rerank", "-sparse")
    assert command("new", "--against", "old", "--run", dev.run["run_id"])[0] == 1
    assert command("new", "--against", "old", "--run", dev.run["run_id"], "--run", str(test.folder))[0] == 0


def test_the_thresholds_of_the_baselines_are_used_and_others_can_be_named(record, command, tmp_path):
    record("dev", "new", "old")
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "thresholds.yaml").write_text("max_suite_regression: 0.1\n")
    (tmp_path / "mine.yaml").write_text("max_suite_regression: 0.3\n")
    shown = [command("new", "--against", "old", "--json", *more)[1].out for more in ((), ("--thresholds", "mine.yaml"))]
    assert [json.loads(text)["tolerance"] for text in shown] == [0.1, 0.3]
    (tmp_path / "baselines" / "thresholds.yaml").write_text("max_suite_regresion: 0.1\n")
    status, said = command("new", "--against", "old")
    assert (status, "thresholds.yaml:1: max_suite_regresion" in said.err) == (4, True)


def test_the_text_shows_each_clause_with_its_evidence_and_what_a_test_run_costs(record, command):
    dev = record("dev", "new", "old", suites=("lexical", "code"))
    status, said = command("new", "--against", "old")
    assert status == 1
    words = " ".join(said.out.split())
    assert "new does not graduate: evidence is missing for 4 clauses." in words
    assert dev.run["run_id"] in words
    assert "test, missing: no record shows it. It has to hold on test: the difference must not be below zero." in words
    assert "For test, without rerank, without sparse, suites: `pytest " in words
    assert "--rag-split=test --unseal-test`. It opens the sealed test split and costs a look, number 1" in words
    assert "no (diag)" in words  # suites of 20 questions


def test_a_marker_is_a_name_too_and_a_declared_configuration_need_not_have_run(record, command, tmp_path):
    record("dev", "full", "-rerank", "-sparse")
    assert "Graduation: full against -rerank" in command("full", "--against", "no-rerank")[1].out
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "configs.yaml").write_text(
        "defaults: {list: a}\nfactors:\n  late: {list: b}\nconfigurations:\n  next: {factors: [late]}\n"
    )
    status, said = command("next", "--against", "no-rerank", "--json")
    found = json.loads(said.out)
    assert (status, states(found)) == (
        1,
        {"dev": "missing", "test": "missing", "loo:late": "missing", "suites": "missing"},
    )


def test_a_ledger_that_was_edited_is_refused(record, command, tmp_path):
    record("dev", "new", "old")
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "test_ledger.jsonl").write_text("{}\n")
    assert command("new", "--against", "old")[0] == 4


def test_nothing_is_written(record, command, tmp_path):
    record("dev", "new", "old")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    command("new", "--against", "old")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
