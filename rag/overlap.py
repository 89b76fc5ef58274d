"""The overlap lanes: how much of two sets is common to both, of content words and of the three-letter pieces of words.

Counts are integers and a score is one division of two of them, so that rankings are the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rag.ranking import top
from rag.text import content_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from numpy.typing import NDArray

    from rag.cache import Lazy, Meter
    from rag.records import Ranking
    from rag.stages import Request
    from rag.text import Tokenizer

    Measure = Callable[[NDArray[np.int64], int, NDArray[np.int64]], NDArray[np.float64]]
    Features = Callable[[str, Tokenizer], frozenset[str]]


def words(text: str, tokenize: Tokenizer) -> frozenset[str]:
    """Distinct content words."""
    return frozenset(content_words(text, tokenize))


def trigrams(text: str, tokenize: Tokenizer) -> frozenset[str]:
    """Distinct runs of three characters within content words, each word between two spaces: its ends count as such.

    So `retries` and `retried` share five of seven, where a lane of whole words sees nothing common.
    """
    spaced = (f" {word} " for word in words(text, tokenize))
    return frozenset(word[start : start + 3] for word in spaced for start in range(len(word) - 2))


def jaccard(common: NDArray[np.int64], asked: int, held: NDArray[np.int64]) -> NDArray[np.float64]:
    """|A and B| / |A or B|. Source: Jaccard, "The Distribution of the Flora in the Alpine Zone", 1912."""
    return _ratio(common, asked + held - common)


def overlap_coefficient(common: NDArray[np.int64], asked: int, held: NDArray[np.int64]) -> NDArray[np.float64]:
    """|A and B| / min(|A|, |B|). Source: Simpson, "Mammals and the Nature of Continents", 1943."""
    return _ratio(common, np.minimum(asked, held))


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(above / below, dtype=np.float64)


class FeatureSets:
    """The distinct features of each text, as lists of the texts that hold a feature."""

    def __init__(self, texts: Iterable[Collection[str]]) -> None:
        """Take the features of every text."""
        holders: dict[str, list[int]] = {}
        sizes: list[int] = []
        for position, found in enumerate(texts):
            sizes.append(len(found))
            for feature in found:
                holders.setdefault(feature, []).append(position)
        self._holders = {feature: np.array(positions, dtype=np.intp) for feature, positions in holders.items()}
        self._sizes = np.array(sizes, dtype=np.int64)

    def search(
        self, asked: Collection[str], k: int, measure: Measure, among: NDArray[np.intp] | None = None
    ) -> Ranking:
        """The best `k` texts that share a feature, of all or of some positions; equal scores by position."""
        lists = [self._holders[feature] for feature in asked if feature in self._holders]
        if not lists:
            return ()
        common = np.bincount(np.concatenate(lists), minlength=len(self._sizes))
        held = np.flatnonzero(common)
        if among is not None:
            held = np.intersect1d(held, among, assume_unique=True)
        return top(measure(common[held], len(asked), self._sizes[held]), k, 0.0, among=held)


class Overlap:
    """A lane over sets of features: `overlap` by words, `trigrams` by pieces of words.

    Args:
        index: The features of the chunks.
        features: Makes features of a question as they were made of the chunks.
        measure: Scores counts of common features against the sizes of both sets.
        tokenize: Makes words of a text.
        key: Digest of what is indexed, for the cache.
        name: The stage that its time is charged to.
    """

    def __init__(
        self, index: Lazy[FeatureSets], features: Features, measure: Measure, tokenize: Tokenizer, key: str, name: str
    ) -> None:
        self._index = index
        self._features = features
        self._measure = measure
        self._tokenize = tokenize
        self._key = key
        self._name = name

    def search(self, request: Request, meter: Meter) -> Ranking:
        """The chunks with the largest share in common; none for a text without content words."""
        index = self._index.get(meter)

        def find() -> Ranking:
            wanted = self._features(request.text, self._tokenize)
            return index.search(wanted, request.pool, self._measure, request.among)

        return meter.stage(self._name, request.key(self._key), find)
