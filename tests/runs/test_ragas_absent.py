"""`ragbench ragas` where RAGAS is not installed, or nothing can be scored: said before any model is asked."""

from __future__ import annotations

import sys

import pytest

from pytest_ragbench import cli


def test_without_the_package_it_says_what_to_install(run_of, question_of, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ragas", None)
    record = run_of([question_of(1)], {"one": {"lex-0001": ["g1.md"]}})
    assert cli.main(["ragas", str(record.folder), "--llm", f"record:{tmp_path / 'store.jsonl'}"]) == 4
    assert "pip install 'pytest-ragbench[ragas]'" in capsys.readouterr().err


def test_an_incomplete_run_is_refused(run_of, question_of, tmp_path, capsys):
    record = run_of([question_of(1)], {"one": {"lex-0001": ["g1.md"]}}, complete=False)
    assert cli.main(["ragas", str(record.folder), "--llm", f"record:{tmp_path / 'store.jsonl'}"]) == 4
    assert "is incomplete" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["replay", "live:", "ask:x", "record:"])
def test_another_mode_is_a_mistake(run_of, question_of, text, capsys):
    record = run_of([question_of(1)], {"one": {"lex-0001": ["g1.md"]}})
    assert cli.main(["ragas", str(record.folder), "--llm", text]) == 4
    assert f"--llm={text}: it is replay:FILE, record:FILE, live or live:FILE" in capsys.readouterr().err
