"""One cell: search, read the result, match it against the gold, score it, and write the row.

What a pipeline raises becomes an error row; nothing is retried, substituted or dropped.
"""

from __future__ import annotations

import copy
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench.contract import Chunk, SearchResult
from pytest_ragbench.errors import PipelineError
from pytest_ragbench.execution.adapters import as_result
from pytest_ragbench.execution.extras import gate_row, moved, walk_row
from pytest_ragbench.execution.fields import clean_text
from pytest_ragbench.execution.paths import all_relative, below
from pytest_ragbench.execution.stages import Staged, held_stages, indexed_sources, losses_row, stages_row
from pytest_ragbench.metrics.measures import claims_of, faithfulness, metric_names, score
from pytest_ragbench.metrics.relevance import CompiledGold, compile_gold, match
from pytest_ragbench.records.chunks import line_key, line_keys, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_ragbench.configurations.model import Configuration
    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.chunks import LineKey

ERROR_CHARACTERS = 2_000
"""Length at which the text of an error is cut in its row."""

GROUP_DEPTH = 3
GROUP_MEMBERS = 5
"""How deep, and how many at each depth, the errors of an exception group are told."""


PREPARED = 4_096
"""Questions of which the folded gold is kept."""

_UNCHANGEABLE = (str, int, float, type(None))


@dataclass(frozen=True, slots=True)
class Measured:
    """What one cell produced.

    Attributes:
        row: The object of `per_query.jsonl`, strict JSON.
        told: Every chunk that the row refers to, once a text, with the id by which it does; its line's key to the
            chunk. Empty for an error.
    """

    row: dict[str, Any]
    told: Mapping[LineKey, Chunk]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks without their keys."""
        return tuple(self.told.values())


def measure(
    pipeline: Any,
    question: Question,
    configuration: Configuration,
    *,
    k: int,
    root: str | None = None,
    cold: bool = False,
) -> Measured:
    """Run one search and score it.

    Args:
        pipeline: Anything with `search(query, **overrides)`, or a callable of that shape.
        question: The question; an unanswerable one has null for every metric.
        configuration: Its overrides are copied, so that a pipeline cannot change the next cell's.
        k: Depth at which the ranking is cut.
        root: Corpus folder; absolute file names below it are written relative to it.
        cold: Whether this is the first search of the process; the pipeline may say so itself.

    Returns:
        The row and its chunks. A failure becomes `error`; `KeyboardInterrupt` and pytest's outcomes pass through.
    """
    if not configuration.searches:
        return _measured(question, configuration, SearchResult(()), k, {"search": 0.0})
    started = time.perf_counter()
    try:
        found = search(pipeline, question.text, configuration)
        spent = _milliseconds(started)
        result = _below(found, root)
        gold = _prepared(question).gold
        staged = held_stages(result, gold)
        indexed = indexed_sources(pipeline, question, gold, staged, result.chunks[:k], root)
    except BaseException as error:
        if not is_failure(error):
            raise
        spent = _milliseconds(started)
        return Measured(error_row(question, configuration, error_text(error), k=k, milliseconds=spent, cold=cold), {})
    timings = {"search": spent, **result.timings}
    return _measured(question, configuration, result, k, timings, staged, indexed, cold=cold)


def search(pipeline: Any, query: str, configuration: Configuration) -> SearchResult:
    """Call the pipeline once with a copy of the configuration's overrides and read what it returns.

    A child that the pipeline forked ends here, whichever way it leaves the search: it would go on as a second session.

    Raises:
        PipelineError: It cannot search, or returned no ranking.
        Exception: Whatever the pipeline raises.
    """
    call: Callable[..., Any] | None = getattr(pipeline, "search", None)
    if not callable(call):
        call = pipeline if callable(pipeline) else None
    if call is None:
        raise PipelineError(
            f"a {type(pipeline).__name__} cannot be measured; rag_pipeline must return an object with "
            "`search(query, **overrides)`, or a function of that shape"
        )
    process = os.getpid()
    try:
        return as_result(call(query, **_own_copy(configuration.overrides)))
    finally:
        if os.getpid() != process:
            os._exit(_exit_status(sys.exception()))


def _exit_status(error: BaseException | None) -> int:
    """What a process ends with that leaves by this error."""
    code: object = error.code if isinstance(error, SystemExit) else error
    return code & 0xFF if isinstance(code, int) else int(code is not None)


def _own_copy(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overrides that a pipeline may change; most hold nothing that could be changed, and a deep copy costs more."""
    return {
        key: value if isinstance(value, _UNCHANGEABLE) else copy.deepcopy(value) for key, value in overrides.items()
    }


