"""Claims about the page of speed: how its figures are made of repeats, and that it holds every benchmark.

No test asserts seconds; see benchmarks/speed.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def measuring():
    return imported("measuring")


@pytest.fixture(scope="module")
def speed():
    return imported("speed")


def imported(name):
    """A module of benchmarks/ as its own scripts import it."""
    sys.path.insert(0, str(FOLDER))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(FOLDER))


def test_a_ratio_is_taken_within_a_repeat(measuring):
    # 4/2, 6/2, 20/4: median 3, from 2 to 5; of the medians it would be 6/2 as well, of the means 10/2.67
    (row,) = measuring.versus("n", {"ours": [2.0, 2.0, 4.0], "peer": [4.0, 6.0, 20.0]}, scale=1.0, unit="s")
    assert (row.of, row.value) == ("peer / ours", measuring.Spread(3.0, 2.0, 5.0, 3))
    assert row.figures == {"ours": "2.00 (2.00 … 4.00) s", "peer": "6.00 (4.00 … 20.0) s"}


def test_a_cost_is_ours_by_the_peer(measuring):
    (row,) = measuring.versus("n", {"ours": [3.0], "plain": [2.0]}, cost=True)
    assert (row.of, str(row.value)) == ("ours / plain", "1.50")


@pytest.mark.parametrize(("figure", "missed"), [(49.9, True), (50.0, False)])
def test_a_missed_bound_is_told_and_is_the_exit_status(measuring, capsys, figure, missed):
    row = measuring.Row("n", "peer / ours", measuring.Spread.of([figure]), bound=measuring.Bound(least=50.0))
    assert measuring.told([row]) == int(missed)
    assert ("MISSED" in capsys.readouterr().out) is missed


def test_a_peak_keeps_what_is_held_no_longer(measuring):
    before = measuring.held()
    block = bytearray(b"x" * (64 << 20))
    assert measuring.held() >= before + 60
    del block
    assert measuring.peak() >= before + 60
    assert measuring.held() <= measuring.peak()


def test_peers_by_whole_sessions_run_on_one_thread_with_their_byte_code_kept(measuring, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = measuring.environment(tmp_path)
    assert (found["OMP_NUM_THREADS"], found["PYTHONPYCACHEPREFIX"]) == ("1", str(tmp_path))
    assert "PYTHONDONTWRITEBYTECODE" not in found


def test_the_page_shows_ratios_then_memory_then_times(speed, measuring):
    spread = measuring.Spread.of([2.0])
    rows = [
        measuring.Row("n", "a question", spread, "ms"),
        measuring.Row("n", "peak", spread, "MB", measuring.Bound(most=1.0)),
        measuring.Row("n", "peer / ours", spread, figures={"ours": "1 s"}),
    ]
    text = speed.page([speed.Section("bench_x.py", "X", "What x does.", rows)])
    wanted = ["| n | peer / ours | 2.00 |", "| n | peak | 2.00 | at most 1.00: **missed** |", "| n | ours | 1 s |"]
    wanted += ["| n | a question | 2.00 ms |"]
    assert [text.index(line) for line in wanted] == sorted(text.index(line) for line in wanted)


def test_every_benchmark_is_in_the_run_and_on_the_page(speed):
    assert set(speed.BENCHMARKS) == {path.stem for path in FOLDER.glob("bench_*.py")}
    text = speed.PAGE.read_text(encoding="utf-8")
    assert [name for name in speed.BENCHMARKS if f"`benchmarks/{name}.py`" not in text] == []
    assert text.startswith(speed.OPENING)
