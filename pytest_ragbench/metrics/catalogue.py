"""Every measure, declared: name, parameters, definition, source and range. Its computation is left to `measures`.

All measures read the final ranking, cut at its depth; answerable questions only. Only *required* gold sources count,
except in the two precisions, where a chunk that satisfies an optional source is relevant as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

METRICS_VERSION = 1
"""Raised whenever a definition changes, so that nothing compares numbers of two definitions."""

DOCUMENT_PREFIX = "doc_"
"""Marks the twin of a measure that asks for the file alone."""

SHALLOW = (1, 5)
"""Cut-offs of `hit` above the full depth; those deeper than the ranking are dropped."""

PRECISION_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure as a reader meets it.

    Attributes:
        stem: Name without its cut-off.
        cutoff: The `k` behind the `@`, or None.
        document: True for the twin that asks for the file alone.
        definition: One sentence.
        citation: Where the definition comes from.
        kind: `binary` (0 or 1; paired by McNemar as well) or `graded` (0 to 1).
        low: Worst value.
        high: Best value.
    """

    stem: str
    cutoff: int | None
    document: bool
    definition: str
    citation: str
    kind: Literal["binary", "graded"]
    low: float = 0.0
    high: float = 1.0

    @property
    def name(self) -> str:
        """The name in rows and reports: `doc_ndcg@10`."""
        prefix = DOCUMENT_PREFIX if self.document else ""
        return prefix + self.stem + ("" if self.cutoff is None else f"@{self.cutoff}")


@dataclass(frozen=True, slots=True)
class _Family:
    definition: str
    citation: str
    kind: Literal["binary", "graded"]


_FAMILIES = {
    "hit": _Family(
        "1 when one of the first k chunks satisfies a required source.",
        "Success@k of trec_eval (Buckley)",
        "binary",
    ),
    "recall": _Family(
        "Required sources satisfied by the first k chunks / required sources; a chunk may satisfy several.",
        "Manning, Raghavan, Schuetze, Introduction to Information Retrieval (2008), section 8.3",
        "graded",
    ),
    "complete": _Family(
        "1 when the first k chunks satisfy every required source.",
        "Full-support retrieval of multi-hop questions: Yang et al., HotpotQA (EMNLP 2018)",
        "binary",
    ),
    "mrr": _Family(
        "1 / rank of the first chunk that satisfies a required source, 0 below rank k.",
        "Voorhees, The TREC-8 Question Answering Track Report (1999)",
        "graded",
    ),
    "ndcg": _Family(
        "Sum of 1/log2(rank+1) over the ranks that earn a gain / the same sum over the ideal. A rank earns one gain "
        "when it satisfies a required source that no higher rank satisfied; the ideal is one gain a required source "
        "from rank 1, at most k. A list that finds two sources with one chunk therefore stays below 1: nothing is "
        "clamped. At document level, sources that name the same files are one gain of the ideal.",
        "Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques (TOIS 20:4, 2002); discount of "
        "Burges et al. (ICML 2005)",
        "graded",
    ),
    "p": _Family(
        "Relevant chunks among the first k / k, however few came back. Repeats raise it, so it never gates.",
        "P_k of trec_eval (Buckley)",
        "graded",
    ),
    "citation_precision": _Family(
        "Relevant chunks among the first k / chunks that came back among the first k; 0 when none did.",
        "After Gao et al., Enabling Large Language Models to Generate Text with Citations (EMNLP 2023)",
        "graded",
    ),
    "faithfulness": _Family(
        "Mean over the nuggets (else the sentences of the reference answer) of the share of content words that the "
        "first five chunks together contain. Lexical: it sees words, not meaning.",
        "Token recall as in Rajpurkar et al., SQuAD (EMNLP 2016), over content words",
        "graded",
    ),
}


@lru_cache(maxsize=64)
def cutoffs(k: int) -> tuple[int, ...]:
    """Depths at which `hit` is read: the shallow ones, then the full depth.

    Raises:
        ValueError: A depth below 1.
    """
    if k < 1:
        raise ValueError(f"a ranking is cut at 1 or deeper, found k = {k}")
    return (*(depth for depth in SHALLOW if depth < k), k)


@lru_cache(maxsize=64)
def measures(k: int = 10) -> tuple[Measure, ...]:
    """Every measure of a ranking that is cut at `k`, in display order."""
    hits = [("hit", cutoff) for cutoff in cutoffs(k)]
    deep = [(stem, k) for stem in ("recall", "complete", "mrr", "ndcg")]
    ranked = [*hits, *deep, ("p", min(PRECISION_DEPTH, k))]
    found = [_measure(stem, cutoff, document=document) for document in (False, True) for stem, cutoff in ranked]
    return (*found, _measure("citation_precision", k), _measure("faithfulness", None))


def _measure(stem: str, cutoff: int | None, *, document: bool = False) -> Measure:
    family = _FAMILIES[stem]
    return Measure(stem, cutoff, document, family.definition, family.citation, family.kind)


@lru_cache(maxsize=64)
def metric_names(k: int = 10) -> tuple[str, ...]:
    """Names of every measure of a ranking that is cut at `k`, in display order."""
    return tuple(measure.name for measure in measures(k))


def headline(k: int = 10) -> tuple[str, ...]:
    """Names of the measures that a report shows first, the main one leading: the one list of them."""
    return (f"ndcg@{k}", f"recall@{k}", "hit@1", f"mrr@{k}", f"complete@{k}", f"doc_recall@{k}")


def is_binary(name: str) -> bool:
    """Whether a metric is 0 or 1 on every question, so that McNemar's test applies."""
    family = _FAMILIES.get(name.removeprefix(DOCUMENT_PREFIX).partition("@")[0])
    return family is not None and family.kind == "binary"
