"""The hybrid and the reranked arm on public multi-hop collections in BEIR's layout, through the bench's own doors.

    python benchmarks/run_collections.py [DIR ...]

Each DIR holds `corpus.jsonl`, `queries.jsonl` and `qrels/`; by default hotpotqa-100 and musique-100 below the folder
that RAGBENCH_DATA names, else `../shared/data`. Documents are whole chunks. Prints a Markdown table a collection.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
METRICS = ("ndcg@10", "recall@10", "complete@10")
CONFIGS = {
    "defaults": {"sparse": True, "dense": True, "rerank": "none", "top_k": 10},
    "configurations": {
        "sparse": {"overrides": {"dense": False}},
        "dense": {"overrides": {"sparse": False}},
        "hybrid": {"paired": ["sparse", "dense"]},
        "reranked": {"overrides": {"rerank": "late-interaction"}, "paired": "hybrid"},
    },
    "warm_up": ["rerank"],
}
SETTINGS = {"corpus": "corpus", "chunking": {"mode": "whole"}, "tokenizer": "simple"}


def run(folder: Path, *command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GIT_CEILING_DIRECTORIES": "/"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")


def measure(collection: Path, folder: Path) -> dict[str, dict]:
    """`results` of the four arms over one collection."""
    run(folder, "-m", "pytest_ragbench.cli", "import", "beir", str(collection), "--to", str(folder))
    (folder / "golden" / "configs.yaml").write_text(yaml.safe_dump(CONFIGS, sort_keys=False), encoding="utf-8")
    (folder / "golden" / "test_golden.py").write_text("def test_question(rag_row):\n    rag_row.check()\n")
    (folder / "conftest.py").write_bytes((ROOT / "conftest.py").read_bytes())
    (folder / "rag").mkdir()
    (folder / "rag" / "config.yaml").write_text(yaml.safe_dump(SETTINGS), encoding="utf-8")
    run(folder, "-m", "pytest", "-q", "-p", "no:randomly", "--rag-configs=" + ",".join(CONFIGS["configurations"]))
    (record,) = (path for path in (folder / ".ragbench" / "runs").iterdir() if path.is_dir())
    return json.loads((record / "summary.json").read_text(encoding="utf-8"))["results"]


def interval(entry: dict, key: str) -> str:
    sign = "+" if key == "delta" else ""
    return f"{entry[key]:{sign}.3f} [{entry['low']:{sign}.3f}, {entry['high']:{sign}.3f}]"


def show(name: str, results: dict[str, dict]) -> None:
    print(f"\n### {name}\n\n| arm | {' | '.join(METRICS)} |\n|---|{'---|' * len(METRICS)}")
    for arm, found in results.items():
        print(f"| {arm} | " + " | ".join(interval(found["overall"][metric], "mean") for metric in METRICS) + " |")
    print("\n| pair | metric | difference | verdict |\n|---|---|---|---|")
    for arm, found in results.items():
        for other, metrics in found["paired"].items():
            for metric in METRICS:
                entry = metrics[metric]
                print(f"| {arm} - {other} | {metric} | {interval(entry, 'delta')} | {entry['verdict']} |")


def main() -> None:
    data = Path(os.environ.get("RAGBENCH_DATA", ROOT.parent / "shared" / "data"))
    for collection in [Path(name) for name in sys.argv[1:]] or [data / "hotpotqa-100", data / "musique-100"]:
        with tempfile.TemporaryDirectory() as name:
            show(collection.name, measure(collection.resolve(), Path(name)))


if __name__ == "__main__":
    main()
