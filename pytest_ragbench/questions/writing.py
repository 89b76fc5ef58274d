"""Questions to the text of a YAML set: one spelling, so that writing what was read gives the same bytes. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pytest_ragbench.questions.scalars import read_plain
from pytest_ragbench.questions.serial import to_mapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Question

# Text that needs no quotes in any position and any YAML version; whatever is not surely plain is quoted.
_PLAIN = re.compile(r"[^\W\d_][\w ,.;()/+'?=%-]*", re.ASCII)
# Characters that JSON leaves as they are and YAML does not allow, or folds, in double quotes.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def write_set(questions: Iterable[Question]) -> str:
    """The text of a set that holds these questions in this order; `loading` reads it back equal."""
    records = [to_mapping(question) for question in questions]
    return "\n".join("\n".join(_lines(record, "- ")) + "\n" for record in records) if records else "[]\n"


def _lines(mapping: Mapping[str, Any], first: str) -> Iterator[str]:
    """The lines of a block mapping; the first key stands behind `first`, the others below it."""
    indent = first
    for key, value in mapping.items():
        yield f"{indent}{key}:{_inline(value)}"
        indent = " " * len(first)
        if isinstance(value, dict):
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, list) and not _fits_one_line(value):
            for item in value:
                if isinstance(item, dict):
                    yield from _lines(item, f"{indent}  - ")
                else:
                    yield f"{indent}  - {_scalar(item)}"


def _fits_one_line(value: Sequence[Any]) -> bool:
    return not value or all(type(item) is int for item in value)


def _inline(value: Any) -> str:
    """What stands behind the colon: nothing where the value begins on the next line."""
    if isinstance(value, list):
        return f" [{', '.join(map(str, value))}]" if _fits_one_line(value) else ""
    return "" if isinstance(value, dict) else f" {_scalar(value)}"


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and not value.endswith(" ") and read_plain(value) == value:
        return value
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
