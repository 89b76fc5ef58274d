"""HyPE: questions that a chunk answers, written ahead by a language model; a question finds the chunk by its nearest.

Source: Vake, Vičič and Tošić, "Bridging the Question-Answer Gap in Retrieval-Augmented Generation: Hypothetical Prompt
Embeddings", 2025 (SSRN 5139335).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.completion import Completions, introduces, items
from rag.errors import QuestionsMissingError
from rag.ranking import top

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rag.cache import DiskCache, Lazy, Meter
    from rag.embedding import QuestionVectors
    from rag.records import Chunk, Ranking
    from rag.stages import Llm, Request

SYSTEM = (
    "You write three questions that the passage answers, as someone would ask them who has not seen it: name things, "
    "never say `the passage`. One a line, without numbers and without any other text."
)
USER = "Passage:\n{passage}"

TIES = 1e-6
"""Cosines that differ by less come from batch sizes and machines, not from meaning."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Hypothetical questions of all chunks.

    Attributes:
        vectors: Unit vectors, `(n_questions, dimension)`.
        owners: Position of the chunk that each question is about, ascending, `(n_questions,)`.
    """

    vectors: NDArray[np.float32]
    owners: NDArray[np.intp]

    def nearest(self, vector: NDArray[np.float32], k: int, among: NDArray[np.intp] | None = None) -> Ranking:
        """The `k` chunks, of all or of some positions, with the nearest question; its cosine is the chunk's score."""
        firsts = np.flatnonzero(np.diff(self.owners, prepend=-1))
        positions, scores = self.owners[firsts], np.maximum.reduceat(self.vectors @ vector, firsts)
        if among is not None:
            kept = np.isin(positions, among)
            positions, scores = positions[kept], scores[kept]
        return top(scores, k, TIES, among=positions)


def write_questions(
    chunks: Sequence[Chunk], llm: Llm, disk: DiskCache, progress: Callable[[int], object]
) -> list[tuple[str, ...]]:
    """The questions of each chunk, at least one.

    Each chunk's are on disk before the next is asked for, so that an interrupted build goes on where it stopped. The
    first chunk without an answer ends it, unless the language model `records`: then it is asked for all of them first.

    Args:
        chunks: What the questions are about.
        llm: The language model.
        disk: Keeps its completions.
        progress: Called with how many more chunks are done.

    Raises:
        QuestionsMissingError: The language model has no answer for a chunk, or an empty one.
    """
    completions = Completions(llm, disk, "hype", usable=_listed)
    found: list[tuple[str, ...]] = []
    missing: tuple[Chunk, Exception] | None = None
    for chunk in chunks:
        try:
            completion = completions.get(SYSTEM, USER.format(passage=chunk.indexed_text))
        except Exception as error:  # noqa: BLE001 the seam raises whatever says that there is no answer
            missing = missing or (chunk, error)
            if not getattr(llm, "records", False):
                break
        else:
            found.append(_listed(completion.text))
        progress(1)
    if missing is not None:
        chunk, cause = missing
        raise QuestionsMissingError(
            f"hype needs questions for every chunk, and {len(found)} of {len(chunks)} have theirs; of {chunk.file}: "
            f"{cause}. Record the prompts with --rag-llm=record:FILE, fill in their completions, run again with "
            "--rag-llm=replay:FILE; or ask a live model: what it has answered is kept"
        ) from cause
    return found


def _listed(completion: str) -> tuple[str, ...]:
    """The questions of a completion, each once, without what introduces them."""
    return tuple(dict.fromkeys(text for text in items(completion) if text and not introduces(text)))


class Hype:
    """The lane over hypothetical questions.

    Args:
        questions: The questions of all chunks.
        vectors: The vectors of what is searched for, by the model that embedded them.
        key: Digests of the index and of the model, for the cache.
    """

    def __init__(self, questions: Lazy[Questions], vectors: QuestionVectors, key: tuple[str, str]) -> None:
        self._questions = questions
        self._vectors = vectors
        self._key = key

    def search(self, request: Request, meter: Meter) -> Ranking:
        """The chunks whose best question is nearest; none for a blank text."""
        query, pool, scope = request.text, request.pool, request.scope
        if not query.strip():
            return ()
        questions = self._questions.get(meter)
        vector, _ = self._vectors.get(query, meter)
        among = None if scope is None else scope.positions
        key = (*self._key, pool, request.scope_name, query)
        return meter.stage("hype", key, lambda: questions.nearest(vector, pool, among))
