"""Claims about which chunk satisfies which gold source."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.contract import Chunk
from pytest_ragbench.metrics import relevance
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.model import GoldSource, Locator


def matched(chunk: Chunk, *sources: GoldSource) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Indexes of the sources that a chunk satisfies, and of those that its file does."""
    (by_chunk,), (by_file,) = match([chunk], compile_gold(sources))
    return by_chunk, by_file


def satisfies(chunk: Chunk, *locators: Locator) -> bool:
    return matched(chunk, GoldSource(locators[0], alternatives=locators[1:]))[0] == (0,)


COMPOSED, DECOMPOSED = "Notes/R\u00e9sum\u00e9.md", "Notes/Re\u0301sume\u0301.md"


@pytest.mark.parametrize(("gold", "chunk"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_loc_01_composed_and_decomposed_names_match_in_both_directions(gold, chunk):
    assert gold != chunk
    assert satisfies(Chunk(chunk), Locator(gold))


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_loc_01_headings_match_in_both_unicode_forms(forms):
    gold, chunk = (unicodedata.normalize(form, "Th\u00e9or\u00e8me") for form in forms)
    assert satisfies(Chunk("a.md", heading=(chunk,)), Locator("a.md", heading=(gold,)))


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("Stra\u00dfe.md", "STRASSE.md", True),
        ("\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3.md", "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2.md", True),
        ("\ufb01le.md", "file.md", True),
        ("\u0130stanbul.md", "istanbul.md", False),
        ("Notes/todo.md", "notes/TODO.md", True),
    ],
)
def test_loc_02_files_match_when_their_casefolded_nfc_forms_are_equal(one, two, same):
    assert satisfies(Chunk(one), Locator(two)) is same
    assert satisfies(Chunk(two), Locator(one)) is same


@pytest.mark.parametrize("gold", ["Courses\\Num\\ch4.pdf", "./Courses/Num/ch4.pdf", "Courses//Num/ch4.pdf"])
def test_loc_03_separators_do_not_matter_but_the_whole_path_does(gold):
    assert satisfies(Chunk("Courses/Num/ch4.pdf"), Locator(gold))
    assert not satisfies(Chunk("old/Courses/Num/ch4.pdf"), Locator(gold))
    assert not satisfies(Chunk("Courses/Num/ch4.pdf.md"), Locator(gold))
    assert not satisfies(Chunk("ch4.pdf"), Locator(gold))


@pytest.mark.parametrize(
    ("gold", "chunk", "expected"),
    [
        ((5, 6), (5, 5), True),
        ((5, 6), (6, 9), True),
        ((5, 6), (3, 4), False),
        ((5, 6), (7, 7), False),
        ((5, 5), (4, 6), True),
        ((5, 6), None, False),
        (None, (400, 401), True),
        (None, None, True),
    ],
)
def test_loc_04_page_ranges_overlap_with_both_ends_included(gold, chunk, expected):
    assert satisfies(Chunk("b.pdf", pages=chunk), Locator("b.pdf", pages=gold)) is expected


def test_loc_05_a_chunk_of_a_whole_book_satisfies_every_page_of_it():
    assert satisfies(Chunk("book.pdf", pages=(1, 500)), Locator("book.pdf", pages=(212, 213)))


@pytest.mark.parametrize(
    ("gold", "chunk", "expected"),
    [
        (("3.1",), ("3.1",), True),
        (("3.1",), ("3.1 Euler",), False),
        (("3.1",), ("3.1.2 Heun",), False),
        (("3.1",), ("3.10 Newton",), False),
        (("Ch 4",), ("Ch 4", "Bisection", "Proof"), True),
        (("Ch 4",), ("Ch 40", "Tables"), False),
        (("Ch 4", "Bisection"), ("Ch 4", "Bisection", "Proof"), True),
        (("Ch 4", "Bisection"), ("Ch 4", "Bisection"), True),
        (("Ch 4", "Bisection"), ("Ch 4", "Bisection method"), False),
        (("Ch 4", "Bisection"), ("Ch 4",), False),
        (("Bisection",), ("Ch 4", "Bisection"), False),
        (("Ch 4",), (), False),
    ],
)
def test_loc_06_a_heading_matches_when_its_components_begin_the_path(gold, chunk, expected):
    assert satisfies(Chunk("a.md", heading=chunk), Locator("a.md", heading=gold)) is expected


@pytest.mark.parametrize(
    ("suite", "file", "expected"),
    [
        ("code", "solver.py", True),
        ("canvas", "maps/ode.canvas", True),
        ("code", "lab.IPYNB", True),
        ("code", "notes/solver.md", False),
        ("lexical", "solver.py", False),
        (None, "solver.py", False),
    ],
)
def test_in_code_and_canvas_suites_a_heading_outside_markdown_matches_the_whole_file(suite, file, expected):
    gold = compile_gold([GoldSource(Locator(file, heading=("step",)))], suite=suite)
    (by_chunk,), (by_file,) = match([Chunk(file, heading=("other",))], gold)
    assert (by_chunk == (0,)) is expected
    assert by_file == (0,)


def test_loc_07_a_separator_inside_a_heading_is_no_nesting():
    flat, nested = ("Mapping", "Input > Output"), ("Mapping", "Input", "Output")
    for path, other in ((flat, nested), (nested, flat)):
        assert satisfies(Chunk("a.md", heading=path), Locator("a.md", heading=path))
        assert not satisfies(Chunk("a.md", heading=other), Locator("a.md", heading=path))


