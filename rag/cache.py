"""What was computed once: bounded memory, a file for pairs and embeddings, and the meter that charges a search for it.

A stage is keyed by its name, implementation, parameters and inputs. A stage that is answered from here is charged the
time it took the first time, and named. What raised is never kept.
"""

from __future__ import annotations

import math
import sqlite3
import struct
import time
import zlib
from collections import OrderedDict
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rag.errors import RagError
from rag.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")
V = TypeVar("V")
_MANY = 500  # parameters of one SQL statement


class Memo:
    """The most recently used values, up to a total weight (1 each unless told)."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._weight = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """The value, or None; it becomes the most recent."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Hashable, value: Any, weight: int = 1) -> None:
        """Keep a value; the oldest make room. A value heavier than everything is not kept."""
        self._weight -= self._entries.pop(key, (None, 0))[1]
        if weight > self._capacity:
            return
        self._entries[key] = (value, weight)
        self._weight += weight
        while self._weight > self._capacity:
            _, (_, dropped) = self._entries.popitem(last=False)
            self._weight -= dropped

    def __len__(self) -> int:
        return len(self._entries)


class Shelf(Protocol[V]):
    """Where one value of a stage outlives the process."""

    def take(self) -> tuple[V, float] | None:
        """The value and the milliseconds that it took the first time, if it is there."""

    def put(self, value: V, ms: float) -> None:
        """Keep them."""


class Meter:
    """The bill of one search: milliseconds by stage, what was cached, what had to be loaded first.

    Args:
        memo: What other searches left; one of capacity 0 remembers nothing, and the stages of one search still share.
        own: What this search has computed or looked up already, and paid for.
    """

    def __init__(self, memo: Memo, own: Mapping[tuple[Hashable, ...], Any] | None = None) -> None:
        self._memo = memo
        self._depth = 0
        self._own = dict(own or {})
        self.timings: dict[str, float] = {}
        self.cached: list[str] = []

    @property
    def cold(self) -> bool:
        """Whether something was built or loaded."""
        return "load" in self.timings

    def charge(self, stage: str, ms: float, *, cached: bool = False) -> None:
        """Add to a stage's time."""
        self.timings[stage] = self.timings.get(stage, 0.0) + ms
        if cached and stage not in self.cached:
            self.cached.append(stage)

    def aside(self) -> Meter:
        """A bill of its own over the same memory: what is computed for a report alone is on nobody's."""
        return Meter(self._memo, self._own)

    @contextmanager
    def billed_as(self, stage: str, other: str) -> Iterator[Meter]:
        """A meter whose charges to one stage are this one's to another: a scorer need not know whom it serves."""
        part = self.aside()
        yield part
        for name, ms in part.timings.items():
            self.charge(other if name == stage else name, ms, cached=name in part.cached)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Charge the block to a stage, without what it spends in `loading`."""
        with self._clock() as ms:
            yield
        self.charge(stage, ms())

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Charge the block to `load`, and to nothing else; loading within loading counts once."""
        self._depth += 1
        started = time.perf_counter()
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self.charge("load", (time.perf_counter() - started) * 1000)

    def stage(self, name: str, key: tuple[Hashable, ...], compute: Callable[[], T], shelf: Shelf[T] | None = None) -> T:
        """The stage's value for this key, computed at most once as long as it is remembered or on its shelf."""
        full = (name, *key)
        if full in self._own:  # two stages of one search may share a third, which is paid for once
            return self._own[full]  # type: ignore[no-any-return]  # the memo holds values of any stage
        known: tuple[T, float] | None = self._memo.get(full)
        if known is None and shelf is not None:
            known = shelf.take()
        cached = known is not None
        if known is None:
            with self._clock() as elapsed:
                value = compute()
            known = value, elapsed()
            if shelf is not None:
                shelf.put(*known)
        self._memo.put(full, known)
        self._own[full], ms = known
        self.charge(name, ms, cached=cached)
        return known[0]

    @contextmanager
    def _clock(self) -> Iterator[Callable[[], float]]:
        loaded = self.timings.get("load", 0.0)
        started = time.perf_counter()
        stopped: list[float] = []
        yield lambda: stopped[0]
        wall = (time.perf_counter() - started) * 1000
        stopped.append(max(0.0, wall - (self.timings.get("load", 0.0) - loaded)))


class Lazy(Generic[T]):
    """Something that is built or loaded when a search first needs it, on that search's bill.

    Args:
        open_it: Builds or loads it.
        refusal: The error that says that it cannot be had in this process: from then on it is raised at once.
    """

    def __init__(self, open_it: Callable[[], T], refusal: type[Exception] | tuple[()] = ()) -> None:
        self._open = open_it
        self._refusal = refusal
        self._refused: Exception | None = None
        self._value: T | None = None

    def get(self, meter: Meter) -> T:
        """The thing itself."""
        if self._refused is not None:
            raise type(self._refused)(*self._refused.args)  # one that was raised before would drag its frames along
        if self._value is None:
            try:
                with meter.loading():
                    self._value = self._open()
            except self._refusal as error:
                self._refused = error.with_traceback(None)
                raise
        return self._value

    @property
    def loaded(self) -> T | None:
        """The thing if it has been loaded, else None."""
        return self._value


