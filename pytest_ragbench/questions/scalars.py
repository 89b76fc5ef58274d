"""What an unquoted YAML scalar is read as, told so that no value ever changes its type unseen.

Only spellings that every YAML tool reads alike become numbers. Dates, octal, hexadecimal, binary, sexagesimal and
underscored numbers, infinities and NaN stay `Ambiguous`, and whoever meets one says to quote or to rewrite it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MAX_DIGITS = 300
"""Longest number that is read at all; Python itself refuses integers beyond some thousand digits."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """An unquoted scalar that is neither plain text nor a plain number.

    Attributes:
        text: As written.
        kind: What YAML takes it for (`date`, `octal number`, `merge key`, ...).
    """

    text: str
    kind: str


Scalar = str | int | float | bool | None | Ambiguous

_BOOLEANS = {
    spelling: value
    for value, words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off")))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
# `1e-3` is a number in YAML 1.2 and text in YAML 1.1; it can only be meant as a number.
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_KINDS = (
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?"), "date"),
    (re.compile(r"[-+]?0[0-7_]+|0o[0-7]+"), "octal number"),
    (re.compile(r"[-+]?0x[0-9a-fA-F_]+"), "hexadecimal number"),
    (re.compile(r"[-+]?0b[01_]+"), "binary number"),
    (re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"), "base-60 number"),
    (re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?"), "number"),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"), "number"),
    (re.compile(r"<<"), "merge key"),
    (re.compile(r"="), "default value"),
)
# Every scalar that is not text starts with one of these.
_STARTS = frozenset("0123456789+-.~<=tTfFyYnNoO")
_LONGEST_WORD = 40


def read_plain(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text and text[0] not in _STARTS:
        return text
    if len(text) > _LONGEST_WORD and not text[0].isascii():
        return text
    return _read(text) if len(text) <= _LONGEST_WORD else _classify(text)


def _classify(text: str) -> Scalar:
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0].isalpha():
        return text
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= MAX_DIGITS else Ambiguous(text, "number too long to read")
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else Ambiguous(text, "number too large to read")
    return next((Ambiguous(text, kind) for pattern, kind in _KINDS if pattern.fullmatch(text)), text)


_read = lru_cache(maxsize=4096)(_classify)


_VALUE_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
    (str, "text"),
    (dict, "a mapping"),
    (list, "a list"),
)


def kind_of(value: object) -> str:
    """What a value is called in a message: `a number`, `a boolean`, `null`, `a date`, `text`, `a list`, `a mapping`."""
    if isinstance(value, Ambiguous):
        return f"a{'n' if value.kind[0] in 'aeiou' else ''} {value.kind}"
    if value is None:
        return "null"
    return next((name for kind, name in _VALUE_KINDS if isinstance(value, kind)), type(value).__name__)
