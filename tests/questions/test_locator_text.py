"""Locators as they are written: heading paths, page ranges, file paths, and the folds that compare them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.canonical import fold_heading, fold_path
from pytest_ragbench.questions.locators import check_file, check_pages, split_heading, write_heading

COMPONENTS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4)


def test_loc_07_text_splits_at_the_separator_and_a_list_is_taken_as_it_is() -> None:
    assert split_heading("Ch 4 > Bisection") == ("Ch 4", "Bisection")
    assert split_heading(["Mapping", "Input > Output"]) == ("Mapping", "Input > Output")
    assert split_heading("a>b") == ("a>b",)
    assert split_heading(()) == ()


@given(COMPONENTS)
@settings(deadline=None)
def test_a_heading_path_is_written_so_that_it_reads_back_the_same(path: list[str]) -> None:
    assert split_heading(write_heading(path)) == tuple(path)


@given(st.text(alphabet="a >", min_size=1, max_size=12).map(lambda text: [text, text]))
@settings(deadline=None)
def test_components_that_hold_parts_of_the_separator_read_back_the_same(path: list[str]) -> None:
    assert split_heading(write_heading(path)) == tuple(path)


@pytest.mark.parametrize("pages", [[5, 6], [5, 5], [5], [1, 10_000]])
def test_loc_04_accepted_ranges(pages: list[int]) -> None:
    assert check_pages(pages) is None


@pytest.mark.parametrize(
    "pages", [[6, 5], [0, 1], [-1, 2], [5, 6, 7], "5-6", [5.0, 6], [], None, True, [True, 2], ["5", "6"]]
)
def test_loc_04_refused_ranges(pages: object) -> None:
    assert check_pages(pages) is not None


def test_loc_04_a_bare_page_number_says_how_to_write_it() -> None:
    assert "write [5]" in str(check_pages(5))


@pytest.mark.parametrize(
    "path",
    [
        "../../outside.txt",
        "/some/absolute/outside.txt",
        "C:\\x.md",
        "c:x.md",
        "a\x00b.md",
        "a/../../b.md",
        "a\\..\\b.md",
        "\\\\server\\share\\x.md",
        "",
        ".",
        "./",
        "a\nb.md",
    ],
)
def test_loc_08_a_path_that_could_leave_the_corpus_is_refused(path: str) -> None:
    assert check_file(path) is not None


@pytest.mark.parametrize(
    "path", ["a.md", "Courses\\Num\\ch4.pdf", "./Courses//x.md", "..a.md", "a..b/c.md", "Notes/Résumé.md", "~x"]
)
def test_loc_03_separators_and_odd_names_are_no_reason_to_refuse(path: str) -> None:
    assert check_file(path) is None


def test_loc_03_all_spellings_of_one_path_fold_to_one_key() -> None:
    spellings = ("Courses\\Num\\ch4.pdf", "./Courses/Num/ch4.pdf", "Courses//Num/ch4.pdf")
    assert {fold_path(path) for path in spellings} == {"courses/num/ch4.pdf"}
    assert fold_path("old/Courses/Num/ch4.pdf") != fold_path(spellings[0])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Straße.md", "STRASSE.md", True),
        ("ΣΊΣΥΦΟΣ.md", "Σίσυφος.md", True),
        ("\ufb01le.md", "file.md", True),
        ("İstanbul.md", "istanbul.md", False),
        ("Notes/Résumé.md", "Notes/Re\u0301sume\u0301.md", True),
    ],
)
def test_loc_02_the_fold_is_nfc_of_casefold_of_nfc(one: str, other: str, same: bool) -> None:
    assert (fold_path(one) == fold_path(other)) is same


@given(st.text(max_size=30))
@settings(deadline=None)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold_path(fold_path(text)) == fold_path(text)
    assert fold_heading(fold_heading(text)) == fold_heading(text)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
@settings(deadline=None)
def test_loc_01_composed_and_decomposed_spellings_fold_alike(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert fold_path(unicodedata.normalize("NFC", text)) == fold_path(decomposed)
    assert fold_heading(unicodedata.normalize("NFC", text)) == fold_heading(decomposed)
