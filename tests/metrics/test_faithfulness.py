"""Claims about lexical faithfulness."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

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


@pytest.mark.parametrize(
    ("nuggets", "answer", "claims"),
    [
        ((), "No.", ()),
        (("of the and", "\u3002"), None, ()),
        (("it is so", "bisection halves"), "Other words.", ("bisection halves",)),
        (("it is so",), "It is. Newton diverges.", ("Newton diverges.",)),
    ],
)
def test_met_10_what_no_text_could_fail_to_cover_is_no_claim_and_no_vacuous_one_enters_the_mean(
    nuggets, answer, claims
):
    question = Question("q-0001", "?", "lexical", "T1", nuggets=nuggets, answer=answer)
    assert claims_of(question) == claims


@given(st.lists(st.text(max_size=30), max_size=4), st.lists(st.text(max_size=30), max_size=7))
def test_more_text_never_lowers_it(claims, contexts):
    less, more = faithfulness(claims, contexts[:-1]), faithfulness(claims, contexts)
    assert 0.0 <= less <= more + 1e-12 <= 1.0 + 2e-12


def test_long_texts_are_not_kept_in_memory():
    # 40 texts of 5,000 words of their own: some 600 kB each as a set of words.
    texts = [" ".join(f"w{number}x{word}" for word in range(5000)) for number in range(40)]
    faithfulness(["bisection halves"], texts[:1])
    tracemalloc.start()
    for text in texts:
        faithfulness(["bisection halves"], [text])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1e6


@pytest.mark.parametrize("covered", [[1, 2, 3], [3, 1, 1, 2], [2, 2, 2, 2, 1, 1]])
def test_the_mean_is_rounded_once_whatever_the_order_of_the_claims(covered):
    # Three words a claim, of which 1, 2 or 3 are covered.
    claims = [f"w1 {'w2' if words > 1 else 'x'} {'w3' if words > 2 else 'y'}" for words in covered]
    expected = float(sum(Fraction(words / 3) for words in covered)) / len(covered)
    assert faithfulness(claims, ["w1 w2 w3"]) == faithfulness(claims[::-1], ["w1 w2 w3"]) == expected
