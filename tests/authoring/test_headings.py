"""Heading paths of Markdown, held against markdown-it where the two agree on what a heading is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.authoring.headings import sections


def paths(markdown: str) -> list[str]:
    return [" > ".join(section.path) for section in sections(markdown)]


CHK_04 = """\
---
title: T
---

# Setup

```python
# not a heading
```

~~~~
# not one either
~~~
# still not
~~~~

- step

    ```
    # nor in an indented fence
    ```

## Notes

# Usage

## Notes

Setext title
============
"""


def test_chk_04_headings_of_a_note() -> None:
    assert paths(CHK_04) == ["Setup", "Setup > Notes", "Usage", "Usage > Notes", "Setext title"]


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# A #\n## B ##\n### C# ###\n#### #\n", ["A", "A > B", "A > B > C#"]),
        ("#tag\n####### seven\n    # code\n   # three\n", ["three"]),
        ("Two\nlines\n---\ntext\n\n---\nrule above\n", ["Two lines"]),
        ("- item\n---\n> quote\n===\n| a |\n---\n", []),
        ("### deep first\n# then top\n", ["deep first", "then top"]),
        ("<!--\n# hidden\n-->\n# seen\n", ["seen"]),
        ("- ```\n  # in a list fence\n  ```\n# after\n", ["after"]),
        ("> ```\n> # quoted\n> ```\n# after\n", ["after"]),
        ("```\n# open to the end\n", []),
        ("    ```\n# code block text opens no fence\n", ["code block text opens no fence"]),
        ("``` a`b ```\n# inline code is no fence\n", ["inline code is no fence"]),
        ("---\nno front matter ends\n# A\n", ["A"]),
        ("\ufeff---\ntags: [x]\n---\n# A\n", ["A"]),
        ("# A\r\n## B\r\n", ["A", "A > B"]),
        ("# `f(x)` **bold** \n", ["`f(x)` **bold**"]),
        ("# Mapping\n## Input > Output\n", ["Mapping", "Mapping > Input > Output"]),
        ("", []),
    ],
)
def test_what_is_a_heading(markdown: str, expected: list[str]) -> None:
    assert paths(markdown) == expected


def test_a_section_holds_its_sub_sections_and_ends_at_its_own_level() -> None:
    found = sections("intro\n# A\none\n## B\ntwo\n# C\nthree\n")
    assert [(section.line, section.text) for section in found] == [(2, "one\n## B\ntwo"), (4, "two"), (6, "three")]


BLOCKS = st.sampled_from(
    ["# A", "## B", "### C ##", "text", "", "```", "~~~", "- item", "> quote", "====", "#x", " # D"]
)


@given(st.lists(BLOCKS, max_size=12))
@settings(deadline=None)
def test_headings_are_those_of_markdown_it(lines: list[str]) -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    text = "\n\n".join(lines)
    tokens = parser.parse(text)
    expected = [
        tokens[index + 1].content
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and tokens[index + 1].content
    ]
    assert [section.path[-1] for section in sections(text)] == expected


def test_a_long_line_takes_no_long_time() -> None:
    assert sections("# " + " " * 100_000 + "x" + " #" * 50_000)[0].path[0].startswith("x")
    assert sections("<!-- open\n" * 100_000 + "# A")[-1].path == ("A",)
    assert sections("- " * 50_000 + "\n" + "* " * 50_000 + "x\n# A")[-1].path == ("A",)
