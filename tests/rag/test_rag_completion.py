"""Completions: asked once, kept with their first time, never kept when they failed; lists read line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.cache import DiskCache
from rag.completion import Completions, items
from rag.errors import EmptyCompletionError


@pytest.fixture
def disk(tmp_path):
    return DiskCache(tmp_path / "completions.sqlite")


def test_a_prompt_is_asked_once_and_keeps_the_time_that_it_took_first(scripted, disk):
    llm = scripted({"x": "an answer"})
    first = Completions(llm, disk, "hyde").get("system", "x")
    again = Completions(llm, disk, "hyde").get("system", "x")
    assert len(llm.asked) == 1
    assert (first.text, first.known) == ("an answer", False)
    assert (again.text, again.known) == ("an answer", True)
    assert again.ms == first.ms > 0


def test_whatever_may_change_the_answer_is_part_of_the_key(scripted, disk):
    llm = scripted({"x": "one"})
    Completions(llm, disk, "hyde").get("system", "x")
    others = [
        (scripted({"x": "two"}, model="another"), "hyde", "system", "x"),
        (scripted({"x": "two"}, source="another store"), "hyde", "system", "x"),
        (scripted({"x": "two"}), "hype", "system", "x"),
        (scripted({"x": "two"}), "hyde", "another system", "x"),
        (scripted({"x": "two"}), "hyde", "system", "x "),
    ]
    for other, purpose, system, user in others:
        assert Completions(other, disk, purpose).get(system, user).text == "two"


def test_without_a_cache_every_prompt_is_asked_each_time(scripted):
    llm = scripted({"x": "an answer"})
    assert [Completions(llm, None, "hyde").get("system", "x").known for _ in range(2)] == [False, False]
    assert len(llm.asked) == 2


@pytest.mark.parametrize("empty", ["", " \n\t", "\x00", "...", "\u200b", "```\n```"])
def test_a_completion_that_says_nothing_is_an_error_and_is_not_kept(empty, scripted, disk):
    llm = scripted({"the prompt": empty})
    with pytest.raises(EmptyCompletionError, match=r"hyde: 'scripted' answered 'the prompt' with .* says nothing"):
        Completions(llm, disk, "hyde").get("system", "the prompt")
    llm.answers["the prompt"] = "something"
    assert not Completions(llm, disk, "hyde").get("system", "the prompt").known


def test_what_the_language_model_raises_passes_and_is_not_kept(scripted, disk):
    llm = scripted({"x": OSError("no connection")})
    with pytest.raises(OSError, match="no connection"):
        Completions(llm, disk, "hyde").get("system", "x")
    llm.answers["x"] = "back again"
    assert Completions(llm, disk, "hyde").get("system", "x").text == "back again"


def test_text_that_is_no_text_is_cleaned_as_that_of_documents(scripted, disk):
    llm = scripted({"x": "half a pair \ud800\r\nand\x00 on"})
    for _ in range(2):
        assert Completions(llm, disk, "hyde").get("system", "x").text == "half a pair \ufffd\nand on"


@pytest.mark.parametrize(
    ("line", "item"),
    [
        ("What is x?", "What is x?"),
        ("1. What is x?", "What is x?"),
        ("12) What is x?", "What is x?"),
        ("(3) What is x?", "What is x?"),
        ("a) What is x?", "What is x?"),
        ("- What is x?", "What is x?"),
        ("* What is x?", "What is x?"),
        ("\u2022 What is x?", "What is x?"),
        ("  - 1. What is x?  ", "What is x?"),
        ("Q1: What is x?", "What is x?"),
        ("Sub-question 2: What is x?", "What is x?"),
        ("**1.** What is x?", "What is x?"),
        ("**What is x?**", "What is x?"),
        ("## What is x?", "What is x?"),
        ("3\u3001What is x?", "What is x?"),
        ("3.14 is what?", "3.14 is what?"),
        ("-1 is the root of what?", "-1 is the root of what?"),
        ("2 + 2 is what?", "2 + 2 is what?"),
        ("**Bold** and plain", "**Bold** and plain"),
        ("I. M. Pei built what?", "I. M. Pei built what?"),
        ("Questions of style", "Questions of style"),
        ("1.", ""),
        ("-", ""),
        ("---", ""),
        ("```", ""),
        ("```json", ""),
        ("~~~text", ""),
    ],
)
def test_an_item_is_a_line_without_its_mark(line, item):
    assert items(line) == [item]


def test_items_come_line_by_line_blank_ones_too():
    assert items("\n\n1. One?\n\n2.\n- Two?\r\n") == ["One?", "", "", "Two?"]


@given(st.text(max_size=80))
def test_any_completion_is_a_list(completion):
    for item in items(completion):
        assert item == item.strip()
