"""`--rag-llm` in sessions: what a pipeline is handed, what the record says, and what a miss does to its row."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler

import pytest
from llm_endpoint import serving
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


@HOW
def test_rep_04_an_identical_duplicate_is_accepted_and_the_report_warns_of_it(drafting, workers):
    known = [record(f"question {n}", f"g{n}.md") for n in (1, 2, 3)]
    store(drafting, *known, known[0], known[1])
    result = drafting.run(BOTH, "--rag-llm=replay:drafts.jsonl", *workers)
    assert result.ret == 0
    told = (
        "the store drafts.jsonl holds 2 repeated records, first at line 4: "
        "the same record stands at line 1 already; remove one"
    )
    assert run_json(drafting.runs[-1])["notes"] == [told]
    assert told[1:] in (drafting.runs[-1] / "report.md").read_text(encoding="utf-8").replace("\\", "")
    result.stdout.fnmatch_lines([f"*{told[1:60]}*"])


def test_rep_01_only_the_exact_prompt_hits_and_each_other_row_says_where_it_differs(drafting):
    asked = {  # what the pipeline asks under each configuration, and where that parts from the prompt in the store
        "same": ("S", "What is caf\u00e9?\n", None),
        "bare": ("S", "What is caf\u00e9?", "character 13: recorded '\\n', asked its end"),
        "crlf": ("S", "What is caf\u00e9?\r\n", "character 13: recorded '\\n', asked '\\r\\n'"),
        "nfd": ("S", "What is cafe\u0301?\n", "character 11: recorded '\u00e9?\\n', asked 'e\u0301?\\n'"),
        "other": ("T", "What is caf\u00e9?\n", "whose system prompt differs at character 0: recorded 'S', asked 'T'"),
    }
    drafting.sets([question(1)])
    drafting.file(
        "conftest.py",
        PIPELINE.replace("drafts=False", "ask=()").replace(
            '[rag_llm.complete("file name only", query)] if drafts else ["g1.md"]', "[rag_llm.complete(*ask)]"
        ),
    )
    arms = {name: {"overrides": {"ask": [system, user]}} for name, (system, user, _) in asked.items()}
    drafting.file("golden/configs.yaml", json.dumps({"configurations": arms}))
    system, user, _ = asked["same"]
    line = {"key": prompt_key(system, user), "model": "m", "completion": "g1.md", "system": system, "user": user}
    store(drafting, json.dumps(line))
    assert drafting.run(f"--rag-configs={','.join(asked)}", "--rag-llm=replay:drafts.jsonl").ret == 1
    found = {key[1]: row for key, row in rows(drafting.runs[-1]).items()}
    assert found["same"]["metrics"]["hit@1"] == 1.0
    for name, (system, user, told) in asked.items():
        if told is not None:
            assert prompt_key(system, user) in found[name]["error"]
            assert "the nearest recorded prompt is 'What is caf\u00e9?\\n'" in found[name]["error"]
            assert told in found[name]["error"]
            assert found[name]["ranking"] == []


class Endpoint(BaseHTTPRequestHandler):
    """Answers `question 3` by `g3.md`, and counts."""

    asked: list[str] = []  # noqa: RUF012 - one a test, set by the fixture

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        user = body["messages"][-1]["content"]
        self.asked.append(user)
        message = {"role": "assistant", "content": f"g{user[-1]}.md"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint(monkeypatch):
    """The prompts that reached a live model on this machine."""
    pytest.importorskip("openai")
    with serving(Endpoint, monkeypatch) as prompts:
        yield prompts


@HOW
def test_a_live_model_is_asked_once_a_prompt_and_what_it_said_replays_alike(drafting, endpoint, workers):
    arms = "configurations:\n" + "".join(f"  A{n}: {{overrides: {{drafts: true}}}}\n" for n in range(4))
    drafting.file("golden/configs.yaml", arms)
    chosen = "--rag-configs=A0,A1,A2,A3"
    result = drafting.spawn(chosen, "--rag-llm=live:kept/drafts.jsonl", *workers)
    assert result.ret == 0
    result.assert_outcomes(passed=12)
    assert sorted(endpoint) == ["question 1", "question 2", "question 3"]
    lines = (drafting.path / "kept" / "drafts.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["user"] for line in lines) == sorted(endpoint)
    told = run_json(drafting.runs[-1])["llm"]
    assert told == {"mode": "live", "store": "kept/drafts.jsonl", "model": "tiny", "digest": None}
    assert drafting.run(chosen, "--rag-llm=replay:kept/drafts.jsonl").ret == 0
    assert results_bytes(drafting.runs[-1]) == results_bytes(drafting.runs[-2])
    assert len(endpoint) == 3


@pytest.mark.parametrize(
    ("variable", "told", "workers"),
    [
        ("RAGBENCH_LLM_MODEL", "it is not set", ()),
        ("RAGBENCH_LLM_MODEL", "it is not set", ("-n2",)),
        ("OPENAI_API_KEY", "the live model cannot be asked", ("-n2",)),
    ],
    ids=["no-model", "no-model-n2", "no-key-n2"],
)
def test_a_live_model_that_cannot_be_asked_ends_the_run_before_its_first_row(
    drafting, endpoint, monkeypatch, variable, told, workers
):
    monkeypatch.delenv(variable)
    result = drafting.run(BOTH, "--rag-llm=live", *workers)
    assert result.ret == 4
    assert any(told in line for line in [*result.outlines, *result.errlines])
    assert all(not rows(folder) for folder in drafting.runs)
    assert endpoint == []


@pytest.mark.usefixtures("interruptible")
def test_filling_from_a_live_model_that_is_interrupted_keeps_each_answer(drafting, endpoint, monkeypatch):
    drafting.sets([question(n) for n in range(1, 4)])
    assert drafting.run("--rag-configs=H-on", "--rag-llm=record:drafts.jsonl").ret == 1
    answer = Endpoint.do_POST

    def interrupt(handler):
        if len(endpoint) == 2:
            os.kill(filling.pid, signal.SIGINT)
        answer(handler)

    monkeypatch.setattr(Endpoint, "do_POST", interrupt)
    command = [sys.executable, "-m", "pytest_ragbench.cli", "fill", "drafts.jsonl", "--live"]
    filling = subprocess.Popen(command, cwd=drafting.path, stderr=subprocess.PIPE, text=True)
    _, shown = filling.communicate(timeout=60)
    assert (filling.returncode, "Traceback" in shown) == (130, False)
    monkeypatch.undo()
    assert len((drafting.path / "drafts.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_a_wrong_path_given_to_fill_is_refused(drafting):
    filled = drafting.command("fill", "draft.jsonl", "--model", "hand")
    assert filled.ret == 4
    filled.stderr.fnmatch_lines(["ragbench fill: error: draft.jsonl: there is no such store*--rag-llm=record:*"])


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
