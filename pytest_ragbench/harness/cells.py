"""Cells: the (question, configuration) pairs that become items, their ids, and the way back from a node id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pytest

    from pytest_ragbench.configurations.model import Configuration
    from pytest_ragbench.questions.model import Question

Key = tuple[str, str]
"""(question id, configuration name): what rows are keyed by."""


_QUESTION_ID = re.compile(r"(?<![^-])[a-z][a-z0-9_]*-\d{4,}(?![^-])")


@dataclass(frozen=True, slots=True)
class Cell:
    """One question under one configuration."""

    question: Question
    configuration: Configuration

    @property
    def key(self) -> Key:
        """What its row is keyed by."""
        return (self.question.id, self.configuration.name)

    @property
    def id(self) -> str:
        """Its part of a node id."""
        return f"{self.configuration.marker}-{self.question.id}"

    @property
    def sealed(self) -> bool:
        """Whether it belongs to the test split."""
        return self.question.split == "test"


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell of an item, or None for a test that is none of ours."""
    callspec = getattr(item, "callspec", None)
    cell = callspec.params.get("rag_row") if callspec is not None else None
    return cell if isinstance(cell, Cell) else None


def cross(questions: Sequence[Question], configurations: Sequence[Configuration]) -> tuple[Cell, ...]:
    """Every pair, one question's cells side by side, so that caches keyed by question are used while warm."""
    return tuple(Cell(question, configuration) for question in questions for configuration in configurations)


class CellFinder:
    """Finds the cell that a node id names, for a process that never sees the items."""

    def __init__(self, questions: Iterable[Question], configurations: Mapping[str, Configuration]) -> None:
        self._questions = {question.id: question for question in questions}
        self._configurations = {configuration.marker: configuration for configuration in configurations.values()}

    def find(self, node_id: str) -> Cell | None:
        """The cell in the brackets of `node_id`, or None."""
        inside = node_id.partition("[")[2].rpartition("]")[0]
        for match in _QUESTION_ID.finditer(inside):
            question = self._questions.get(match[0])
            marker = self._marker_before(inside[: match.start()])
            if question and marker:
                return Cell(question, self._configurations[marker])
        return None

    def _marker_before(self, head: str) -> str | None:
        """The longest marker that ends `head`, where a component of the id begins with it."""
        body = head.removesuffix("-")
        start = 0
        while body[start:] not in self._configurations:
            start = body.find("-", start) + 1
            if not start:
                return None
        return body[start:]