class DiskCache:
    """Digests to bytes in one SQLite file: safe against crashes and several processes, checked at every read.

    A damaged file, or one that has grown beyond `max_bytes`, is begun anew: what it held can be computed again. One
    that somebody holds for longer than `wait_s` is done without from then on, so that no search waits for it again.
    """

    def __init__(self, path: Path, max_bytes: int = 4 * 2**30, wait_s: float = 60.0) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._wait_s = wait_s
        self._held = False

    def known(self, keys: Sequence[str]) -> set[str]:
        """Which keys are there; their values are not read."""
        return {key for (key,) in self._select("key", keys)}

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The values that are there and whose check sum is right."""
        found = self._select("key, value, crc", keys)
        return {key: value for key, value, crc in found if isinstance(value, bytes) and zlib.crc32(value) == crc}

    def put_many(self, items: dict[str, bytes]) -> None:
        """Keep values; they are on disk when this returns."""
        if not items or self._held:
            return
        rows = [(key, value, zlib.crc32(value)) for key, value in items.items()]
        with suppress(OSError, sqlite3.Error):  # a cache that cannot be written costs time, not results
            if self._path.exists() and self._path.stat().st_size > self._max_bytes:
                self._discard()
            try:
                self._write(rows)
            except sqlite3.DatabaseError as error:
                if self._mend(error):
                    self._write(rows)

    def _select(self, columns: str, keys: Sequence[str]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        if not keys or self._held or not self._path.exists():
            return found
        try:
            with closing(self._connect()) as connection:
                for start in range(0, len(keys), _MANY):
                    part = keys[start : start + _MANY]
                    marks = ",".join("?" * len(part))
                    statement = f"SELECT {columns} FROM cache WHERE key IN ({marks})"  # noqa: S608 only names and marks
                    found.extend(connection.execute(statement, part))
        except sqlite3.DatabaseError as error:
            with suppress(OSError):
                self._mend(error)
        return found

    def _mend(self, error: sqlite3.DatabaseError) -> bool:
        """Whether the file was the fault, and is gone; a disk that is full or cannot be read is none of its."""
        name = getattr(error, "sqlite_errorname", "")
        self._held = name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
        # A plain error is one of the statement, which fits every table that was made here.
        damaged = not isinstance(error, sqlite3.OperationalError) or name == "SQLITE_ERROR"
        if damaged:
            self._discard()
        return damaged

    def _write(self, rows: list[tuple[str, bytes, int]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._connect()) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO cache VALUES (?, ?, ?)", rows)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=self._wait_s)
        try:
            # A crash of the process loses nothing; one of the machine at worst the file, which can be made again.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA page_size = 16384")  # token vectors take 100 kB a value
            connection.execute("CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value BLOB, crc INTEGER)")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _discard(self) -> None:
        for suffix in ("", "-journal"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


class PairScores:
    """Scores of (model, question, text) pairs. Pools differ between arms of an experiment, while pairs repeat."""

    def __init__(self, disk: DiskCache | None = None, capacity: int = 50_000) -> None:
        self._memory = Memo(capacity)
        self._disk = disk

    def scores(
        self,
        implementation: tuple[str, ...],
        query: str,
        texts: Sequence[str],
        compute: Callable[[Sequence[str]], Sequence[tuple[float, float]]],
        meter: Meter,
    ) -> list[float]:
        """One score a text; the stage `rerank` is charged each pair's first, real time.

        Args:
            implementation: Name, version and model digest of the scorer.
            query: The question.
            texts: Passages, which may repeat.
            compute: Takes the distinct texts that no cache knows and returns (score, ms) for each.
            meter: The bill of this search.

        Raises:
            RagError: A score is NaN or infinite; nothing of the batch is kept.
        """
        keys = {text: digest([*implementation, query, text]) for text in texts}
        known = self._known(list(keys.values()))
        missing = [text for text, key in keys.items() if key not in known]
        if missing:
            fresh = {keys[text]: pair for text, pair in zip(missing, compute(missing), strict=True)}
            if not all(math.isfinite(score) for score, _ in fresh.values()):
                raise RagError(f"rerank {implementation[0]!r} gave a score that is no number; its model is broken")
            self._keep(fresh)
            known |= fresh
        meter.charge("rerank", sum(known[key][1] for key in keys.values()), cached=len(missing) < len(keys))
        return [known[keys[text]][0] for text in texts]

    def _known(self, keys: list[str]) -> dict[str, tuple[float, float]]:
        known = {key: pair for key in keys if (pair := self._memory.get(key)) is not None}
        if self._disk is None:
            return known
        for key, value in self._disk.get_many([key for key in keys if key not in known]).items():
            known[key] = struct.unpack("<dd", value)
            self._memory.put(key, known[key])
        return known

    def _keep(self, pairs: dict[str, tuple[float, float]]) -> None:
        for key, pair in pairs.items():
            self._memory.put(key, pair)
        if self._disk is not None:
            self._disk.put_many({key: struct.pack("<dd", *pair) for key, pair in pairs.items()})


def in_batches(
    predict: Callable[[Sequence[str]], Sequence[float]], texts: Sequence[str], size: int
) -> list[tuple[float, float]]:
    """(score, ms) of each text, for `PairScores`: batches of like length, so that little is padded.

    A batch's time is shared evenly.
    """
    pairs: dict[str, tuple[float, float]] = {}
    by_length = sorted(texts, key=len)
    for start in range(0, len(by_length), size):
        batch = by_length[start : start + size]
        started = time.perf_counter()
        scores = predict(batch)
        share = (time.perf_counter() - started) * 1000 / len(batch)
        pairs |= {text: (score, share) for text, score in zip(batch, scores, strict=True)}
    return [pairs[text] for text in texts]
