"""Words of names and questions: where they are set apart, and which spellings count as the same."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rag.text import unicode_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

JOINING = frozenset(("and", "of", "for", "in", "on", "to", "with", "und", "für", "von", "et", "de", "y"))
"""What a name may have or lack: `Signals and Systems`, `Signals & Systems`."""

_WORD = re.compile(r"[^\W_]+")
_VARIED = 6  # words of a name, all plurals, would have 3^6 spellings


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        text: Under NFKC and case folding.
        raw: As it was written.
        start: Where it begins in the text.
        end: Where it ends.
    """

    text: str
    raw: str
    start: int
    end: int


def split(text: str) -> list[Word]:
    """The words of a text, set apart at all else, `-` and `_` too; pairs of characters in scripts without spaces."""
    return [
        Word(token, found.group(), found.start(), found.end())
        for found in _WORD.finditer(text)
        for token in unicode_tokens(found.group())
    ]


def key(label: str) -> str:
    """What all spellings of a label share: `Control-Systems`, `control_systems` and `Control Systems` are one name."""
    return " ".join(word.text for word in split(unicodedata.normalize("NFKC", label)))


def content(key: str) -> list[str]:
    """The words of a key that tell it from others: not those that join, no plain numbers, unless nothing is left."""
    words = key.split()
    return [word for word in words if word not in JOINING and not word.isdecimal()] or words


@lru_cache(maxsize=65_536)
def forms(word: str) -> tuple[str, ...]:
    """The word, and what it may be the plural of."""
    found = [word]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        found.append(word[:-1])
        if word.endswith("ies"):
            found.append(word[:-3] + "y")
        elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
            found.append(word[:-2])
    return tuple(found)


def spellings(words: Sequence[str]) -> list[str]:
    """The words written as one, each in all its forms: `data base` and `databases` share `database`."""
    joined = [""]
    for number, word in enumerate(words):
        known = forms(word) if number < _VARIED else (word,)
        joined = [begun + form for begun in joined for form in known]
    return joined
