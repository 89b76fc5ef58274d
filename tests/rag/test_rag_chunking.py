"""Chunks: packed up to a length, never across a passage, with ids that outlive changes elsewhere."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from rag.chunking import chunk, pack, split
from rag.options import Chunking
from rag.records import Document, Passage


def document(*passages, file="a.md", title=""):
    return Document(file, title, passages)


def test_a_chunk_never_leaves_its_page():
    pages = [Passage(("short",), pages=(number, number)) for number in (1, 2, 3)]
    assert [item.pages for item in chunk(document(*pages), Chunking())] == [(1, 1), (2, 2), (3, 3)]


def test_blocks_are_packed_whole_up_to_the_limit():
    assert list(pack(["aaaa", "bbbb", "cccc"], 10)) == ["aaaa\n\nbbbb", "cccc"]
    assert list(pack(["aaaa", "b" * 12, "cc"], 10)) == ["aaaa", "b" * 10, "bb\n\ncc"]


def test_a_long_block_is_cut_at_the_gentlest_place_that_fits():
    assert list(split("one two\nthree four", 12)) == ["one two", "three four"]
    assert list(split("It ends. Then goes on", 14)) == ["It ends.", "Then goes on"]
    assert list(split("alpha beta gamma", 12)) == ["alpha beta", "gamma"]
    assert list(split("foo(bar)baz", 9)) == ["foo(bar)", "baz"]
    assert list(split("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]


@given(st.lists(st.text(alphabet="ab .\n\u3002(", max_size=60), max_size=5), st.integers(5, 40))
def test_packing_keeps_every_character_but_space_and_the_limit(blocks, limit):
    pieces = list(pack(blocks, limit))
    assert all(0 < len(piece) <= limit and piece.strip() for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join("".join(blocks).split())


def test_a_line_of_twenty_megabytes_is_cut_in_seconds():
    # Copying what is left at every cut would move 280 GB.
    started = time.perf_counter()
    assert sum(map(len, split("x" * 20_000_000, 700))) == 20_000_000
    assert time.perf_counter() - started < 20


def test_whole_mode_makes_one_chunk_of_a_document_however_long():
    (whole,) = chunk(
        document(Passage(("x " * 5000,), pages=(1, 2)), Passage(("y",), pages=(7, 7))), Chunking(mode="whole")
    )
    assert whole.pages == (1, 7)
    assert whole.text.endswith("y")
    assert chunk(document(Passage(("  ",))), Chunking(mode="whole")) == []


def test_an_id_depends_on_file_place_and_text_and_not_on_what_stands_elsewhere():
    first = Passage(("same text",), heading=("A",))
    before = chunk(document(first), Chunking())
    after = chunk(document(Passage(("new section",), heading=("Z",)), first), Chunking())
    assert before[0].id == after[1].id
    assert chunk(document(first, file="b.md"), Chunking())[0].id != before[0].id
    assert chunk(document(Passage(("same text",), heading=("B",))), Chunking())[0].id != before[0].id


def test_equal_passages_of_one_file_have_ids_of_their_own():
    twice = chunk(document(Passage(("same",)), Passage(("same",))), Chunking())
    assert len({item.id for item in twice}) == 2
