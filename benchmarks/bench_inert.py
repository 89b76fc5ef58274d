"""What the plugin costs a session that never asks for it: whole-process time with it and without, interleaved.

    python benchmarks/bench_inert.py [--repeats N]

Exit status 1 when the median ratio of wall times is above the bound.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import UNRELATED, Bound, Row, environment, told, versus

TITLE = "A session that never asks"
BOUND = Bound(most=1.05)
OTHERS = (*UNRELATED, "-p", "no:timeout", "-p", "no:rerunfailures", "-p", "no:xdist", "-p", "no:cacheprovider")
"""Plugins of the environment that would hide our share behind theirs."""

REPEATS = 60
"""Pairs: processes of a fifth of a second differ by more than the bound, one from the next."""

SESSIONS = {"pytest --version": ("--version",), "one unrelated test": ("-q", "test_other.py")}


def seconds(folder: Path, *args: str) -> tuple[float, float]:
    """Wall-clock and processor time of one process from start to end."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "pytest", *OTHERS, *args]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, cwd=folder, check=True, env=environment(folder / "compiled"), **quiet)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent


def pairs(folder: Path, args: tuple[str, ...], repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Both kinds of process in turn, the first of each pair alternating, after one discarded pair."""
    kinds = {"with the plugin": args, "without": ("-p", "no:ragbench", *args)}
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for repeat in range(repeats + 1):
        for kind in sorted(kinds, reverse=bool(repeat % 2)):
            spent = seconds(folder, *kinds[kind])
            if repeat:
                found[kind].append(spent)
    return found


def measure(*, quick=False, repeats=REPEATS) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
        for title, args in SESSIONS.items():
            found = pairs(folder, args, 3 if quick else repeats)
            for at, (what, bounds) in enumerate((("wall", {"without": BOUND}), ("processor", {}))):
                taken = {kind: [one[at] for one in runs] for kind, runs in found.items()}
                rows += versus(f"{title}, {what} time", taken, ours="with the plugin", bounds=bounds, cost=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    return told(measure(repeats=parser.parse_args().repeats))


if __name__ == "__main__":
    sys.exit(main())
