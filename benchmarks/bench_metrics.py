"""Time of one row's locators and metrics: ten chunks held against the gold, then every measure of the ranking.

    python benchmarks/bench_metrics.py [--rows 20000]

Questions have one to three gold sources, with pages, headings or neither, in files that other chunks come from too.
"""

from __future__ import annotations

import argparse
import random
import time

from pytest_ragbench.contract import Chunk
from pytest_ragbench.metrics.measures import score
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.model import GoldSource, Locator

SEED = 20260901
FILES = 400
DEPTH = 10


def a_chunk(generator: random.Random) -> Chunk:
    number = generator.randrange(FILES)
    if number % 3:
        return Chunk(
            f"Courses/Area {number % 7}/note-{number}.md", heading=("Part", f"Section {generator.randrange(9)}")
        )
    page = generator.randrange(1, 300)
    return Chunk(f"Books/book-{number}.pdf", pages=(page, page + generator.randrange(3)))


def a_locator(chunk: Chunk) -> Locator:
    return Locator(chunk.file, chunk.pages, chunk.heading[:1])


def workload(rows: int):
    generator = random.Random(SEED)
    found = []
    for _ in range(rows):
        ranking = [a_chunk(generator) for _ in range(DEPTH)]
        seen = generator.sample(ranking, generator.choice([0, 1, 1, 2]))
        sources = [a_locator(chunk) for chunk in seen] + [a_locator(a_chunk(generator))]
        found.append((ranking, compile_gold([GoldSource(locator) for locator in sources[: generator.randint(1, 3)]])))
    return found


def measured(rows):
    started = time.perf_counter()
    matched = [match(ranking, gold) for ranking, gold in rows]
    between = time.perf_counter()
    for (_, gold), (matches, doc_matches) in zip(rows, matched, strict=True):
        score(matches, doc_matches, gold)
    ended = time.perf_counter()
    return (between - started) / len(rows), (ended - between) / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    rows = workload(parser.parse_args().rows)
    best = min((measured(rows) for _ in range(5)), key=sum)
    print(f"{len(rows)} rows of {DEPTH} chunks: locators {best[0] * 1e6:.2f} us, metrics {best[1] * 1e6:.2f} us a row")


if __name__ == "__main__":
    main()
