"""Growth in chunks: time of one question in the sparse lane, in the exact dense lane and in the approximate one.

    python benchmarks/bench_chunks.py [chunks ...]

No model: texts are drawn from Zipf's law, vectors (384 numbers, as all-MiniLM-L6-v2 gives) from a random space of 24
dimensions, about as many as embeddings of real texts use; wholly random ones have no neighbours to find. `recall@10` of
the approximate lane is held against the exact one.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from measuring import Row, Spread, in_turn, peak, told

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from bench_bm25 import QUESTIONS, all_of, corpus_and_questions

from rag.dense import approximate, exact
from rag.hnsw import Hnsw
from rag.sparse import Bm25

TITLE = "Growth in chunks"
SIZES = (1_000, 10_000, 100_000)
DIMENSION, INTRINSIC = 384, 24
POOL = 100
ROUNDS = 5


def vectors(generator: np.random.Generator, count: int, space: np.ndarray) -> np.ndarray:
    drawn = (generator.standard_normal((count, INTRINSIC)) @ space).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def of_size(chunks: int, repeats: int) -> list[Row]:
    corpus, questions = corpus_and_questions(chunks)
    bm25 = Bm25.build(corpus)
    del corpus
    generator = np.random.default_rng(20260901)
    space = generator.standard_normal((INTRINSIC, DIMENSION))
    held, asked = vectors(generator, chunks, space), vectors(generator, QUESTIONS, space)
    started = time.process_time()
    graph = Hnsw.build(held)
    built = time.process_time() - started
    lanes = {
        "sparse": all_of(lambda question: bm25.search(question, POOL), questions, ROUNDS),
        "dense, exact": all_of(lambda vector: exact(held, vector, POOL), asked, ROUNDS),
        "dense, hnsw": all_of(lambda vector: approximate(held, graph, vector, POOL), asked, ROUNDS),
    }
    spent = in_turn(lanes, repeats)
    ms = {lane: Spread.of(one / QUESTIONS / ROUNDS * 1000 for one in seconds) for lane, seconds in spent.items()}
    what = f"{chunks:,} chunks"
    told_of = {"recall@10": f"{graph.recall(held):.3f}", "graph built": f"{built:.1f} s", "peak": f"{peak():,.0f} MB"}
    faster = [slow / quick for slow, quick in zip(spent["dense, exact"], spent["dense, hnsw"], strict=True)]
    return [
        Row(what, "exact / hnsw", Spread.of(faster), figures=told_of),
        *(Row(what, f"a question, {lane}", spread, "ms") for lane, spread in ms.items()),
    ]


def measure(*, quick=False, sizes=SIZES):
    return [row for size in (sizes[:2] if quick else sizes) for row in of_size(size, 2 if quick else 5)]


def main(arguments):
    return told(measure(sizes=tuple(int(argument) for argument in arguments) or SIZES))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
