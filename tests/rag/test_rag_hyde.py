"""HyDE: the draft takes the question's place in the dense lane, or the search fails; the question never steps in."""

from __future__ import annotations

import pytest

from rag.cache import DiskCache, Memo, Meter
from rag.errors import EmptyCompletionError, ModelMissingError
from rag.hyde import SYSTEM, USER, Hyde

NOTES = {
    "a.md": "bisection halves the bracket",
    "b.md": "a mutex guards the bracket",
    "c.md": "swimming keeps one healthy",
}


def test_a_question_is_drafted_once_and_charged_its_first_time(scripted, tmp_path):
    llm = scripted({"why": "because"})
    disk = DiskCache(tmp_path / "completions.sqlite")
    bills = [Meter(Memo(10)), Meter(Memo(10))]
    assert [Hyde(llm, disk).draft("why", meter) for meter in bills] == [("because", "miss"), ("because", "hit")]
    assert llm.asked == [(SYSTEM, USER.format(question="why"))]
    assert bills[0].timings["hyde"] == bills[1].timings["hyde"] > 0
    assert (bills[0].cached, bills[1].cached) == ([], ["hyde"])


def test_the_draft_is_searched_by_the_dense_lane_and_the_question_by_the_sparse_one(write, pipeline, scripted):
    write(NOTES)
    search = pipeline(llm=scripted({"root": "a mutex guards"})).search
    result = search("which root halves", hyde=True)
    assert result.stages["dense"][0].file == "b.md"
    assert [chunk.file for chunk in result.stages["sparse"]] == ["a.md"]
    assert result.hyde_cache == "miss"
    assert search("which root halves", hyde=True).hyde_cache == "hit"
    assert search("which root halves").hyde_cache is None


def test_without_a_dense_lane_nothing_is_drafted(write, pipeline, scripted):
    write(NOTES)
    llm = scripted({})
    result = pipeline(llm=llm).search("bracket", hyde=True, dense=False)
    assert result.hyde_cache is None
    assert not llm.asked


def test_without_a_language_model_the_search_is_refused_before_it_begins(write, pipeline):
    write(NOTES)
    with pytest.raises(ModelMissingError, match="need a language model"):
        pipeline().check_overrides(hyde=True)


def test_rep_05_of_ten_questions_four_fail_and_none_is_searched_as_it_came(write, pipeline, encoder, scripted):
    write(NOTES)
    questions = [f"question {letter}" for letter in "abcdefghij"]
    answers = dict.fromkeys(questions[3:], "a mutex guards") | {"question d": "", "question e": "I cannot help"}
    search = pipeline(llm=scripted(answers)).search
    errors, drafted = {}, []
    for question in questions:
        try:
            drafted.append(search(question, hyde=True, sparse=False).chunks[0].file)
        except (LookupError, EmptyCompletionError) as error:
            errors[question] = type(error)
    assert errors == dict.fromkeys(questions[:3], LookupError) | {"question d": EmptyCompletionError}
    assert drafted[1:] == ["b.md"] * 5
    # What was embedded is the refusal, as it is, and the one draft: no question.
    assert encoder.counts["question"] == 2


def test_den_07_an_empty_draft_is_never_searched(write, pipeline, encoder, scripted):
    write(NOTES)
    search = pipeline(llm=scripted({"bracket": "  "})).search
    for _ in range(2):  # nor does the failure stay
        with pytest.raises(EmptyCompletionError, match="hyde"):
            search("bracket", hyde=True)
    assert encoder.counts["question"] == 0


def test_braces_in_a_question_are_text(scripted):
    llm = scripted({"{x} and {0}": "a draft"})
    assert Hyde(llm, None).draft("{x} and {0}", Meter(Memo(1))) == ("a draft", "miss")
