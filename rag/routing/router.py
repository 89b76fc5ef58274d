"""From the names in a question to a route, from a route to a scope, and how a route raises what agrees with it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.errors import OptionError
from rag.records import Scored
from rag.routing.lexicon import FIELDS, Lexicon, Name
from rag.routing.mentions import find
from rag.routing.words import key
from rag.stages import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rag.records import Chunk, Labels, Ranking
    from rag.routing.lexicon import Field


@dataclass(frozen=True, slots=True)
class Route:
    """What a question names, each as the corpus writes it; empty where it names nothing, or more than one.

    Attributes:
        course: The course.
        area: The area.
        kind: The sort of document.
    """

    course: str = ""
    area: str = ""
    kind: str = ""

    def told(self) -> dict[str, Any]:
        """For the row; None for what is not named. The scope is not chosen yet."""
        return {"course": self.course or None, "area": self.area or None, "kind": self.kind or None, "scope": None}


class Router:
    """Knows the names of a corpus.

    Args:
        chunks: The corpus.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._lexicon = Lexicon(chunks)
        self._chunks = chunks
        self._scopes: dict[Name, NDArray[np.intp]] = {}

    def route(self, query: str) -> Route:
        """What a question names. Two courses are no course, and then no area either: it speaks of several places."""
        named: dict[Field, dict[Name, None]] = {field: {} for field in FIELDS}
        for mention in find(query, self._lexicon):
            named[mention.name.field][mention.name] = None
        if len(named["course"]) > 1:
            named["area"] = {}
        return Route(**{field: self._only(names) for field, names in named.items()})

    def given(self, course: str) -> Route:
        """The route to a course that is known beforehand; to nowhere for an empty name.

        Raises:
            OptionError: No document is of that course.
        """
        label = self._lexicon.labels.get(Name("course", key(course)), "")
        if course and not label:
            known = sorted(label for name, label in self._lexicon.labels.items() if name.field == "course")
            close = difflib.get_close_matches(course, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
            raise OptionError(f"no document is of the course {course!r}; {hint}")
        return Route(course=label)

    def scope(self, route: Route, everywhere: Scope | None) -> Scope | None:
        """Where a route leads: to its course, else to its area where that is a place of its own; within `everywhere`.

        A course takes in the documents of no course, which may be about any. An area within courses is a topic, on
        which other documents write too, and no place. None where nothing is named, where no document is of both the
        course and the area, and where no chunk is left.
        """
        course, area = Name("course", key(route.course)), Name("area", key(route.area))
        if not (course.key or area.key):
            return None
        if course.key and area.key and not self._lexicon.shares(course, area):
            return None
        if not course.key and any(self._chunks[position].labels.course for position in self._positions(area)):
            return None
        name = course if course.key else area
        positions, label = self._positions(name), f"{name.field}:{self._lexicon.labels[name]}"
        if everywhere is not None:
            positions, label = np.intersect1d(positions, everywhere.positions), f"{everywhere.name}/{label}"
        return Scope(label, positions) if len(positions) else None

    @staticmethod
    def boost(ranking: Ranking, route: Route, chunks: Sequence[Chunk], weight: float) -> Ranking:
        """The ranking by score x (1 + weight x share of the route's names that a chunk's labels agree with).

        Ties stand by position. The ranking is handed back as it is where no chunk agrees.

        Args:
            ranking: With positive scores, as fusion gives them.
            route: What is named.
            chunks: The corpus.
            weight: What full agreement adds, as a share of the score.
        """
        named = [(field, key(label)) for field in FIELDS if (label := getattr(route, field))]
        shares = [
            sum(_agrees(chunks[position].labels, field, wanted) for field, wanted in named) / len(named)
            if named
            else 0.0
            for position, _ in ranking
        ]
        if not any(shares):
            return ranking
        raised = [
            Scored(position, score * (1.0 + weight * share))
            for (position, score), share in zip(ranking, shares, strict=True)
        ]
        return tuple(sorted(raised, key=lambda scored: (-round(scored.score, 12), scored.position)))

    def _only(self, names: dict[Name, None]) -> str:
        return self._lexicon.labels[next(iter(names))] if len(names) == 1 else ""

    def _positions(self, name: Name) -> NDArray[np.intp]:
        if name not in self._scopes:
            found = [
                position for position, chunk in enumerate(self._chunks) if _agrees(chunk.labels, name.field, name.key)
            ]
            self._scopes[name] = np.array(found, dtype=np.intp)
        return self._scopes[name]


def _agrees(labels: Labels, field: Field, wanted: str) -> bool:
    """Whether a label is the one that is wanted. A document of no course may be about any: it agrees with all."""
    found = _key(getattr(labels, field))
    return found == wanted or (field == "course" and not found)


@lru_cache(maxsize=4_096)
def _key(label: str) -> str:
    return key(label)
