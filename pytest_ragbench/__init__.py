"""Measure a RAG pipeline with pytest: golden questions as items, configurations as markers, verdicts with intervals.

Importing the package imports nothing else; a public name loads its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ragbench.api import bisect_commits, gate, measure
    from pytest_ragbench.contract import Chunk, Pipeline, SearchResult
    from pytest_ragbench.execution.trec_run import TrecRun
    from pytest_ragbench.harness.rows import RagRow

__version__ = "0.1.0"
__all__ = [
    "Chunk",
    "Pipeline",
    "RagRow",
    "SearchResult",
    "TrecRun",
    "__version__",
    "bisect_commits",
    "gate",
    "measure",
]

_HOMES = {
    "Chunk": "contract",
    "Pipeline": "contract",
    "RagRow": "harness.rows",
    "SearchResult": "contract",
    "TrecRun": "execution.trec_run",
    "bisect_commits": "api",
    "gate": "api",
    "measure": "api",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
