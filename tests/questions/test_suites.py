"""The nine built-in suites and the names a suite may have."""

from __future__ import annotations

import pytest

from pytest_ragbench.questions.suites import BUILT_IN, check_suite


def test_there_are_nine_suites_each_with_a_capability_and_targets_that_add_up_to_500() -> None:
    names = "lexical paraphrase code scoped books multihop canvas personal unanswerable"
    assert list(BUILT_IN) == names.split()
    assert all(suite.capability and suite.target >= 30 for suite in BUILT_IN.values())
    assert sum(suite.target for suite in BUILT_IN.values()) == 500


@pytest.mark.parametrize("name", [*BUILT_IN, "legal", "v2.0", "a_b-c", "2nd"])
def test_accepted_names(name: str) -> None:
    assert check_suite(name) is None


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "a:b", "a,b", "naïve", "T3", "sealed", "ragbench", "not", "xfail", "x\n"]
)
def test_a_name_that_is_no_marker_or_another_marker_is_refused(name: str) -> None:
    assert check_suite(name) is not None
