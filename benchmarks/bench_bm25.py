"""The sparse lane against rank_bm25 in one process: equal scores, and at least 50 x and 100 x the speed.

Run `python benchmarks/bench_bm25.py [documents ...]`; the exit status is 1 when a bound is missed. Documents are drawn
from Zipf's law (exponent 1 over 100,000 words, 120 to 280 words each), questions from the same law, so that they hold
stop words as real ones do. Both sides get tokens and return the ten best.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rag.sparse import Bm25

BOUNDS = {5_000: 50.0, 50_000: 100.0}
WORDS = 100_000
QUESTIONS = 12
TERMS = 12
TOP = 10


def texts(generator: np.random.Generator, lengths: np.ndarray) -> list[list[str]]:
    """Token lists of the given lengths."""
    weights = 1.0 / np.arange(1, WORDS + 1)
    drawn = generator.choice(WORDS, size=int(lengths.sum()), p=weights / weights.sum())
    ends = np.cumsum(lengths)
    return [[f"w{word}" for word in drawn[end - size : end]] for size, end in zip(lengths, ends, strict=True)]


def seconds(search, questions, rounds):
    """Median seconds a question, over the rounds."""
    taken = []
    for _ in range(rounds):
        for question in questions:
            started = time.perf_counter()
            search(question)
            taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def measure(documents):
    generator = np.random.default_rng(20260901)
    corpus = texts(generator, generator.integers(120, 281, size=documents))
    questions = texts(generator, np.full(QUESTIONS, TERMS))
    started = time.perf_counter()
    ours = Bm25.build(corpus)
    built = time.perf_counter() - started
    theirs = BM25Okapi(corpus)
    equal = all(np.array_equal(ours.scores(question), theirs.get_scores(question)) for question in questions)
    names = list(range(documents))
    slow = seconds(lambda question: theirs.get_top_n(question, names, n=TOP), questions, 1)
    quick = seconds(lambda question: ours.search(question, TOP), questions, 20)
    bound = BOUNDS.get(documents, 0.0)
    agreement = "equal" if equal else "DIFFERENT"
    print(
        f"{documents:>7,} documents: rank_bm25 {slow * 1e3:8.2f} ms, sparse lane {quick * 1e3:6.3f} ms, "
        f"{slow / quick:5.0f} x (at least {bound:.0f} x), scores {agreement}, built in {built:.1f} s"
    )
    return equal and slow / quick >= bound


def main(arguments):
    sizes = [int(argument) for argument in arguments] or list(BOUNDS)
    missed = [size for size in sizes if not measure(size)]
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
