"""What a search returned, as a `SearchResult`: lists, generators, objects or mappings with `chunks` and extras.

Decides which shape the whole has; its elements are read by `elements`, what gates, walks and routing report by
`extras`, single values by `fields`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_ragbench.contract import Chunk, SearchResult
from pytest_ragbench.errors import PipelineError
from pytest_ragbench.execution.elements import as_chunks
from pytest_ragbench.execution.extras import read_decomposed, read_gate, read_route, read_walk
from pytest_ragbench.execution.fields import as_name, as_score, clean_text, describe, get, plain

LIST_KEYS = ("chunks", "documents", "nodes", "results", "source_nodes", "source_documents")
"""Where a result object may keep its ranking; the first that is there counts."""


def as_result(obj: Any) -> SearchResult:
    """Read whatever a pipeline's `search` returned. Order and duplicates of the ranking are kept.

    Raises:
        PipelineError: It is no ranking. The message names the element or field, its type, and what is accepted.
    """
    if obj is None:
        raise PipelineError("search returned None; does it lack a `return`? An empty ranking is an empty list")
    if isinstance(obj, (list, tuple)):  # the usual case, told before anything is asked of foreign objects
        return SearchResult(as_chunks(obj, "chunks"))
    if inspect.isawaitable(obj) or inspect.isasyncgen(obj):
        _discard(obj)
        raise PipelineError(
            "search is asynchronous; wrap it: `return asyncio.run(retriever.search(query, **overrides))`"
        )
    if isinstance(obj, (str, bytes)):
        raise PipelineError(f"search returned {describe(obj)}; return the ranked chunks, as a list")
    holder, ranking = _ranking_of(obj)
    chunks = as_chunks(ranking, "chunks")
    return SearchResult(chunks) if holder is None else _with_extras(chunks, holder)


def _discard(obj: Any) -> None:
    """Close a coroutine that will never run, so that Python does not warn that it was never awaited."""
    if callable(close := getattr(obj, "close", None)):
        close()


def _ranking_of(obj: Any) -> tuple[Any, Any]:
    """The object that holds the extras (None for a bare ranking), and the ranking itself."""
    for name in LIST_KEYS:
        if (ranking := get(obj, name)) is not None:
            return obj, ranking
    if isinstance(obj, Mapping) or hasattr(obj, "keys"):  # a table's iterator yields its column names, not its rows
        found = ", ".join(str(key) for key in list(obj.keys())[:10]) or "nothing"
        raise PipelineError(
            f"search returned a {type(obj).__name__} without a ranking (found: {found}); put it under `chunks`"
        )
    return None, obj


def _with_extras(chunks: tuple[Chunk, ...], holder: Any) -> SearchResult:
    return SearchResult(
        chunks=chunks,
        timings=_timings(get(holder, "timings")),
        lanes_run=_names(get(holder, "lanes_run"), "lanes_run"),
        cold=bool(get(holder, "cold")),
        cached=_names(get(holder, "cached"), "cached"),
        stages=_stages(get(holder, "stages")),
        gate=read_gate(get(holder, "gate")),
        walk=read_walk(get(holder, "walk")),
        route=read_route(get(holder, "route")),
        decomposed=read_decomposed(get(holder, "decomposed")),
        answer=plain(get(holder, "answer"), "answer"),
        hyde_cache=as_name(get(holder, "hyde_cache")),
    )


def _timings(value: Any) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PipelineError(f"timings must map each stage to milliseconds, found {describe(value)}")
    timings: dict[str, float] = {}
    for stage, spent in value.items():
        milliseconds = as_score(spent, f"timings.{stage}")
        if milliseconds is None or milliseconds < 0:
            raise PipelineError(f"timings.{stage} must be milliseconds, 0 or more, found {describe(spent)}")
        timings[clean_text(str(stage))] = milliseconds
    return timings


def _names(value: Any, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise PipelineError(f"{what} must be a list of names, found {describe(value)}")
    return tuple(clean_text(str(name)) for name in value)


def _stages(value: Any) -> dict[str, tuple[Chunk, ...]] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise PipelineError(f"stages must map each stage to the ranking after it, found {describe(value)}")
    return {clean_text(str(stage)): as_chunks(ranking, f"stages.{stage}") for stage, ranking in value.items()}
