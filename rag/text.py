"""Text before anything reads meaning into it: cleaning, digests, the tokenizers of the word lanes, content words."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

Tokenizer = Callable[[str], list[str]]

_WORD = re.compile(r"\w+")
# A file may go on over several lines; of those, only ones that hold nothing else are part of it.
_DATA_URI = re.compile(
    r"data:[\w.+-]{1,100}/[\w.+-]{1,100};base64,[A-Za-z0-9+/=]{16,}"
    r"(?:[ \t]*\n[ \t]*[A-Za-z0-9+/=]{16,}(?=[ \t]*(?:\n|\Z|[)>\]\"'])))*"
)
_SURROGATES = re.compile("[\ud800-\udfff]")

# Scripts whose words are not set apart by spaces, and Hangul, where particles cling to the word: Lucene's
# CJKBigramFilter pairs the same characters. First words of Unicode names, so that no table has to be kept.
_PAIRED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "YI", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
JOINERS = frozenset("\u200c\u200d\u00ad\u2060")


def clean(text: str) -> str:
    r"""Line ends as `\n`, no NUL, lone surrogates replaced, embedded base64 files cut out."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    text = _SURROGATES.sub("\ufffd", text)
    return _DATA_URI.sub("data:", text) if ";base64," in text else text


def digest_bytes(data: bytes) -> str:
    """sha256, in hex."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """sha256 (hex) of the value as strict JSON with sorted keys."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


def simple_tokens(text: str) -> list[str]:
    r"""Lower-case `\w+`: what most published BM25 figures were made with."""
    return _WORD.findall(text.lower())


def unicode_tokens(text: str) -> list[str]:
    """Words under NFKC and case folding; character pairs in scripts that set no spaces.

    Combining marks stay with their letter, so that Devanagari words stay whole. Accents are not folded: `café` and
    `cafe` are two words. A run of one such character is a token of its own; longer runs give overlapping pairs.
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return [token for paired, run in _runs(folded) for token in (_pairs(run) if paired else ("".join(run),))]


def _runs(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Maximal runs of letters of one sort, each letter with its combining marks."""
    run: list[str] = []
    paired = False
    for character in text:
        kind = _kind(character)
        if kind == "mark" and run:
            run[-1] += character
        elif kind in ("word", "pair"):
            if run and (kind == "pair") != paired:
                yield paired, run
                run = []
            paired = kind == "pair"
            run.append(character)
        elif kind != "joiner" and run:
            yield paired, run
            run = []
    if run:
        yield paired, run


def _pairs(run: list[str]) -> list[str]:
    return [first + second for first, second in itertools.pairwise(run)] or run


@lru_cache(maxsize=65_536)
def _kind(character: str) -> str:
    if character in JOINERS:
        return "joiner"
    category = unicodedata.category(character)
    if category.startswith("M"):
        return "mark"
    if character.isalnum() or character == "_":
        return "pair" if _is_paired(character) else "word"
    return "break"


def _is_paired(character: str) -> bool:
    name = unicodedata.name(character, "")
    return not character.isdigit() and name.partition(" ")[0] in _PAIRED


_FUNCTION_WORDS = """
a about above after again against all also am an and any are as at be because been before being below between both but
by can could did do does doing down during each either else every few for from further had has have having he her here
hers him his how however i if in into is it its itself just may me might mine more most must my neither no nor not now
of off often on once one only onto or other our ours out over own per quite rather s same shall she should since so some
such t than that the their theirs them then there these they this those though through thus to too toward under until
up upon us very was we were what when where whether which while who whom whose why will with within without would yet
you your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English words that stand in every passage and question, whatever these are about."""


def content_words(text: str, tokenize: Tokenizer) -> list[str]:
    """A text's tokens in order, without the function words."""
    return [token for token in tokenize(text) if token not in FUNCTION_WORDS]


TOKENIZERS_VERSION = "1"
"""Raised when a tokenizer changes what it makes of a text."""

TOKENIZERS: dict[str, Tokenizer] = {"unicode": unicode_tokens, "simple": simple_tokens}
