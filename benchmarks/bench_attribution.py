"""Statistics of a factorial of six factors against scipy.stats.bootstrap, a call a column: means, pairs and Shapley.

    python benchmarks/bench_attribution.py [--n 500] [--resamples 10000]

64 configurations by 10 metrics: 640 means, 630 paired comparisons with their tests, and for each headline metric the
shares, main effects, leave-one-out deltas and interactions with theirs. scipy is timed on some columns and scaled up
to as many intervals; its tests are not counted, ours are. Times are of the processor, of one process. Exit status 1
when the ratio falls short of 40, or the peak above the rows passes 100 MB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from itertools import combinations

import numpy as np
from scipy import stats

from pytest_ragbench.analysis.attribution import attribution
from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.means import overall
from pytest_ragbench.analysis.pairs import paired
from pytest_ragbench.analysis.plan import SEED, Plan
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.questions.model import GoldSource, Locator, Question

FACTORS = ("a", "b", "c", "d", "e", "f")
METRICS = (
    "hit@1",
    "hit@5",
    "hit@10",
    "recall@10",
    "complete@10",
    "mrr@10",
    "ndcg@10",
    "p@5",
    "doc_hit@5",
    "doc_recall@10",
)
RATIO, MEGABYTES, SCIPY_COLUMNS = 40.0, 100.0, 16


def arms():
    for size in range(len(FACTORS) + 1):
        for chosen in combinations(FACTORS, size):
            name = "F:" + ("+".join(chosen) or "none")
            overrides = {factor: factor in chosen for factor in FACTORS}
            yield Configuration(name, name, overrides, chosen, ("F:none",) if chosen else ())


def measured(questions, configurations):
    """Rows of a pipeline in which each factor helps a little; half of the metrics are binary."""
    table, generator = RowTable(METRICS), np.random.default_rng(SEED)
    ease = generator.random(len(questions))
    for configuration in configurations:
        luck = generator.random((len(questions), len(METRICS))) * 0.2
        values = np.clip(ease[:, None] + 0.05 * len(configuration.factors) + luck, 0.0, 1.0)
        values[:, ::2] = np.round(values[:, ::2])
        for question, row in zip(questions, values.tolist(), strict=True):
            metrics = dict(zip(METRICS, row, strict=True))
            table.add({"question": question.id, "configuration": configuration.name, "metrics": metrics, "ranking": []})
    len(table)  # what waits is taken apart
    return table


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def ours(table, plan):
    cells = Cells(table, plan)
    return overall(cells), paired(cells), attribution(cells)


def scipy_seconds(values, resamples):
    started = time.process_time()
    for column in values.T:
        generator = np.random.default_rng(SEED)
        settings = {"n_resamples": resamples, "method": "percentile", "vectorized": True, "rng": generator}
        stats.bootstrap((column,), np.mean, **settings).confidence_interval  # noqa: B018 - it is computed lazily
    return time.process_time() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    configurations = tuple(arms())
    questions = tuple(
        Question(f"q-{number:04d}", "?", "s", "T1", gold=(GoldSource(Locator(f"{number:04d}.md")),))
        for number in range(arguments.n)
    )
    table = measured(questions, configurations)
    experiment = Experiment("factorial", tuple(configuration.name for configuration in configurations))
    plan = Plan(questions, configurations, (experiment,), resamples=arguments.resamples)
    before = peak()
    started = time.process_time()
    _, _, found = ours(table, plan)
    seconds = time.process_time() - started
    above = peak() - before
    values = table.metrics(table.slots([question.id for question in questions], "F:a"))[:, :10]
    columns = np.tile(values, 2)[:, :SCIPY_COLUMNS]
    a_column = scipy_seconds(columns, arguments.resamples) / SCIPY_COLUMNS
    means = len(configurations) * len(METRICS)
    contrasts = sum(len(held) for kind in ("shapley", "main_effects", "leave_one_out") for held in found[kind].values())
    contrasts += sum(len(others) for held in found["interactions"].values() for others in held.values())
    estimated = means + (len(configurations) - 1) * len(METRICS) + contrasts
    ratio = a_column * estimated / seconds
    print(
        f"{means} means, {estimated - means - contrasts} pairs and {contrasts} contrasts, n = {arguments.n}, "
        f"{arguments.resamples} resamples: ours {seconds:.2f} s with all tests; scipy {a_column * 1000:.0f} ms a "
        f"column, {a_column * estimated:.0f} s: {ratio:.0f} x (target {RATIO:.0f} x); "
        f"peak {above:.0f} MB above the rows (target {MEGABYTES:.0f} MB)"
    )
    return int(ratio < RATIO or above > MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
