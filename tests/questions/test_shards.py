"""Parts of a run: together all of it, each question in one, by number alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.questions.model import Question
from pytest_ragbench.questions.shards import Shard, parse_shard


def questions(numbers):
    return [Question(f"lex-{number:04d}", "?", "lexical", "T1") for number in numbers]


@given(st.sets(st.integers(0, 9999), max_size=60), st.integers(1, 9), st.randoms(use_true_random=False))
def test_the_parts_are_all_questions_once_and_of_one_size_whatever_order_they_come_in(numbers, of, shuffler):
    whole = questions(sorted(numbers))
    shuffled = list(whole)
    shuffler.shuffle(shuffled)
    parts = [Shard(index, of).part(shuffled) for index in range(1, of + 1)]
    assert sorted(question.id for part in parts for question in part) == [question.id for question in whole]
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert all(list(part) == sorted(part, key=lambda question: question.id) for part in parts)


def test_neighbours_go_to_different_parts():
    assert [question.id for question in Shard(2, 3).part(questions(range(1, 8)))] == ["lex-0002", "lex-0005"]


@pytest.mark.parametrize(
    ("text", "shard"), [("2/3", Shard(2, 3)), (" 1/1 ", Shard(1, 1)), ("9999/9999", Shard(9999, 9999))]
)
def test_a_shard_is_typed_as_a_fraction_and_shown_so(text, shard):
    assert parse_shard(text) == shard
    assert str(shard) == text.strip()


@pytest.mark.parametrize("text", ["", "2", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1/10000", "٢/٣", "2 / 3"])
def test_anything_else_is_none(text):
    assert parse_shard(text) is None
