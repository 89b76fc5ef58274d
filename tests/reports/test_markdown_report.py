"""RPT-02 and RPT-01: whatever a text holds, Markdown shows it and nothing more."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_ragbench.reports.markdown import CELL_CHARACTERS, escape, render_markdown
from pytest_ragbench.reports.model import Bullets, Column, Report, Section, Sentences, Table
from pytest_ragbench.reports.text import visible

GFM = MarkdownIt("commonmark").enable(["table", "strikethrough"])

HOSTILE = [
    "a | b || c",
    r"a \| b",
    "line1\nline2\r\nline3",
    "`code | x",
    "```",
    "x" * 20_000,
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=1>.md',
    "<b>x</b>",
    "\u202eevil\u200b",
    "[a](javascript:alert(1)) ![i](x) [x]: y <http://e.org>",
    "**bold** _it_ ~~gone~~ &amp; &#124; # no",
    "\\",
    "| --- |",
    "--- ",
    "1. one",
    "+ plus",
    "> quote",
    "    indented",
    "$x_1^2$ <!-- c -->",
    "\ud800 \x00 \x1b[31m red",
    "a\u2028b\u0085c",
    "[ ] task",
    "=== ",
    "",
]


def rows_of(text):
    """Every row of every table: cells as plain text."""
    rows, cell = [], None
    for token in GFM.parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in {"td_open", "th_open"}:
            cell = token.type
        elif token.type == "inline" and cell:
            rows[-1].append("".join(child.content for child in token.children if child.type == "text"))
            assert {child.type for child in token.children} <= {"text", "text_special"}, token.content
            cell = None
    return rows


def report_with(cells):
    columns = (Column("n"), *(Column(f"c{index}", numeric=False) for index in range(len(cells[0]))))
    rows = tuple((index, *row) for index, row in enumerate(cells))
    return Report("t", (Section("s", (Table(columns, rows),)),))


@pytest.mark.parametrize("text", HOSTILE)
def test_rpt_02_a_hostile_cell_keeps_the_row_whole_and_its_text_recoverable(text):
    (header, row) = rows_of(render_markdown(report_with([(text, "next")])))
    assert len(row) == len(header) == 3
    shown = visible(text)
    expected = shown if len(shown) <= CELL_CHARACTERS else f"{shown[:CELL_CHARACTERS]}… [cut: {len(text):,} characters]"
    assert row[1] == expected.strip()
    assert row[2] == "next"


def test_rpt_02_all_hostile_texts_in_one_table():
    rows = rows_of(render_markdown(report_with([(text, text) for text in HOSTILE])))
    assert [len(row) for row in rows] == [3] * (len(HOSTILE) + 1)


@pytest.mark.parametrize("text", HOSTILE)
def test_rpt_01_a_hostile_text_makes_no_element_anywhere(text):
    report = Report(text, (Section(text, (Sentences(text), Bullets((text, "x")), Sentences("end"))),))
    shown = GFM.render(render_markdown(report))
    tags = set(re.findall(r"</?([a-z0-9]+)", shown))
    assert tags <= {"h1", "h2", "p", "ul", "li"}, shown
    for block in re.findall(r"<(?:h1|h2|p|li)>(.*?)</", shown, re.DOTALL)[:4]:
        assert html.unescape(block).strip() == visible(text.strip()).strip() or not text.strip()


def test_hidden_characters_are_shown_by_name():
    assert visible("a\nb\x1b[31m\u202ec\u200b\ufeff") == "a␊b␛[31m⟨U+202E⟩c⟨U+200B⟩⟨U+FEFF⟩"
    assert visible("déjà vu – 北京 🙂") == "déjà vu – 北京 🙂"


@given(st.lists(st.tuples(st.text(), st.text(alphabet="|\\`*_[]()<>&~#!\n\r -1.")), min_size=1, max_size=4))
def test_rpt_02_any_text_gives_rows_of_the_header_s_length(cells):
    text = render_markdown(report_with(cells))
    rows = rows_of(text)
    assert [len(row) for row in rows] == [3] * (len(cells) + 1)
    for row, cell in zip(rows[1:], cells, strict=True):
        assert row[1:] == [visible(part).strip() for part in cell]


@given(st.text())
def test_any_text_is_one_paragraph_of_itself(text):
    shown = GFM.render(escape("x" + text))
    assert html.unescape(shown) == f"<p>{visible('x' + text).rstrip()}</p>\n"
