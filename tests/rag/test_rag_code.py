"""Code as words: what identifiers give, which questions look like code, and the lane over code and notebooks."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.cache import Lazy, Memo, Meter
from rag.code import CodeLane, code_positions, code_tokens, code_words, looks_like_code
from rag.options import Options
from rag.records import Chunk, Labels
from rag.sparse import Bm25
from rag.stages import Request, Scope
from rag.text import unicode_tokens

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("HTTPServer2", "httpserver2 http server 2"),
        ("parseFrontMatter", "parsefrontmatter parse front matter"),
        ("parse_front_matter", "parse_front_matter parse front matter"),
        ("MAX_RETRIES", "max_retries max retries"),
        ("__init__", "__init__ init"),
        ("_weigh", "_weigh weigh"),
        ("np.linalg.norm(x)", "np.linalg.norm np linalg norm x"),
        ("self.gain_margin", "self.gain_margin self gain_margin gain margin"),
        ("routh_table.py", "routh_table.py routh_table routh table py"),
        ("a += b[i] -> c // 2", "a b i c 2"),
        ("h = 3.14", "h 3.14"),
        ("utf8 x2y", "utf8 utf 8 x2y x 2 y"),
        ("std::sort", "std sort"),
        ("ends here. Then on...", "ends here then on"),
        ("_ __ ...", ""),
    ],
)
def test_an_identifier_counts_as_a_whole_and_by_its_parts(text, terms):
    assert code_tokens(text) == terms.split()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("größeMax", ["grössemax", "grösse", "max"]),
        ("ÉcoleNormale", ["écolenormale", "école", "normale"]),
        ("cafe\u0301_bar", ["café_bar", "café", "bar"]),  # an accent set apart is the same letter
        ("ΔxΔy", ["δxδy", "δx", "δy"]),
        ("国際標準化", ["国際", "際標", "標準", "準化"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ex\u00adample", ["example"]),  # a soft hyphen is no part of a word
    ],
)
def test_identifiers_split_the_same_way_in_every_script(text, terms):
    assert code_tokens(text) == terms


@given(st.text(st.characters(categories=["Ll", "Lo", "Mn", "Mc", "Zs"]), max_size=40))
def test_words_without_capitals_digits_or_dots_are_those_of_the_sparse_lane(text):
    assert code_tokens(text) == unicode_tokens(text)


@given(st.text(max_size=60))
def test_any_text_has_terms_that_are_folded_and_not_blank(text):
    for term in code_tokens(text):
        assert term == term.casefold()
        assert term.strip()


@given(st.text(max_size=80))
def test_any_text_looks_like_code_or_does_not(text):
    assert looks_like_code(text) in (True, False)


@pytest.mark.parametrize(
    "question",
    [
        "What does critical_gain return?",
        "How is `the loop` closed?",
        r"What does `\n` stand for?",
        "When is a ValueError raised?",
        "OSError or EOFError?",
        "Where is parseFrontMatter defined?",
        "getId of a user",
        "What calls HTTPServer2?",
        "open zoh_discretise.py and explain",
        "Show me Lab-3.ipynb.",
        "Why does np.linalg.solve fail?",
        "heapq.heappush on a list",
        "What is x.shape here?",
        "What does main() do?",
        'why does open("x.txt") fail',
        "sorted(key=len) order",
        "Is MAX_RETRIES the default?",
        "What does _weigh return?",
        "Which __init__ runs first?",
        "complexity of std::sort",
        "使用numpy.linalg编程",
    ],
)
def test_a_question_that_names_something_of_a_program_looks_like_code(question):
    assert looks_like_code(question)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("a" * 30_000, 0),
        ("Ab" * 15_000, 0),
        ("x-" * 15_000, 0),
        ("aaa(" * 7_500, 0),
        ("abC" * 10_000, 1),
        ("_" * 30_000, 1),
    ],
    ids=["letters", "capitals", "hyphens", "brackets", "humps", "underscores"],
)
def test_scl_01_a_word_of_30000_characters_is_read_in_one_pass(word, found):
    assert len(code_words(word)) == found  # looked through from each of its letters on, it takes half a minute


@pytest.mark.parametrize(
    "question",
    [
        "What holds for 68.27 percent, e.g. of a normal curve, i.e. within one sigma?",
        "Does the U.S. standard apply at 9 a.m. or at 5 p.m.?",
        "What do Dr. Smith, Prof. Jones et al. show in Fig. 3.2, w.r.t. section 3.1.4?",
        "It ends here.Then what begins?",
        "the pressure is 3.14 bar, i.e.the sum",
        "Is E.coli larger than H.pylori?",
        "What is K_p of a PID controller with T_s, h_fg, omega_n and x_0?",
        "Does $x_{n+1} = f(x_n)$ converge, and what is \\sigma_xy?",
        "How does sin(x) + log(n) compare with O(n log n)?",
        "Which file(s) give P(A|B) or f(x)?",
        "GitHub and YouTube on an iPhone with macOS, JavaScript and LaTeX",
        "Are 120 mmHg, 2 kWh, 5 MHz, pH 7 and microRNAs units?",
        "Do PhDs read PDFs from URLs?",
        "Where did MacDonald and McKinsey meet?",
        "What does https://example.com/some_page.html?a_b=c say to me_too@example.com?",
        "Is example.com or python.org older?",
        "What stands in lecture_notes.md and book.pdf?",
        "this is _really_ important, and _two words_ too",
        "fill in ____ here ...",
        "Runge-Kutta 4.5 with h = 0.1, TCP/IP and/or IPv4",
        "What changed from 3.11.2 to v1.2.3?",
        "国際標準化に関する動向",
        "",
    ],
)
def test_prose_does_not_look_like_code(question):
    assert code_words(question) == ()


def test_what_looks_like_code_is_named_once_in_the_order_of_its_kinds():
    question = "Does parse_it call np.dot(x) or main() on `a b`, and is parse_it in tools.py?"
    assert code_words(question) == ("a b", "main", "parse_it", "np.dot", "tools.py")


def chunk(file, kind="", text="text"):
    return Chunk(file, file, text, labels=Labels(kind=kind))


def test_code_is_what_is_labelled_so_or_named_so():
    chunks = [
        chunk("a.md"),
        chunk("b.py"),
        chunk("c.IPYNB", "lab"),
        chunk("4711", "code"),
        chunk("d.md", "note"),
        chunk("e", "notebook"),
    ]
    assert code_positions(chunks).tolist() == [1, 2, 3, 5]


CHUNKS = [
    chunk("a.md", text="free_page frees a page"),
    chunk("b.py", text="def free_page(n): pass"),
    chunk("c.md", text="free"),
    chunk("d.py", text="def other(): pass"),
    chunk("e.py", text="def page(free): pass"),
]


def lane(chunks):
    texts = [chunks[position].text for position in code_positions(chunks)]
    return CodeLane(Lazy(lambda: Bm25.build(map(code_tokens, texts))), code_tokens, chunks, "digest")


def found(chunks, text, pool=10, scope=None):
    ranking = lane(chunks).search(Request(text, pool, Options(), scope), Meter(Memo(10)))
    return [position for position, _ in ranking]


def test_the_lane_finds_code_alone_by_positions_of_the_whole_index():
    assert found(CHUNKS, "free_page") == [1, 4]
    assert found(CHUNKS, "what does free_page free") == [1, 4]
    assert found(CHUNKS, "free_page", pool=1) == [1]
    assert found(CHUNKS, "nowhere") == []


def test_the_lane_searches_within_the_scope():
    assert found(CHUNKS, "free_page", scope=Scope("some", np.array([0, 2, 3, 4]))) == [4]
    assert found(CHUNKS, "free_page", scope=Scope("notes", np.array([0, 2]))) == []


def test_its_time_is_charged_to_the_stage_code():
    meter = Meter(Memo(10))
    lane(CHUNKS).search(Request("page", 5, Options()), meter)
    assert "code" in meter.timings


def test_without_code_nothing_is_built():
    chunks = [chunk("a.md")]
    without = CodeLane(Lazy(lambda: pytest.fail("built")), code_tokens, chunks, "digest")
    assert without.search(Request("free_page", 5, Options()), Meter(Memo(10))) == ()


VAULT = {
    "paging.md": "# Paging\n\nThe clock hand spares a page that was used.",
    "heap.md": "# Heaps\n\nPushing keeps the heap in order.",
    "memory.py": "def clock_faults(frames):\n    return frames\n",
    "lab.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": "from memory import clock_faults"}]}),
}


def lanes(result):
    return {name: [part.file for part in ranking] for name, ranking in result.stages.items()}


def test_the_lane_serves_every_question_and_under_the_preset_those_that_look_like_code(write, pipeline):
    write(VAULT)
    search = pipeline().search
    on = {"dense": False, "code_lanes": True}
    assert lanes(search("which helper spares frames", **on))["code"] == ["memory.py"]
    prose = search("which helper spares frames", **on, code_preset=True)
    assert prose.lanes_run == ("sparse",)
    assert "code" not in prose.timings
    code = search("what does clock_faults do with frames", **on, code_preset=True)
    assert code.lanes_run == ("sparse", "code")
    assert sorted(lanes(code)["code"]) == ["lab.ipynb", "memory.py"]


def test_under_the_preset_the_lane_is_asked_by_what_looks_like_code_alone(write, pipeline):
    write(VAULT | {"other.py": "def what(): return 'frames'\n"})
    search = pipeline().search
    question = "what does clock_faults do with frames"
    assert "other.py" in lanes(search(question, code_lanes=True))["code"]
    assert "other.py" not in lanes(search(question, code_lanes=True, code_preset=True))["code"]


def test_a_vault_without_code_has_an_empty_code_lane(write, pipeline):
    write({"a.md": "clock_faults is a name"})
    result = pipeline().search("clock_faults", dense=False, code_lanes=True)
    assert lanes(result) == {"sparse": ["a.md"], "code": [], "fusion": ["a.md"], "cut": ["a.md"]}


def test_a_change_of_the_notes_leaves_the_code_index_as_it_is(write, pipeline, tmp_path):
    write(VAULT)
    ask = {"dense": False, "code_lanes": True}
    pipeline().search("clock_faults", **ask)
    built = sorted((tmp_path / ".ragbench" / "index").glob("code-*"))
    write({"paging.md": "Something else."})
    pipeline().search("clock_faults", **ask)
    assert sorted((tmp_path / ".ragbench" / "index").glob("code-*")) == built
    write({"memory.py": "def clock_faults(): return 0"})
    pipeline().search("clock_faults", **ask)
    assert len(sorted((tmp_path / ".ragbench" / "index").glob("code-*"))) == 2
