"""Growth in questions x configurations: what a session costs after its last row, and how much memory it holds.

    python benchmarks/bench_growth.py [--repeats N] [--sizes 500x7,5000x7,500x64,50000x2]

Whole sessions in processes of their own, on a pipeline that answers from memory: all but the search is measured.
7 configurations are a ladder, 64 a factorial of six factors (pairs, tests and Shapley values of all), 2 a pair; ten
questions share a gold file. `after the last row` is from the last item's report to the printed summary: statistics, the
sorted record, the report. Exit status 1 above a bound.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from measuring import Bound, Row, Spread, session, told
from projects import write_project

TITLE = "Growth in questions x configurations"
SIZES = ("500x7", "5000x7", "500x64", "50000x2")
SHARE, MEGABYTES = Bound(most=0.1), Bound(most=600.0)
BOUNDED = "500x64"
REPEATED = ("500x7", BOUNDED)
"""The others run once; they take minutes."""

FACTORS = "abcdef"

CONFTEST = """
import json, time
from zlib import crc32
import pytest
from pytest_ragbench import Chunk

CHUNKS = [Chunk(f"notes/{{n}}.md", id=f"chunk-{{n}}", score=1.0 / (n + 1)) for n in range({files} + 30)]
MARKS = {{}}

@pytest.fixture(scope="session")
def rag_pipeline():
    def search(query, **factors):  # the gold file is among the ten, or some ranks too deep; a factor helps a little
        file = int(query.split()[3]) // 10
        depth = crc32(f"{{query}}{{sorted(factors)}}".encode()) % 24 - sum(map(bool, factors.values()))
        start = file + 15 - max(depth, 0) % 16
        return CHUNKS[start : start + 10]
    return search

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.when == "teardown":
        MARKS["last row"] = time.process_time()

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary():
    yield
    MARKS["summary"] = time.process_time()
    with open("marks.json", "w") as file:
        json.dump(MARKS, file)
"""


def configurations(count: int) -> tuple[str, str]:
    """The text of configs.yaml, and what to ask for."""
    names = FACTORS[: max(1, min(count, 7) - 1)]
    lines = ["defaults:", *(f"  {name}: false" for name in names)]
    lines += ["factors:", *(f"  {name}: {{{name}: true}}" for name in names)]
    if count == 2 ** len(FACTORS):
        return "\n".join([*lines, ""]), "factorial"
    rungs = [f"  - {{name: R{n}, factors: [{', '.join(names[:n])}]}}" for n in range(count)]
    return "\n".join([*lines, "ladder:", *rungs, ""]), "ladder"


def write_sized(folder: Path, questions: int, count: int) -> str:
    """A project of that size; the value of `--rag-configs`."""
    text, asked = configurations(count)
    files = [n // 10 + 15 for n in range(questions)]
    write_project(folder, files, configs=text, conftest=CONFTEST.format(files=questions // 10 + 1))
    return asked


def of_size(folder: Path, size: str, repeats: int) -> list[Row]:
    questions, count = map(int, size.split("x"))
    project = folder / size
    asked = write_sized(project, questions, count)
    shares, seconds, ends, peaks = [], [], [], []
    for _ in range(repeats):
        one = session(project, f"--rag-configs={asked}")
        marks = json.loads((project / "marks.json").read_text(encoding="utf-8"))
        ends.append(marks["summary"] - marks["last row"])
        shares.append(ends[-1] / one.processor)
        seconds.append(one.processor)
        peaks.append(one.peak)
    what = f"{questions:,} x {count} = {questions * count:,} rows"
    bound, most = (SHARE, MEGABYTES) if size == BOUNDED else (None, None)
    figures = {
        "session": f"{Spread.of(seconds)} s",
        "after the last row": f"{Spread.of(ends)} s",
        "a row": f"{Spread.of(one / questions / count * 1000 for one in seconds)} ms",
    }
    return [
        Row(what, "after the last row / session", Spread.of(shares), bound=bound, figures=figures),
        Row(what, "peak", Spread.of(peaks), "MB", most),
    ]


def measure(*, quick=False, sizes=SIZES, repeats=2):
    sizes, repeats = (sizes[:1], 1) if quick else (sizes, repeats)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = write_sized(folder / "first", 10, 2)
        session(folder / "first", f"--rag-configs={asked}")  # compiles what it imports
        return [row for size in sizes for row in of_size(folder, size, repeats if size in REPEATED else 1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--sizes", default=",".join(SIZES), help="questions x configurations: 2 to 7, or 64")
    arguments = parser.parse_args()
    return told(measure(sizes=tuple(arguments.sizes.split(",")), repeats=arguments.repeats))


if __name__ == "__main__":
    sys.exit(main())
