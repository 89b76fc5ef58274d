"""How alike two texts are, word by word: copied phrasing and near-duplicate questions. Pure."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

from pytest_ragbench.canonical import fold_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHORTEST_COPY = 6
"""Fewer words in a row are a term, not a phrasing."""

NEAR = Fraction(4, 5)
"""Share of distinct words (Jaccard) from which two questions count as near-duplicates."""

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    r"""Folded `\w+` words, in order."""
    return _WORD.findall(fold_text(text))


@lru_cache(maxsize=256)
def _spaced(passage: str) -> str:
    return f" {' '.join(words(passage))} "


def copied_run(question: str, passage: str) -> str | None:
    """The first run of words that a question has from a passage, when it is six words or more and half the question."""
    asked = words(question)
    length = max(SHORTEST_COPY, ceil(len(asked) / 2))
    spaced = _spaced(passage)
    for start in range(len(asked) - length + 1):
        run = " ".join(asked[start : start + length])
        if f" {run} " in spaced:
            return run
    return None


def near_duplicates(texts: Mapping[str, str]) -> Iterator[tuple[str, str, float]]:
    """Pairs of ids whose texts share most of their distinct words, with the share, in the order of the ids.

    Prefix filtering (Chaudhuri et al. 2006, Bayardo et al. 2007): with words sorted by rarity, two sets of Jaccard t or
    more share a word among the first `n - ceil(t n) + 1` of each, so only such pairs are compared.
    """
    share_of, least = NEAR.denominator, NEAR.numerator
    sets = {name: frozenset(words(texts[name])) for name in sorted(texts)}
    spread = Counter(word for found in sets.values() for word in found)
    by_word: dict[str, list[str]] = {}
    for name, found in sets.items():
        rare = sorted(found, key=lambda word: (spread[word], word))[: len(found) - ceil(NEAR * len(found)) + 1]
        for other in sorted({other for word in rare for other in by_word.get(word, ())}):
            common = len(found & sets[other])
            union = len(found) + len(sets[other]) - common
            if common * share_of >= union * least:
                yield other, name, common / union
        for word in rare:
            by_word.setdefault(word, []).append(name)
