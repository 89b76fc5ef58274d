"""Results of a function of a text that are kept, up to a number and a length."""

from __future__ import annotations

import pytest

from pytest_ragbench.remembered import Remembered


@pytest.fixture
def asked():
    """The texts that the function was called with, in order."""
    return []


def upper(asked, **limits):
    def make(text):
        asked.append(text)
        return text.upper()

    return Remembered(make, **limits)


def test_a_text_is_asked_for_once(asked):
    kept = upper(asked, most=2)
    assert [kept["a"], kept["b"], kept["a"], kept["b"]] == ["A", "B", "A", "B"]
    assert asked == ["a", "b"]


def test_a_full_one_is_emptied_and_goes_on(asked):
    kept = upper(asked, most=2)
    assert [kept[text] for text in "abcab"] == ["A", "B", "C", "A", "B"]
    assert asked == list("abcab")
    assert len(kept) <= 2


def test_a_long_text_is_not_kept(asked):
    kept = upper(asked, most=2, longest=3)
    assert [kept["abc"], kept["abcd"], kept["abcd"], kept["abc"]] == ["ABC", "ABCD", "ABCD", "ABC"]
    assert asked == ["abc", "abcd", "abcd"]


def test_what_fails_is_not_kept(asked):
    def make(text):
        asked.append(text)
        raise OSError(text)

    kept = Remembered(make, most=2)
    for _ in range(2):
        with pytest.raises(OSError, match="a"):
            kept["a"]
    assert asked == ["a", "a"]
