"""The sparse lane against rank_bm25 and bm25s in one process: scores equal to rank_bm25's, and how much sooner.

    python benchmarks/bench_bm25.py [documents ...]

Documents are drawn from Zipf's law (exponent 1 over 100,000 words, 120 to 280 words each), questions from the same law,
so that they hold stop words as real ones do. All get tokens and return the ten best. bm25s gives no weight to a word
in more than half of the documents, where rank_bm25 and we give it a share of the mean, so its scores are not held
equal. Exit status 1 when a bound is missed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import bm25s
import numpy as np
from measuring import Bound, in_turn, told, versus
from rank_bm25 import BM25Okapi

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rag.sparse import Bm25

TITLE = "BM25"
BOUNDS = {5_000: Bound(least=50.0), 50_000: Bound(least=100.0)}
"""Documents, and how many times as long rank_bm25 must take."""

WORDS = 100_000
QUESTIONS = 12
TERMS = 12
TOP = 10
ROUNDS = 20
"""How often each question is searched where a search is short; rank_bm25 searches each once."""


def texts(generator: np.random.Generator, lengths: np.ndarray) -> list[list[str]]:
    """Token lists of the given lengths."""
    words = [f"w{word}" for word in range(WORDS)]
    weights = 1.0 / np.arange(1, WORDS + 1)
    drawn = generator.choice(WORDS, size=int(lengths.sum()), p=weights / weights.sum()).tolist()
    ends = np.cumsum(lengths).tolist()
    return [[words[word] for word in drawn[end - size : end]] for size, end in zip(lengths.tolist(), ends, strict=True)]


def corpus_and_questions(documents: int) -> tuple[list[list[str]], list[list[str]]]:
    generator = np.random.default_rng(20260901)
    corpus = texts(generator, generator.integers(120, 281, size=documents))
    return corpus, texts(generator, np.full(QUESTIONS, TERMS))


def all_of(search, questions, rounds=1):
    """A call that searches every question so often."""

    def call():
        for _ in range(rounds):
            for question in questions:
                search(question)

    return call


def of_size(documents: int, repeats: int):
    corpus, questions = corpus_and_questions(documents)
    started = time.process_time()
    ours = Bm25.build(corpus)
    built = time.process_time() - started
    theirs, third = BM25Okapi(corpus), bm25s.BM25(method="robertson", k1=1.5, b=0.75)
    started = time.process_time()
    third.index(corpus, show_progress=False)
    third_built = time.process_time() - started
    for question in questions:
        if not np.array_equal(ours.scores(question), theirs.get_scores(question)):
            raise SystemExit(f"{documents:,} documents: scores differ from rank_bm25's")
    names = list(range(documents))
    calls = {
        "ours": all_of(lambda question: ours.search(question, TOP), questions, ROUNDS),
        "rank_bm25": all_of(lambda question: theirs.get_top_n(question, names, n=TOP), questions),
        "bm25s": all_of(lambda question: third.retrieve([question], k=TOP, show_progress=False), questions, ROUNDS),
    }
    spent = in_turn(calls, repeats)
    for name, seconds in spent.items():
        searches = QUESTIONS * (1 if name == "rank_bm25" else ROUNDS)
        spent[name] = [one / searches for one in seconds]
    what = f"{documents:,} documents"
    rows = versus(what, spent, bounds={"rank_bm25": BOUNDS[documents]} if documents in BOUNDS else {})
    return [*rows, *versus(f"{what}, index built", {"ours": [built], "bm25s": [third_built]}, scale=1.0, unit="s")]


def measure(*, quick=False, sizes=tuple(BOUNDS)):
    sizes = sizes[:1] if quick else sizes
    return [row for size in sizes for row in of_size(size, 2 if quick else 5)]


def main(arguments):
    return told(measure(sizes=tuple(int(argument) for argument in arguments) or tuple(BOUNDS)))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
