"""Names and the markers they go by."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.configurations.names import check_factor_name, check_name, marker_name
from pytest_ragbench.questions.suites import check_suite


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        ("R0-bm25", "R0-bm25"),
        ("F:none", "F.none"),
        ("F:sparse+dense", "F.sparse+dense"),
        ("-rerank", "no-rerank"),
        ("-a:b", "no-a.b"),
    ],
)
def test_pyt_01_colons_and_a_leading_dash_have_a_marker_form(name: str, marker: str) -> None:
    assert check_name(name) is None
    assert marker_name(name) == marker
    assert marker_name(marker) == marker


@pytest.mark.parametrize(
    "name", ["", "-", "--x", "../../x", "a b", "a,b", "a/b", "a[b]", ":a", "+a", "naïve", "not", "and", "x\n", "a::b c"]
)
def test_loc_08_a_name_that_is_no_marker_is_refused(name: str) -> None:
    assert check_name(name) is not None


@pytest.mark.parametrize("check", [check_name, check_factor_name, check_suite])
def test_of_a_letter_that_is_not_ascii_the_complaint_says_which_letters_are(check: Callable[[str], str | None]) -> None:
    assert "ASCII letters" in str(check("naïve"))


@given(st.from_regex(r"-?[A-Za-z0-9][A-Za-z0-9_.:+-]*", fullmatch=True))
@settings(deadline=None)
def test_every_marker_can_be_typed_after_m_and_registered(name: str) -> None:
    marker = marker_name(name)
    assert ":" not in marker
    assert not marker.startswith("-")


@pytest.mark.parametrize("name", ["a+b", "a:b", "-a", "none", ""])
def test_a_factor_is_named_so_that_arms_can_be_told_apart(name: str) -> None:
    assert check_factor_name(name) is not None


def test_factors_have_plain_names() -> None:
    assert [check_factor_name(name) for name in ("sparse", "late-interaction", "k2", "v1.0")] == [None] * 4
