"""Holds the rows of a run as columns, a few hundred bytes a row. It keeps what a summary needs and judges nothing."""

from __future__ import annotations

from array import array
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ragbench.analysis.extras import Extras
from pytest_ragbench.canonical import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

ERRORED, COLD, CACHED, TIED, EMPTY = 1, 2, 4, 8, 16
"""Bits of a row's flags."""

ABSENT = -1
"""The slot of a planned cell that has no row."""

_TELLING = frozenset({"gate", "walk", "route"})
"""Keys that only rows with something to tell have."""

_NAN = float("nan")

_SOURCES = 1 << 12
"""More gold sources than a question has: a bit mask of what a damaged record may say would fill the memory."""

_PLACE = itemgetter("id", "file", "pages", "heading", "text_digest")

_BATCH = 32
"""Rows that wait to be taken apart: done for some in a row, it costs a fraction of what it does between two items."""


class RowTable:
    """Rows by (question, configuration); of two rows for one cell the last one counts.

    Attributes:
        metric_names: The columns, in display order; other metrics of a row are ignored, missing ones are null.
        extras: What rows tell of losses, gates, walks and routing.
    """

    def __init__(self, metric_names: Sequence[str]) -> None:
        self.metric_names = tuple(metric_names)
        self._nulls = [_NAN] * len(self.metric_names)
        self._slots: dict[str, dict[str, int]] = {}  # configuration -> question -> slot
        self._metrics = array("d")
        self._timings: dict[str, array[float]] = {}
        self._flags = bytearray()
        self._rankings = array("q")
        self._satisfied: list[int] = []
        self._spans: list[tuple[int, ...]] = []
        self._waiting: list[Mapping[str, Any]] = []
        self.extras = Extras()

    def __len__(self) -> int:
        self._take_waiting()
        return len(self._flags)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take a row as it stands in `per_query.jsonl`, in place of an earlier one for the same cell.

        It is read later: the caller must not change it any more.
        """
        self._waiting.append(row)
        if len(self._waiting) >= _BATCH:
            self._take_waiting()

    def _take_waiting(self) -> None:
        for row in self._waiting:
            self._take(row)
        self._waiting.clear()

    def _take(self, row: Mapping[str, Any]) -> None:
        slot = self._slot(row["question"], row["configuration"])
        metrics, ranking = row["metrics"], row["ranking"]
        errored = row.get("error") is not None
        names = () if errored else self.metric_names
        values = [_NAN if (value := metrics.get(name)) is None else value for name in names] or self._nulls
        self._metrics[slot * len(values) : (slot + 1) * len(values)] = array("d", values)
        self._set_timings(slot, row.get("timings") or {})
        flags = ERRORED * errored | COLD * bool(row.get("cold")) | CACHED * bool(row.get("cached"))
        self._flags[slot] = flags | (_shape(ranking) if not errored else 0)
        self._rankings[slot] = _fingerprint(ranking)
        matched = [ranked for ranked in ranking if ranked["matches"]]
        self._satisfied[slot] = _satisfied(matched)
        self._spans[slot] = _spans(matched)
        if not self.extras.empty or row.get("losses") is not None or not _TELLING.isdisjoint(row):
            self.extras.take(slot, row)

    def _slot(self, question: str, configuration: str) -> int:
        cells = self._slots.setdefault(configuration, {})
        slot = cells.setdefault(question, len(self._flags))
        if slot == len(self._flags):
            self._metrics.extend(self._nulls)
            for column in self._timings.values():
                column.append(_NAN)
            self._flags.append(0)
            self._rankings.append(0)
            self._satisfied.append(0)
            self._spans.append(())
        return slot

    def _set_timings(self, slot: int, timings: Mapping[str, float]) -> None:
        for stage in timings:
            if stage not in self._timings:
                self._timings[stage] = array("d", [_NAN]) * len(self._flags)
        for stage, column in self._timings.items():
            column[slot] = timings.get(stage, _NAN)

    def slots(self, questions: Sequence[str], configuration: str) -> NDArray[np.intp]:
        """Where the cells of one configuration stand, in the order of `questions`; `ABSENT` where there is no row."""
        self._take_waiting()
        cells = self._slots.get(configuration, {})
        return np.array([cells.get(question, ABSENT) for question in questions], dtype=np.intp)

    def metrics(self, slots: NDArray[np.intp]) -> NDArray[np.float64]:
        """Values of every metric, `(cells, metrics)`; NaN for null and for an absent row."""
        width = len(self.metric_names)
        if not len(self):
            return np.full((*slots.shape, width), np.nan)
        values = np.frombuffer(self._metrics).reshape(-1, width)[slots]
        values[slots == ABSENT] = np.nan
        return values

    def flagged(self, slots: NDArray[np.intp], flag: int) -> NDArray[np.bool_]:
        """Whether a row carries a flag (`ERRORED`, `COLD`, `CACHED`, `TIED`, `EMPTY`); false for an absent row."""
        if not len(self):
            return np.zeros(slots.shape, dtype=np.bool_)
        flags: NDArray[np.uint8] = np.frombuffer(self._flags, dtype=np.uint8)[slots]
        carried: NDArray[np.bool_] = (flags & flag) != 0
        carried[slots == ABSENT] = False
        return carried

    def rankings(self, slots: NDArray[np.intp]) -> NDArray[np.int64]:
        """Fingerprints of the rankings (chunks in order, not scores), good in this process; 0 for an absent row."""
        if not len(self):
            return np.zeros(slots.shape, dtype=np.int64)
        found = np.frombuffer(self._rankings, dtype=np.int64)[slots]
        return np.where(slots == ABSENT, np.int64(0), found)

    def satisfied(self, slots: NDArray[np.intp]) -> list[int]:
        """Gold sources that each ranking satisfied, as a bit mask over their indexes."""
        return [0 if slot == ABSENT else self._satisfied[slot] for slot in slots.tolist()]

    def spans(self, slots: NDArray[np.intp]) -> list[int]:
        """Pages covered by each matched chunk of all the rows, ascending."""
        return sorted(span for slot in slots.tolist() if slot != ABSENT for span in self._spans[slot])

    def timings(self, slots: NDArray[np.intp]) -> dict[str, NDArray[np.float64]]:
        """Stage, in sorted order, to the milliseconds of the rows that report it."""
        present = slots[slots != ABSENT]
        found = {}
        for stage in sorted(self._timings):
            values = np.frombuffer(self._timings[stage])[present]
            values = values[~np.isnan(values)]
            if values.size:
                found[stage] = values
        return found


def _shape(ranking: Sequence[Mapping[str, Any]]) -> int:
    """Whether a ranking is empty, or its first two scores are one."""
    if len(ranking) < 2:
        return 0 if ranking else EMPTY
    first, second = ranking[0].get("score"), ranking[1].get("score")
    return TIED if first is not None and second is not None and abs(first - second) <= TOLERANCE else 0


def _fingerprint(ranking: Sequence[Mapping[str, Any]]) -> int:
    """Equal for equal chunks in one order, be pages and headings tuples, as measured, or lists, as JSON has them."""
    try:
        return hash(tuple(map(_PLACE, ranking)))
    except (TypeError, KeyError):  # a row that was read, or one of before there were digests of texts
        return hash(tuple(map(_read_place, ranking)))


def _read_place(ranked: Mapping[str, Any]) -> tuple[Any, ...]:
    pages, heading = tuple(ranked["pages"] or ()) or None, tuple(ranked["heading"])
    return ranked["id"], ranked["file"], pages, heading, ranked.get("text_digest")


def _satisfied(matched: Iterable[Mapping[str, Any]]) -> int:
    mask = 0
    for ranked in matched:
        for source in ranked["matches"]:
            if source >= _SOURCES:
                raise ValueError(f"a chunk is said to match gold source {source}")
            mask |= 1 << source
    return mask


def _spans(matched: Iterable[Mapping[str, Any]]) -> tuple[int, ...]:
    return tuple(ranked["pages"][1] - ranked["pages"][0] + 1 for ranked in matched if ranked["pages"])
