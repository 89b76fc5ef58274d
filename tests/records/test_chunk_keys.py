"""What lines of `chunks.jsonl` are kept by."""

from __future__ import annotations

import pytest

from pytest_ragbench.contract import Chunk
from pytest_ragbench.records.chunks import REMEMBERED_CHARACTERS, line_key, line_keys

CHUNKS = [
    Chunk("a.md", id="1", text="a passage"),
    Chunk("a.md", id="1", text="a passage and its window"),
    Chunk("b.md", id="", text="an empty id"),
    Chunk("c.md", (1, 2), ("Ch 1",), text="without an id"),
    Chunk("c.md", text="x" * (REMEMBERED_CHARACTERS + 1)),
    Chunk("c.md", text="a surrogate \ud800"),
]


@pytest.mark.parametrize("chunk", CHUNKS, ids=range(len(CHUNKS)))
def test_the_keys_of_several_chunks_are_those_of_each(chunk):
    assert line_keys([chunk, *CHUNKS])[0] == line_key(chunk)


def test_no_two_lines_share_a_key():
    assert len(set(line_keys(CHUNKS))) == len(CHUNKS)
