"""What the plugin costs a session that never asks for it: whole-process time with it and without, interleaved.

    python benchmarks/bench_inert.py [--repeats N]

Prints medians and their ratio; exit status 1 when the ratio is above the bound.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOUND = 1.05
OTHERS = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:platformdirs")
OTHERS += ("-p", "no:timeout", "-p", "no:rerunfailures", "-p", "no:xdist", "-p", "no:cacheprovider")
"""Plugins of the environment that would hide our share behind theirs."""

SESSIONS = {"pytest --version": ("--version",), "one unrelated test": ("-q", "test_other.py")}


def environment(folder: Path) -> dict[str, str]:
    """Byte code is kept between processes, as an installed package's is."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def seconds(folder: Path, *args: str) -> tuple[float, float]:
    """Wall-clock and processor time of one process from start to end."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "pytest", *OTHERS, *args]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, cwd=folder, check=True, env=environment(folder), **quiet)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent


def measure(folder: Path, args: tuple[str, ...], repeats: int) -> dict[str, list[tuple[float, float]]]:
    """Both kinds of process in turn, the first of each pair alternating, after one discarded pair."""
    kinds = {"with": args, "without": ("-p", "no:ragbench", *args)}
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for repeat in range(repeats + 1):
        for kind in sorted(kinds, reverse=bool(repeat % 2)):
            spent = seconds(folder, *kinds[kind])
            if repeat:
                found[kind].append(spent)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
        for title, args in SESSIONS.items():
            found = measure(folder, args, repeats)
            for what, at in (("wall", 0), ("processor", 1)):
                medians = {kind: statistics.median(pair[at] for pair in pairs) for kind, pairs in found.items()}
                ratio = medians["with"] / medians["without"]
                worst = max(worst, ratio if what == "wall" else 0.0)
                print(
                    f"{title}, {what} time: with {1000 * medians['with']:.1f} ms, "
                    f"without {1000 * medians['without']:.1f} ms, ratio {ratio:.3f} ({repeats} each)"
                )
    print(f"worst ratio of wall times {worst:.3f}, bound {BOUND}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
