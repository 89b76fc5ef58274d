"""Tokenizers: what is one word, in scripts with and without spaces."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text import clean, simple_tokens, unicode_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The `solve_ivp()` of SciPy 1.13", ["the", "solve_ivp", "of", "scipy", "1", "13"]),
        ("\u56fd\u969b\u6a19\u6e96", ["\u56fd\u969b", "\u969b\u6a19", "\u6a19\u6e96"]),
        ("\u6c34", ["\u6c34"]),
        ("LSTM\u6a21\u578b2", ["lstm", "\u6a21\u578b", "2"]),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("caf\u00e9 cafe", ["caf\u00e9", "cafe"]),
        ("cafe\u0301", ["caf\u00e9"]),
        ("STRASSE Stra\u00dfe", ["strasse", "strasse"]),
        ("\ufb01le \uff21", ["file", "a"]),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ["\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"]),
        ("\U0001f642\U0001f642", []),
        ("", []),
    ],
)
def test_words_of_many_scripts(text, tokens):
    assert unicode_tokens(text) == tokens


@given(st.text(alphabet=st.characters(max_codepoint=0x7F)))
def test_on_ascii_both_tokenizers_agree(text):
    assert unicode_tokens(text) == simple_tokens(text)


@given(st.text())
def test_composed_and_decomposed_text_give_the_same_words(text):
    assert unicode_tokens(unicodedata.normalize("NFC", text)) == unicode_tokens(unicodedata.normalize("NFD", text))


def test_an_embedded_file_is_cut_out_and_the_words_after_it_stay():
    picture = "QUJD" * 40
    wrapped = "\n".join(["QUJDREVG" * 9, "QUJDREVG" * 9])
    assert clean(f"a data:image/png;base64,{picture} picture of words") == "a data: picture of words"
    assert clean(f"![x](data:image/png;base64,{wrapped}) and\nmore words") == "![x](data:) and\nmore words"


def test_the_words_after_an_embedded_file_are_no_part_of_it():
    picture = "QUJD" * 20
    line = f"data:image/png;base64,{picture}\nInternationalization of electroencephalographs"
    assert clean(line) == "data:\nInternationalization of electroencephalographs"
    assert clean(f"data:image/png;base64,{picture}\n\nelectroencephalographs") == "data:\n\nelectroencephalographs"


def test_cleaning_takes_time_in_proportion_to_the_text():
    hostile = "data:a/b;base64," + "A" * 16 + "\n" * 200_000 + "data:" * 40_000 + "x;base64,"
    started = time.perf_counter()
    clean(hostile)
    assert time.perf_counter() - started < 2


def test_cleaning_removes_what_no_index_can_hold():
    assert clean("a\r\nb\rc\x00\ud800") == "a\nb\nc\ufffd"
    clean("\ud83d\ude42 lone").encode()
