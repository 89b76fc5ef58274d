"""What a pipeline asks: `complete(system, user)`. A prompt without an answer raises; nothing stands in for it."""

from __future__ import annotations

from difflib import SequenceMatcher
from heapq import nlargest
from typing import TYPE_CHECKING, Protocol

from pytest_ragbench.errors import PipelineError
from pytest_ragbench.llm.store import (
    Record,
    Store,
    append_line,
    locked,
    pending_line,
    pending_path,
    prompt_key,
    read_pending,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    Prompt = tuple[str | None, str]

SHOWN = 60
"""Characters of a prompt that a message quotes."""

COMPARED = 2_000
"""Characters of a prompt that are compared when the nearest one is looked for."""

CANDIDATES = 10
"""Prompts, the likest by their letters, whose order of letters is compared too: that takes a thousand times as long."""


class Seam(Protocol):
    """The one way to a language model.

    Attributes:
        model: Label under which answers are kept.
        source: Where answers come from: it differs where the answers of one label may differ.
    """

    model: str
    source: str

    def complete(self, system: str, user: str) -> str:
        """The completion of a prompt.

        Raises:
            NoCompletionError: There is none; the row of the search that asked is an error.
        """


class NoCompletionError(PipelineError):
    """A prompt has no answer: not in the store, or the endpoint gave none."""


class Replay:
    """Answers from a store, and from nothing else."""

    def __init__(self, store: Store) -> None:
        self.model = store.model or "none"
        self.source = f"replay:{store.digest}"
        self._store = store

    def complete(self, system: str, user: str) -> str:
        """The stored completion; of an unknown prompt, the error names the nearest one and where they part."""
        record = self._store.records.get(prompt_key(system, user))
        if record is None or record.completion is None:
            raise NoCompletionError(
                f"{self._store.path} has no answer to this prompt: {_miss(self._store, system, user)}"
            )
        return record.completion


class Recording:
    """Answers what the store knows; every other prompt is written to the store's pending twin, and its row fails.

    Attributes:
        records: True: whoever has many prompts may ask them all before it gives up.
    """

    records = True

    def __init__(self, store: Store) -> None:
        self.model = store.model or "none"
        self.source = f"record:{store.digest}"
        self._store = store
        self._waiting = Waiting(pending_path(store.path))

    def complete(self, system: str, user: str) -> str:
        """The stored completion; otherwise the prompt is on disk when this raises."""
        record = self._store.records.get(prompt_key(system, user))
        if record is not None and record.completion is not None:
            return record.completion
        self._waiting.note(system, user)
        raise NoCompletionError(
            f"recorded in {self._waiting.path}: fill in its completion, then `ragbench fill {self._store.path}`"
        )


class Waiting:
    """The pending twin of a store, to which several processes may append.

    Attributes:
        path: Its file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys: set[str] = set()
        self._size = -1

    def note(self, system: str, user: str) -> None:
        """Append a prompt unless it waits there already; it is on disk when this returns."""
        record = Record(key=prompt_key(system, user), system=system, user=user)
        with locked(self.path):
            if self._size != self._size_now():  # another process wrote, or a person did
                self._keys = {known.key for known in read_pending(self.path)}
            if record.key not in self._keys:
                append_line(self.path, pending_line(record))
                self._keys.add(record.key)
            self._size = self._size_now()

    def _size_now(self) -> int:
        return self.path.stat().st_size if self.path.exists() else -1


def _miss(store: Store, system: str, user: str) -> str:
    """The key, the nearest recorded prompt and the first place where the two differ."""
    key = prompt_key(system, user)
    prompts = [(record.system, record.user) for record in store.records.values() if record.user is not None]
    if not prompts:
        return f"key {key}; its records keep no prompts to compare with"
    near_system, near_user = _nearest(prompts, system, user)
    found = f"key {key}; the nearest recorded prompt is {near_user[:SHOWN]!r}"
    if near_user != user:
        return f"{found}, whose user prompt differs at {_parting(near_user, user)}"
    if near_system is None:
        return f"{found}, which was recorded under another system prompt"
    return f"{found}, whose system prompt differs at {_parting(near_system, system)}"


def _parting(recorded: str, asked: str) -> str:
    """The first place where two texts differ, and how each goes on from there."""
    pairs = enumerate(zip(recorded, asked, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(recorded), len(asked)))
    return f"character {at}: recorded {_from(recorded, at)}, asked {_from(asked, at)}"


def _nearest(prompts: Iterable[Prompt], system: str, user: str) -> Prompt:
    """The prompt whose user part is likest, of equals one under the same system prompt, of these the first."""
    matcher = SequenceMatcher(None, "", user[:COMPARED], autojunk=False)

    def likeness(prompt: Prompt, ratio: Callable[[], float]) -> tuple[float, bool]:
        matcher.set_seq1(prompt[1][:COMPARED])
        return ratio(), prompt[0] == system

    likest = nlargest(CANDIDATES, prompts, key=lambda prompt: likeness(prompt, matcher.quick_ratio))
    return max(likest, key=lambda prompt: likeness(prompt, matcher.ratio))


def _from(text: str, at: int) -> str:
    return repr(text[at : at + 20]) if at < len(text) else "its end"