@pytest.mark.parametrize(
    ("written", "indexed"), [("`f(x)` **bold**", "`f(x)` **bold** "), ("A B", "A  B"), ("a b", "A\tB")]
)
def test_loc_07_white_space_and_case_of_a_heading_do_not_matter_its_markup_does(written, indexed):
    assert satisfies(Chunk("a.md", heading=(indexed,)), Locator("a.md", heading=(written,)))
    assert not satisfies(Chunk("a.md", heading=("f(x) bold",)), Locator("a.md", heading=("`f(x)` **bold**",)))


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (Chunk("b.pdf", pages=(5, 5), heading=("Other",)), True),
        (Chunk("b.pdf", pages=(9, 9), heading=("Ch 4", "Proof")), True),
        (Chunk("b.pdf", pages=(9, 9), heading=("Other",)), False),
        (Chunk("b.pdf", pages=(9, 9)), False),
        (Chunk("b.pdf", heading=("Ch 4", "Proof")), False),
    ],
)
def test_with_pages_and_heading_either_is_enough_but_pages_are_needed(chunk, expected):
    assert satisfies(chunk, Locator("b.pdf", pages=(5, 6), heading=("Ch 4",))) is expected


def test_any_alternative_satisfies_its_entry_once():
    either = GoldSource(Locator("a.md"), alternatives=(Locator("b.md"), Locator("A.MD")))
    assert matched(Chunk("a.md"), either) == ((0,), (0,))
    assert matched(Chunk("b.md"), either) == ((0,), (0,))
    assert matched(Chunk("c.md"), either) == ((), ())


def test_two_alternatives_that_hold_at_once_are_one_source():
    either = GoldSource(Locator("b.pdf", (1, 3)), alternatives=(Locator("b.pdf", (3, 5)),))
    assert matched(Chunk("b.pdf", (3, 3)), either) == ((0,), (0,))


def test_a_chunk_off_the_page_still_satisfies_the_document():
    sources = GoldSource(Locator("b.pdf", pages=(5, 6))), GoldSource(Locator("b.pdf"))
    assert matched(Chunk("b.pdf", pages=(9, 9)), *sources) == ((1,), (0, 1))


def test_one_chunk_may_satisfy_several_sources_named_in_ascending_order():
    locators = [Locator("b.pdf", pages=(6, 7)), Locator("b.pdf"), Locator("x.md"), Locator("b.pdf", heading=("Ch 1",))]
    chunk = Chunk("b.pdf", pages=(6, 6), heading=("Ch 1",))
    assert matched(chunk, *map(GoldSource, locators)) == ((0, 1, 3), (0, 1, 3))


def test_a_ranking_is_matched_rank_by_rank():
    gold = compile_gold([GoldSource(Locator("b.pdf", pages=(5, 6))), GoldSource(Locator("a.md"))])
    ranking = [Chunk("x.md"), Chunk("b.pdf", pages=(9, 9)), Chunk("a.md"), Chunk("b.pdf", pages=(6, 9)), Chunk("a.md")]
    assert match(ranking, gold) == ([(), (), (1,), (0,), (1,)], [(), (0,), (1,), (0,), (1,)])
    assert match([], gold) == ([], [])


def test_a_pipeline_that_invents_file_names_without_end_fills_no_memory():
    gold = compile_gold([GoldSource(Locator("A.md"))])
    match([Chunk(f"{number}.md") for number in range(relevance._CACHED + 10)], gold)
    assert len(relevance._folded) <= relevance._CACHED
    assert match([Chunk("a.MD")], gold) == ([(0,)], [(0,)])


segments = st.text(st.characters(blacklist_characters="/\\", blacklist_categories=("Cs",)), min_size=1, max_size=6)
paths = st.lists(segments.filter(lambda s: s != "."), min_size=1, max_size=4).map("/".join)


@given(paths, st.sampled_from(["NFC", "NFD"]))
def test_a_path_matches_itself_in_windows_and_in_decomposed_spelling(path, form):
    spelled = unicodedata.normalize(form, path).replace("/", "\\")
    assert satisfies(Chunk(spelled), Locator(path)) == satisfies(Chunk(path), Locator(spelled))
    assert satisfies(Chunk(path), Locator(path.replace("/", "\\")))


pages = st.tuples(st.integers(1, 30), st.integers(1, 30)).map(lambda pair: (min(pair), max(pair)))


@given(pages, pages)
def test_page_overlap_is_what_the_sets_of_pages_say(gold, chunk):
    common = set(range(gold[0], gold[1] + 1)) & set(range(chunk[0], chunk[1] + 1))
    assert satisfies(Chunk("b.pdf", pages=chunk), Locator("b.pdf", pages=gold)) is bool(common)


headings = st.lists(st.sampled_from(["1", "1.1", "1.10", "A", "a"]), max_size=4).map(tuple)


@given(headings.filter(bool), headings)
def test_whatever_satisfies_a_heading_satisfies_every_shorter_prefix_of_it(gold, chunk):
    if satisfies(Chunk("a.md", heading=chunk), Locator("a.md", heading=gold)):
        assert satisfies(Chunk("a.md", heading=chunk), Locator("a.md", heading=gold[:-1]))
        assert len(chunk) >= len(gold)
