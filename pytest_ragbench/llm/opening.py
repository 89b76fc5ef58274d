"""From `MODE` or `MODE:FILE` to a seam: the one place that knows which modes there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ragbench.llm.seam import Seam
    from pytest_ragbench.llm.store import Store

MODES = ("replay", "record", "live")


def split_mode(text: str, flag: str) -> tuple[str, str | None]:
    """Mode and file of `replay:FILE`, `record:FILE`, `live` or `live:FILE`.

    Args:
        text: As it was typed.
        flag: The option, for the message.

    Raises:
        UsageError: It is none of them.
    """
    mode, colon, file = text.partition(":")
    if mode not in MODES or bool(colon) != bool(file) or (not file and mode != "live"):
        raise UsageError(f"{flag}={text}: it is replay:FILE, record:FILE, live or live:FILE")
    return mode, file or None


def open_seam(mode: str, store: Path | None) -> Seam:
    """The seam of a mode and its store.

    Raises:
        UsageError: The store is missing or unsound, or the live model cannot be asked.
    """
    if mode == "live":
        from pytest_ragbench.llm.live import Live, model_of

        return Live(model_of(), store)
    from pytest_ragbench.llm.seam import Recording, Replay  # every session loads this module, and few ask a model

    if store is None:
        raise UsageError(f"the language model {mode} needs a store")
    found = store_of(mode, store)
    return Replay(found) if mode == "replay" else Recording(found)


def store_of(mode: str, path: Path) -> Store:
    """The store in a file; one that is to be recorded into need not exist yet.

    Raises:
        UsageError: It is missing or unsound.
    """
    from pytest_ragbench.llm.store import Store, read_store

    if mode == "record" and not path.exists():
        return Store(path)
    return read_store(path)
