"""What a question set says, or is refused for, in a session: the same as for `ragbench validate`, in any locale."""

from __future__ import annotations

import json
import re

import pytest
from plugin_support import question, results_bytes, rows, run_json

ASCII_LOCALE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "", "LC_ALL": "C", "LANG": "C"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("  gold: [{file: b.pdf, page: [5, 6]}]\n", "set.yaml:5: lex-0001: gold[0].page: unknown field; did you mean `pages`?"),
        ("  gold: [{file: a.md}]\n  anwserable: false\n", "set.yaml:6: lex-0001: anwserable: unknown field; did you mean `answerable`?"),
        ("  gold: [{file: a.md}]\n  ? [a, b]\n  : c\n", "set.yaml:6: lex-0001: a list stands where a key must stand"),
        ("  gold: [{file: ../../outside.txt}]\n", "set.yaml:5: lex-0001: gold[0].file: '../../outside.txt' has a `..` segment"),
    ],
    ids=["page", "anwserable", "list-key", "LOC-08"],
)  # fmt: skip
def test_yml_12_loc_08_a_session_refuses_a_set_with_the_text_of_validate(project, lines, said):
    project.write([], {"A": {"*": ["b.pdf"]}})
    project.file("golden/sets/set.yaml", f"- id: lex-0001\n  question: x\n  suite: lexical\n  tier: T1\n{lines}")
    session, command = project.here("--rag-configs=A"), project.command("validate")
    assert (session.ret, command.ret) == (4, 1)
    told = next(line for line in command.outlines if said in line).removeprefix("error: ")
    assert told in str(session.outlines + session.errlines)
    assert project.searches == []
    assert project.runs == []


def test_yml_08_a_bare_date_reaches_the_record_as_iso_text_over_workers(project):
    project.write([question(1)], {"A": {"*": ["g1.md"]}})
    project.file(
        "golden/sets/set.yaml",
        "- id: lex-0001\n  question: question 1\n  suite: lexical\n  tier: T1\n  split: dev\n  gold: [{file: g1.md}]\n"
        "  provenance: {status: verified, reviewed_at: 2026-01-05}\n",
    )
    project.run("--rag-configs=A", "-n2").assert_outcomes(passed=1)
    (line,) = (project.runs[0] / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["provenance"]["reviewed_at"] == "2026-01-05"


def test_yml_11_a_locale_without_utf_8_gives_the_same_results_and_report(project, monkeypatch):
    texts = {1: "où est la démonstration?", 2: "可微 とは何ですか"}
    gold = {1: [{"file": "Résumé.md"}], 2: [{"file": "可微.md"}]}
    project.write(
        [question(n, text=texts[n], gold=gold[n]) for n in texts],
        {"A": {texts[1]: ["Résumé.md"], texts[2]: ["x.md", "可微.md"]}},
    )
    project.run("--rag-configs=A").assert_outcomes(passed=2)
    for name, value in ASCII_LOCALE.items():
        monkeypatch.setenv(name, value)
    result = project.run("--rag-configs=A")
    result.assert_outcomes(passed=2)
    assert "Traceback" not in str(result.outlines + result.errlines)
    one, other = project.runs
    assert {cell: row["metrics"]["mrr@10"] for cell, row in rows(other).items()} == {
        ("lex-0001", "A"): 1.0,
        ("lex-0002", "A"): 0.5,
    }
    assert results_bytes(one) == results_bytes(other)
    assert run_json(one)["questions_digest"] == run_json(other)["questions_digest"]
    # Everything but what the clock says: the run's name and times, and the latencies at the end.
    texts_of = [(folder / "report.md").read_bytes().decode().replace(folder.name, "RUN") for folder in (one, other)]
    before = [re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+Z?", "TIME", text.partition("## Latency")[0]) for text in texts_of]
    assert before[0] == before[1]
    assert "mrr@10" in before[0]
