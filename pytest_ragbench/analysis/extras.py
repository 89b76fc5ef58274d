"""Columns of what some rows tell beyond a ranking: losses, gates, walks, routing. Made when the first row has one.

A run whose rows tell nothing of the kind has no column, and no row costs it anything.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.layers import LAYERS, pool_ranks
from pytest_ragbench.canonical import fold_text
from pytest_ragbench.contract import ROUTE_COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_NAN = float("nan")

REMOVED, CONFIDENCE, THRESHOLD = "gate.removed", "gate.confidence", "gate.threshold"
SCORER, REMOVED_GOLD = "gate.scorer", "gate.gold"
ADDED, KEPT, GENERATED, SEEDS, FOUND = "walk.added", "walk.kept", "walk.generated", "walk.query_seeds", "walk.found"
LOST, POOL = "losses", "losses.pool"
ROUTED, CHOICE, SCOPE = "route", "route.choice", "route.scope"
RIGHT, WRONG, NONE = 1.0, 0.0, -1.0
"""What routing chose, held against what the question expects; NaN where it expects nothing."""

_PARTS = re.compile(r"[/:]")
_GAPS = re.compile(r"[\s_-]+")


class Extras:
    """Numbers (NaN where a row tells none) and objects (None) by column and slot."""

    def __init__(self) -> None:
        self._numbers: dict[str, array[float]] = {}
        self._objects: dict[str, list[Any]] = {}

    @property
    def empty(self) -> bool:
        """Whether no row has told anything yet."""
        return not (self._numbers or self._objects)

    def take(self, slot: int, row: Mapping[str, Any]) -> None:
        """Keep what a row tells, in place of what an earlier row of the slot told."""
        for column in self._numbers.values():
            if slot < len(column):
                column[slot] = _NAN
        for held in self._objects.values():
            if slot < len(held):
                held[slot] = None
        for name, value in _told(row):
            if isinstance(value, float):
                self._set_number(name, slot, value)
            else:
                self._set_object(name, slot, value)

    def _set_number(self, name: str, slot: int, value: float) -> None:
        column = self._numbers.setdefault(name, array("d"))
        if len(column) <= slot:
            column.extend([_NAN] * (slot + 1 - len(column)))
        column[slot] = value

    def _set_object(self, name: str, slot: int, value: Any) -> None:
        held = self._objects.setdefault(name, [])
        if len(held) <= slot:
            held.extend([None] * (slot + 1 - len(held)))
        held[slot] = value

    def numbers(self, name: str, slots: NDArray[np.intp]) -> NDArray[np.float64]:
        """Values of a column of numbers; NaN where the row tells none, and for a negative slot."""
        if name not in self._numbers:
            return np.full(slots.shape, np.nan)
        column = np.frombuffer(self._numbers[name])
        held = (slots >= 0) & (slots < len(column))
        return np.where(held, column[np.where(held, slots, 0)], np.nan)

    def objects(self, name: str, slots: NDArray[np.intp]) -> list[Any]:
        """Values of a column of objects; None where the row tells none, and for a negative slot."""
        held = self._objects.get(name, [])
        return [held[slot] if 0 <= slot < len(held) else None for slot in slots.tolist()]


def _told(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Columns and values of one row."""
    if (losses := row.get("losses")) is not None:
        yield LOST, tuple((loss["gold"], LAYERS.index(loss["layer"])) for loss in losses)
        yield POOL, tuple(pool_ranks(row["stages"]).items())
    if (gate := row.get("gate")) is not None:
        yield from _of_gate(gate)
    if (walk := row.get("walk")) is not None:
        yield from _of_walk(walk)
    if (route := row.get("route")) is not None:
        yield from _of_route(route)


def _of_gate(gate: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield REMOVED, float(len(gate["removed"]))
    for name, value in ((CONFIDENCE, gate["confidence"]), (THRESHOLD, gate["threshold"])):
        if value is not None:
            yield name, float(value)
    yield SCORER, gate["scorer"]
    mask = 0
    for chunk in gate["removed"]:
        for source in chunk["matches"]:
            mask |= 1 << source
    yield REMOVED_GOLD, mask


def _of_walk(walk: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    added = walk["added"]
    yield ADDED, float(len(added))
    yield KEPT, float(sum(step["kept"] for step in added))
    yield GENERATED, float(sum(step["generated"] for step in added))
    yield SEEDS, float(walk["query_seeds"])
    if walk["found"] is not None:
        yield FOUND, float(len(walk["found"]))


def _of_route(route: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    yield ROUTED, 1.0
    for name in ROUTE_COUNTS:  # columns of the same names behind `route.`
        if route.get(name) is not None:
            yield f"{ROUTED}.{name}", float(route[name])
    expected = route.get("expected")
    if expected is None:
        return
    if "course" in route or "area" in route:  # else routing by name was off, which is no choice of none
        yield CHOICE, _judged([name for name in (route.get("course"), route.get("area")) if name], expected)
    if "scope" in route:
        yield SCOPE, _judged([] if route["scope"] is None else [_PARTS.split(route["scope"])[-1]], expected)


def _judged(chosen: Sequence[str], expected: str) -> float:
    if not chosen:
        return NONE
    return RIGHT if _label(expected) in map(_label, chosen) else WRONG


def _label(name: str) -> str:
    """A name as names are compared: folded, and blanks, `-` and `_` alike."""
    return _GAPS.sub(" ", fold_text(name)).strip()
