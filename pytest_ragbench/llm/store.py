"""Stores of completions: JSONL files of `{"key", "model", "completion"}`, one model label a store.

Decides what a prompt's key is, and which stores are sound. Who asks and what a miss means is for `seam`.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_ragbench import canonical
from pytest_ragbench.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(BaseModel):
    """One line of a store, or of its pending twin, where `model` and `completion` may still be null.

    Attributes:
        key: `prompt_key` of the prompt.
        model: The label under which the completion is kept.
        completion: The answer, which may be empty.
        system: The system prompt, kept so that a miss can name the nearest prompt.
        user: The user prompt.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    key: str
    model: str | None = None
    completion: str | None = None
    system: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """A store that has been read and found sound.

    Attributes:
        path: Its file.
        model: The one label of its completions; None for an empty store.
        records: Key to record.
        warnings: What is odd but does no harm.
        digest: sha256 over keys, label and completions, whatever their order in the file.
    """

    path: Path
    model: str | None = None
    records: Mapping[str, Record] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    digest: str = ""


def prompt_key(system: str, user: str) -> str:
    """sha256 (hex) of the exact prompts: a space, a line end or a Unicode form more makes another key."""
    return canonical.digest([system, user])


def read_store(path: Path) -> Store:
    """Read a store.

    Raises:
        UsageError: There is no such file, or it cannot be read.
        InputError: A line is no record, a key has two completions, or two labels stand in one store; every problem is
            listed with its lines.
    """
    problems: list[Problem] = []
    warnings: list[Problem] = []
    records: dict[str, Record] = {}
    lines: dict[str, int] = {}
    labels: dict[str, int] = {}
    for line, record in _records(path, problems):
        complaint = _incomplete(record)
        if complaint is not None:
            problems.append(_problem(path, line, record.key, *complaint))
            continue
        labels.setdefault(str(record.model), line)
        first = records.setdefault(record.key, record)
        if first is record:
            lines[record.key] = line
        elif (first.model, first.completion) == (record.model, record.completion):
            text = f"the same record stands at line {lines[record.key]} already; remove one"
            warnings.append(_problem(path, line, record.key, "completion", text, "repeated-record"))
        elif first.completion != record.completion:
            text = f"line {lines[record.key]} has another completion for this key; keep one of the two"
            problems.append(_problem(path, line, record.key, "completion", text, "two-completions"))
    if len(labels) > 1:
        found = ", ".join(f"{label!r} (line {line})" for label, line in labels.items())
        text = f"one store holds the answers of one model, found the labels {found}; put each into a store of its own"
        problems.append(_problem(path, max(labels.values()), None, "model", text, "two-models"))
    if problems:
        raise InputError(problems)
    model = next(iter(labels), None)
    answers = sorted((key, record.completion) for key, record in records.items())
    return Store(path, model, records, tuple(warnings), canonical.digest([model, answers]))


def pending_path(store: Path) -> Path:
    """Where the prompts wait that a store cannot answer: `drafts.jsonl` has `drafts.pending.jsonl` beside it."""
    return store.with_name(f"{store.stem}.pending{store.suffix or '.jsonl'}")


def read_pending(path: Path) -> list[Record]:
    """The records of a pending file in its order, each key once; none where there is no file.

    Raises:
        InputError: A line is no record, its key is not that of its prompts, or a prompt has two completions.
    """
    if not path.exists():
        return []
    problems: list[Problem] = []
    found: dict[str, Record] = {}
    for line, record in _records(path, problems):
        if record.system is None or record.user is None or record.key != prompt_key(record.system, record.user):
            text = "a pending record needs the system and user prompts that its key was made of; do not edit those"
            problems.append(_problem(path, line, record.key, "key", text, "wrong-key"))
        elif (first := found.get(record.key)) is None or first.completion is None:
            found[record.key] = record
        elif record.completion not in (None, first.completion):
            text = "another line has another completion for this prompt; keep one of the two"
            problems.append(_problem(path, line, record.key, "completion", text, "two-completions"))
    if problems:
        raise InputError(problems)
    return list(found.values())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes, and other threads, from a store or its pending twin; its folder is made where it lacks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        yield


def pending_line(record: Record) -> str:
    """A record as a line of a pending file: what is to be filled in stands there as null."""
    return f"{canonical.dumps(record.model_dump())}\n"


def append(path: Path, record: Record) -> None:
    """Append a record to a store; it is on disk when this returns."""
    append_line(path, f"{canonical.dumps(record.model_dump(exclude_none=True))}\n")


def append_line(path: Path, line: str) -> None:
    """Append a line and sync it; a last line that a crash tore is closed first, so that it is told from this one."""
    data = line.encode()  # before the file is made
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _records(path: Path, problems: list[Problem]) -> Iterator[tuple[int, Record]]:
    for line, text in enumerate(_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            record = Record.model_validate(canonical.loads(text))
            if half := next((name for name, value in record if value and _SURROGATE.search(value)), None):
                message = "half a surrogate pair, which no UTF-8 file can hold; write the whole character, or U+FFFD"
                problems.append(_problem(path, line, record.key, half, message, "half-character"))
            else:
                yield line, record
        except ValidationError as error:
            for item in error.errors(include_url=False):
                where = ".".join(map(str, item["loc"])) or None
                problems.append(_problem(path, line, None, where, _told(item), "bad-record"))
        except ValueError as error:
            problems.append(_problem(path, line, None, None, f"this is no strict JSON ({error})", "bad-json"))


def _told(item: Any) -> str:
    if item["type"] == "extra_forbidden":
        return f"unknown key; known are {', '.join(Record.model_fields)}"
    return f"{item['msg']}, found {str(item.get('input'))[:60]!r}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="strict")
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such store; make one with --rag-llm=record:{path}") from None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: this is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise UsageError(f"{path}: it cannot be read: {error.strerror or error}") from None


def _incomplete(record: Record) -> tuple[str, str, str] | None:
    """Field, message and code of what a store's record lacks."""
    if not (record.model or "").strip():
        return "model", "a record needs the label of the model that answered", "no-model"
    if record.completion is None:
        return "completion", "a record needs a completion; an empty one is written as an empty text", "no-completion"
    if record.system is not None and record.user is not None and record.key != prompt_key(record.system, record.user):
        return "key", "this is not the key of the prompts beside it", "wrong-key"
    return None


def _problem(path: Path, line: int, key: str | None, field_: str | None, message: str, code: str) -> Problem:
    return Problem(str(path), line, key, field_, message, code)
