"""What all benchmarks share: repeats and their spread, peak memory, one row a comparison, and how rows are printed.

Peers run in turn, repeat by repeat, in one process; a ratio is taken within a repeat, so that whatever slows the
machine slows both. Times are of the processor unless a row says otherwise.
"""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and largest of some repeats."""

    median: float
    low: float
    high: float
    repeats: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of some repeats, at least one."""
        found = list(values)
        return cls(statistics.median(found), min(found), max(found), len(found))

    def __str__(self) -> str:
        if self.repeats == 1:
            return short(self.median)
        return f"{short(self.median)} ({short(self.low)} … {short(self.high)})"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a median must keep."""

    least: float | None = None
    most: float | None = None

    def keeps(self, value: Spread) -> bool:
        """Whether the median keeps it."""
        return (self.least is None or value.median >= self.least) and (self.most is None or value.median <= self.most)

    def __str__(self) -> str:
        return f"at least {short(self.least)}" if self.least is not None else f"at most {short(self.most)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what was measured, of what it is a figure, in which unit, and the times that it was made of.

    Attributes:
        what: The workload, as `640 columns`.
        of: What the figure says, as `scipy / ours`.
        value: The figure.
        unit: Empty for a ratio or a share, which another machine should show too; else `ms`, `us`, `MB`.
        bound: What it must keep, or None.
        figures: Name to spread with unit, as measured on this machine.
    """

    what: str
    of: str
    value: Spread
    unit: str = ""
    bound: Bound | None = None
    figures: Mapping[str, str] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """Whether there is a bound that the figure does not keep."""
        return self.bound is not None and not self.bound.keeps(self.value)

    def __str__(self) -> str:
        bound = "" if self.bound is None else f" [{self.bound}{': MISSED' if self.missed else ''}]"
        told = "".join(f"; {name} {figure}" for name, figure in self.figures.items())
        return f"{self.what}: {self.of} {self.value}{' ' if self.unit else ''}{self.unit}{bound}{told}"


def short(value: float | None) -> str:
    """Three digits that count, and no exponent."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 or not value else 4}f}"


def versus(
    what: str,
    peers: Mapping[str, Sequence[float]],
    *,
    ours: str = "ours",
    scale: float = 1000.0,
    unit: str = "ms",
    bounds: Mapping[str, Bound] | None = None,
    cost: bool = False,
) -> list[Row]:
    """A row for each peer: how many times as long it takes as we do; with `cost`, we as it.

    Args:
        what: The workload.
        peers: Name to seconds of each repeat, ours among them.
        ours: The name of ours.
        scale: Seconds to the unit that is shown.
        unit: That unit.
        bounds: By name of peer.
        cost: Whether the ratio is ours / peer.
    """
    rows = []
    for name, seconds in peers.items():
        if name == ours:
            continue
        pairs = list(zip(peers[ours], seconds, strict=True))
        ratio = Spread.of(mine / theirs if cost else theirs / mine for mine, theirs in pairs)
        figures = {side: f"{Spread.of(one * scale for one in peers[side])} {unit}" for side in (ours, name)}
        of = f"{ours} / {name}" if cost else f"{name} / {ours}"
        rows.append(Row(what, of, ratio, bound=(bounds or {}).get(name), figures=figures))
    return rows


def in_turn(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Processor seconds of every call in every repeat, side by side.

    What a call returns is let go before the next begins: a collector that walks one peer's results in the midst of
    another's work would charge them to the other.
    """
    spent: dict[str, list[float]] = {name: [] for name in calls}
    gc.collect()
    gc.freeze()
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.process_time()
            returned = call()
            spent[name].append(time.process_time() - started)
            del returned
            gc.collect()
    gc.unfreeze()
    return spent


def peak() -> float:
    """Most memory that this process has held, MB; by the kernel's own mark where it has one, since that begins anew."""
    return _of_kernel("VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def held() -> float:
    """Memory that this process holds now, MB, to measure a peak above; the peak so far without a kernel's mark."""
    return _of_kernel("VmRSS:") or peak()


def _of_kernel(mark: str) -> float | None:
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(mark):
                return int(line.split()[1]) / 1024.0
    return None


@dataclass(frozen=True, slots=True)
class Session:
    """One pytest process from start to end: wall and processor time (s), peak memory (MB)."""

    wall: float
    processor: float
    peak: float


UNRELATED = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:platformdirs")
"""Without plugins of the environment that would stand between."""


def environment(compiled: Path) -> dict[str, str]:
    """Of a pytest process on one thread; its byte code is kept between processes, as an installed package's is."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(compiled), "OMP_NUM_THREADS": "1"}


def session(folder: Path, *args: str) -> Session:
    """Run pytest in a folder, its output thrown away."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", *UNRELATED, *args]
    settings = environment(folder.parent / "compiled")
    with subprocess.Popen(command, cwd=folder, env=settings, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} in {folder}: exit status {process.returncode}")
    spent = usage.ru_utime + usage.ru_stime
    return Session(time.perf_counter() - started, spent, usage.ru_maxrss / 1024)


def told(rows: Iterable[Row]) -> int:
    """Print the rows; the exit status: 1 when a bound is missed."""
    missed = 0
    for row in rows:
        print(row, flush=True)
        missed |= row.missed
    return int(missed)
