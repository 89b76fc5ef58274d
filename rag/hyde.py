"""HyDE: a drafted answer with which the dense lanes search in place of the question.

Source: Gao, Ma, Lin and Callan, "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023, section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rag.completion import Completions

if TYPE_CHECKING:
    from rag.cache import DiskCache, Meter
    from rag.stages import Llm

SYSTEM = (
    "You write the passage that a course note, a textbook page or a documented piece of code would hold if it answered "
    "the question: three to five sentences in the words that such a text uses. State facts; do not address the reader, "
    "do not mention the question, write no heading. Where you do not know, write what is most likely."
)
USER = "Question: {question}"


class Hyde:
    """Drafts answers.

    Args:
        llm: The language model.
        disk: Where drafts are kept, or None.
    """

    def __init__(self, llm: Llm, disk: DiskCache | None) -> None:
        self._completions = Completions(llm, disk, "hyde")

    def draft(self, query: str, meter: Meter) -> tuple[str, Literal["hit", "miss"]]:
        """A question's draft as the language model wrote it, a refusal too; and whether it was known already.

        Raises:
            EmptyCompletionError: The draft says nothing; the question itself is never searched in its place.
            Exception: Whatever the language model raises where it has no answer.
        """
        completion = self._completions.get(SYSTEM, USER.format(question=query))
        meter.charge("hyde", completion.ms, cached=completion.known)
        return completion.text, "hit" if completion.known else "miss"
