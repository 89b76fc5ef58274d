"""What a language model was asked once: its completion, kept on disk with the time it took. What raised is never kept.

An empty completion is an error, so that nothing stands in for it unseen.
"""

from __future__ import annotations

import re
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.errors import EmptyCompletionError
from rag.text import clean, digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag.cache import DiskCache
    from rag.stages import Llm

_HEADER = struct.Struct("<d")  # milliseconds
SHOWN = 60
"""Characters of a prompt that a message quotes."""

# 1.  2)  (3)  a)  Q1:  Sub-question 2:  -  *  and such, in front of a line; not the 3.14 or -1 that begins a sentence.
_MARK = re.compile(
    r"(?:\*\*)?(?:[-*+\u2022\u2013\u2014\u00b7]|\(?\d{1,2}[.):]|\(?[a-z]\)|#{1,6}"
    r"|(?:q|(?:sub-?)?(?:question|query))\s*\d*\s*[.:)])(?:\*\*)?(?:\s+|$)|\d{1,2}[\u3001\uff0e]\s*",
    re.IGNORECASE,
)
_FENCE = ("```", "~~~")
_EMPHASIS = re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered.

    Attributes:
        text: The completion, cleaned as every text is; not blank.
        ms: What asking for it took the first time.
        known: Whether it was known already.
    """

    text: str
    ms: float
    known: bool


class Completions:
    """A language model that is asked each prompt once.

    Args:
        llm: The language model.
        disk: Where completions are kept, or None.
        purpose: What they are for, for messages and as part of the key.
        usable: Whether a completion holds what it was asked for; one that does not counts as empty.
    """

    def __init__(
        self, llm: Llm, disk: DiskCache | None, purpose: str, usable: Callable[[str], object] | None = None
    ) -> None:
        self._llm = llm
        self._disk = disk
        self._purpose = purpose
        self._usable = usable or says_something

    def get(self, system: str, user: str) -> Completion:
        """The completion of a prompt.

        Raises:
            EmptyCompletionError: It says nothing.
            Exception: Whatever the language model raises where it has no answer.
        """
        key = digest(["completion", self._purpose, system, user, self._llm.model, self._llm.source])
        if self._disk is not None and (kept := self._disk.get_many([key]).get(key)) is not None:
            (ms,) = _HEADER.unpack_from(kept)
            return Completion(kept[_HEADER.size :].decode(), ms, known=True)
        started = time.perf_counter()
        text = clean(self._llm.complete(system, user))
        ms = (time.perf_counter() - started) * 1000
        if not self._usable(text):
            raise EmptyCompletionError(
                f"{self._purpose}: {self._llm.model!r} answered {user[:SHOWN]!r} with {text[:SHOWN]!r}, which says "
                "nothing, and nothing takes its place: have that prompt answered again"
            )
        if self._disk is not None:
            self._disk.put_many({key: _HEADER.pack(ms) + text.encode()})
        return Completion(text, ms, known=False)


def says_something(text: str) -> bool:
    """Whether there is a letter or a digit: what has none finds nothing by words and anything by vectors."""
    return any(map(str.isalnum, text))


def items(completion: str) -> list[str]:
    """The lines of a list, without their numbers, bullets and emphasis; an item without content is an empty text."""
    return [_bare(line) for line in completion.strip().splitlines()]


def introduces(item: str) -> bool:
    """Whether an item speaks of those that follow: it ends in a colon, of any script."""
    return item.endswith((":", "\uff1a", "\ufe55"))


def _bare(line: str) -> str:
    line = line.strip()
    if line.startswith(_FENCE):
        return ""  # with or without the name of a format behind it
    while (mark := _MARK.match(line)) is not None:
        line = line[mark.end() :]
    if (whole := _EMPHASIS.fullmatch(line)) is not None:
        line = whole[1].strip()
    return line if says_something(line) else ""
