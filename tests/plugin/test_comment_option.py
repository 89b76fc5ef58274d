"""`--rag-comment`, the step summary and JUnit properties: how a verdict leaves a real session."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from plugin_support import HOW, question

RULES = "hard_gates:\n  recall@10: {min: 0.5, max_regression_delta: 0.05}\n"
QUESTIONS = 8


def answers(found):
    return {f"question {n}": [f"g{n}.md"] if n <= found else ["x.md"] for n in range(1, QUESTIONS + 1)}


@pytest.fixture
def based(project, monkeypatch):
    """A project whose baseline answers all of its questions, and whose pipeline now answers five of eight."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    project.write([question(number) for number in range(1, QUESTIONS + 1)], {"one": answers(QUESTIONS)})
    project.file("baselines/thresholds.yaml", RULES)
    assert project.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    project.file("script.json", json.dumps({"one": answers(5)}))
    return project


@HOW
def test_the_comment_tells_the_verdict_and_the_questions_that_changed(based, workers):
    result = based.run("--rag-configs=one", "--rag-gate", "--rag-comment=out/gate.md", *workers)
    assert result.ret == 1
    text = (based.path / "out" / "gate.md").read_text(encoding="utf-8")
    assert text.startswith("<!-- pytest-ragbench: gate -->\n")
    assert "recall@10 of one fell by 0.375, more than 0.050" in text  # 8 of 8, then 5 of 8
    assert "3 worse, 0 better" in text
    assert "<code>question 6</code>" in text


def test_a_green_gate_writes_one_too_and_replaces_what_was_there(based):
    based.file("script.json", json.dumps({"one": answers(QUESTIONS)}))
    based.file("gate.md", "old")
    assert based.run("--rag-configs=one", "--rag-gate", "--rag-comment=gate.md").ret == 0
    assert "## Retrieval gate: passed" in (based.path / "gate.md").read_text(encoding="utf-8")


def test_a_refusal_reaches_the_comment_with_its_remedy(based):
    result = based.run("--rag-configs=one", "--rag-gate", "--rag-comment=gate.md", "-k", "lex-0001")
    assert result.ret == 1
    text = (based.path / "gate.md").read_text(encoding="utf-8")
    assert "## Retrieval gate: refused to judge" in text
    assert "--rag-configs=one --rag-gate" in text


def test_a_comment_without_a_gate_is_refused_before_anything_runs(based):
    runs = len(based.runs)
    result = based.run("--rag-configs=one", "--rag-comment=gate.md")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--rag-comment writes what the gate says; type --rag-gate*"])
    assert len(based.runs) == runs
    assert not (based.path / "gate.md").exists()


def test_as_a_setting_it_waits_for_a_gate(based):
    assert based.run("--rag-configs=one", "-o", "rag_comment=gate.md").ret == 0
    assert not (based.path / "gate.md").exists()


def test_a_comment_that_cannot_be_written_is_told_and_fails_the_session(based):
    based.file("taken", "a file, no folder")
    result = based.run("--rag-configs=one", "--rag-gate", "--rag-comment=taken/gate.md")
    assert result.ret not in {0, 4}
    assert "--rag-comment: " in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_the_step_summary_of_a_ci_job_is_appended_to(based, monkeypatch):
    based.file("summary.md", "earlier steps\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(based.path / "summary.md"))
    based.run("--rag-configs=one", "--rag-gate")
    text = (based.path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("earlier steps\n<!-- pytest-ragbench: gate -->")
    assert "## Retrieval gate: failed" in text


@HOW
def test_junit_tells_the_verdict_of_the_suite_and_the_metrics_of_each_question(based, workers):
    based.run("--rag-configs=one", "--rag-gate", "--junit-xml=out.xml", *workers)
    suite = ET.parse(based.path / "out.xml").getroot().find("testsuite")
    told = {one.get("name"): one.get("value") for one in suite.find("properties")}
    assert told["ragbench.gate"] == "failed"
    assert told["ragbench.run"] == based.runs[-1].name
    assert told["ragbench.one.recall@10"] == "0.625000"  # 5 of 8
    cases = {}
    for case in suite.iter("testcase"):
        own = {one.get("name"): one.get("value") for one in case.iter("property")}
        cases[own["ragbench.question"]] = own
    assert len(cases) == QUESTIONS
    assert {cases[f"lex-{n:04d}"]["ragbench.recall@10"] for n in range(1, 6)} == {"1.0"}
    assert {cases[f"lex-{n:04d}"]["ragbench.recall@10"] for n in range(6, 9)} == {"0.0"}
    assert {own["ragbench.configuration"] for own in cases.values()} == {"one"}


@pytest.mark.parametrize("option", ["--rag-comment", "--rag-report"])
@pytest.mark.parametrize(("target", "said"), [("golden", "is a folder"), ("/dev/stdout", "is a device")])
def test_what_no_file_may_replace_is_refused_before_anything_runs(based, option, target, said):
    runs = len(based.runs)
    result = based.run("--rag-configs=one", "--rag-gate", f"{option}={target}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{option}: *{target} {said}*"])
    assert len(based.runs) == runs


def test_what_went_wrong_is_told_below_a_green_verdict(based):
    based.file("script.json", json.dumps({"one": answers(QUESTIONS)}))
    based.file("taken", "a file, no folder")
    result = based.run("--rag-configs=one", "--rag-gate", "--rag-comment=taken/gate.md")
    assert result.ret == 3
    result.stdout.fnmatch_lines(["Gate passed: *", "*--rag-comment: *cannot be written*"])
