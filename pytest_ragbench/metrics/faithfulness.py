"""Decides how much of a reference answer the retrieved text covers, word by word. It judges no meaning and no model."""

from __future__ import annotations

import re
from functools import lru_cache
from math import fsum
from typing import TYPE_CHECKING

from pytest_ragbench.canonical import fold_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.questions.model import Question

CONTEXTS = 5
"""Only the first five chunks are read: what a reader, or a model with a short prompt, would see."""

_CACHED_CHARACTERS = 4_000
"""Longer texts are read anew each time: their words would take far more memory than reading them takes time."""

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002])\s+|\n+")

_FUNCTION_WORDS = """
a about after all also an and any are as at be because been before being between both but by can could did do
does doing down during each few for from further had has have having he her here hers him his how i if in into
is it its itself just me more most my no nor not now of off on once only or other our out over own s same she
should so some such t than that the their them then there these they this those through to too under until up
very was we were what when where which while who whom why will with would you your
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words: they stand in every passage and would pass for support."""


def content_words(text: str) -> frozenset[str]:
    r"""Distinct folded `\w+` words of a text without the stop words."""
    return _cached_words(text) if len(text) <= _CACHED_CHARACTERS else _words(text)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold_text(text))) - STOP_WORDS


# The arms of a run bring back the same chunks for a question. The words of a usual chunk take 20 kB.
_cached_words = lru_cache(maxsize=1024)(_words)


def claims_of(question: Question) -> tuple[str, ...]:
    """What a faithful ranking has to cover: the nuggets, else the sentences of the reference answer, else nothing.

    A text without content words ("No.") is no claim: every ranking would cover it, and a 1.0 that measured nothing
    would raise the mean.
    """
    sentences = map(str.strip, _SENTENCE_END.split(question.answer or ""))
    return tuple(filter(content_words, question.nuggets)) or tuple(filter(content_words, sentences))


def faithfulness(claims: Sequence[str], contexts: Sequence[str]) -> float:
    """Mean over claims of the share of their content words that the contexts contain together.

    Args:
        claims: Nuggets or sentences; those without content words are left out.
        contexts: Texts of the ranking, best first; the first five are read.

    Returns:
        0.0 to 1.0; 1.0 when no claim has a content word, 0.0 when no context has one.
    """
    wanted = [words for words in map(content_words, claims) if words]
    if not wanted:
        return 1.0
    asked = frozenset[str]().union(*wanted)
    given = frozenset[str]().union(*(asked & content_words(context) for context in contexts[:CONTEXTS]))
    return fsum(len(words & given) / len(words) for words in wanted) / len(wanted)
