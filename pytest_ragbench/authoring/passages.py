"""Which questions stand on one passage. Pure; shared by `validate`, which warns, and `split`, which can group."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ragbench.canonical import fold_heading, fold_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Locator, Question


def groups_by_gold(questions: Sequence[Question]) -> list[list[Question]]:
    """Questions joined wherever two have a required source in one passage; every question is in one group.

    Locators of one file share a passage where their page ranges meet; without pages on both sides, where one heading
    path begins with the other. A locator of a whole file shares with a whole file only: else one question on a book as
    such would bind every question on its pages together.

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
    """Pairs of indexes that tie every question to the others on its passages, without comparing each with each."""
    by_file: dict[str, dict[Locator, int]] = {}
    for index, question in enumerate(questions):
        for source in question.gold:
            if source.required:
                places = by_file.setdefault(fold_path(source.locator.file), {})
                yield places.setdefault(source.locator, index), index
    for places in by_file.values():
        yield from _by_pages(places)
        yield from _by_heading(places)
        yield from pairwise(index for place, index in places.items() if place.pages is None and not place.heading)


def _by_pages(places: Mapping[Locator, int]) -> Iterator[tuple[int, int]]:
    """Ties each range to the one that reaches furthest among those that begin before it, if they meet."""
    ranges = sorted((place.pages, index) for place, index in places.items() if place.pages is not None)
    reach, furthest = 0, 0
    for (first, last), index in ranges:
        if first <= reach:
            yield furthest, index
        if last > reach:
            reach, furthest = last, index


def _by_heading(places: Mapping[Locator, int]) -> Iterator[tuple[int, int]]:
    """Ties each heading path to those that it begins with; two that both have pages are told apart by these alone."""
    plain: dict[tuple[str, ...], int] = {}
    paged: dict[tuple[str, ...], list[int]] = {}
    for place, index in places.items():
        path = tuple(map(fold_heading, place.heading))
        if path and place.pages is None:
            yield plain.setdefault(path, index), index
        elif path:
            paged.setdefault(path, []).append(index)
    for path, indexes in [*paged.items(), *((path, [index]) for path, index in plain.items())]:
        above = [plain[path[:length]] for length in range(1, len(path) + 1) if path[:length] in plain]
        yield from ((index, other) for index in indexes for other in above)
    for path, index in plain.items():
        for length in range(1, len(path)):
            tied = paged.get(path[:length], [])
            yield from ((index, other) for other in tied)
            tied[1:] = []  # all of them are tied through this one by now
