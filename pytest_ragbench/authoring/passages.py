"""Which questions stand on one passage. Pure; shared by `validate`, which warns, and `split`, which can group."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from pytest_ragbench.canonical import fold_heading, fold_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ragbench.questions.model import Locator, Question


def overlap(one: Locator, other: Locator) -> bool:
    """Whether two locators of one file share a passage.

    Pages share where the ranges meet, headings where one path begins with the other. A locator of a whole file shares
    with a whole file only: else one question on a book as such would bind every question on its pages together.
    """
    if one.pages is not None and other.pages is not None:
        return one.pages[0] <= other.pages[1] and other.pages[0] <= one.pages[1]
    if one.heading and other.heading:
        mine = [fold_heading(part) for part in one.heading]
        yours = [fold_heading(part) for part in other.heading]
        shorter = min(len(mine), len(yours))
        return mine[:shorter] == yours[:shorter]
    return one.pages is None and other.pages is None and not one.heading and not other.heading


def groups_by_gold(questions: Sequence[Question]) -> list[list[Question]]:
    """Questions joined wherever two have a required source in one passage; every question is in one group.

    Groups and their members are sorted by id.
    """
    ordered = sorted(questions, key=lambda question: question.id)
    parent = list(range(len(ordered)))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for one, other in _shared(ordered):
        first, second = sorted((find(one), find(other)))
        parent[second] = first
    groups: dict[int, list[Question]] = {}
    for index, question in enumerate(ordered):
        groups.setdefault(find(index), []).append(question)
    return list(groups.values())


def _shared(questions: Sequence[Question]) -> Iterator[tuple[int, int]]:
    """Pairs of indexes that tie every question to the others on its passages."""
    by_file: dict[str, dict[Locator, int]] = {}
    for index, question in enumerate(questions):
        for source in question.gold:
            if source.required:
                places = by_file.setdefault(fold_path(source.locator.file), {})
                yield places.setdefault(source.locator, index), index
    for places in by_file.values():
        for (one, first), (other, second) in combinations(places.items(), 2):
            if overlap(one, other):
                yield first, second
