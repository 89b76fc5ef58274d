"""Wider context: a result's text grows by its section or its neighbours; ids, order and scores stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.context import widen
from rag.options import Options
from rag.records import Chunk


def chunk(name, file, heading=(), pages=None):
    return Chunk(name, file, f"text {name}", pages, heading)


CHUNKS = (
    chunk("0", "a.md", ("One",)),
    chunk("1", "a.md", ("One",)),
    chunk("2", "a.md", ("One", "Part")),
    chunk("3", "a.md", ("Two",)),
    chunk("4", "b.pdf", pages=(7, 7)),
    chunk("5", "b.pdf", pages=(7, 7)),
    chunk("6", "b.pdf", pages=(8, 8)),
    chunk("7", "c.md", ("One",)),
)


def texts(positions, **options):
    found = [replace(CHUNKS[position], score=0.5) for position in positions]
    widened = widen(found, positions, CHUNKS, Options(**options))
    assert [replace(new, text="") for new in widened] == [replace(old, text="") for old in found]
    return [new.text.replace("text ", "").split("\n\n") for new in widened]


def test_parent_context_is_the_section_or_the_page():
    assert texts([1, 2, 5, 7], parent_context=True) == [["0", "1"], ["2"], ["4", "5"], ["7"]]


def test_neighbor_context_is_the_chunk_before_and_the_one_after_in_the_file():
    assert texts([0, 2, 4, 7], neighbor_context=True) == [["0", "1"], ["1", "2", "3"], ["4", "5"], ["7"]]


def test_both_add_up_without_repeating():
    assert texts([1], parent_context=True, neighbor_context=True) == [["0", "1", "2"]]


def test_nothing_found_is_nothing():
    assert widen((), (), CHUNKS, Options(parent_context=True)) == ()


@pytest.mark.parametrize("option", ["parent_context", "neighbor_context"])
def test_a_search_returns_the_same_chunks_with_more_text(option, write, pipeline):
    write({"a.md": "# One\n\n" + "\n\n".join(f"paragraph {number} " + "word " * 20 for number in range(4))})
    search = pipeline(chunking={"max_chars": 150}).search
    plain, wide = search("paragraph 1", top_k=2), search("paragraph 1", top_k=2, **{option: True})
    assert [chunk.id for chunk in wide.chunks] == [chunk.id for chunk in plain.chunks]
    assert [chunk.score for chunk in wide.chunks] == [chunk.score for chunk in plain.chunks]
    assert all(
        new.text != old.text and old.text in new.text for new, old in zip(wide.chunks, plain.chunks, strict=True)
    )
    assert wide.stages["cut"] == plain.stages["cut"]
    assert "context" in wide.timings
    assert "context" not in plain.timings
