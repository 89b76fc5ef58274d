"""All benchmarks in one run, and the page of their figures, docs/speed.md.

    python benchmarks/speed.py [--quick] [--write] [--only NAME ...]

Every benchmark runs in a process of its own, so that none sees another's memory; the peers of a comparison run in one,
in turn. `--quick` shrinks all of them to a minute or two, for trying them out, and its figures are not for the page.
Exit status 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Row, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PAGE = Path(__file__).resolve().parents[1] / "docs" / "speed.md"
BENCHMARKS = (
    "bench_statistics",
    "bench_attribution",
    "bench_metrics",
    "bench_bm25",
    "bench_inert",
    "bench_items",
    "bench_growth",
    "bench_chunks",
    "bench_factorial",
)
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "pytest", "pytrec-eval-terrier", "ir_measures", "ranx", "rank-bm25", "bm25s", "hnswlib")

OPENING = """\
# Speed

What `python benchmarks/speed.py --write` measured, which writes this page (extra `bench`); nothing is typed by hand.

A figure is the median of its repeats, with the least and the largest in parentheses; without them it was measured once.
Ratios come first, since another machine should show them too: peers run in turn (in one process, or in one each where
whole sessions are compared), and a ratio is taken within a repeat. Times are of the processor, on one thread, unless a
row says *wall*. No test asserts any of them.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's part of the page: its command, its title, what it does, its rows."""

    command: str
    title: str
    about: str
    rows: Sequence[Row]


def section(name: str, quick: bool) -> Section:
    """Run one benchmark in this process."""
    module = importlib.import_module(name)
    prose = [part for part in (module.__doc__ or "").split("\n\n") if not part.startswith("    ")]  # not its command
    about = " ".join(" ".join(prose).split()).partition(" Exit status")[0]
    return Section(f"{name}.py", module.TITLE, about, module.measure(quick=quick))


def sections(names: Iterable[str], *, quick: bool) -> Iterator[Section]:
    """Run each in a new process, one after the other."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    context = multiprocessing.get_context("spawn")
    for name in names:
        started = time.perf_counter()
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            found = pool.submit(section, name, quick).result()
        print(f"== {found.title} ({name}.py, {time.perf_counter() - started:.0f} s)", flush=True)
        yield found


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def page(found: Sequence[Section]) -> str:
    """Ratios by benchmark, then memory, then what was measured here."""
    parts = [OPENING, "## Ratios and shares\n"]
    for one in found:
        ratios = [row for row in one.rows if not row.unit]
        parts.append(f"### {one.title}\n")
        parts.append(f"{one.about} (`benchmarks/{one.command}`)\n")
        parts.append(
            table(["what", "ratio", "", "bound"], ([row.what, row.of, str(row.value), _bound(row)] for row in ratios))
        )
    memory = [row for one in found for row in one.rows if row.unit == "MB"]
    parts += ["## Memory\n", table(["what", "of", "MB", "bound"], _plain(memory))]
    parts += ["## As measured here\n", f"{_machine()}\n"]
    for one in found:
        held = [[row.what, name, figure, ""] for row in one.rows for name, figure in row.figures.items()]
        held = [cells for at, cells in enumerate(held) if cells not in held[:at]]
        held += [
            [row.what, row.of, f"{row.value} {row.unit}", _bound(row)] for row in one.rows if row.unit not in {"", "MB"}
        ]
        if held:
            parts += [f"### {one.title}, as measured\n", table(["what", "of", "figure", "bound"], held)]
    return "\n".join(parts)


def _plain(rows: Iterable[Row]) -> Iterator[list[str]]:
    for row in rows:
        yield [row.what, row.of, str(row.value), _bound(row)]


def _bound(row: Row) -> str:
    if row.bound is None:
        return ""
    return f"{row.bound}{': **missed**' if row.missed else ''}"


def _machine() -> str:
    tools = ", ".join(f"{package} {_version(package)}" for package in PACKAGES)
    return f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {tools}."


def _version(package: str) -> str:
    """Its version, or that it is not installed: a part of the benchmarks runs without it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(PAGE.parents[1])}")
    parser.add_argument(
        "--only", action="append", choices=BENCHMARKS, metavar="NAME", help="one benchmark, as bench_bm25"
    )
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or arguments.only):
        parser.error("the page holds all benchmarks at their full size; leave --quick and --only out")
    found, missed = [], 0
    for one in sections(arguments.only or BENCHMARKS, quick=arguments.quick):
        missed |= told(one.rows)
        found.append(one)
    if arguments.write:
        PAGE.write_text(page(found), encoding="utf-8")
    return missed


if __name__ == "__main__":
    sys.exit(main())
