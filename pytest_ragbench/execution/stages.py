"""The rankings of a pipeline's stages, held against the gold: what the row keeps of them, and where sources were lost.

Decides what is asked of the pipeline's index; whom a loss is charged to is left to `analysis.layers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.layers import ANSWER, NO_LANE, NOT_INDEXED, RERANK, Stage, charge, stage_layers
from pytest_ragbench.execution.elements import as_chunks
from pytest_ragbench.execution.paths import below
from pytest_ragbench.metrics.relevance import match

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_ragbench.contract import Chunk, SearchResult
    from pytest_ragbench.metrics.relevance import CompiledGold
    from pytest_ragbench.questions.model import Question

Staged = dict[str, Stage]
"""Name to stage, in pipeline order."""

REMEMBERED = 4_096
"""Questions of which is kept what the index holds."""


def held_stages(result: SearchResult, gold: CompiledGold) -> Staged | None:
    """Every stage with the first rank at which it satisfies each source; None where no stage was reported."""
    if result.stages is None:
        return None
    layers = stage_layers(tuple(result.stages), frozenset(result.lanes_run))
    return {
        name: Stage(layers[name], len(ranking), _first_ranks(ranking, gold)) for name, ranking in result.stages.items()
    }


def _first_ranks(ranking: Sequence[Chunk], gold: CompiledGold) -> dict[int, int]:
    first: dict[int, int] = {}
    for rank, sources in enumerate(match(ranking, gold)[0], start=1):
        for source in sources:
            first.setdefault(source, rank)
    return first


def stages_row(staged: Staged) -> dict[str, Any]:
    """Stage to its place from 1, its layer, its length, and pairs of a gold source and the first rank that has it."""
    return {
        name: {
            "step": step,
            "layer": stage.layer,
            "length": stage.length,
            "found": tuple(sorted(stage.ranks.items())),
        }
        for step, (name, stage) in enumerate(staged.items(), start=1)
    }


def indexed_sources(
    pipeline: Any,
    question: Question,
    gold: CompiledGold,
    staged: Staged | None,
    final: Sequence[Chunk],
    root: str | None = None,
) -> frozenset[int] | None:
    """The sources that some chunk of the index satisfies, asked of the pipeline once a question.

    None where the pipeline has no `indexed_chunks(file)`, and where nothing needs it: every required source is in some
    stage or in the `final` ranking.

    Raises:
        PipelineError: It returned something else than chunks.
        Exception: Whatever the pipeline raises.
    """
    listed = getattr(pipeline, "indexed_chunks", None)
    if staged is None or not callable(listed) or not _unseen(staged, final, gold):
        return None
    known = _indexed.get(question.id)
    if known is None or known[0] is not pipeline or known[1] is not question:
        files = dict.fromkeys(locator.file for source in question.gold for locator in source.locators)
        chunks = [chunk for file in files for chunk in as_chunks(listed(file), f"indexed_chunks({file!r})")]
        found = _satisfied(match([chunk if root is None else below(chunk, root) for chunk in chunks], gold)[0])
        if len(_indexed) >= REMEMBERED:
            _indexed.clear()
        known = _indexed[question.id] = (pipeline, question, found)
    return known[2]


_indexed: dict[str, tuple[Any, Question, frozenset[int]]] = {}


def _unseen(staged: Staged, final: Sequence[Chunk], gold: CompiledGold) -> bool:
    """Whether a required source is in no ranking at all, so that only the index knows why."""
    missing = gold.required.difference(*(stage.ranks for stage in staged.values()))
    return bool(missing) and bool(missing - _satisfied(match(final, gold)[0]))


def losses_row(
    result: SearchResult,
    staged: Staged | None,
    matches: Sequence[tuple[int, ...]],
    required: Collection[int],
    k: int,
    indexed: frozenset[int] | None = None,
) -> list[dict[str, Any]] | None:
    """The required sources that were lost, `{gold, layer}` each; None where no stage was reported.

    Args:
        result: What the search returned.
        staged: Its stages.
        matches: The gold sources that each chunk of the final ranking, cut at k, satisfies.
        required: Indexes of the required sources.
        k: Depth of the rankings.
        indexed: The sources that the index holds, or None where that is not known.
    """
    if staged is None:
        return None
    final = _satisfied(matches)
    if final.issuperset(required) and not any(stage.layer == ANSWER for stage in staged.values()):
        return []
    charged = charge(_with_judged(result, staged), required, final, k)
    if indexed is not None:
        absent = {source for source, layer in charged.items() if layer == NO_LANE and source not in indexed}
        charged |= dict.fromkeys(absent, NOT_INDEXED)
    return [{"gold": source, "layer": layer} for source, layer in sorted(charged.items())]


def _satisfied(matches: Sequence[tuple[int, ...]]) -> frozenset[int]:
    return frozenset(source for sources in matches for source in sources)


def _with_judged(result: SearchResult, staged: Staged) -> list[Stage]:
    """The stages, a rerank with how far down it changed the order of the stage before it."""
    stages: Mapping[str, Sequence[Chunk]] = result.stages or {}
    found: list[Stage] = []
    before: Sequence[Chunk] | None = None
    for name, stage in staged.items():
        if stage.layer == RERANK and before is not None and len(before) == stage.length:
            found.append(Stage(stage.layer, stage.length, stage.ranks, _changed(before, stages[name])))
        else:
            found.append(stage)
        before = stages[name]
    return found


def _changed(before: Sequence[Chunk], after: Sequence[Chunk]) -> int:
    """The last rank at which two rankings of one length differ; 0 where they are the same."""
    for rank in range(len(before), 0, -1):
        if _place(before[rank - 1]) != _place(after[rank - 1]):
            return rank
    return 0


def _place(chunk: Chunk) -> tuple[Any, ...]:
    """What tells two chunks of a ranking apart, whatever their scores."""
    return (chunk.file, chunk.id) if chunk.id is not None else (chunk.file, chunk.pages, chunk.heading, chunk.text)
