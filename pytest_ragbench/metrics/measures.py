"""Computes what a ranking is worth, from the gold sources that each rank satisfied; `catalogue` has the definitions."""

from __future__ import annotations

from functools import lru_cache
from math import fsum, log2
from typing import TYPE_CHECKING

from pytest_ragbench.metrics.catalogue import METRICS_VERSION, PRECISION_DEPTH, cutoffs, is_binary, metric_names
from pytest_ragbench.metrics.faithfulness import claims_of, faithfulness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.metrics.relevance import CompiledGold

__all__ = ["METRICS_VERSION", "claims_of", "faithfulness", "is_binary", "metric_names", "score"]


def score(
    matches: Sequence[tuple[int, ...]], doc_matches: Sequence[tuple[int, ...]], gold: CompiledGold, k: int = 10
) -> dict[str, float]:
    """Every measure of one ranking, except `faithfulness`, which needs texts.

    Args:
        matches: Per rank, indexes of the gold sources that the chunk satisfies; ranks below `k` are ignored.
        doc_matches: Per rank, indexes of those that its file satisfies.
        gold: The question's gold; 1.0 throughout when it is empty, whatever was retrieved.
        k: Depth of the ranking.

    Returns:
        Metric name to a value from 0.0 to 1.0, in the order of `metric_names`.

    Raises:
        ValueError: A depth below 1.
    """
    if not gold.size:
        return dict.fromkeys(_scored_names(k), 1.0)
    if len(matches) > k:
        matches, doc_matches = matches[:k], doc_matches[:k]
    return _score(tuple(matches), tuple(doc_matches), gold.required, gold.documents, k).copy()


# Most rows of a run show one of a few patterns: nothing found, or one source at one rank.
@lru_cache(maxsize=4096)
def _score(
    matches: tuple[tuple[int, ...], ...],
    doc_matches: tuple[tuple[int, ...], ...],
    required: frozenset[int],
    documents: int,
    k: int,
) -> dict[str, float]:
    names = _scored_names(k)  # first of all: it refuses a depth that cuts the ranking from below
    values = (
        *_ranked(matches, required, len(required), k),
        *_ranked(doc_matches, required, documents, k),
        sum(map(bool, matches)) / len(matches) if matches else 0.0,
    )
    return dict(zip(names, values, strict=True))


def _ranked(ranking: Sequence[tuple[int, ...]], required: frozenset[int], ideal: int, k: int) -> tuple[float, ...]:
    """Hits, recall, completeness, MRR, nDCG and precision of one ranking, in the order of the catalogue.

    Args:
        ranking: Sources satisfied by each rank, at most `k` ranks.
        required: The sources that count.
        ideal: Gains of the ideal ranking, before the cut at `k`.
        k: Depth.
    """
    missing = set(required)
    gains = []  # 1-based ranks
    for rank, sources in enumerate(ranking, start=1):
        if not missing.isdisjoint(sources):
            missing.difference_update(sources)
            gains.append(rank)
    depth = min(PRECISION_DEPTH, k)
    precision = sum(map(bool, ranking[:depth])) / depth
    if not required:  # all gold is optional: nothing is asked for, so nothing is missing
        return (*(1.0 for _ in cutoffs(k)), 1.0, 1.0, 1.0, 1.0, precision)
    first = gains[0] if gains else k + 1
    return (
        *(1.0 if first <= cutoff else 0.0 for cutoff in cutoffs(k)),
        (len(required) - len(missing)) / len(required),
        0.0 if missing else 1.0,
        1.0 / first if gains else 0.0,
        fsum(map(_discount, gains)) / _ideal_gain(min(ideal, k)),
        precision,
    )


@lru_cache(maxsize=64)
def _scored_names(k: int) -> tuple[str, ...]:
    return tuple(name for name in metric_names(k) if name != "faithfulness")


@lru_cache(maxsize=4096)
def _discount(rank: int) -> float:
    return 1.0 / log2(rank + 1)


@lru_cache(maxsize=4096)
def _ideal_gain(gains: int) -> float:
    return fsum(map(_discount, range(1, gains + 1)))
