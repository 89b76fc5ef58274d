"""Decomposition: which lines become sub-queries, what is dropped and why, and that each is searched by itself."""

from __future__ import annotations

import pytest

from rag.cache import DiskCache, Memo, Meter
from rag.decompose import Decompose, parse
from rag.errors import EmptyCompletionError

NOTES = {
    "a.md": "bisection halves the bracket",
    "b.md": "a mutex guards the bracket",
    "c.md": "swimming keeps one healthy",
}
WHOLE = "Who guards and who halves?"


def test_each_line_is_a_part():
    parts = parse("1. Who guards?\n2. Who halves?", WHOLE, 3)
    assert parts.kept == ("Who guards?", "Who halves?")
    assert parts.dropped == ()


def test_den_07_what_is_dropped_is_recorded_with_its_reason():
    completion = """Here are the sub-questions:
1. Who guards?

2.
3. who  GUARDS
4. Who guards and who halves?
5. Who halves?
6. Who swims?"""
    parts = parse(completion, WHOLE, 2)
    assert parts.kept == ("Who guards?", "Who halves?")
    assert parts.told() == {
        "parts": ["Who guards?", "Who halves?"],
        "dropped": [
            {"text": "Here are the sub-questions:", "why": "introduction"},
            {"text": "", "why": "blank"},
            {"text": "", "why": "blank"},
            {"text": "who  GUARDS", "why": "repeated"},
            {"text": "Who guards and who halves?", "why": "the question"},
            {"text": "Who swims?", "why": "beyond the limit"},
        ],
    }


def test_a_fence_around_the_list_and_an_introduction_in_another_script_are_no_parts():
    parts = parse("\u5b50\u554f\u984c\uff1a\n```text\nWho guards?\n```", WHOLE, 3)
    assert parts.kept == ("Who guards?",)
    assert [why for _, why in parts.dropped] == ["introduction", "blank", "blank"]


def test_signs_tell_two_questions_apart():
    assert parse("What is C?\nWhat is C++?", "x", 8).kept == ("What is C?", "What is C++?")


def test_a_question_that_asks_for_one_thing_has_no_parts_and_says_so():
    parts = parse("Who guards?", "who guards", 3)
    assert parts.told() == {"parts": [], "dropped": [{"text": "Who guards?", "why": "the question"}]}


@pytest.mark.parametrize("empty", ["", " \n ", "1.\n2.\n", "-\n-"])
def test_rep_05_a_completion_without_a_question_is_an_error_each_time(empty, scripted, tmp_path):
    llm = scripted({"guards": empty})
    decompose = Decompose(llm, DiskCache(tmp_path / "completions.sqlite"))
    for _ in range(2):
        with pytest.raises(EmptyCompletionError, match="decompose"):
            decompose.split(WHOLE, 3, Meter(Memo(1)))
    assert len(llm.asked) == 2


def test_a_question_is_split_once_whatever_the_limit(scripted, tmp_path):
    llm = scripted({"guards": "Who guards?\nWho halves?"})
    decompose = Decompose(llm, DiskCache(tmp_path / "completions.sqlite"))
    meter = Meter(Memo(1))
    assert len(decompose.split(WHOLE, 3, Meter(Memo(1))).kept) == 2
    assert len(decompose.split(WHOLE, 1, meter).kept) == 1
    assert len(llm.asked) == 1
    assert meter.cached == ["decompose"]


def test_every_part_is_searched_beside_the_whole(write, pipeline, scripted):
    write(NOTES)
    result = pipeline(llm=scripted({"who": "Who guards?\nWho halves?\n"})).search(WHOLE, decompose=True, dense=False)
    lanes = {name: [chunk.file for chunk in result.stages[name]] for name in result.lanes_run}
    assert lanes == {"sparse": ["a.md", "b.md"], "sparse#1": ["b.md"], "sparse#2": ["a.md"]}
    assert result.decomposed == {"parts": ["Who guards?", "Who halves?"], "dropped": []}
    assert "decompose" in result.timings


def test_a_refusal_is_searched_as_it_is(write, pipeline, scripted):
    write(NOTES)
    result = pipeline(llm=scripted({"who": "I cannot help"})).search(WHOLE, decompose=True, dense=False)
    assert result.lanes_run == ("sparse", "sparse#1")
    assert result.decomposed["parts"] == ["I cannot help"]


def test_what_the_language_model_raises_fails_the_search(write, pipeline, scripted):
    write(NOTES)
    with pytest.raises(LookupError, match="no answer"):
        pipeline(llm=scripted({})).search(WHOLE, decompose=True)


def test_off_it_is_not_reported(write, pipeline):
    write(NOTES)
    assert pipeline().search(WHOLE).decomposed is None
