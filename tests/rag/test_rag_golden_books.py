"""The books of the vault: built from their sources to the byte, long enough to be books, and refused by line."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytest.importorskip("fpdf")

from rag.loaders.pdf import read_pdf

build = importlib.import_module("golden.books.build")
SOURCES = sorted(build.SOURCES.glob("*.md"))


def test_there_are_books():
    assert len(SOURCES) >= 3
    assert {path.stem for path in build.TARGETS.glob("*.pdf")} == {path.stem for path in SOURCES}


@pytest.mark.parametrize("source", SOURCES, ids=[path.stem for path in SOURCES])
def test_a_book_is_what_its_source_builds_byte_for_byte_and_has_thirty_pages_of_text(source):
    kept = (build.TARGETS / f"{source.stem}.pdf").read_bytes()
    assert build.build(source) == kept
    (document,) = read_pdf(f"{source.stem}.pdf", kept)
    assert document.findings == ()
    assert [passage.pages for passage in document.passages] == [(n, n) for n in range(1, len(document.passages) + 1)]
    assert len(document.passages) >= 30


HEAD = "---\ntitle: T\nsubtitle: S\n---\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# no front matter", 1),
        ("---\ntitle: T\n---\n# A", 1),
        (f"{HEAD}text before a chapter", 5),
        (f"{HEAD}# A\n\n```\nnever closed", 7),
        (f"{HEAD}# A\n\n| a | b |\n|---|---|\n| 1 |", 7),
        (f"{HEAD}# A\n\n####### seven", 7),
        (f"{HEAD}# A\n\nsnowman \u2603", 7),
    ],
)
def test_a_source_that_cannot_be_typeset_is_refused_by_line(text, line, tmp_path):
    path = tmp_path / "book.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(build.BookError, match=rf"book\.md:{line}: "):
        build.build(path)


def test_check_tells_a_book_that_is_out_of_date(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    monkeypatch.setattr(build, "TARGETS", tmp_path)
    Path(tmp_path / "a.md").write_text(f"{HEAD}# A\n\ntext")
    assert build.main(["--check"]) == 1
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0
    Path(tmp_path / "a.md").write_text(f"{HEAD}# A\n\nother text")
    assert build.main(["--check"]) == 1
    assert "a.pdf: differs from what a.md builds" in capsys.readouterr().err
