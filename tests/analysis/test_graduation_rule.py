"""Claims about the rule of graduation: values in, clauses out. The differences are typed, not measured."""

from __future__ import annotations

import pytest

from pytest_ragbench.analysis.graduation import Difference, decide, graduates


def difference(delta, low=None, high=None, *, n=100, split="dev", suite=None, name="new", other="old", verdict="real"):
    low, high = (delta - 0.01 if low is None else low), (delta + 0.01 if high is None else high)
    return Difference("run", split, name, other, "ndcg@10", delta, low, high, n, 0.95, verdict, suite)


DEV = (difference(0.05),)
TEST = (difference(0.03, split="test"),)
WORTH = {"rerank": difference(0.02, split="test", name="full", other="-rerank")}


def states(dev=DEV, test=TEST, left_out=WORTH, added=("rerank",), tolerance=0.02):
    clauses = decide(dev, test, left_out, added, tolerance)
    return {clause.key: clause.state for clause in clauses}, graduates(clauses)


def test_everything_met_graduates():
    assert states() == ({"dev": "met", "test": "met", "loo:rerank": "met", "suites": "met"}, True)


@pytest.mark.parametrize(
    ("delta", "low", "state"),
    [
        (0.05, 0.001, "met"),
        (0.05, 0.0, "failed"),
        (0.05, 1e-10, "failed"),
        (0.05, -0.01, "failed"),
        (-0.05, -0.06, "failed"),
    ],
)
def test_on_dev_the_whole_interval_must_lie_above_zero(delta, low, state):
    found, graduated = states(dev=(difference(delta, low),))
    assert (found["dev"], graduated) == (state, state == "met")


@pytest.mark.parametrize(
    ("verdict", "state"),
    [("real", "met"), ("not resolved", "met"), ("unresolvable", "failed"), ("indeterminate", "failed")],
)
def test_an_interval_above_zero_counts_where_it_can_tell_anything(verdict, state):
    found, graduated = states(dev=(difference(0.05, verdict=verdict),))
    assert (found["dev"], graduated) == (state, state == "met")


@pytest.mark.parametrize(("delta", "state"), [(0.02, "met"), (0.0, "met"), (-1e-10, "met"), (-0.001, "failed")])
def test_on_test_the_difference_itself_may_not_be_below_zero_whatever_its_interval(delta, state):
    found, graduated = states(test=(difference(delta, -0.2, 0.2, split="test"),))
    assert (found["test"], graduated) == (state, state == "met")
    worth = {"rerank": difference(delta, -0.2, 0.2, split="test")}
    found, graduated = states(left_out=worth)
    assert (found["loo:rerank"], graduated) == (state, state == "met")


@pytest.mark.parametrize(("delta", "state"), [(0.02, "met"), (0.0, "met"), (-0.001, "failed"), (None, "missing")])
@pytest.mark.parametrize("added", [("rerank",), ("rerank", "code")])
def test_every_factor_that_will_be_on_by_default_has_to_be_worth_its_place(delta, state, added):
    """Whether the candidate brings it or the default has it already."""
    out = {"code": None if delta is None else difference(delta, split="test")} | WORTH
    found, graduated = states(left_out=out, added=added)
    assert (found["loo:code"], graduated) == (state, state == "met")
    assert list(found) == ["dev", "test", "loo:rerank", "loo:code", "suites"]


@pytest.mark.parametrize(
    ("delta", "n", "state"),
    [
        (-0.02, 30, "met"),
        (-0.02 - 1e-10, 30, "met"),
        (-0.021, 30, "failed"),
        (-0.021, 29, "met"),
        (-0.9, 29, "met"),
        (-0.9, 30, "failed"),
        (0.3, 30, "met"),
    ],
)
@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_suite_of_thirty_may_fall_by_the_tolerance_and_no_further(split, delta, n, state):
    suite = difference(delta, n=n, split=split, suite="books")
    found, graduated = states(
        dev=(*DEV, suite) if split == "dev" else DEV, test=(*TEST, suite) if split == "test" else TEST
    )
    assert (found["suites"], graduated) == (state, state == "met")


def test_the_tolerance_is_the_projects():
    books = difference(-0.04, n=50, suite="books")
    assert states(dev=(*DEV, books))[0]["suites"] == "failed"
    assert states(dev=(*DEV, books), tolerance=0.05)[0]["suites"] == "met"


def test_it_is_said_how_many_suites_were_large_enough_to_be_held_against_the_tolerance():
    dev = (*DEV, difference(0.1, n=30, suite="a"), difference(-0.1, n=29, suite="b"))
    clause = decide(dev, (*TEST, difference(-0.5, n=8, split="test", suite="a")), {}, (), 0.02)[-1]
    assert clause.found == (
        "dev: 1 of 2 suites are that large, and none falls so far; test: 0 of 1 suites are that large"
    )
    assert [one.suite for one in clause.evidence] == ["a", "b", "a"]


def test_what_no_record_shows_is_missing_and_does_not_graduate():
    found, graduated = states(dev=(), test=(), left_out={"rerank": None})
    assert found == dict.fromkeys(("dev", "test", "loo:rerank", "suites"), "missing")
    assert not graduated
    assert states(test=())[0]["suites"] == "missing"


def test_a_suite_that_fell_on_dev_is_no_missing_evidence():
    assert states(dev=(*DEV, difference(-0.1, n=40, suite="books")), test=())[0]["suites"] == "failed"


def test_arms_that_share_no_question_prove_nothing():
    empty = Difference("run", "dev", "new", "old", "ndcg@10", None, None, None, 0, 0.95, "unresolvable")
    found, graduated = states(dev=(empty,), test=(empty,))
    assert (found["dev"], found["test"], graduated) == ("failed", "failed", False)
