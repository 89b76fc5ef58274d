"""The line of a row in `per_query.jsonl`: what `canonical.dumps` writes, put together from parts that recur.

From row to row most of the text is the same: the fields of a suite and an arm, the places of the chunks, the few
patterns of metrics. To write each part once takes a third of the time.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

# In the order of sorted keys, these stand before, between and behind the parts that differ from row to row.
_FIRST = (
    "author",
    "cached",
    "cold",
    "configuration",
    "difficulty",
    "domain",
    "error",
    "hyde_cache",
    "lanes_run",
    "losses",
)
_LAST = ("split", "strategy", "suite", "tier")
_KEYS = len((*_FIRST, "metrics", "question", "ranking", *_LAST, "timings"))

_first_of = itemgetter(*_FIRST)
_last_of = itemgetter(*_LAST)
_parts_of = itemgetter("doc_matches", "file", "heading", "id", "matches", "pages", "rank", "score", "text_digest")


def row_line(row: Mapping[str, Any]) -> str:
    """A measured row as strict JSON with sorted keys, without the newline.

    Args:
        row: As `execution.cell` makes it: where it holds a sequence, that is a tuple. A row that failed, that tells
            losses, or with more than the keys of every row (`stages`, `answer`), is written out as a whole.
    """
    if len(row) != _KEYS or row["error"] is not None or row["losses"] is not None:
        return canonical.dumps(row)
    metrics, timings = row["metrics"], row["timings"]
    return (
        f'{{{_fields(_FIRST, _first_of(row))},"metrics":{{{_fields(tuple(metrics), tuple(metrics.values()))}}},'
        f'"question":{_text(row["question"])},"ranking":[{",".join(map(_ranked, row["ranking"]))}],'
        f'{_fields(_LAST, _last_of(row))},"timings":{{{",".join(map(_timing, sorted(timings.items())))}}}}}'
    )


def _ranked(entry: Mapping[str, Any]) -> str:
    doc_matches, file, heading, name, matches, pages, rank, score, digest = _parts_of(entry)
    return (
        f'{{"doc_matches":{_numbers(doc_matches) if doc_matches else "[]"},{_place(file, heading, name)},'
        f'"matches":{_numbers(matches) if matches else "[]"},"pages":{"null" if pages is None else _numbers(pages)},'
        f'"rank":{rank},"score":{"null" if score is None else repr(score)},"text_digest":"{digest}"}}'
    )


def _timing(timing: tuple[str, float]) -> str:
    stage, milliseconds = timing
    return f"{_text(stage)}:{milliseconds!r}"


@lru_cache(maxsize=4_096)
def _fields(names: tuple[str, ...], values: tuple[Any, ...]) -> str:
    """Keys and values of an object, without its braces."""
    return canonical.dumps(dict(zip(names, values, strict=True)))[1:-1]


@lru_cache(maxsize=8_192)
def _place(file: str, heading: tuple[str, ...], name: str) -> str:
    return canonical.dumps({"file": file, "heading": heading, "id": name})[1:-1]


@lru_cache(maxsize=4_096)
def _numbers(values: tuple[int, ...]) -> str:
    return canonical.dumps(values)


@lru_cache(maxsize=4_096)
def _text(text: str) -> str:
    return canonical.dumps(text)
