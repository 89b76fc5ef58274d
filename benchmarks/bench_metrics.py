"""Metrics against pytrec_eval, ir_measures and ranx on the same rankings, and the time of one row with locators.

    python benchmarks/bench_metrics.py [--questions 50000] [--rows 20000]

Peers know documents alone, so the comparison is by file: from each tool's own qrels and rankings, made before the clock
starts, to the same seven measures of every question, which are held equal. Ours match chunks against the gold first,
and make ten more measures. pytrec_eval and we are timed with the preparing of the judgments too. Rows with locators
have one to three gold sources, with pages, headings or neither, in files that other chunks come from too. Exit status 1
when a bound is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # processor time of one thread, as all others

import ir_measures
import pytrec_eval
import ranx
from ir_measures import RR, P, R, Success, nDCG
from measuring import Bound, Row, Spread, in_turn, told, versus

from pytest_ragbench.contract import Chunk
from pytest_ragbench.metrics.measures import score
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.model import GoldSource, Locator

TITLE = "Metrics"
SEED = 20260901
FILES = 400
DEPTH = 10
TREC = {"success_1,5,10", "recall_10", "recip_rank", "ndcg_cut_10", "P_5"}
MEASURES = (Success @ 1, Success @ 5, Success @ 10, R @ 10, RR @ 10, nDCG @ 10, P @ 5)
RANX = ["hit_rate@1", "hit_rate@5", "hit_rate@10", "recall@10", "mrr@10", "ndcg@10", "precision@5"]
OURS = ("hit@1", "hit@5", "hit@10", "recall@10", "mrr@10", "ndcg@10", "p@5")
SAME = {
    "pytrec_eval": ("success_1", "success_5", "success_10", "recall_10", "recip_rank", "ndcg_cut_10", "P_5"),
    "ir_measures": tuple(map(str, MEASURES)),
    "ranx": tuple(RANX),
}
"""Names of the same measures, tool by tool, in one order."""

BOUNDS = {"pytrec_eval": Bound(least=1.0), "ir_measures": Bound(least=10.0)}
A_ROW = Bound(most=5.0)


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


def each(rows):
    return [score(*match(ranking, gold), gold) for ranking, gold in rows]


def judged(questions: int):
    """Rankings and judgments by file: one to three relevant of `FILES`, about half of them retrieved."""
    generator = random.Random(SEED)
    names = [f"note-{number:03d}.md" for number in range(FILES)]
    qrels, runs = {}, {}
    for number in range(questions):
        ranking = generator.sample(names, DEPTH)
        pool = ranking if generator.random() < 0.5 else names
        qrels[f"q{number}"] = dict.fromkeys(generator.sample(pool, generator.randint(1, 3)), 1)
        runs[f"q{number}"] = {name: 1.0 / rank for rank, name in enumerate(ranking, start=1)}
    return qrels, runs


def check_equal(ours, theirs, tool):
    """Hold every measure of every question equal; `theirs` is question -> name -> value."""
    for values, (question, told_by) in zip(
        ours, sorted(theirs.items(), key=lambda pair: int(pair[0][1:])), strict=True
    ):
        for mine, name in zip(OURS, SAME[tool], strict=True):
            if abs(values[mine] - told_by[name]) > 1e-6:  # trec_eval keeps some sums in single precision
                raise SystemExit(f"{question}: {mine} is {values[mine]}, {tool} says {told_by[name]}")


def by_question(scores):
    """Question -> name -> value, from (question, name, value)."""
    found = {}
    for question, name, value in scores:
        found.setdefault(question, {})[name] = value
    return found


def check_peers(rows, evaluator, qrels, runs, ranx_run):
    """Hold ours equal to what every peer says; ranx keeps its scores in the run."""
    values = each(rows)
    check_equal(values, evaluator.evaluate(runs), "pytrec_eval")
    scored = ir_measures.iter_calc(MEASURES, qrels, runs)
    check_equal(values, by_question((one.query_id, str(one.measure), one.value) for one in scored), "ir_measures")
    kept = ranx_run.scores.items()
    scored = ((question, name, value) for name, scores in kept for question, value in scores.items())
    check_equal(values, by_question(scored), "ranx")


def against_peers(questions: int, repeats: int) -> list[Row]:
    qrels, runs = judged(questions)
    sources = [[GoldSource(Locator(name)) for name in held] for held in qrels.values()]
    rankings = [[Chunk(name) for name in ranked] for ranked in runs.values()]
    rows = list(zip(rankings, map(compile_gold, sources), strict=True))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC)
    ranx_qrels, ranx_run = ranx.Qrels(qrels), ranx.Run(runs)
    ranx.evaluate(ranx_qrels, ranx_run, RANX)  # compiles
    check_peers(rows, evaluator, qrels, runs, ranx_run)
    calls = {
        "ours": lambda: each(rows),
        "pytrec_eval": lambda: evaluator.evaluate(runs),
        "ir_measures": lambda: list(ir_measures.iter_calc(MEASURES, qrels, runs)),
        "ranx": lambda: ranx.evaluate(ranx_qrels, ranx_run, RANX, return_mean=False),
    }
    spent = in_turn(calls, repeats)
    prepared = {
        "ours": lambda: each(zip(rankings, map(compile_gold, sources), strict=True)),
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(runs),
    }
    whole = in_turn(prepared, repeats)
    what = f"{questions:,} questions, {DEPTH} ranks"
    return [*versus(what, spent, bounds=BOUNDS), *versus(f"{what}, judgments prepared too", whole)]


def a_row(rows: int, repeats: int) -> Row:
    """Microseconds from the ranking of one row to its measures."""
    held = workload(rows)
    kinds = {"both": [], "locators": [], "measures": []}
    for _ in range(repeats):
        started = time.process_time()
        for ranking, gold in held:  # as a run does it: a row after the other, and nothing kept
            score(*match(ranking, gold), gold)
        both = time.process_time()
        matched = [match(ranking, gold) for ranking, gold in held]
        between = time.process_time()
        for (_, gold), (matches, doc_matches) in zip(held, matched, strict=True):
            score(matches, doc_matches, gold)
        ended = time.process_time()
        for kind, seconds in zip(kinds, (both - started, between - both, ended - between), strict=True):
            kinds[kind].append(seconds / rows * 1e6)
    figures = {kind: f"{Spread.of(kinds[kind])} us" for kind in ("locators", "measures")}
    return Row(
        f"{rows:,} rows of {DEPTH} chunks", "a row with locators", Spread.of(kinds["both"]), "us", A_ROW, figures
    )


def measure(*, quick=False, questions=50_000, rows=20_000):
    if quick:
        rows = 5_000
    repeats = 2 if quick else 7
    return [*against_peers(questions, repeats), a_row(rows, repeats)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=50_000)
    parser.add_argument("--rows", type=int, default=20_000)
    arguments = parser.parse_args()
    return told(measure(questions=arguments.questions, rows=arguments.rows))


if __name__ == "__main__":
    sys.exit(main())
