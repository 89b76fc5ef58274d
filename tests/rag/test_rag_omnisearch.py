"""The live scan: what the files hold now, ranked by terms and how often, given as chunks of the index."""

from __future__ import annotations

import json

import pytest

from rag.scanning import scan

NOTES = {
    "a.md": "# Locks\n\nA mutex guards a bracket.\n\n# More\n\nA mutex is a lock; a mutex waits.",
    "b.md": "a mutex and a spinlock guard",
    "c.py": "def spinlock():\n    return None\n",
    "d.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["a = 1\n", "turnstile = a"]}]}),
}


@pytest.fixture
def ask(write, pipeline):
    write(NOTES)
    search = pipeline().search
    search("mutex", dense=False)  # the index is of now

    def find(question, **options):
        return search(question, dense=False, omnisearch=True, **options).stages["omnisearch"]

    return find


def files(ranking):
    return [chunk.file for chunk in ranking]


def test_files_rank_by_distinct_terms_then_by_how_often_they_hold_them(ask):
    assert files(ask("mutex spinlock"))[:3] == ["b.md", "a.md", "c.py"]
    assert files(ask("mutex"))[0] == "a.md"


def test_the_best_chunk_of_every_file_comes_before_the_second_of_any(ask):
    found = ask("mutex")
    assert [(chunk.file, chunk.heading) for chunk in found] == [
        ("a.md", ("More",)),
        ("b.md", ()),
        ("a.md", ("Locks",)),
    ]
    assert files(ask("mutex", omnisearch_pool=2)) == ["a.md", "b.md"]


def test_ties_keep_the_order_of_the_index(write, pipeline):
    write({f"{name}.md": "same words" for name in "dbca"})
    found = pipeline().search("words", dense=False, omnisearch=True).stages["omnisearch"]
    assert files(found) == ["a.md", "b.md", "c.md", "d.md"]


def test_notebooks_are_read_not_their_json(ask):
    assert files(ask("turnstile")) == ["d.ipynb"]
    assert files(ask("cell_type")) == []


@pytest.mark.parametrize("question", ["?!", "nowhere", "\U0001f642"])
def test_without_a_term_it_finds_nothing(ask, question):
    assert ask(question) == ()


def test_files_are_read_as_they_are_now(ask, write, tmp_path):
    assert files(ask("mutex spinlock guard"))[:2] == ["b.md", "a.md"]
    write({"b.md": "empty by now"})
    assert files(ask("mutex spinlock guard"))[0] == "a.md"
    assert "b.md" not in files(ask("mutex spinlock guard"))
    (tmp_path / "corpus" / "a.md").unlink()
    assert files(ask("mutex spinlock guard")) == ["c.py"]


def test_a_new_file_has_no_chunk_to_give_and_new_words_raise_only_what_is_indexed(ask, write):
    write({"new.md": "mutex mutex mutex", "b.md": "a mutex and a turnstile, turnstile"})
    assert "new.md" not in files(ask("mutex"))
    assert files(ask("mutex turnstile"))[0] == "b.md"


def test_nothing_of_it_is_remembered(ask, write, pipeline):
    search = pipeline().search
    options = {"dense": False, "omnisearch": True}
    search("mutex", **options)
    again = search("mutex", **options)
    assert "omnisearch" in again.timings
    assert "omnisearch" not in again.cached


def test_books_are_not_opened(write, pipeline):
    corpus = write({"a.md": "words", "book.pdf": b"%PDF-1.4 broken"})
    files_read, _ = scan(corpus, lambda name: name.endswith(".md"))
    assert list(files_read) == ["a.md"]
    found = pipeline().search("words", dense=False, omnisearch=True).stages["omnisearch"]
    assert files(found) == ["a.md"]


def test_records_of_a_collection_are_documents(write, pipeline):
    records = [{"_id": "1", "title": "T", "text": "mutex"}, {"_id": "2", "text": "lock mutex"}]
    write({"corpus.jsonl": "\n".join(map(json.dumps, records))})
    found = pipeline().search("lock mutex", dense=False, omnisearch=True).stages["omnisearch"]
    assert files(found) == ["2", "1"]
