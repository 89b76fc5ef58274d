"""Writing splits into the text of a set, changing nothing else: comments, quotes, order and line ends stay.

The new text is read back and compared with the old one, so an edit that would change anything but splits is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from pytest_ragbench.errors import InputError, UsageError
from pytest_ragbench.questions.loading import read_set
from pytest_ragbench.questions.strict_yaml import events

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ragbench.questions.model import Question, Split

Edit = tuple[int, int, str]
"""Replace the characters from the first index to the second by a text."""

BOM = "\ufeff"
_COLON = re.compile(r"[ \t]*:")


def with_splits(text: str, splits: Mapping[str, Split], *, name: str) -> str:
    """The text of a set in which the questions in `splits` have their split.

    Args:
        text: A valid set, byte order mark and line ends as they are.
        splits: Id to split, of questions that have none; ids of other sets are ignored.
        name: The file as shown; its suffix says how it is read.

    Raises:
        UsageError: The text cannot be edited without changing something else.
    """
    body = text.removeprefix(BOM)
    edits = _jsonl_edits(body, splits) if name.lower().endswith(".jsonl") else _yaml_edits(body, splits)
    edited = body
    for start, end, new in sorted(edits, reverse=True):
        edited = edited[:start] + new + edited[end:]
    _check(body, edited, splits, name)
    return text[: len(text) - len(body)] + edited


def _check(before: str, after: str, splits: Mapping[str, Split], name: str) -> None:
    def wanted(question: Question) -> Question:
        return replace(question, split=splits[question.id]) if question.id in splits else question

    try:
        kept = read_set(after, name) == [wanted(question) for question in read_set(before, name)]
    except InputError:  # its problems lie in a text that nobody has seen
        kept = False
    if not kept:
        raise UsageError(f"{name}: the splits cannot be written without changing something else; write them by hand")


def _yaml_edits(text: str, splits: Mapping[str, Split]) -> Iterator[Edit]:
    for flow, record in _yaml_records(text):
        split = splits.get(record["id"][1].value) if "id" in record else None
        if split is None:
            continue
        if "split" not in record:
            yield _after_id(text, *record["id"], split, flow=flow)
            continue
        key, value = record["split"]
        start, end = value.start_mark.index, value.end_mark.index
        if start < end:
            yield start, end, split
        else:
            # `split:` with nothing after it, or in flow style `split` alone.
            colon = _COLON.match(text, key.end_mark.index)
            behind = colon.end() if colon else key.end_mark.index
            yield behind, behind, f" {split}" if colon else f": {split}"


def _after_id(text: str, key: Any, value: Any, split: str, *, flow: bool) -> Edit:
    """A new line below the id in a block record, a new pair behind it in a flow record."""
    end = value.end_mark.index
    if flow:
        return end, end, f", split: {split}"
    newline = end - 1 if text[end - 1] == "\n" else text.find("\n", end)  # a block scalar ends behind its line
    pair = f"{' ' * key.start_mark.column}split: {split}"
    if newline < 0:
        return len(text), len(text), f"\n{pair}"
    return newline + 1, newline + 1, pair + ("\r\n" if text[newline - 1] == "\r" else "\n")


def _yaml_records(text: str) -> Iterator[tuple[bool, dict[str, tuple[Any, Any]]]]:
    """For each record whether it is in flow style, and its scalar fields: name to the events of key and value."""
    depth = 0
    flow = False
    record: dict[str, tuple[Any, Any]] = {}
    key: Any = None
    for event in events(text):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth == 2:
                record, flow = {}, bool(event.flow_style)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            key = None
            if depth == 1:
                yield flow, record
        elif isinstance(event, yaml.ScalarEvent) and depth == 2:
            if key is not None:
                record[key.value] = (key, event)
            key = event if key is None else None


def _jsonl_edits(text: str, splits: Mapping[str, Split]) -> Iterator[Edit]:
    position = 0
    for line in text.split("\n"):
        split = splits.get(json.loads(line)["id"]) if line.strip() else None
        if split is not None:
            start, end, new = _json_edit(line, split)
            yield position + start, position + end, new
        position += len(line) + 1


def _json_edit(line: str, split: str) -> Edit:
    """Where the split of one JSON object stands, or behind its first pair where it has none."""
    decoder = json.JSONDecoder()
    index = line.index("{") + 1
    behind_first: int | None = None
    while True:
        name, index = decoder.raw_decode(line, line.index('"', index))
        start = line.index(":", index) + 1
        start += len(line[start:]) - len(line[start:].lstrip())
        _, index = decoder.raw_decode(line, start)
        if name == "split":
            return start, index, f'"{split}"'
        behind_first = index if behind_first is None else behind_first
        if line[index:].lstrip().startswith("}"):
            return behind_first, behind_first, f', "split": "{split}"'