def is_failure(error: BaseException) -> bool:
    """Whether a search that raised this has failed, which is data; what ends a session ends it from a search as well.

    A pipeline that exits or was cancelled has failed as well: raised on, either would leave pytest's fixtures in a
    state in which every later item fails too.
    """
    cancelled = getattr(sys.modules.get("asyncio"), "CancelledError", ())  # what nobody imported, nobody raised
    ended = getattr(sys.modules.get("_pytest.outcomes"), "Exit", ())  # of `pytest.exit`
    return isinstance(error, (Exception, SystemExit, cancelled)) and not isinstance(error, ended)


def error_text(error: BaseException) -> str:
    """`TypeName: message`, cut at `ERROR_CHARACTERS`; a message that cannot be made is left out.

    A group is followed by the errors in it, since its own message only counts them.
    """
    text = clean_text(": ".join(_told(error)))
    return text if len(text) <= ERROR_CHARACTERS else f"{text[: ERROR_CHARACTERS - 1]}…"


def _told(error: BaseException, depth: int = 0) -> tuple[str, str]:
    """Type and message of an error, neither longer than is ever shown."""
    try:
        message = str(error)[:ERROR_CHARACTERS]
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything, and the row must still be written
        message = "(its message could not be shown)"
    if isinstance(error, BaseExceptionGroup) and depth < GROUP_DEPTH:
        inside = (": ".join(_told(member, depth + 1)) for member in error.exceptions[:GROUP_MEMBERS])
        message = f"{message} [{'; '.join(inside)}]"
    return type(error).__name__, message


def error_row(
    question: Question,
    configuration: Configuration,
    error: str,
    *,
    k: int,
    milliseconds: float = 0.0,
    cold: bool = False,
) -> dict[str, Any]:
    """The row of a cell that failed: no ranking, null for every metric, the error's text."""
    return {
        **_identity(question),
        "configuration": configuration.name,
        **_reported(SearchResult((), cold=cold), {"search": milliseconds}),
        "ranking": [],
        "metrics": dict.fromkeys(metric_names(k)),
        "error": error,
    }


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000.0, 3)


def _below(result: SearchResult, root: str | None) -> SearchResult:
    """The result with every file name relative to the corpus, in what else it reports too."""
    if root is None or (not _reports_chunks(result) and all_relative(result.chunks, root)):
        return result  # the usual cases
    return moved(result, lambda chunk: below(chunk, root))


def _reports_chunks(result: SearchResult) -> bool:
    """Whether there are chunks beside the ranking."""
    return result.stages is not None or result.gate is not None or result.walk is not None


