"""Copied phrasing and near-duplicates, by words."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.authoring.wording import NEAR, copied_run, near_duplicates

PASSAGE = "The condition number of a matrix bounds the relative error of the solution, whatever the method."


@pytest.mark.parametrize(
    ("question", "run"),
    [
        ("Does the CONDITION number of a matrix bound it?", "the condition number of a matrix"),
        ("the condition number of a matrix", "the condition number of a matrix"),
        ("condition number of a matrix", None),
        ("condition number of one matrix bounds the error", None),
        ("Why, in your own words and with an example, would the condition number of a matrix matter to you?", None),
        ("", None),
    ],
)
def test_a_copy_is_six_words_in_a_row_and_half_of_the_question(question: str, run: str | None) -> None:
    assert copied_run(question, PASSAGE) == run


def test_a_run_must_match_whole_words() -> None:
    assert copied_run("one two three four five six", "one two three four five sixty") is None


TEXTS = st.dictionaries(
    st.from_regex(r"q-[0-9]{2}", fullmatch=True),
    st.lists(st.sampled_from("abcdefgh"), max_size=9).map(" ".join),
    max_size=9,
)


@given(TEXTS)
@settings(deadline=None)
def test_prefix_filtering_finds_every_pair_that_comparing_all_finds(texts: dict[str, str]) -> None:
    expected = set()
    for one, other in combinations(sorted(texts), 2):
        first, second = set(texts[one].split()), set(texts[other].split())
        if first and second and len(first & second) / len(first | second) >= NEAR:
            expected.add((one, other))
    assert {(one, other) for one, other, _ in near_duplicates(texts)} == expected
