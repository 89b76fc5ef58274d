"""What a pipeline reports beside its ranking: read strictly, held against the gold, and as it stands in the row.

Decides which reports are taken and what the row keeps of them; what they say of a run is left to the analysis.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ragbench.contract import ROUTE_COUNTS
from pytest_ragbench.errors import PipelineError
from pytest_ragbench.execution.elements import as_chunk, as_chunks
from pytest_ragbench.execution.fields import as_name, as_page, as_score, clean_text, describe, get, plain
from pytest_ragbench.metrics.relevance import match
from pytest_ragbench.records.chunks import chunk_key, named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ragbench.contract import Chunk, SearchResult
    from pytest_ragbench.metrics.relevance import CompiledGold

MAX_COUNT = 2**40
"""Counts above are refused: their means could no longer be added exactly."""

_ROUTE = ("course", "area", "kind", "scope")
_GATE = ("scorer", "threshold", "confidence", "removed")
_WALK = ("search", "added", "query_seeds")
_DECOMPOSED = ("parts", "dropped")
_DROPPED = ("text", "why")
_ADDITION = ("chunk", "edge", "hop", "from", "generated")


@dataclass(frozen=True, slots=True)
class Gate:
    """A `contract.GateReport` that was read; `more` holds the keys that the contract does not know."""

    scorer: str | None
    threshold: float | None
    confidence: float | None
    removed: tuple[Chunk, ...]
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A `contract.Addition` that was read."""

    chunk: Chunk
    edge: str | None
    hop: int | None
    origin: str | None
    generated: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """A `contract.WalkReport` that was read; `search` is None where the pipeline did not say."""

    search: tuple[Chunk, ...] | None
    added: tuple[Step, ...]
    query_seeds: int
    more: Mapping[str, Any] = field(default_factory=dict)


def read_gate(value: Any) -> Gate | None:
    """What a gate reports.

    Raises:
        PipelineError: It is no mapping or object of that shape; the message names the field.
    """
    if value is None:
        return None
    said, more = _taken(value, "gate", _GATE)
    return Gate(
        scorer=as_name(plain(said["scorer"], "gate.scorer")),
        threshold=as_score(said["threshold"], "gate.threshold"),
        confidence=as_score(said["confidence"], "gate.confidence"),
        removed=() if said["removed"] is None else as_chunks(said["removed"], "gate.removed"),
        more=more,
    )


def read_walk(value: Any) -> Walk | None:
    """What a walk reports.

    Raises:
        PipelineError: It is no mapping or object of that shape; the message names the field.
    """
    if value is None:
        return None
    said, more = _taken(value, "walk", _WALK)
    added = _listed(said["added"], "walk.added", "mappings with `chunk` and `edge`")
    return Walk(
        search=None if said["search"] is None else as_chunks(said["search"], "walk.search"),
        added=tuple(_step(step, f"walk.added[{at}]") for at, step in enumerate(added)),
        query_seeds=_count(said["query_seeds"], "walk.query_seeds") or 0,
        more=more,
    )


def read_route(value: Any) -> dict[str, Any] | None:
    """What routing reports: the keys that it has, names as text and counts as whole numbers.

    Raises:
        PipelineError: It is no mapping or object of that shape; the message names the field.
    """
    if value is None:
        return None
    said, more = _taken(value, "route", (*_ROUTE, *ROUTE_COUNTS), absent=False)
    names = {name: as_name(plain(said[name], f"route.{name}")) for name in _ROUTE if name in said}
    return {**more, **names, **{name: _count(said[name], f"route.{name}") for name in ROUTE_COUNTS if name in said}}


def read_decomposed(value: Any) -> dict[str, Any] | None:
    """What was made of a question that was split, as the row keeps it.

    Raises:
        PipelineError: It is no mapping or object of that shape; the message names the field.
    """
    if value is None:
        return None
    said, more = _taken(value, "decomposed", _DECOMPOSED)
    parts = _listed(said["parts"], "decomposed.parts", "texts")
    dropped = _listed(said["dropped"], "decomposed.dropped", "mappings with `text` and `why`")
    return {
        **more,
        "parts": tuple(_said(part, f"decomposed.parts[{at}]") for at, part in enumerate(parts)),
        "dropped": tuple(_dropped(entry, f"decomposed.dropped[{at}]") for at, entry in enumerate(dropped)),
    }


def _dropped(value: Any, where: str) -> dict[str, str]:
    said, _ = _taken(value, where, _DROPPED)
    return {name: _said(said[name], f"{where}.{name}") for name in _DROPPED}


def _said(value: Any, where: str) -> str:
    """A text, which may be empty."""
    if not isinstance(value, str):
        raise PipelineError(f"{where} must be a text, found {describe(value)}")
    return clean_text(value)


def _listed(value: Any, where: str, of: str) -> Iterable[Any]:
    """What a field lists, nothing where it is absent.

    Raises:
        PipelineError: It is no list.
    """
    if value is None:
        return ()
    if isinstance(value, (str, bytes, Mapping, set, frozenset)) or not isinstance(value, Iterable):
        raise PipelineError(f"{where} must be a list of {of}, found {describe(value)}")
    return value


