"""Decides whether a retrieved chunk satisfies a gold source. What a match is worth is left to `measures`.

A chunk satisfies a locator when its file matches and, where the locator names pages or a heading, its page range
overlaps the pages (both ends included) or its heading path begins with the heading, component by component. With both
given, either one is enough; but a chunk without pages never satisfies a locator that names pages. In the suites
`WHOLE_FILE` a heading in a file that is no Markdown is not asked for: finding the file is what they measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ragbench import canonical
from pytest_ragbench.questions.suites import WHOLE_FILE
from pytest_ragbench.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.contract import Chunk
    from pytest_ragbench.questions.model import GoldSource, Locator

# Folding costs more than the whole comparison, and a run folds the same few thousand paths millions of times.
_CACHED = 65_536

_MARKDOWN = (".md", ".markdown")


_folded = Remembered(canonical.fold_path, most=_CACHED)


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

    def holds(self, chunk: Chunk) -> bool:
        """Whether a chunk of the file stands in the place."""
        if self.pages is not None:
            if chunk.pages is None:
                return False
            if chunk.pages[0] <= self.pages[1] and self.pages[0] <= chunk.pages[1]:
                return True
            if not self.heading:
                return False
        return fold_heading_path(tuple(chunk.heading))[: len(self.heading)] == self.heading


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


def compile_gold(gold: Sequence[GoldSource], *, suite: str | None = None) -> CompiledGold:
    """Fold the gold sources of a question of a suite and index them by file."""
    places: dict[str, list[Place]] = {}
    documents: set[frozenset[str]] = set()
    for source, entry in enumerate(gold):
        paths = [_folded[locator.file] for locator in entry.locators]
        for path, locator in zip(paths, entry.locators, strict=True):
            places.setdefault(path, []).append(Place(source, locator.pages, _heading(locator, path, suite)))
        if entry.required:
            documents.add(frozenset(paths))
    return CompiledGold(
        size=len(gold),
        required=frozenset(source for source, entry in enumerate(gold) if entry.required),
        documents=len(documents),
        files={path: _gold_file(found) for path, found in places.items()},
    )


def _heading(locator: Locator, path: str, suite: str | None) -> tuple[str, ...]:
    if suite in WHOLE_FILE and not path.endswith(_MARKDOWN):
        return ()
    return fold_heading_path(tuple(locator.heading))


def _gold_file(places: Sequence[Place]) -> GoldFile:
    whole = {place.source for place in places if place.pages is None and not place.heading}
    return GoldFile(
        sources=tuple(sorted({place.source for place in places})),
        whole=tuple(sorted(whole)),
        places=tuple(place for place in places if place.source not in whole),
    )


def match(ranking: Sequence[Chunk], gold: CompiledGold) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The gold sources that each chunk of a ranking satisfies.

    Returns:
        Two lists in the order of the ranking, of ascending indexes into the gold list: the sources that the chunk
        satisfies, and those that its file alone does.
    """
    # Most chunks come from a file that no source names; nothing is done for them but the look-up.
    matches: list[tuple[int, ...]] = [()] * len(ranking)
    doc_matches = matches.copy()
    files, folded = gold.files, _folded
    for rank, chunk in enumerate(ranking):
        path = folded[chunk.file]
        if path in files:
            found = files[path]
            matches[rank] = _satisfied(chunk, found) if found.places else found.whole
            doc_matches[rank] = found.sources
    return matches, doc_matches


def _satisfied(chunk: Chunk, found: GoldFile) -> tuple[int, ...]:
    if len(found.places) == 1 and not found.whole:  # the usual case, at half the time
        return found.sources if found.places[0].holds(chunk) else ()
    held = [place.source for place in found.places if place.holds(chunk)]
    return tuple(sorted({*held, *found.whole}))
