"""Decomposition: the questions that a compound question consists of, each searched by itself beside the whole."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.completion import Completions, introduces, items

if TYPE_CHECKING:
    from rag.cache import DiskCache, Meter
    from rag.stages import Llm

SYSTEM = (
    "You split a question into the questions whose answers it needs. Write one a line, without numbers and without any "
    "other text: as few as will do, at most eight, the most needed first. Each must be understood without the others: "
    "repeat the names of things. If the question asks for one thing only, write the question itself."
)
USER = "Question: {question}"


@dataclass(frozen=True, slots=True)
class Parts:
    """What came of a question.

    Attributes:
        kept: The sub-queries that are searched; none where the question asks for one thing only.
        dropped: (text, reason) of the lines that are not.
    """

    kept: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]

    def told(self) -> dict[str, Any]:
        """For the search's report: `{"parts": [...], "dropped": [{"text", "why"}]}`."""
        return {"parts": list(self.kept), "dropped": [{"text": text, "why": why} for text, why in self.dropped]}


class Decompose:
    """Splits questions.

    Args:
        llm: The language model.
        disk: Where its completions are kept, or None.
    """

    def __init__(self, llm: Llm, disk: DiskCache | None) -> None:
        self._completions = Completions(llm, disk, "decompose", usable=lambda text: any(items(text)))

    def split(self, query: str, limit: int, meter: Meter) -> Parts:
        """The question's parts, at most `limit`.

        Raises:
            EmptyCompletionError: The completion holds no question at all.
            Exception: Whatever the language model raises where it has no answer.
        """
        completion = self._completions.get(SYSTEM, USER.format(question=query))
        meter.charge("decompose", completion.ms, cached=completion.known)
        return parse(completion.text, query, limit)


def parse(completion: str, query: str, limit: int) -> Parts:
    """The lines of a completion that are worth a search of their own.

    Dropped, each with its reason: `blank` lines, an `introduction`, `the question` itself, what
    is `repeated`, and what comes `beyond the limit`.
    """
    kept: list[str] = []
    dropped: list[tuple[str, str]] = []
    seen = {_same(query): "the question"}
    for text in items(completion):
        why = "blank" if not text else "introduction" if introduces(text) else seen.get(_same(text))
        if why is None and len(kept) == limit:
            why = "beyond the limit"
        if why is None:
            kept.append(text)
            seen[_same(text)] = "repeated"
        else:
            dropped.append((text, why))
    return Parts(tuple(kept), tuple(dropped))


def _same(text: str) -> str:
    """What two wordings of one question share."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(" .?!")