def _step(value: Any, where: str) -> Step:
    said, _ = _taken(value, where, _ADDITION)
    if said["chunk"] is None:
        raise PipelineError(f"{where} has no `chunk`; give the chunk that the walk brought")
    return Step(
        chunk=as_chunk(said["chunk"], f"{where}.chunk"),
        edge=as_name(plain(said["edge"], f"{where}.edge")),
        hop=_count(said["hop"], f"{where}.hop"),
        origin=as_name(plain(said["from"], f"{where}.from")),
        generated=bool(said["generated"]),
    )


def _taken(
    value: Any, what: str, names: Sequence[str], *, absent: bool = True
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The known fields of a report (None for those it lacks, unless `absent` is false), and the others as JSON."""
    if isinstance(value, Mapping):
        held = {clean_text(str(key)): item for key, item in value.items()}
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {known.name: getattr(value, known.name) for known in dataclasses.fields(value)}
    else:
        held = {name: get(value, name) for name in names if hasattr(value, name)}
        if not held:
            raise PipelineError(f"{what} must be a mapping with {', '.join(names)}, found {describe(value)}")
    more = {name: plain(item, f"{what}.{name}") for name, item in held.items() if name not in names}
    return {name: held.get(name) for name in names if absent or name in held}, more


def _count(value: Any, what: str) -> int | None:
    """A whole number from 0, or None where there is none.

    Raises:
        PipelineError: It is anything else.
    """
    number = None if value is None else as_page(value, what)
    if number is not None and number < 0:
        raise PipelineError(f"{what} must be 0 or more, found {number}")
    if number is not None and number > MAX_COUNT:
        raise PipelineError(f"{what} is a count of {number:,}, which no search has")
    return number


def moved(result: SearchResult, move: Callable[[Chunk], Chunk]) -> SearchResult:
    """The result with every chunk of it, reported ones included, replaced by what `move` makes of it."""
    gate: Gate | None = result.gate
    walk: Walk | None = result.walk
    stages = result.stages
    return dataclasses.replace(
        result,
        chunks=tuple(map(move, result.chunks)),
        stages=None if stages is None else {name: tuple(map(move, ranks)) for name, ranks in stages.items()},
        gate=None if gate is None else dataclasses.replace(gate, removed=tuple(map(move, gate.removed))),
        walk=None if walk is None else _moved_walk(walk, move),
    )


def _moved_walk(walk: Walk, move: Callable[[Chunk], Chunk]) -> Walk:
    added = tuple(dataclasses.replace(step, chunk=move(step.chunk)) for step in walk.added)
    return dataclasses.replace(walk, search=None if walk.search is None else tuple(map(move, walk.search)), added=added)


def gate_row(gate: Gate, gold: CompiledGold) -> tuple[dict[str, Any], list[Chunk]]:
    """What the row keeps of a gate, and the chunks that it names."""
    removed = [named(chunk) for chunk in gate.removed]
    matches, doc_matches = match(removed, gold)
    entries = [
        {"id": chunk.id, "file": chunk.file, "score": chunk.score, "matches": found, "doc_matches": in_file}
        for chunk, found, in_file in zip(removed, matches, doc_matches, strict=True)
    ]
    row = {"scorer": gate.scorer, "threshold": gate.threshold, "confidence": gate.confidence, "removed": entries}
    return {**gate.more, **row}, removed


def walk_row(
    walk: Walk, final: Sequence[Chunk], matches: Sequence[tuple[int, ...]], gold: CompiledGold, k: int
) -> tuple[dict[str, Any], list[Chunk]]:
    """What the row keeps of a walk, and the chunks that it names.

    A required source is `found` by the walk when a chunk that it added satisfies it in the final ranking and nothing
    in the first k of the search without the walk does.

    Args:
        walk: What was reported.
        final: The final ranking, cut at k.
        matches: The gold sources that each of its chunks satisfies.
        gold: The question's gold.
        k: Depth of the rankings.
    """
    own = () if walk.search is None else walk.search[:k]
    steps: dict[tuple[str, str], Step] = {}
    for step in walk.added:
        steps.setdefault(chunk_key(step.chunk), step)
    for chunk in own:
        steps.pop(chunk_key(chunk), None)
    keys = [chunk_key(chunk) for chunk in final]
    found = {source for key, sources in zip(keys, matches, strict=True) if key in steps for source in sources}
    found -= {source for sources in match(own, gold)[0] for source in sources}
    chunks = [named(step.chunk) for step in steps.values()]
    entries = [
        _step_row(step, chunk, satisfied, kept=key in keys)
        for (key, step), chunk, satisfied in zip(steps.items(), chunks, match(chunks, gold)[0], strict=True)
    ]
    row = {
        "added": entries,
        "query_seeds": walk.query_seeds,
        "found": None if walk.search is None else sorted(found & gold.required),
    }
    return {**walk.more, **row}, chunks


def _step_row(step: Step, chunk: Chunk, matches: tuple[int, ...], *, kept: bool) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "file": chunk.file,
        "edge": step.edge,
        "hop": step.hop,
        "from": step.origin,
        "generated": step.generated,
        "matches": matches,
        "kept": kept,
    }
