"""Checked by mypy alone: the reference pipeline meets the bench's protocols, field by field, though neither knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_ragbench.contract import ChecksOverrides, Describes, ListsIndexed, Pipeline
from rag.pipeline import RagPipeline
from rag.records import Chunk, SearchResult


class ContractChunk(Protocol):
    """The fields of `contract.Chunk`, as a foreign object must have them."""

    @property
    def file(self) -> str: ...
    @property
    def pages(self) -> tuple[int, int] | None: ...
    @property
    def heading(self) -> tuple[str, ...]: ...
    @property
    def id(self) -> str | None: ...
    @property
    def score(self) -> float | None: ...
    @property
    def text(self) -> str: ...


class ContractResult(Protocol):
    """The fields of `contract.SearchResult` that the reference pipeline reports."""

    @property
    def chunks(self) -> Sequence[ContractChunk]: ...
    @property
    def timings(self) -> Mapping[str, float]: ...
    @property
    def lanes_run(self) -> Sequence[str]: ...
    @property
    def cold(self) -> bool: ...
    @property
    def cached(self) -> Sequence[str]: ...
    @property
    def stages(self) -> Mapping[str, Sequence[ContractChunk]] | None: ...


def as_pipeline(pipeline: RagPipeline) -> Pipeline:
    """It can be measured."""
    return pipeline


def as_described(pipeline: RagPipeline) -> Describes:
    """It says what it is."""
    return pipeline


def as_listing(pipeline: RagPipeline) -> ListsIndexed:
    """It says what its index holds."""
    return pipeline


def as_checking(pipeline: RagPipeline) -> ChecksOverrides:
    """It refuses overrides before the first search."""
    return pipeline


def as_result(result: SearchResult) -> ContractResult:
    """What it returns has the contract's fields."""
    return result


def as_chunk(chunk: Chunk) -> ContractChunk:
    """What it ranks has the contract's fields."""
    return chunk


def search(pipeline: RagPipeline, **overrides: Any) -> ContractResult:
    """A search gives such a result."""
    return pipeline.search("question", **overrides)
