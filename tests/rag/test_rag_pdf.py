"""PDF: what can be read is, page by page; what cannot is listed with its reason, and stops nothing."""

from __future__ import annotations

import io

import pytest

fpdf = pytest.importorskip("fpdf")
pypdf = pytest.importorskip("pypdf")

from rag.loaders.pdf import read_pdf  # noqa: E402


def pdf(pages, title=None):
    document = fpdf.FPDF()
    document.set_font("Helvetica", size=12)
    if title:
        document.set_title(title)
    for text in pages:
        document.add_page()
        if text:
            document.multi_cell(0, 8, text)
        else:
            document.rect(10, 10, 50, 50)
    return bytes(document.output())


def encrypted(data, user):
    writer = pypdf.PdfWriter(io.BytesIO(data))
    writer.encrypt(user_password=user, owner_password="owner", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


GOOD = pdf(["bisection converges linearly", "secant needs no derivative"], title="Root finding")
BAD = {
    "empty-password.pdf": encrypted(pdf(["hidden cotangent"]), ""),
    "password.pdf": encrypted(pdf(["secret"]), "user"),
    "zero.pdf": b"",
    "renamed.pdf": b"just some text\n",
    "image.pdf": pdf([""]),
    "truncated.pdf": GOOD[: len(GOOD) // 3],
    "good.pdf": GOOD,
}


def test_chk_01_bad_pdfs_are_listed_with_a_reason_and_good_ones_indexed(write, pipeline):
    write(BAD)
    search = pipeline(search={"dense": False, "rerank": "none"})
    corpus = search._parts.corpus.get(_meter())
    assert {chunk.file for chunk in corpus.chunks} == {"empty-password.pdf", "good.pdf"}
    listed = {finding.file: finding for finding in corpus.findings}
    assert {name: finding.kind for name, finding in listed.items()} == {
        "password.pdf": "failed",
        "zero.pdf": "failed",
        "renamed.pdf": "failed",
        "truncated.pdf": "failed",
        "image.pdf": "no-text",
    }
    assert "password" in listed["password.pdf"].detail
    assert "0 bytes" in listed["zero.pdf"].detail
    assert search.describe()["failed"] == 4
    assert search.describe()["findings"] == {"failed": 4, "no-text": 1}
    assert [chunk.file for chunk in search.search("cotangent").chunks] == ["empty-password.pdf"]


def test_chk_01_the_fingerprint_counts_what_failed(write, pipeline):
    write({"good.pdf": GOOD})
    before = pipeline().describe()["index"]
    write({"zero.pdf": b""})
    assert pipeline().describe()["index"] != before


def test_pages_are_physical_and_count_from_one():
    (document,) = read_pdf("book.pdf", GOOD)
    assert [passage.pages for passage in document.passages] == [(1, 1), (2, 2)]
    assert document.title == "Root finding"


def test_pages_without_text_are_listed_and_do_not_shift_the_others():
    (document,) = read_pdf("book.pdf", pdf(["one", "", "three", ""]))
    assert [passage.pages for passage in document.passages] == [(1, 1), (3, 3)]
    assert [finding.detail for finding in document.findings] == ["no text on pages 2, 4"]
    assert document.title == "book"


def test_a_page_that_cannot_be_read_costs_that_page_only(monkeypatch):
    extract = pypdf.PageObject.extract_text
    calls = iter([True, False])

    def broken(self, *args, **kwargs):
        if next(calls):
            raise KeyError("/Font")
        return extract(self, *args, **kwargs)

    monkeypatch.setattr(pypdf.PageObject, "extract_text", broken)
    (document,) = read_pdf("book.pdf", GOOD)
    assert [passage.pages for passage in document.passages] == [(2, 2)]
    assert [finding.kind for finding in document.findings] == ["failed-page"]


def _meter():
    from rag.cache import Memo, Meter

    return Meter(Memo(1))
