"""`ragbench fill`: pending prompts that have a completion move into their store; a live model may answer the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.durable import write_atomic
from pytest_ragbench.errors import UsageError
from pytest_ragbench.llm.store import (
    Record,
    Store,
    append,
    locked,
    pending_line,
    pending_path,
    read_pending,
    read_store,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Filled:
    """What a filling did.

    Attributes:
        added: Records that went into the store.
        known: Pending prompts that the store could answer already.
        left: Pending prompts that still have no completion.
    """

    added: int
    known: int
    left: int


def fill(
    path: Path,
    *,
    model: str | None = None,
    ask: Callable[[str, str], str] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Filled:
    """Move answered prompts from the pending twin into the store; each answer is kept as soon as it is there.

    Args:
        path: The store, which may not exist yet.
        model: Label of the answers; None where the store or the pending records name it.
        ask: Answers prompts that have no completion; None leaves them pending.
        say: Told of each answer that was asked for.

    Raises:
        UsageError: Nothing was ever recorded there, no label is known, or it is not the store's.
        InputError: The store or its pending twin is not sound; nothing was written.
    """
    pending = pending_path(path)
    if not path.exists() and not pending.exists():
        raise UsageError(
            f"{path}: there is no such store and no {pending.name} beside it; --rag-llm=record:{path} makes it"
        )
    with locked(path), locked(pending):
        store = read_store(path) if path.exists() else Store(path)
        waiting = read_pending(pending)
        _agree(store, waiting)
        label = _label(store, model, waiting)
        left: list[Record] = []
        known = sum(record.key in store.records for record in waiting)
        unknown = [record for record in waiting if record.key not in store.records]
        for number, record in enumerate(unknown, start=1):
            completion = record.completion
            if completion is None and ask is not None:
                completion = ask(str(record.system), str(record.user))
                say(f"{number}/{len(unknown)} answered")
            if completion is None:
                left.append(record)
            else:  # kept before the next one is asked for: interrupted, the rest waits where it was
                append(path, record.model_copy(update={"model": label, "completion": completion}))
        if pending.exists():
            write_atomic(pending, [pending_line(record).encode() for record in left])
        return Filled(len(unknown) - len(left), known, len(left))


def _agree(store: Store, waiting: list[Record]) -> None:
    """Refuse to drop an answer that differs from the one that the store has for its prompt."""
    for record in waiting:
        known = store.records.get(record.key)
        if known is not None and record.completion not in (None, known.completion):
            raise UsageError(
                f"{pending_path(store.path)}: {record.key}: the store has another completion for this prompt; "
                "remove one of the two; nothing was written"
            )


def _label(store: Store, model: str | None, waiting: list[Record]) -> str:
    labels = {name for name in (store.model, model, *(record.model for record in waiting)) if name and name.strip()}
    if len(labels) > 1:
        found = ", ".join(sorted(labels))
        raise UsageError(f"{store.path}: one store holds the answers of one model, found {found}; nothing was written")
    if not labels:
        raise UsageError(f"{store.path}: say whose answers these are with --model LABEL; nothing was written")
    return labels.pop()
