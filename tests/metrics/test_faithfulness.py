"""Claims about lexical faithfulness."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.metrics.measures import claims_of, faithfulness
from pytest_ragbench.questions.model import Question


@pytest.mark.parametrize(
    ("claims", "contexts", "expected"),
    [
        (["The bisection halves the interval"], ["Bisection halves an interval."], 1.0),
        (["bisection halves the interval"], ["bisection"], 1 / 3),
        (["bisection converges", "Newton diverges"], ["bisection converges. Newton stalls."], (1 + 1 / 2) / 2),
        (["bisection halves"], ["bisection", "halves"], 1.0),
        (["bisection"], [], 0.0),
        (["bisection"], ["", "of the"], 0.0),
        (["it is what it is"], ["anything"], 1.0),
        ([], [], 1.0),
        (["STRASSE"], ["stra\u00dfe"], 1.0),
        (["it is", "bisection"], ["Newton"], 0.0),
    ],
)
def test_mean_share_of_content_words_that_the_contexts_contain(claims, contexts, expected):
    assert faithfulness(claims, contexts) == pytest.approx(expected)


def test_only_the_first_five_contexts_are_read():
    assert faithfulness(["bisection"], ["x"] * 5 + ["bisection"]) == 0.0
    assert faithfulness(["bisection"], ["x"] * 4 + ["bisection"]) == 1.0


def test_nuggets_come_before_the_sentences_of_the_answer():
    question = Question("q-0001", "?", "lexical", "T1", nuggets=("one",), answer="Two. Three.")
    assert claims_of(question) == ("one",)
    assert claims_of(Question("q-0001", "?", "lexical", "T1", answer="Two is 2.5. Three!\nFour")) == (
        "Two is 2.5.", "Three!", "Four",
    )  # fmt: skip
    assert claims_of(Question("q-0001", "?", "lexical", "T1")) == ()


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=7))
def test_more_text_never_lowers_it(claims, contexts):
    less, more = faithfulness(claims, contexts[:-1]), faithfulness(claims, contexts)
    assert 0.0 <= less <= more + 1e-12 <= 1.0 + 2e-12
