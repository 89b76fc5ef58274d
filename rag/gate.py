"""The relevance gate: which chunks of a final list a scorer finds relevant enough. Whose score counts, `flow` says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag.options import Options
    from rag.records import Chunk, Ranking

TOLERANCE = 1e-9
"""A score that misses the threshold by less has reached it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A final list, judged.

    Attributes:
        kept: What passed, in its order and with the scores of the list.
        removed: (position, judged score) of what did not, in its order; None where the scorer never saw the chunk.
        confidence: The highest judged score before the gate; None where nothing was judged.
    """

    kept: Ranking
    removed: tuple[tuple[int, float | None], ...]
    confidence: float | None

    def told(self, chunks: Sequence[Chunk], options: Options) -> dict[str, Any]:
        """For the search's report: `{"scorer", "threshold", "confidence", "removed": chunks with the judged score}`."""
        return {
            "scorer": options.gate_scorer,
            "threshold": options.gate_threshold,
            "confidence": self.confidence,
            "removed": tuple(replace(chunks[position], score=score) for position, score in self.removed),
        }


def judge(final: Ranking, scores: Mapping[int, float], threshold: float) -> Judged:
    """Keep the chunks of a ranking whose score reaches the threshold.

    A chunk without a score, such as one from behind the rerank pool, was never found relevant and does not pass.

    Args:
        final: The ranking; what its own scores are does not matter.
        scores: Position to the score that is judged, on the scale that the threshold was set for.
        threshold: What a chunk needs.
    """
    judged = [(scored, scores.get(scored.position)) for scored in final]
    passed = [score is not None and score >= threshold - TOLERANCE for _, score in judged]
    return Judged(
        kept=tuple(scored for (scored, _), passes in zip(judged, passed, strict=True) if passes),
        removed=tuple(
            (scored.position, score) for (scored, score), passes in zip(judged, passed, strict=True) if not passes
        ),
        confidence=max((score for _, score in judged if score is not None), default=None),
    )
