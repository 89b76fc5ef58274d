"""The books of the vault: built from their sources to the byte, long enough to be books, and refused by line."""

from __future__ import annotations

import importlib
import io
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("fpdf")

from pypdf import PdfReader

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
        (f"{HEAD}# A\n\n# Late preface {{front}}\n\ntext", 5),
        (f"{HEAD}# Nothing but a preface {{front}}\n\ntext", 5),
        ("---\ntitle: T\nsubtitle: S\nnoise: rain\n---\n# A", 1),
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


BOOK = "# 1 Pipes\n\nwater\n\n## 1.1 Bends\n\nsteam\n\n# 2 Valves\n\nair"


def built(tmp_path, text):
    path = tmp_path / "book.md"
    path.write_text(text, encoding="utf-8")
    return PdfReader(io.BytesIO(build.build(path)))


def texts(pdf):
    return [page.extract_text().splitlines() for page in pdf.pages]


def test_a_preface_gives_roman_labels_until_the_first_chapter_starts_at_a_printed_page_one(tmp_path):
    pdf = built(tmp_path, f"{HEAD}# Preface {{front}}\n\nTo the reader.\n\n## Thanks\n\nTo all.\n\n{BOOK}")
    title, preface, contents, first, second = texts(pdf)
    assert pdf.page_labels == ["i", "ii", "iii", "1", "2"]
    assert title == ["T", "S"]
    assert [page[-1] for page in (preface, contents, first, second)] == ["ii", "iii", "1", "2"]
    assert [preface[:3], first[:2]] == [["Preface", "Preface", "To the reader."], ["1 Pipes", "1 Pipes"]]
    listed = [(line.split(" .")[0].strip(), line.split()[-1]) for line in contents[1:-1]]
    assert listed == [("Preface", "ii"), ("Thanks", "ii"), ("1 Pipes", "1"), ("1.1 Bends", "1"), ("2 Valves", "2")]


def test_a_roman_page_number_goes_on_over_a_preface_of_several_pages(tmp_path):
    preface = "\n\n".join(["word " * 300] * 6)
    pdf = built(tmp_path, f"{HEAD}# Preface {{front}}\n\n{preface}\n\n{BOOK}")
    labels = pdf.page_labels
    assert labels[:4] == ["i", "ii", "iii", "iv"]
    assert labels[-2:] == ["1", "2"]
    assert [page[-1] for page in texts(pdf)[1:]] == labels[1:]


def test_a_book_without_a_preface_counts_its_title_page_as_page_one_and_has_no_labels_of_its_own(tmp_path):
    pdf = built(tmp_path, f"{HEAD}{BOOK}")
    assert "/PageLabels" not in pdf.trailer["/Root"]
    assert [page[-1] for page in texts(pdf)[1:]] == ["2", "3", "4"]


NOISY = "---\ntitle: Immortal hills\nsubtitle: S\nnoise: ocr\n---\n"
PROSE = "The modern turbine of the old mill turns slowly; its efficiency and reliability are remarkable. " * 60


def test_noise_is_the_same_at_every_build_and_on_every_page_whatever_the_others_say(tmp_path):
    chapters = f"# 1 A\n\n{PROSE}\n\n# 2 B\n\n"
    once, again = (texts(built(tmp_path, f"{NOISY}{chapters}{PROSE}")) for _ in range(2))
    other = texts(built(tmp_path, f"{NOISY}{chapters}other text"))
    assert once == again
    assert once[: len(other) - 1] == other[:-1]
    assert len(once) > len(other) > 4


def test_noise_leaves_title_and_page_numbers_clean_and_a_book_without_it_prints_what_is_written(tmp_path):
    noisy = built(tmp_path, f"{NOISY}# 1 A\n\n{PROSE}\n\n{PROSE}")
    clean = built(tmp_path, f"{NOISY.replace('noise: ocr', 'author: N')}# 1 A\n\n{PROSE}\n\n{PROSE}")
    assert texts(noisy)[0] == ["Immortal hills", "S"]
    assert noisy.metadata.title == "Immortal hills"
    assert [page[-1] for page in texts(noisy)[1:]] == [str(n) for n in range(2, len(noisy.pages) + 1)]
    words = " ".join(line for page in texts(clean)[2:] for line in page[1:-1]).split()
    assert words == ["1", "A", *(PROSE * 2).split()]
    assert " ".join(words) not in " ".join(line for page in texts(noisy)[2:] for line in page)


def test_noise_damages_two_to_three_characters_in_a_hundred_and_some_pages_more():
    lines = (build.SOURCES / "engineering-thermodynamics.md").read_text(encoding="utf-8").splitlines()
    lines = [line[:100] for line in lines if len(line) > 100]
    noise, shares = build.Noise(), []
    for number in range(1, 61):
        noise.start_page(number)
        pairs = [(line.replace(" ", ""), noise.line(line).replace(" ", "")) for line in lines[number : number + 30]]
        edits = [op for a, b in pairs for op in SequenceMatcher(None, a, b, autojunk=False).get_opcodes()]
        changed = sum(max(i2 - i1, j2 - j1) for op, i1, i2, j1, j2 in edits if op != "equal")
        shares.append(changed / sum(len(a) for a, _ in pairs))
    assert 0.02 < sum(shares) / len(shares) < 0.03
    assert 3 <= sum(share > 0.04 for share in shares) <= 20
    assert max(shares) < 0.08


def test_noise_never_turns_a_figure_into_another_figure():
    seen = {(printed, other) for printed, others in build.CONFUSIONS.items() for other in others}
    assert not [pair for pair in seen if pair[0].isdigit() and pair[1].isdigit()]
    assert {("rn", "m"), ("m", "rn"), ("l", "1"), ("l", "I"), ("O", "0"), ("0", "O"), ("fi", "f i")} <= seen


def test_noise_breaks_words_and_lines_as_a_scan_does(tmp_path):
    pages = texts(built(tmp_path, f"{NOISY}# 1 Waterwheels\n\n" + f"{PROSE}\n\n" * 12))
    bodies = [page[1:-1] for page in pages[2:]]
    lines = [line for body in bodies for line in body]
    broken = [(a.split()[-1][:-1], b.split()[0]) for a, b in pairwise(lines) if a.endswith("-")]
    assert len(broken) > 10
    assert ("effi", "ciency") in broken
    assert any("  " in line for line in lines)
    assert any("themodern" in line or "ofthe" in line or "oldmill" in line for line in lines)
    assert any("WATERWHEELS" in line for body in bodies for line in body[1:])
