"""What `-m` and `-k` expressions name, and what they ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.errors import UsageError
from pytest_ragbench.harness.expressions import can_be_true, compile_expression, names, rewrite, turns_true


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("", ()),
        ("R0-bm25", ("R0-bm25",)),
        ("not (a or b) and a", ("a", "b")),
        ("F:sparse+dense or -rerank", ("F:sparse+dense", "-rerank")),
        ("device(serial='x', count=2) and b", ("device", "2", "b")),
        ("android or notandroid", ("android", "notandroid")),
    ],
)
def test_the_names_of_an_expression_are_found_once_each_and_in_order(expression, found):
    assert names(expression) == found


def test_names_are_respelt_and_everything_else_stays_to_the_letter():
    spelling = {"F:none": "F.none", "-rerank": "no-rerank", "serial": "wrong"}
    assert rewrite("not  F:none and (-rerank)", spelling) == "not  F.none and (no-rerank)"
    assert rewrite("device(serial='F:none') or F:none2", spelling) == "device(serial='F:none') or F:none2"


@pytest.mark.parametrize(
    ("expression", "asks"),
    [
        ("sealed", True),
        ("sealed or R2-hybrid", True),
        ("R2-hybrid and sealed", True),
        ("not (not sealed)", True),
        ("(sealed and a) or (not sealed and b)", True),
        ("not sealed", False),
        ("R2-hybrid", False),
        ("R2-hybrid and not sealed", False),
        ("a or (b and not sealed)", False),
        ("sealed and not sealed", False),
        ("sealed or not sealed", False),
        ("unsealed", False),
    ],
)
def test_an_expression_asks_for_a_name_when_that_name_can_make_it_true(expression, asks):
    assert turns_true(expression, "sealed") is asks


def test_beyond_many_names_the_careful_answer_is_given():
    others = " or ".join(f"n{number}" for number in range(40))
    assert turns_true(f"({others}) and not sealed", "sealed") is True
    assert can_be_true(f"({others}) and sealed", false={"sealed"}) is True


def test_names_that_are_held_false_cannot_help():
    assert turns_true("a and b", "a") is True
    assert turns_true("a and b", "a", false={"b"}) is False


@pytest.mark.parametrize(
    ("expression", "possible"),
    [("sealed", False), ("sealed and a", False), ("sealed or a", True), ("not sealed", True), ("a", True)],
)
def test_what_an_expression_selects_without_a_name(expression, possible):
    assert can_be_true(expression, false={"sealed"}) is possible


def test_bad_grammar_is_told_with_the_expression():
    with pytest.raises(UsageError, match=r"-m 'a and'"):
        compile_expression("a and")


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "c", "sealed"]),
    lambda inner: st.one_of(
        inner.map(lambda text: f"not ({text})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_asking_agrees_with_python_over_every_truth_table(expression):
    def value(**on):
        return bool(eval(expression, {"__builtins__": {}}, on))

    table = [(bool(n & 1), bool(n & 2), bool(n & 4)) for n in range(8)]
    expected = any(not value(a=a, b=b, c=c, sealed=False) and value(a=a, b=b, c=c, sealed=True) for a, b, c in table)
    assert turns_true(expression, "sealed") is expected
    assert can_be_true(expression, false={"sealed"}) is any(value(a=a, b=b, c=c, sealed=False) for a, b, c in table)
    assert rewrite(expression, {}) == expression
