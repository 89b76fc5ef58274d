"""The seal: every path to the test split refuses unasked and writes nothing; asked, it is written down first."""

from __future__ import annotations

import json

import pytest
from plugin_support import HOW, question, rows, run_json

CONFIGS = {
    "defaults": {"list": "good", "rerank": "none"},
    "configurations": {"A": {}, "B": {"overrides": {"rerank": "cross"}, "paired": "A"}},
    "warm_up": ["rerank"],
}
SEALED_ID = "golden/test_golden.py::test_question[A-lex-0004]"
DEV_ID = SEALED_ID.replace("0004", "0001")


def write(project, **lists):
    """Three dev questions and two of the test split, 4 and 5."""
    questions = [question(number, split="test" if number > 3 else "dev") for number in range(1, 6)]
    good = {f"question {number}": [f"g{number}.md"] for number in range(1, 6)} | lists
    return project.write(questions, {"good": good}, configs=CONFIGS)


def refused(result):
    said = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.USAGE_ERROR, said
    assert "sealed" in said
    assert "--unseal-test" in said
    assert "INTERNALERROR" not in said
    assert "Traceback" not in said


ATTEMPTS = {
    "split test": (("--rag-split=test",), "", ""),
    "split all": (("--rag-split=all",), "", ""),
    "ini split test": ((), "rag_split = test", ""),
    "ini split all with another option": (("--rag-configs=A",), "rag_split = all", ""),
    "addopts split": ((), "addopts = --rag-split=all", ""),
    "addopts unseal": (("--rag-split=test",), "addopts = --unseal-test", ""),
    "environment unseal": (("--rag-split=test",), "", "--unseal-test"),
    "environment everything": ((), "", "--rag-split=all --unseal-test"),
    "environment unseal, typed marker": (("-m", "sealed"), "", "--unseal-test"),
    "node id": ((SEALED_ID,), "", ""),
    "node id beside a dev one": ((SEALED_ID, DEV_ID), "", ""),
    "node id, environment unseal": ((SEALED_ID,), "", "--unseal-test"),
    "sealed": (("-m", "sealed"), "", ""),
    "sealed in addopts": ((), "addopts = -m sealed", ""),
    "sealed or": (("-m", "sealed or lexical"), "", ""),
    "sealed and": (("-m", "A and sealed", "--rag-configs=A,B"), "", ""),
    "not not sealed": (("-m", "not (not sealed)"), "", ""),
    "same marker on both sides": (("-m", "(sealed and A) or (not sealed and B)"), "", ""),
    "k alone": (("-k", "lex-0004"), "", ""),
    "k alone with options": (("-k", "lex-0004 or lex-0005", "--rag-configs=A"), "", ""),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_led_01_every_path_to_the_test_split_refuses_and_writes_nothing(project, monkeypatch, name):
    typed, ini, environment = ATTEMPTS[name]
    write(project)
    project.file("pytest.ini", f"[pytest]\n{ini}\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", environment)
    before = project.tree()
    refused(project.run(*typed))
    assert project.tree() == before
    assert not project.searches


@pytest.mark.parametrize("name", ["split all", "node id", "sealed or", "k alone", "environment everything"])
def test_led_01_under_workers_too(project, monkeypatch, name):
    typed, ini, environment = ATTEMPTS[name]
    write(project)
    project.file("pytest.ini", f"[pytest]\n{ini}\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", environment)
    before = project.tree()
    refused(project.run("-n2", *typed))
    assert project.tree() == before
    assert not project.searches


def test_led_01_an_expression_that_merely_excludes_asks_for_nothing(project):
    write(project)
    for typed in (("-m", "not sealed"), ("-m", "A"), ("-m", "lexical and not sealed"), ("-k", "lex-0001 or lex-0004")):
        ids = project.collect(*typed)
        assert ids
        assert not [node_id for node_id in ids if "0004" in node_id or "0005" in node_id]
    assert not project.ledger


@HOW
def test_led_01_what_failed_in_a_test_run_does_not_run_again_unasked(project, workers):
    write(project, **{"question 4": {"raise": "gone"}})
    assert project.run("--rag-split=all", "--unseal-test", "--rag-configs=A").ret == 1
    before, searched = project.tree(), len(project.searches)
    refused(project.run("--lf", *workers))
    assert project.tree() == before
    assert len(project.searches) == searched
    allowed = project.run("--lf", "--rag-split=all", "--unseal-test", "--rag-configs=A", *workers)
    assert allowed.ret == 1
    assert [entry["index"] for entry in project.ledger] == [1, 2]


def test_an_item_that_another_plugin_brings_back_does_not_search(project):
    write(project)
    hook = """
def pytest_itemcollected(item):
    EVERYTHING.insert(0, item)  # a sealed one is the first

EVERYTHING = []

@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session):
    session.items[:] = EVERYTHING
"""
    conftest = (project.path / "conftest.py").read_text()
    project.file("conftest.py", conftest + hook)
    before = project.tree()
    for workers in ((), ("-n2",), ("-n2", "--dist=worksteal"), ("-k", "lex-0004 or lex-0001", "--deselect", DEV_ID)):
        refused(project.run("--rag-configs=A", *workers))
        assert project.tree() == before
        assert not project.searches


def test_items_that_a_mark_skips_are_no_look(project):
    write(project).file(
        "golden/test_golden.py", "import pytest\n@pytest.mark.skip\ndef test_question(rag_row): rag_row.check()\n"
    )
    before = project.tree()
    project.run("-m", "sealed", "--unseal-test").assert_outcomes(skipped=2)
    assert project.tree() == before


READS_LEDGER = """
import pathlib, pytest

HERE = pathlib.Path(__file__).parent

class Reader:
    def search(self, query, **overrides):
        ledger = HERE / "baselines" / "test_ledger.jsonl"
        lines = ledger.read_text().count("\\n") if ledger.exists() else 0
        with (HERE / "seen.log").open("a") as log:
            log.write(f"{lines}\\n")
        return []

@pytest.fixture(scope="session")
def rag_pipeline():
    return Reader()
"""


@pytest.mark.parametrize("workers", [(), ("-n4",)], ids=["serial", "n4"])
def test_led_03_one_opening_writes_one_line_before_the_warm_up_and_the_first_search(project, workers):
    write(project)
    project.file("conftest.py", READS_LEDGER)
    result = project.run("-m", "sealed", "--unseal-test", "--rag-configs=A,B", *workers)
    result.assert_outcomes(passed=4)
    seen = (project.path / "seen.log").read_text().split()
    assert len(seen) > 4
    assert set(seen) == {"1"}
    (entry,) = project.ledger
    run = run_json(project.runs[0])
    assert (entry["run_id"], entry["split"], entry["configurations"]) == (run["run_id"], "test", ["A", "B"])
    assert (entry["questions_digest"], entry["git"]) == (run["questions_digest"], run["git"])
    assert run["ledger"] == {"count": 1, "last_hash": entry["hash"]}
    assert {question_id for question_id, _ in rows(project.runs[0])} == {"lex-0004", "lex-0005"}
    assert (run["split"], run["partial"], run["complete"]) == ("test", False, True)
    for text in ((project.runs[0] / "report.md").read_text(), result.stdout.str()):
        assert "Test split opened 1 time." in text


@HOW
def test_a_typed_node_id_with_the_option_opens_the_split_for_that_item(project, workers):
    write(project)
    result = project.run(SEALED_ID, "--unseal-test", *workers)
    result.assert_outcomes(passed=1)
    assert set(rows(project.runs[0])) == {("lex-0004", "A")}
    assert len(project.ledger) == 1
    assert run_json(project.runs[0])["partial"] is True


@HOW
@pytest.mark.parametrize("typed", [("-k", "lex-0004"), ("-m", "sealed", "--rag-split=dev")], ids=["-k", "split dev"])
def test_the_option_where_the_run_is_of_another_split_says_what_opens_it(project, workers, typed):
    write(project)
    result = project.run(*typed, "--unseal-test", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "--unseal-test alone opens nothing, and this run is of the split dev: add --rag-split=test" in said
    assert not project.ledger
    if "-k" in typed:
        project.run(*typed, "--unseal-test", "--rag-split=test", *workers).assert_outcomes(passed=1)


def test_led_03_two_runs_at_once_write_two_entries_and_count_one_and_two(project):
    slow = {f"question {number}": {"sleep": 0.3, "chunks": []} for number in (4, 5)}
    write(project, **slow)
    typed = ("-m", "sealed", "--unseal-test", "--rag-configs=A")
    processes = [project.start(*typed) for _ in range(2)]
    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
    assert [entry["index"] for entry in project.ledger] == [1, 2]
    assert project.ledger[1]["previous"] == project.ledger[0]["hash"]
    by_run = {entry["run_id"]: entry["index"] for entry in project.ledger}
    assert {folder.name: run_json(folder)["ledger"]["count"] for folder in project.runs} == by_run
    assert project.run("--rag-configs=A").ret == 0
    assert "Test split opened 2 times." in (project.runs[-1] / "report.md").read_text()


@pytest.mark.parametrize("go_on", [(), ("--continue-on-collection-errors",)], ids=["stop", "go-on"])
@HOW
def test_after_a_collection_error_the_split_stays_sealed(project, workers, go_on):
    write(project)
    project.file("test_broken.py", "import a_package_that_is_not_there\n")
    before = project.tree()
    typed = ("golden", "test_broken.py", *go_on, *workers)
    result = project.run("--rag-split=all", "--unseal-test", *typed)
    assert result.ret in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
    assert project.tree() == before
    assert not project.searches
    if go_on:
        assert project.run("--rag-configs=A", *typed).ret == pytest.ExitCode.TESTS_FAILED
        assert set(rows(project.runs[0])) == {(f"lex-{number:04d}", "A") for number in (1, 2, 3)}
        assert not project.ledger


def test_the_budget_of_looks_is_kept(project):
    write(project)
    project.file("pytest.ini", "[pytest]\nrag_test_looks = 1\n")
    typed = ("-m", "sealed", "--unseal-test")
    assert project.run(*typed).ret == 0
    before = project.tree()
    for workers in ((), ("-n2",)):
        result = project.here(*typed, *workers)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*opened once, and rag_test_looks allows 1*"])
    assert project.tree() == before
    assert project.run("--rag-configs=A").ret == 0


def edited(lines):
    entry = json.loads(lines[0])
    return [json.dumps(entry | {"configurations": ["B"]}), *lines[1:]]


DAMAGES = {
    "edited": (edited, "*was edited*"),
    "cut": (lambda lines: lines[:1], "*cut or rewritten*saw the test split opened 2 times*it has 1*"),
    "first line gone": (lambda lines: lines[1:], "*cut or reordered*"),
    "deleted": (lambda _: None, "*cut or rewritten*saw the test split opened 2 times*it has 0*"),
    "torn": (lambda lines: [*lines, lines[1][:40]], "*torn*delete that line*"),
}


def test_a_ledger_that_was_edited_cut_or_torn_is_refused_by_every_run(project):
    write(project)
    for _ in range(2):
        assert project.run("-m", "sealed", "--unseal-test").ret == 0
    file = project.path / "baselines" / "test_ledger.jsonl"
    whole = file.read_text().splitlines()
    for name, (damage, said) in DAMAGES.items():
        lines = damage(whole)
        if lines is None:
            file.unlink()
        else:
            file.write_text("\n".join(lines) + ("" if name == "torn" else "\n"))
        before = project.tree()
        for typed in (
            ("--rag-configs=A",),
            ("-m", "sealed", "--unseal-test"),
            ("-m", "sealed", "--unseal-test", "-n2"),
        ):
            result = project.here(*typed)
            assert result.ret == pytest.ExitCode.USAGE_ERROR, name
            result.stderr.fnmatch_lines([said])
        assert project.tree() == before
    file.write_text("\n".join(whole) + "\n")
    assert project.run("--rag-configs=A").ret == 0


def test_a_resumed_test_run_asks_again_and_is_a_look_of_its_own(project):
    write(project, **{"question 5": {"once": "failed", "first": {"raise": "timed out"}, "then": ["g5.md"]}})
    assert project.run("-m", "sealed and A", "--unseal-test").ret == 1
    before = project.tree()
    refused(project.run("--rag-resume=last"))
    assert project.tree() == before
    assert project.run("--rag-resume=last", "--unseal-test").ret == 0
    assert [entry["split"] for entry in project.ledger] == ["test", "test"]
    run = run_json(project.runs[1])
    assert (run["ledger"]["count"], run["complete"], run["resumed_from"]) == (2, True, project.runs[0].name)
    assert set(rows(project.runs[1])) == {("lex-0004", "A"), ("lex-0005", "A")}
