"""Decides whether a retrieved chunk satisfies a gold source. What a match is worth is left to `measures`.

A chunk satisfies a locator when its file matches and, where the locator names pages or a heading, its page range
overlaps the pages (both ends included) or its heading path begins with the heading, component by component. With both
given, either one is enough; but a chunk without pages never satisfies a locator that names pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ragbench import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.contract import Chunk
    from pytest_ragbench.questions.model import GoldSource

# Folding costs more than the whole comparison, and a run folds the same few thousand paths millions of times.
_CACHED = 65_536
fold_path = lru_cache(maxsize=_CACHED)(canonical.fold_path)


@lru_cache(maxsize=_CACHED)
def fold_heading_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Fold every component of a heading path."""
    return tuple(canonical.fold_heading(component) for component in path)


@dataclass(frozen=True, slots=True)
class Place:
    """What one locator asks of a chunk whose file already matched.

    Attributes:
        source: Index into the gold list.
        pages: Inclusive range, or None when any page serves.
        heading: Folded heading path; empty when any heading serves.
    """

    source: int
    pages: tuple[int, int] | None
    heading: tuple[str, ...]

    def holds(self, pages: tuple[int, int] | None, heading: tuple[str, ...]) -> bool:
        """Whether a chunk on these pages, under this folded heading path, stands in the place."""
        if self.pages is not None:
            if pages is None:
                return False
            if pages[0] <= self.pages[1] and self.pages[0] <= pages[1]:
                return True
            return bool(self.heading) and heading[: len(self.heading)] == self.heading
        return heading[: len(self.heading)] == self.heading


@dataclass(frozen=True, slots=True)
class GoldFile:
    """The gold sources that name one file.

    Attributes:
        sources: Indexes of all of them: what any chunk of the file satisfies at document level.
        whole: Indexes of those that ask for no more than the file.
        places: What the others ask for, by source.
    """

    sources: tuple[int, ...]
    whole: tuple[int, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class CompiledGold:
    """A question's gold, folded once for all the chunks it is held against.

    Attributes:
        size: Number of gold sources, required or not.
        required: Indexes of the required ones.
        documents: Number of distinct documents among the required ones; sources that name the same files are one.
        files: Folded path to what is asked of that file.
    """

    size: int
    required: frozenset[int]
    documents: int
    files: Mapping[str, GoldFile]


def compile_gold(gold: Sequence[GoldSource]) -> CompiledGold:
    """Fold a question's gold sources and index them by file."""
    places: dict[str, list[Place]] = {}
    documents: set[frozenset[str]] = set()
    for source, entry in enumerate(gold):
        paths = [fold_path(locator.file) for locator in entry.locators]
        for path, locator in zip(paths, entry.locators, strict=True):
            places.setdefault(path, []).append(Place(source, locator.pages, fold_heading_path(tuple(locator.heading))))
        if entry.required:
            documents.add(frozenset(paths))
    return CompiledGold(
        size=len(gold),
        required=frozenset(source for source, entry in enumerate(gold) if entry.required),
        documents=len(documents),
        files={path: _gold_file(found) for path, found in places.items()},
    )


def _gold_file(places: Sequence[Place]) -> GoldFile:
    whole = {place.source for place in places if place.pages is None and not place.heading}
    return GoldFile(
        sources=tuple(sorted({place.source for place in places})),
        whole=tuple(sorted(whole)),
        places=tuple(place for place in places if place.source not in whole),
    )


def match(chunk: Chunk, gold: CompiledGold) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The gold sources that a chunk satisfies.

    Returns:
        Ascending indexes into the gold list: satisfied by the chunk, and satisfied by its file alone.
    """
    found = gold.files.get(fold_path(chunk.file))
    if found is None:
        return (), ()
    if not found.places:
        return found.whole, found.sources
    heading = fold_heading_path(tuple(chunk.heading))
    held = [place.source for place in found.places if place.holds(chunk.pages, heading)]
    return (tuple(sorted({*found.whole, *held})) if held else found.whole), found.sources
