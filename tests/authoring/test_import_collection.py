"""Records of a collection as documents."""

from __future__ import annotations

import json

from pytest_ragbench.authoring.importing.beir import import_beir
from pytest_ragbench.authoring.importing.collection import read_entries
from pytest_ragbench.questions.loading import load_questions


def test_each_record_is_a_document_with_title_and_text(tmp_path):
    path = tmp_path / "corpus.jsonl"
    records = [
        {"_id": "é", "title": "Täglich", "text": "eins"},
        {"_id": "2", "text": "two"},
        {"_id": "3", "title": None, "text": ""},
    ]
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    assert {name: entry.text() for name, entry in read_entries(path).items()} == {
        "é": "Täglich eins",
        "2": "two",
        "3": "",
    }


def test_lines_that_are_no_record_are_passed_over_and_the_first_of_two_counts(tmp_path):
    path = tmp_path / "corpus.jsonl"
    lines = [
        b"\xef\xbb\xbf" + b'{"_id": "a", "text": "first"}',
        b"{",
        b"",
        b"[]",
        b'{"_id": 1}',
        b"\xff",
        b'{"_id": "a", "text": "second"}',
    ]
    path.write_bytes(b"\r\n".join(lines))
    assert {name: entry.text() for name, entry in read_entries(path).items()} == {"a": "first"}


def test_the_corpus_of_an_import_holds_every_gold_file(collections_dir, tmp_path):
    import_beir(collections_dir / "hotpotqa-100", tmp_path / "out")
    entries = read_entries(tmp_path / "out" / "corpus" / "corpus.jsonl")
    questions = load_questions(tmp_path / "out" / "golden" / "sets").questions
    assert {gold.locator.file for question in questions for gold in question.gold} <= entries.keys()
    assert len(entries) == 994
