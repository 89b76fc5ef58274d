"""`--rag-llm` in sessions: what a pipeline is handed, what the record says, and what a miss does to its row."""

from __future__ import annotations

import json

import pytest
from plugin_support import HOW, question, results_bytes, rows, run_json

from pytest_ragbench.llm.store import prompt_key

PIPELINE = """
import pytest

@pytest.fixture(scope="session")
def rag_pipeline(rag_llm):
    def search(query, drafts=False):
        return [rag_llm.complete("file name only", query)] if drafts else ["g1.md"]
    return search
"""

CONFIGS = "configurations:\n  H-off: {}\n  H-on: {overrides: {drafts: true}, paired: H-off}\n"
BOTH = "--rag-configs=H-off,H-on"


@pytest.fixture
def drafting(project):
    project.write([question(n) for n in (1, 2, 3)], {"default": {}})
    project.file("conftest.py", PIPELINE)
    project.file("golden/configs.yaml", CONFIGS)
    return project


def record(text, completion, model="m"):
    key = prompt_key("file name only", text)
    return json.dumps({"key": key, "model": model, "completion": completion, "system": "file name only", "user": text})


def store(project, *lines):
    project.file("drafts.jsonl", "".join(f"{line}\n" for line in lines))


@HOW
def test_rep_05_a_prompt_that_the_store_lacks_fails_its_row_and_no_other(drafting, workers):
    store(drafting, record("question 1", "g1.md"), record("question 2", "g2.md"))
    result = drafting.run(BOTH, "--rag-llm=replay:drafts.jsonl", *workers)
    assert result.ret == 1
    result.assert_outcomes(passed=5, failed=1)
    (folder,) = drafting.runs
    found = rows(folder)
    assert found["lex-0001", "H-on"]["metrics"]["hit@1"] == 1.0
    error = found["lex-0003", "H-on"]["error"]
    assert error.startswith("NoCompletionError: ")
    assert prompt_key("file name only", "question 3") in error
    assert found["lex-0003", "H-on"]["ranking"] == []
    told = run_json(folder)["llm"]
    assert (told["mode"], told["store"], told["model"]) == ("replay", "drafts.jsonl", "m")


def test_record_then_fill_then_replay_gives_the_same_bytes_twice(drafting):
    result = drafting.run(BOTH, "--rag-llm=record:drafts.jsonl")
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=3)
    pending = drafting.path / "drafts.pending.jsonl"
    waiting = [json.loads(line) for line in pending.read_text(encoding="utf-8").splitlines()]
    assert sorted(entry["user"] for entry in waiting) == ["question 1", "question 2", "question 3"]
    for entry in waiting:
        entry["completion"] = f"g{entry['user'][-1]}.md"
    pending.write_text("".join(json.dumps(entry) + "\n" for entry in waiting), encoding="utf-8")
    filled = drafting.command("fill", "drafts.jsonl", "--model", "hand")
    assert filled.ret == 0
    filled.stdout.fnmatch_lines(["3 added, 0 known already, 0 prompts left"])
    for _ in range(2):
        assert drafting.run(BOTH, "--rag-llm=replay:drafts.jsonl").ret == 0
    assert results_bytes(drafting.runs[-1]) == results_bytes(drafting.runs[-2])
    assert rows(drafting.runs[-1])["lex-0002", "H-on"]["metrics"]["hit@1"] == 1.0


@HOW
@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            [record("question 1", "g1.md"), record("question 2", "g2.md", "m2")],
            "*one store holds the answers of one model*",
        ),
        ([record("question 1", "g1.md"), record("question 1", "g2.md")], "*line 1 has another completion*"),
    ],
    ids=["labels", "completions"],
)
def test_rep_04_an_unsound_store_is_refused_before_the_first_question(drafting, lines, told, workers):
    store(drafting, *lines)
    before = drafting.tree()
    result = drafting.run(BOTH, "--rag-llm=replay:drafts.jsonl", *workers)
    assert result.ret == 4
    assert any(told.strip("*") in line for line in [*result.outlines, *result.errlines])
    assert drafting.tree() == before


def test_the_ini_key_names_a_store_relative_to_its_file(drafting):
    store(drafting, *(record(f"question {n}", f"g{n}.md") for n in (1, 2, 3)))
    drafting.file("pytest.ini", "[pytest]\nrag_llm = replay:drafts.jsonl\n")
    assert drafting.run(BOTH).ret == 0
    assert run_json(drafting.runs[-1])["llm"]["store"] == "drafts.jsonl"


@pytest.mark.parametrize("value", ["replay", "replay:", "play:x", "record"])
def test_a_mode_that_is_none_is_refused(drafting, value):
    result = drafting.run(BOTH, f"--rag-llm={value}")
    assert result.ret == 4
    assert any("replay:FILE, record:FILE, live or live:FILE" in line for line in [*result.outlines, *result.errlines])


def test_without_a_model_the_fixture_is_none_and_the_record_says_so(drafting):
    assert drafting.run("--rag-configs=H-off").ret == 0
    assert run_json(drafting.runs[-1])["llm"] is None


def test_probes_see_the_questions_of_the_run_alone(drafting):
    drafting.sets([question(1), question(2), question(3, split="test")])
    drafting.file(
        "conftest.py",
        "import pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def rag_pipeline(rag_questions):\n"
        "    known = {q.text: [g.locator.file for g in q.gold] for q in rag_questions}\n"
        "    assert sorted(known) == ['question 1', 'question 2']\n"
        "    return lambda query, **_: known[query]\n",
    )
    assert drafting.run("--rag-configs=H-off").ret == 0
