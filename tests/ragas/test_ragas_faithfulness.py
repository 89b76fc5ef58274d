"""The real RAGAS over a saved run: its own prompts through a store of completions, recorded, filled and replayed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

pytest.importorskip("ragas", reason="needs the extra `ragas` (tox run -e ragas)")

from pytest_ragbench import canonical, cli
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.llm.filling import fill
from pytest_ragbench.llm.store import pending_path, prompt_key
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import chunk_line
from pytest_ragbench.records.writer import RunWriter

NOON = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)
GOLD = (GoldSource(Locator("queues.md")),)
ANSWER = "A queue is first in, first out. A stack is last in, first out. Both hold elements."
QUESTIONS = (
    Question("lex-0001", "How do a queue and a stack differ?", "lexical", "T1", "dev", gold=GOLD, answer=ANSWER),
    Question("lex-0002", "What has no reference answer?", "lexical", "T1", "dev", gold=GOLD),
    Question("lex-0003", "What is found nowhere?", "lexical", "T1", "dev", gold=GOLD, answer="A heap."),
)
STATEMENTS = ["A queue is first in, first out.", "A stack is last in, first out.", "Both hold elements."]
VERDICTS = [1, 0, 1]


def search(query, **_):
    if "nowhere" in query:
        return []
    return [{"file": "queues.md", "text": "A queue is first in, first out, and holds elements; so does a stack."}]


@pytest.fixture
def run(tmp_path):
    arm, table = Configuration("one", "one"), RowTable(metric_names(10))
    facts = {"configurations": [{"name": "one", "marker": "one"}], "split": "dev", "k": 10}
    writer = RunWriter.create(tmp_path / "runs", started_at=NOON, sha=None, run=facts, questions=QUESTIONS)
    for question in QUESTIONS:
        measured = measure(search, question, arm, k=10)
        table.add(measured.row)
        writer.add(canonical.dumps(measured.row), map(chunk_line, measured.chunks))
    summary = summarise(table, Plan(QUESTIONS, (arm,)), complete=True)
    return writer.finish(status="done", finished_at=NOON, summary=summary, complete=True, partial=False).folder


def answered(store, completion):
    """Write a completion to the one prompt that waits, and move it into the store; its user prompt."""
    waiting = pending_path(store)
    (record,) = [json.loads(line) for line in waiting.read_text(encoding="utf-8").splitlines()]
    assert record["key"] == prompt_key(record["system"] or "", record["user"])
    waiting.write_text(json.dumps(record | {"completion": completion}) + "\n", encoding="utf-8")
    assert fill(store, model="by hand").left == 0
    return record["user"]


def test_its_prompts_go_through_the_store_and_the_score_is_the_share_of_supported_statements(run, tmp_path, capsys):
    store = tmp_path / "store.jsonl"
    ragas = ["ragas", str(run), "--llm"]
    assert cli.main([*ragas, f"record:{store}"]) == 1
    asked = answered(store, json.dumps({"statements": STATEMENTS}))
    assert ANSWER in asked
    assert QUESTIONS[0].text in asked
    assert cli.main([*ragas, f"record:{store}"]) == 1
    verdicts = [{"statement": s, "reason": "r", "verdict": v} for s, v in zip(STATEMENTS, VERDICTS, strict=True)]
    asked = answered(store, "```json\n" + json.dumps({"statements": verdicts}) + "\n```")
    assert "so does a stack" in asked
    capsys.readouterr()
    assert cli.main([*ragas, f"replay:{store}", "--json"]) == 0
    found = canonical.loads(capsys.readouterr().out)
    assert [(row["question"], row["ragas"]) for row in found["rows"]] == [
        ("lex-0001", pytest.approx(2 / 3)),
        ("lex-0003", 0.0),  # nothing was found, so nothing supports it, and no model was asked
    ]
    assert found["model"] == "by hand"
    assert found["configurations"]["one"]["ragas"] == pytest.approx(1 / 3)
    assert (found["configurations"]["one"]["n"], found["configurations"]["one"]["unanswered"]) == (2, 0)
    assert cli.main([*ragas, f"replay:{store}"]) == 0
    text = capsys.readouterr().out
    assert "0.333" in text
    assert "by hand" in text


def test_an_answer_that_is_not_what_ragas_asks_for_is_told_and_scores_nothing(run, tmp_path, capsys):
    store = tmp_path / "store.jsonl"
    assert cli.main(["ragas", str(run), "--llm", f"record:{store}"]) == 1
    answered(store, "The statements are three.")
    capsys.readouterr()
    assert cli.main(["ragas", str(run), "--llm", f"replay:{store}", "--json"]) == 1
    first = canonical.loads(capsys.readouterr().out)["rows"][0]
    assert first["ragas"] is None
    assert "the completion is not the JSON that RAGAS asks for" in first["error"]


def test_a_store_without_the_prompt_names_it(run, tmp_path, capsys):
    store = tmp_path / "store.jsonl"
    line = {"key": prompt_key("", "other"), "model": "by hand", "completion": "x", "system": "", "user": "other"}
    store.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert cli.main(["ragas", str(run), "--llm", f"replay:{store}"]) == 1
    assert "has no answer to this prompt" in " ".join(capsys.readouterr().out.split())