def _measured(
    question: Question,
    configuration: Configuration,
    result: SearchResult,
    k: int,
    timings: dict[str, float],
    staged: Staged | None = None,
    indexed: frozenset[int] | None = None,
    *,
    cold: bool = False,
) -> Measured:
    asked = _prepared(question)
    chunks = [named(chunk) if chunk.id is None else chunk for chunk in result.chunks[:k]]
    keys = line_keys(chunks)
    matched = match(chunks, asked.gold)
    row = {
        **asked.identity,
        "configuration": configuration.name,
        **_reported(result, timings, cold=cold),
        "ranking": _ranking(chunks, keys, matched),
        "metrics": _metrics(asked, chunks, matched, k),
        "error": None,
    }
    told = dict(zip(keys, chunks, strict=True))
    if staged is not None:
        row["stages"] = stages_row(staged)
        row["losses"] = losses_row(result, staged, matched[0], asked.gold.required, k, indexed)
    if result.route is not None:
        row["route"] = {**result.route, "expected": question.expect_course}
    if result.decomposed is not None:
        row["decomposed"] = result.decomposed
    if _reports_chunks(result):
        for name, reported, others in _held(result, chunks, matched[0], asked.gold, k):
            row[name] = reported
            for chunk in others:
                told.setdefault(line_key(chunk), chunk)
    return Measured(row, told)


def _held(
    result: SearchResult, chunks: Sequence[Chunk], matches: Sequence[tuple[int, ...]], gold: CompiledGold, k: int
) -> Iterator[tuple[str, dict[str, Any], Sequence[Chunk]]]:
    """What was reported beside the ranking, held against the gold: its key, its value, and the chunks it names."""
    if result.gate is not None:
        yield "gate", *gate_row(result.gate, gold)
    if result.walk is not None:
        yield "walk", *walk_row(result.walk, chunks, matches, gold, k)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is the same for all the cells of a question: the fields that name it, its gold and what it claims."""

    question: Question
    identity: Mapping[str, Any]
    gold: CompiledGold
    claims: tuple[str, ...]


_asked: dict[str, _Asked] = {}


def _prepared(question: Question) -> _Asked:
    """What was prepared for this very question, or is now; hashing a question would cost more than scoring it."""
    known = _asked.get(question.id)
    if known is not None and known.question is question:
        return known
    if len(_asked) >= PREPARED:
        _asked.clear()
    gold = compile_gold(question.gold, suite=question.suite)
    asked = _asked[question.id] = _Asked(question, _identity(question), gold, claims_of(question))
    return asked


def _identity(question: Question) -> dict[str, Any]:
    return {
        "question": question.id,
        "suite": question.suite,
        "tier": question.tier,
        "domain": question.domain,
        "split": question.split,
        "strategy": question.strategy,
        "difficulty": question.difficulty,
        "author": question.provenance.author,
    }


def _reported(result: SearchResult, timings: dict[str, float], *, cold: bool = False) -> dict[str, Any]:
    """What the pipeline said about its search; absent extras stay absent."""
    reported: dict[str, Any] = {
        "timings": timings,
        "lanes_run": tuple(result.lanes_run),
        "cold": result.cold or cold,
        "cached": tuple(result.cached),
        "hyde_cache": result.hyde_cache,
        "losses": None,
    }
    if result.answer is not None:
        reported["answer"] = result.answer
    return reported


def _ranking(
    chunks: Sequence[Chunk], keys: Sequence[LineKey], matched: tuple[list[tuple[int, ...]], list[tuple[int, ...]]]
) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "id": chunk.id,
            "file": chunk.file,
            "pages": chunk.pages,
            "heading": chunk.heading,
            "score": chunk.score,
            "text_digest": key[-1],
            "matches": matches,
            "doc_matches": doc_matches,
        }
        for rank, (chunk, key, matches, doc_matches) in enumerate(zip(chunks, keys, *matched, strict=True), start=1)
    ]


def _metrics(
    asked: _Asked,
    chunks: Sequence[Chunk],
    matched: tuple[list[tuple[int, ...]], list[tuple[int, ...]]],
    k: int,
) -> dict[str, float | None]:
    """Every metric by name; null where the question has nothing to measure it by."""
    if not asked.question.answerable or not asked.gold.size:
        return dict.fromkeys(metric_names(k))
    claims = asked.claims
    return {
        **score(*matched, asked.gold, k),
        "faithfulness": faithfulness(claims, [chunk.text for chunk in chunks]) if claims else None,
    }
