"""HyPE: a chunk is found by the nearest of its questions; they are written once, resumably, or the build is refused."""

from __future__ import annotations

import numpy as np
import pytest

from rag.errors import EmptyCompletionError, QuestionsMissingError
from rag.hype import Questions

NOTES = {
    "a.md": "bisection halves the bracket",
    "b.md": "a mutex guards the bracket",
    "c.md": "swimming keeps one healthy",
}
WRITTEN = {
    "halves": "1. which method halves\n2. what shrinks each step",
    "mutex": "Questions:\n- who keeps two threads apart\n- who keeps two threads apart",
    "swimming": "which sport is good",
}
ON = {"hype": True, "dense": False}


def files(ranking):
    return [chunk.file for chunk in ranking]


def vectors(*rows):
    return np.array(rows, dtype=np.float32)


def test_a_chunks_score_is_that_of_its_best_question():
    questions = Questions(vectors([1, 0], [0, 1], [0.8, 0.6], [0.6, 0.8]), np.array([0, 0, 2, 5]))
    found = questions.nearest(vectors([0, 1])[0], 10)
    assert [(position, round(score, 6)) for position, score in found] == [(0, 1.0), (5, 0.8), (2, 0.6)]
    assert [position for position, _ in questions.nearest(vectors([0, 1])[0], 2)] == [0, 5]


def test_it_searches_within_the_scope():
    questions = Questions(vectors([1, 0], [0, 1], [0.8, 0.6]), np.array([0, 0, 2]))
    assert [position for position, _ in questions.nearest(vectors([0, 1])[0], 9, among=np.array([1, 2, 7]))] == [2]
    assert questions.nearest(vectors([0, 1])[0], 9, among=np.array([], dtype=int)) == ()


def test_equal_questions_tie_by_position():
    questions = Questions(vectors([1, 0], [1, 0], [1, 0]), np.array([0, 1, 2]))
    assert [position for position, _ in questions.nearest(vectors([1, 0])[0], 2)] == [0, 1]


def test_a_question_finds_the_chunk_by_words_that_the_chunk_does_not_hold(write, pipeline, scripted):
    write(NOTES)
    llm = scripted(WRITTEN)
    result = pipeline(llm=llm).search("who keeps threads apart", **ON)
    assert result.lanes_run == ("sparse", "hype")
    assert files(result.stages["hype"])[0] == "b.md"
    assert result.stages["hype"][0].text == NOTES["b.md"]
    assert len(llm.asked) == 3


def test_questions_are_written_once_for_every_process(write, pipeline, scripted):
    write(NOTES)
    pipeline(llm=scripted(WRITTEN)).search("threads", **ON)
    later = scripted({})
    result = pipeline(llm=later).search("threads", **ON)
    assert files(result.stages["hype"])[0] == "b.md"
    assert not later.asked


def test_another_model_or_source_writes_its_own(write, pipeline, scripted):
    write(NOTES)
    pipeline(llm=scripted(WRITTEN)).search("threads", **ON)
    other = scripted(WRITTEN, source="another store")
    pipeline(llm=other).search("threads", **ON)
    assert len(other.asked) == 3


def test_an_interrupted_build_goes_on_where_it_stopped(write, pipeline, scripted, tmp_path):
    write(NOTES)
    stopped = scripted(WRITTEN | {"mutex": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        pipeline(llm=stopped).search("threads", **ON)
    assert not list((tmp_path / ".ragbench" / "index").glob("hype-*"))
    resumed = scripted(WRITTEN)
    pipeline(llm=resumed).search("threads", **ON)
    assert [user.rsplit("\n", 1)[1] for _, user in resumed.asked] == [NOTES["b.md"], NOTES["c.md"]]


def test_a_changed_note_alone_gets_new_questions(write, pipeline, scripted):
    write(NOTES)
    pipeline(llm=scripted(WRITTEN)).search("threads", **ON)
    write({"c.md": "swimming is healthy"})
    llm = scripted(WRITTEN)
    pipeline(llm=llm).search("threads", **ON)
    assert [user.rsplit("\n", 1)[1] for _, user in llm.asked] == ["swimming is healthy"]


def test_a_miss_refuses_and_says_what_to_do(write, pipeline, scripted, tmp_path):
    write(NOTES)
    llm = scripted({"halves": WRITTEN["halves"]})
    with pytest.raises(
        QuestionsMissingError, match=r"1 of 3 have theirs; of b\.md: .*no answer.*--rag-llm=record:FILE"
    ):
        pipeline(llm=llm).search("threads", **ON)
    assert len(llm.asked) == 2  # the first miss ends it
    assert not list((tmp_path / ".ragbench" / "index").glob("hype-*"))


def test_a_build_that_was_refused_is_not_tried_again_by_the_next_search(write, pipeline, scripted):
    write(NOTES)
    llm = scripted({})
    search = pipeline(llm=llm).search
    told = []
    for _ in range(3):
        with pytest.raises(QuestionsMissingError) as refused:
            search("threads", **ON)
        told.append(str(refused.value))
    assert len(set(told)) == 1
    assert len(llm.asked) == 1
    assert search("mutex", dense=False).chunks  # what needs no questions goes on
    assert pipeline(llm=scripted(WRITTEN)).search("threads", **ON).chunks  # nor does another process remember


def test_a_language_model_that_records_is_asked_for_everything_before_the_refusal(write, pipeline, scripted):
    write(NOTES)
    llm = scripted({"mutex": WRITTEN["mutex"]})
    llm.records = True
    with pytest.raises(QuestionsMissingError, match=r"1 of 3 have theirs; of a\.md"):
        pipeline(llm=llm).search("threads", **ON)
    assert len(llm.asked) == 3


@pytest.mark.parametrize("empty", ["", "1.\n2.", "Here are the questions:"])
def test_an_empty_completion_refuses_and_is_asked_again(empty, write, pipeline, scripted):
    write(NOTES)
    llm = scripted(WRITTEN | {"mutex": empty})
    with pytest.raises(QuestionsMissingError, match="says nothing") as refused:
        pipeline(llm=llm).search("threads", **ON)
    assert isinstance(refused.value.__cause__, EmptyCompletionError)
    llm.answers = WRITTEN
    assert pipeline(llm=llm).search("threads", **ON).chunks


def test_a_blank_question_is_not_embedded(write, pipeline, scripted, encoder):
    write(NOTES)
    assert pipeline(llm=scripted(WRITTEN)).search("  ", **ON).chunks == ()
    assert encoder.counts["question"] == 0
