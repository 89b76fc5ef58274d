"""Every experiment of `golden/configs.yaml`, one session each, with its rows and what it took.

    python benchmarks/run_experiments.py [NAME ...]

Needs neither a network nor a language model: completions come from `golden/llm`. Prints a Markdown table, then the
comparisons of each experiment. The first session builds the index where there is none.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETS = {"graph": ("golden/graph_sets",), "generated": ("golden/sets", "golden/route_sets")}
EXPERIMENTS = (
    "ladder", "loo", "factorial", "routing", "hyde", "diversity", "decompose", "graph", "generated", "probes", "gate",
    "default-k10,wide-pools,gate-rerank-score",
)  # fmt: skip
METRICS = ("ndcg@10", "recall@10", "complete@10", "hit@1")
SHOWN = 8
"""Comparisons of one experiment that are printed; a factorial has 63."""


def run(name: str, sets: str) -> tuple[dict, float]:
    """One session: its summary, and the seconds it took."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", f"--rag-configs={name}", f"--rag-sets={sets}"]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    took = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    record = next(line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("record: "))
    return json.loads((Path(record) / "summary.json").read_text(encoding="utf-8")), took


def cell(entry: dict) -> str:
    """A difference with its interval, never a negative zero; a dash where no question was shared."""
    if entry["delta"] is None:
        return "-"
    delta, low, high = (round(entry[key], 3) + 0.0 for key in ("delta", "low", "high"))
    return f"{delta:+.3f} [{low:+.3f}, {high:+.3f}]"


def compared(results: dict) -> list[str]:
    """Markdown rows of the comparisons."""
    lines = []
    for arm, found in results.items():
        for other, metrics in found["paired"].items():
            cells = [cell(metrics[metric]) for metric in METRICS]
            lines.append(f"| {arm} - {other} | {' | '.join(cells)} | {metrics[METRICS[0]]['verdict']} |")
    return lines


def main() -> None:
    table, details = [], []
    for name in sys.argv[1:] or EXPERIMENTS:
        for sets in SETS.get(name, ("golden/sets",)):
            summary, took = run(name, sets)
            results = summary["results"]
            rows = sum(sum(found["rows"].values()) + found["unanswerable"] for found in results.values())
            table.append(f"| `{name}` | `{sets}` | {len(results)} | {rows:,} | {took:.0f} s |")
            print(table[-1], file=sys.stderr, flush=True)
            lines = compared(results)
            head = f"| pair | {' | '.join(METRICS)} | verdict ({METRICS[0]}) |\n|---|{'---|' * (len(METRICS) + 1)}"
            details.append("\n".join([f"\n### {name} over {sets}\n", head, *lines[:SHOWN]]))
    print("| experiment | sets | arms | rows | wall time |\n|---|---|---|---|---|", *table, sep="\n")
    print(*details, sep="\n")


if __name__ == "__main__":
    main()
