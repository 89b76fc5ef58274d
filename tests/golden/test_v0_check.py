"""The required check over the 500 questions, as a pull request meets it: green as committed, red when a lane is lost."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def check(folder, *args):
    return subprocess.run(
        [sys.executable, "-m", "pytest", str(folder), "-q", "--rag-gate", *args],
        cwd=folder.parents[1],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_committed_lanes_hold_the_committed_baseline(tmp_path):
    done = check(ROOT / "golden" / "v0", f"--rag-runs-dir={tmp_path}")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Gate passed: 3 numbers judged." in done.stdout


def test_a_lane_that_is_lost_is_red_and_named_by_the_metrics_it_carried(tmp_path):
    folder = tmp_path / "golden" / "v0"
    ignored = shutil.ignore_patterns(".ragbench", "__pycache__")
    shutil.copytree(ROOT / "golden" / "v0", folder, ignore=ignored)
    configs = folder / "configs.yaml"
    whole = "offline: {factors: [hashing, overlap, trigrams],"
    text = configs.read_text(encoding="utf-8")
    assert whole in text
    configs.write_text(text.replace(whole, "offline: {factors: [hashing],"), encoding="utf-8")
    done = check(folder)
    assert done.returncode == 1
    assert "Gate failed: 3 of 3 numbers" in done.stdout
