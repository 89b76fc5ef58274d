"""Wires the reference pipeline to the 500 questions; the repository's own conftest.py is not loaded for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rag.pipeline import RagPipeline

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def rag_pipeline() -> RagPipeline:
    """The pipeline of `pipeline.yaml`; a lane is opened, and its model loaded, when a search first needs it."""
    try:
        from rag.errors import RagError
        from rag.pipeline import from_config
    except ImportError as error:
        pytest.fail(f"the reference pipeline is not installed ({error}): pip install -e '.[rag]'", pytrace=False)
    try:
        pipeline = from_config(HERE / "pipeline.yaml", HERE)
        pipeline.describe()
    except RagError as error:
        pytest.fail(f"golden/v0: {error}", pytrace=False)
    return pipeline
