"""What bench items cost against as many plain parametrized ones: whole sessions in processes of their own, interleaved.

    python benchmarks/bench_items.py [--repeats N] [--sizes 3500,32000]

The pipeline answers from memory, so that everything but the search is measured: questions, items, rows, the record, the
summary and the report. Wall and processor time and peak memory, of the session and of `--collect-only`. Exit status 1
above the bound.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measuring import Bound, Row, Session, session, told, versus
from projects import write_project

TITLE = "Items"
BOUND = Bound(most=1.5)
QUESTIONS = 500
SIZES = (3_500, 32_000)
ITEMS = 24_500
"""Items that are run of a small size at least: its sessions are short, and differ by a tenth."""

CONFTEST = """
import pytest
from pytest_ragbench import Chunk

RANKING = [Chunk(f"notes/{{n}}.md", id=f"chunk-{{n}}", score=1.0 / (n + 1)) for n in range({depth})]

@pytest.fixture(scope="session")
def rag_pipeline():
    return lambda query, **overrides: RANKING
"""

PLAIN = """
import pytest

@pytest.fixture(scope="session")
def answers():
    return {{}}

@pytest.mark.parametrize("row", [f"c{{c}}-lex-{{q:05d}}" for q in range({questions}) for c in range({configurations})])
def test_question(row, answers):
    assert row not in answers
"""


def write_bench(folder: Path, configurations: int, depth: int) -> None:
    """A project of `QUESTIONS` questions and so many configurations."""
    arms = "".join(f"  c{n}: {{overrides: {{n: {n}}}}}\n" for n in range(configurations))
    files = [n % 20 for n in range(QUESTIONS)]
    write_project(folder, files, configs=f"configurations:\n{arms}", conftest=CONFTEST.format(depth=depth))


def compare(folder: Path, configurations: int, *, depth: int, repeats: int) -> list[Row]:
    """The comparison at one size."""
    bench, plain = folder / f"bench{configurations}", folder / f"plain{configurations}"
    write_bench(bench, configurations, depth)
    plain.mkdir()
    (plain / "test_plain.py").write_text(
        PLAIN.format(questions=QUESTIONS, configurations=configurations), encoding="utf-8"
    )
    named = "--rag-configs=" + ",".join(f"c{n}" for n in range(configurations))
    session(bench, "-m", "c0 and T1 and books")  # compiles what it imports
    rows = []
    for title, extra in (("session", ()), ("--collect-only", ("--collect-only", "-q"))):
        found: dict[str, list[Session]] = {"ours": [], "plain": []}
        for _ in range(repeats):
            found["ours"].append(session(bench, named, *extra))
            found["plain"].append(session(plain, *extra))
        what = f"{QUESTIONS * configurations:,} items, {title}"
        for measured, bound in (("wall", {"plain": BOUND}), ("processor", {})):
            taken = {name: [getattr(one, measured) for one in runs] for name, runs in found.items()}
            rows += versus(f"{what}, {measured} time", taken, scale=1.0, unit="s", bounds=bound, cost=True)
        taken = {name: [one.peak for one in runs] for name, runs in found.items()}
        rows += versus(f"{what}, peak memory", taken, scale=1.0, unit="MB", cost=True)
    return rows


def measure(*, quick=False, sizes=SIZES, depth=10, repeats=2):
    found = []
    with tempfile.TemporaryDirectory() as name:
        for size in sizes[:1] if quick else sizes:
            often = 1 if quick else max(repeats, ITEMS // size)
            found += compare(Path(name), size // QUESTIONS, depth=depth, repeats=often)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help=f"numbers of items, multiples of {QUESTIONS}"
    )
    parser.add_argument("--depth", type=int, default=10, help="chunks that every search returns")
    arguments = parser.parse_args()
    sizes = tuple(int(size) for size in arguments.sizes.split(","))
    return told(measure(sizes=sizes, depth=arguments.depth, repeats=arguments.repeats))


if __name__ == "__main__":
    sys.exit(main())
