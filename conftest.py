"""Wires the reference pipeline to the bench, as any project would wire its own. Neither package knows the other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rag.pipeline import RagPipeline

ROOT = Path(__file__).parent


@pytest.fixture(scope="session")
def rag_pipeline(request: pytest.FixtureRequest) -> RagPipeline:
    """The pipeline of `rag/config.yaml`; its index is built when a search first needs it."""
    try:
        from rag.errors import RagError
        from rag.pipeline import from_config
    except ImportError as error:
        pytest.fail(f"the reference pipeline is not installed ({error}): pip install -e '.[rag]'", pytrace=False)
    manager = request.config.pluginmanager.getplugin("capturemanager")

    def uncaptured() -> AbstractContextManager[Any]:
        """Let a build's progress reach the terminal."""
        return nullcontext() if manager is None else manager.global_and_fixture_disabled()

    try:
        pipeline = from_config(ROOT / "rag" / "config.yaml", ROOT, around=uncaptured)
        pipeline.describe()
    except RagError as error:
        pytest.fail(f"rag: {error}", pytrace=False)
    return pipeline
