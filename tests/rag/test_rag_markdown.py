"""Markdown sections: headings as CommonMark sees them, and no word of the text lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chunking import chunk
from rag.loaders.markdown import read_markdown
from rag.options import Chunking

NOTE = """---
title: T
course: Numerical Methods
area: courses
kind: lecture
other: ignored
---
# Setup

```python
# not a heading
```

~~~
# not one either
~~~

- a list

  ```
  # nor this
  ```

    # an indented code block

## Notes

first notes

# Usage

use it

## Notes

second notes

Setext title
===

under setext
"""


def read(text):
    (document,) = read_markdown("d/note.md", text if isinstance(text, bytes) else text.encode())
    return document


def paths(text):
    return [passage.heading for passage in read(text).passages]


def test_chk_04_headings_are_found_where_commonmark_has_them():
    assert paths(NOTE) == [
        ("Setup",),
        ("Setup", "Notes"),
        ("Usage",),
        ("Usage", "Notes"),
        ("Setext title",),
    ]


def test_front_matter_gives_metadata_and_title_and_no_text():
    document = read(NOTE)
    assert document.metadata == {"title": "T", "course": "Numerical Methods", "area": "courses", "kind": "lecture"}
    assert document.title == "T"
    assert "ignored" not in "".join(block for passage in document.passages for block in passage.blocks)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\ntext\n\n### Deep\n\nmore\n\n## B\n\nend", [("A",), ("A", "Deep"), ("A", "B")]),
        ("before\n\n# A\n\nafter", [(), ("A",)]),
        ("#no heading\n\n####### seven", [()]),
        ("## `f(x)`  **bold** ##\n\nt", [("`f(x)` **bold**",)]),
        ("# C#\n\nt", [("C#",)]),
        ("# Input > Output\n\nt", [("Input > Output",)]),
        ("> # quoted\n\ntext", [()]),
        ("$$\na\n=\nb\n$$\n\n# After\n\nt", [(), ("After",)]),
        ("para\n\n---\n\nmore", [()]),
        ("- item\n---\ntext", [()]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n# H\n\nt", [(), ("H",)]),
        ("#\n\ntext", [()]),
        ("# Only a heading", [("Only a heading",)]),
        ("", []),
        ("---\ntitle: [broken\n---\n# H\n\nt", [("H",)]),
        ("---\nno front matter, it never ends\n\n# H\n\nt", [(), ("H",)]),
        ("\ufeff# With a mark\r\n\r\ntext\r\n", [("With a mark",)]),
    ],
)
def test_heading_paths_of_awkward_notes(text, expected):
    assert paths(text) == expected


def test_broken_front_matter_and_foreign_encodings_are_counted():
    assert [finding.kind for finding in read("---\na: [\n---\ntext").findings] == ["fallback"]
    document = read("caf\u00e9".encode("latin-1"))
    assert [finding.kind for finding in document.findings] == ["fallback"]
    assert document.passages[0].blocks == ("caf\u00e9",)


@pytest.mark.parametrize(
    "value", ["!!int ''", "!!timestamp later", "!!bool perhaps", "[" * 5_000, "2024-13-45", "*nothing", "\x01"]
)
def test_front_matter_that_breaks_its_parser_costs_no_text(value):
    document = read(f"---\ntitle: {value}\n---\n# H\n\nbody")
    assert [passage.blocks for passage in document.passages] == [("body",)]
    assert [finding.kind for finding in document.findings] == ["fallback"]


def test_front_matter_that_grows_by_aliases_is_no_title():
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=False)
    )
    document = read(f"---\n{bomb}title: *i\ncourse: 101\n---\nbody")
    assert document.metadata == {"course": "101"}
    assert document.title == "note"


def test_a_title_stands_before_the_heading_path_in_what_is_indexed_unless_it_repeats_it():
    titled = chunk(read("---\ntitle: My note\n---\n# Setup\n\nbody"), Chunking())
    assert titled[0].indexed_text == "My note > Setup\nbody"
    assert titled[0].text == "body"
    same = chunk(read("---\ntitle: Setup\n---\n# Setup\n\nbody"), Chunking())
    assert same[0].indexed_text == "Setup\nbody"


words = st.text(alphabet="abcdefgh", min_size=1, max_size=6)
blocks = st.one_of(
    words,
    words.map(lambda word: f"- {word}\n- x{word}"),
    words.map(lambda word: f"```\n# {word}\n```"),
    words.map(lambda word: f"> {word}"),
    words.map(lambda word: f"[{word}]: http://example.org"),
    words.map(lambda word: f"| {word} | b |\n|---|---|\n| 1 | 2 |"),
)
sections = st.tuples(st.integers(1, 6), words, st.lists(blocks, min_size=1, max_size=3))


@given(st.lists(sections, min_size=1, max_size=6))
def test_every_block_stands_under_its_own_heading_path(parts):
    text, expected, path = "", [], []
    for level, heading, inner in parts:
        path = [entry for entry in path if entry[0] < level] + [(level, heading)]
        text += "#" * level + f" {heading}\n\n" + "\n\n".join(inner) + "\n\n"
        expected.append((tuple(name for _, name in path), "".join("".join(inner).split())))
    found = [(p.heading, "".join("".join(p.blocks).split())) for p in read(text).passages]
    assert found == expected
