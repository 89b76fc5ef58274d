"""What a question names: places whose name it says, wholly or nearly, by the words that tell names apart."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from rag.text import unicode_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag.graph.model import Graph

SAID = 0.7
"""The share of a name, by weight of its words, that a question must say in one stretch to mean it."""


class Weights:
    """What words weigh: log(1 + chunks / chunks with the word).

    Args:
        frequencies: In how many chunks a term stands.
        chunks: How many there are.
        question: The question.

    Attributes:
        words: The question's words, in order.
        of: What each of them weighs that stands in a chunk.
        total: The sum of these.
    """

    def __init__(self, frequencies: Mapping[str, int], chunks: int, question: str) -> None:
        self._frequencies = frequencies
        self._chunks = chunks
        self.words = tuple(unicode_tokens(question))
        self.of = {term: self.weight(term) for term in dict.fromkeys(self.words) if term in frequencies}
        self.total = sum(self.of.values())

    def weight(self, term: str) -> float:
        """What any term weighs."""
        return math.log1p(self._chunks / max(1, self._frequencies.get(term, 0)))

    def overlap(self, text: str) -> float:
        """The share of the question, by weight of its words, that stands in a text: 0 to 1."""
        found = set(unicode_tokens(text))
        shared = sum(weight for term, weight in self.of.items() if term in found)
        return shared / self.total if shared else 0.0

    def rarest(self) -> frozenset[str]:
        """The heaviest quarter of the question's words, at least one."""
        by_weight = sorted(self.of, key=lambda term: (-self.of[term], term))
        return frozenset(by_weight[: max(1, math.ceil(len(by_weight) / 4))])


class NameIndex:
    """The names of a graph by their words."""

    def __init__(self, graph: Graph) -> None:
        self._bearers: dict[tuple[str, ...], dict[str, dict[int, None]]] = {}
        for name, file, positions in graph.names:
            if terms := tuple(unicode_tokens(name)):
                self._bearers.setdefault(terms, {}).setdefault(file, {}).update(dict.fromkeys(positions))
        self._by_term: dict[str, list[tuple[str, ...]]] = {}
        for terms in self._bearers:
            for term in dict.fromkeys(terms):
                self._by_term.setdefault(term, []).append(terms)

    def said(self, weights: Weights, most: int) -> Iterator[Sequence[int]]:
        """Chunks of each place that the question names, the weightiest name first, ties by name and file.

        A name is meant where one stretch of the question is at least `SAID` of it, by weight, and holds one of the
        rarest quarter of the question's words. A name that more than `most` files bear means none of them, and so does
        a single word that more than one bears: it is a heading such as `Exercises`.
        """
        rarest = weights.rarest()
        scored = []
        for terms in dict.fromkeys(terms for term in sorted(rarest) for terms in self._by_term.get(term, ())):
            if len(self._bearers[terms]) <= (most if len(terms) > 1 else 1):
                whole = sum(weights.weight(term) for term in terms)
                part = _heaviest_stretch(terms, weights, rarest)
                if part >= SAID * whole:
                    scored.append((-round(part * part / whole, 12), terms))
        for _, terms in sorted(scored):
            yield from (tuple(positions) for _, positions in sorted(self._bearers[terms].items()))


def _heaviest_stretch(name: Sequence[str], weights: Weights, rarest: frozenset[str]) -> float:
    """The weight of the heaviest run of words that name and question share and that holds a rare one."""
    runs = (
        [word for word, _ in itertools.takewhile(_same, zip(name[start:], weights.words[at:], strict=False))]
        for start in range(len(name))
        for at, word in enumerate(weights.words)
        if word == name[start]
    )
    return max((sum(map(weights.weight, run)) for run in runs if not rarest.isdisjoint(run)), default=0.0)


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]
