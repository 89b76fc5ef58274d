"""Wires the reference pipeline to the bench, as any project would wire its own. Neither package knows the other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_ragbench.llm.seam import Seam
    from pytest_ragbench.questions.model import Question
    from rag.pipeline import RagPipeline
    from rag.records import Chunk
    from rag.stages import Gold, Oracle

ROOT = Path(__file__).parent

collect_ignore = ["golden/v0"]  # a project of its own, with its own sets and configurations


@pytest.fixture(scope="session")
def rag_pipeline(
    request: pytest.FixtureRequest, rag_llm: Seam | None, rag_questions: tuple[Question, ...]
) -> RagPipeline:
    """The pipeline of `rag/config.yaml`; its index is built when a search first needs it."""
    try:
        from rag.errors import RagError
        from rag.pipeline import from_config
    except ImportError as error:
        pytest.fail(f"the reference pipeline is not installed ({error}): pip install -e '.[rag]'", pytrace=False)
    manager = request.config.pluginmanager.getplugin("capturemanager")

    reporter = request.config.pluginmanager.getplugin("terminalreporter")

    def uncaptured() -> AbstractContextManager[Any]:
        """Let a build's progress reach the terminal, on a line of its own."""
        if reporter is not None:
            reporter.ensure_newline()
        return nullcontext() if manager is None else manager.global_and_fixture_disabled()

    try:
        oracle = oracle_of(rag_questions)
        pipeline = from_config(ROOT / "rag" / "config.yaml", ROOT, around=uncaptured, llm=rag_llm, oracle=oracle)
        pipeline.describe()
    except RagError as error:
        pytest.fail(f"rag: {error}", pytrace=False)
    return pipeline


def oracle_of(questions: tuple[Question, ...]) -> Oracle:
    """What the probes may know: which required sources of a golden question a chunk satisfies, and its course.

    A search is given a text alone, so that a text which two questions share names no gold: a probe then fails the row.
    """
    from pytest_ragbench.contract import Chunk as Seen
    from pytest_ragbench.metrics.relevance import compile_gold, match
    from rag.stages import Gold

    by_text: dict[str, list[Question]] = {}
    for question in questions:
        by_text.setdefault(question.text, []).append(question)

    def oracle(query: str) -> Gold | None:
        asking = by_text.get(query, [])
        if len(asking) > 1:
            raise ValueError(f"{' and '.join(question.id for question in asking)} ask {query!r}: whose gold is meant?")
        if not asking:
            return None
        question = asking[0]
        gold = compile_gold(question.gold, suite=question.suite)
        required = {index: place for place, index in enumerate(_required(question))}

        def satisfied(chunk: Chunk) -> frozenset[int]:
            seen = Seen(chunk.file, chunk.pages, chunk.heading)
            (found,), _ = match([seen], gold)
            return frozenset(required[index] for index in found if index in required)

        return Gold(len(required), satisfied, question.expect_course or "")

    return oracle


def _required(question: Question) -> list[int]:
    return [index for index, source in enumerate(question.gold) if source.required]
