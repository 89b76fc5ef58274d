"""Prints docs/validity.md, or writes it; exit status 1 when a rate breaks what the page says is promised.

python -m benchmarks.validity [--write] [--replicates 4000] [--resamples 2000] [--seed 20260901]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.validity.counting import Effort
from benchmarks.validity.page import render
from benchmarks.validity.results import broken, measure

PAGE = Path(__file__).parents[2] / "docs" / "validity.md"


def parser() -> argparse.ArgumentParser:
    """The flags, with the defaults of `Effort`."""
    usual = Effort()
    found = argparse.ArgumentParser(prog="python -m benchmarks.validity", description=__doc__.splitlines()[0])
    found.add_argument("--write", action="store_true", help=f"write docs/{PAGE.name} instead of printing it")
    found.add_argument("--replicates", type=int, default=usual.replicates)
    found.add_argument("--resamples", type=int, default=usual.resamples)
    found.add_argument("--seed", type=int, default=usual.seed)
    return found


def main() -> int:
    """Draw, count, print."""
    asked = parser().parse_args()
    effort = Effort(asked.replicates, asked.resamples, asked.seed)
    results = measure(effort, tell=lambda text: print(text, file=sys.stderr, flush=True))
    page = render(results)
    if asked.write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page, end="")
    found = broken(results)
    for line in found:
        print(f"broken: {line}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
