"""What bench items cost against as many plain parametrized ones: whole sessions in processes of their own, interleaved.

    python benchmarks/bench_items.py [--repeats N] [--sizes 3500,32000]

The pipeline answers from memory, so that everything but the search is measured: questions, items, rows, the record, the
summary and the report. Prints wall time, `--collect-only` time and peak memory, with ratios; exit status 1 above the
bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BOUND = 1.5
QUESTIONS = 500
CALM = ("-q", "-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:platformdirs")

CONFTEST = """
import pytest
from pytest_ragbench import Chunk

RANKING = [Chunk(f"notes/{{n}}.md", id=f"chunk-{{n}}", score=1.0 / (n + 1)) for n in range({depth})]

@pytest.fixture(scope="session")
def rag_pipeline():
    return lambda query, **overrides: RANKING
"""

RECORD = """\
- id: lex-{n:04d}
  question: What does note {n} say of the matter?
  suite: {suite}
  tier: T{tier}
  split: dev
  answerable: true
  gold:
  - file: notes/{note}.md
"""

PLAIN = """
import pytest

@pytest.fixture(scope="session")
def answers():
    return {{}}

@pytest.mark.parametrize("row", [f"c{{c}}-lex-{{q:04d}}" for q in range({questions}) for c in range({configurations})])
def test_question(row, answers):
    assert row not in answers
"""


def write_bench(folder: Path, configurations: int, depth: int) -> None:
    """A project of `QUESTIONS` questions and so many configurations."""
    (folder / "golden" / "sets").mkdir(parents=True)
    records = [
        RECORD.format(n=n, note=n % 20, suite="lexical" if n % 2 else "books", tier=n % 4 + 1) for n in range(QUESTIONS)
    ]
    (folder / "golden" / "sets" / "set.yaml").write_text("".join(records), encoding="utf-8")
    arms = "".join(f"  c{n}: {{overrides: {{n: {n}}}}}\n" for n in range(configurations))
    (folder / "golden" / "configs.yaml").write_text(f"configurations:\n{arms}", encoding="utf-8")
    (folder / "golden" / "test_golden.py").write_text(
        "def test_question(rag_row):\n    rag_row.check()\n", encoding="utf-8"
    )
    (folder / "conftest.py").write_text(CONFTEST.format(depth=depth), encoding="utf-8")


def session(folder: Path, *args: str) -> dict[str, float]:
    """Wall time, processor time (s) and peak memory (MB) of one pytest process; byte code is kept between them."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "pytest", *CALM, *args]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder.parent / "compiled"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} in {folder}: exit status {process.returncode}")
    spent = usage.ru_utime + usage.ru_stime
    return {"wall s": time.perf_counter() - started, "processor s": spent, "peak MB": usage.ru_maxrss / 1024}


def compare(folder: Path, configurations: int, *, depth: int, repeats: int) -> float:
    """Print the comparison at one size; the worst ratio of wall times."""
    bench, plain = folder / f"bench{configurations}", folder / f"plain{configurations}"
    write_bench(bench, configurations, depth)
    plain.mkdir()
    (plain / "test_plain.py").write_text(
        PLAIN.format(questions=QUESTIONS, configurations=configurations), encoding="utf-8"
    )
    named = "--rag-configs=" + ",".join(f"c{n}" for n in range(configurations))
    session(bench, "-m", "c0 and T1 and books")  # compiles what it imports
    worst = 0.0
    for title, extra in (("session", ()), ("--collect-only", ("--collect-only", "-q"))):
        found: dict[str, list[dict[str, float]]] = {"bench": [], "plain": []}
        for _ in range(repeats):
            found["bench"].append(session(bench, named, *extra))
            found["plain"].append(session(plain, *extra))
        for what in ("wall s", "processor s", "peak MB"):
            medians = {kind: statistics.median(one[what] for one in runs) for kind, runs in found.items()}
            ratio = medians["bench"] / medians["plain"]
            worst = max(worst, ratio if what == "wall s" else 0.0)
            print(
                f"{QUESTIONS * configurations:,} items, {title}, {what}: bench {medians['bench']:.2f}, "
                f"plain {medians['plain']:.2f}, ratio {ratio:.2f}",
                flush=True,
            )
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sizes", default="3500,32000", help=f"numbers of items, multiples of {QUESTIONS}")
    parser.add_argument("--depth", type=int, default=10, help="chunks that every search returns")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        sizes = [int(size) // QUESTIONS for size in arguments.sizes.split(",")]
        worst = max(compare(Path(name), size, depth=arguments.depth, repeats=arguments.repeats) for size in sizes)
    print(f"worst ratio of wall times {worst:.2f}, bound {BOUND}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
