"""Statistics of a factorial of six factors against scipy.stats.bootstrap, a call a column: means, pairs and Shapley.

    python benchmarks/bench_attribution.py [--n 500] [--resamples 10000]

64 configurations by 10 metrics: 640 means, 630 paired comparisons with their tests, and for each headline metric the
shares, main effects, leave-one-out deltas and interactions with theirs. scipy is timed on some columns and scaled up
to as many intervals; its tests are not counted, ours are. Exit status 1 when the ratio falls short of 40, or the peak
above the rows passes 100 MB.
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations

import numpy as np
from measuring import Bound, Row, Spread, held, in_turn, peak, told, versus
from scipy import stats

from pytest_ragbench.analysis.attribution import attribution
from pytest_ragbench.analysis.cells import Cells
from pytest_ragbench.analysis.means import overall
from pytest_ragbench.analysis.pairs import paired
from pytest_ragbench.analysis.plan import SEED, Plan
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.questions.model import GoldSource, Locator, Question

TITLE = "Statistics: a factorial of 64 configurations"
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
RATIO, MEGABYTES, SCIPY_COLUMNS = Bound(least=40.0), Bound(most=100.0), 8


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


def ours(table, plan):
    cells = Cells(table, plan)
    return overall(cells), paired(cells), attribution(cells)


def by_scipy(values, resamples):
    for column in values.T:
        generator = np.random.default_rng(SEED)
        settings = {"n_resamples": resamples, "method": "percentile", "vectorized": True, "rng": generator}
        stats.bootstrap((column,), np.mean, **settings).confidence_interval  # noqa: B018 - it is computed lazily


def contrasts(found):
    """Number of estimates with an interval that attribution makes."""
    kinds = (found[kind].values() for kind in ("shapley", "main_effects", "leave_one_out"))
    plain = sum(len(by_factor) for kind in kinds for by_factor in kind)
    return plain + sum(len(others) for pairs in found["interactions"].values() for others in pairs.values())


def measure(*, quick=False, n=500, resamples=10_000):
    configurations = tuple(arms())
    questions = tuple(
        Question(f"q-{number:04d}", "?", "s", "T1", gold=(GoldSource(Locator(f"{number:04d}.md")),))
        for number in range(n)
    )
    table = measured(questions, configurations)
    experiment = Experiment("factorial", tuple(configuration.name for configuration in configurations))
    plan = Plan(questions, configurations, (experiment,), resamples=resamples)
    columns = table.metrics(table.slots([question.id for question in questions], "F:a"))[:, :SCIPY_COLUMNS]
    before = held()  # not the peak until here, which may lie above it and would hide as much of ours
    _, _, found = ours(table, plan)
    above = peak() - before
    calls = {"ours": lambda: ours(table, plan), "scipy a column": lambda: by_scipy(columns, resamples)}
    spent = in_turn(calls, 1 if quick else 3)
    means, pairs = len(configurations) * len(METRICS), (len(configurations) - 1) * len(METRICS)
    carried = contrasts(found)
    spent["scipy a column"] = [
        seconds / SCIPY_COLUMNS * (means + pairs + carried) for seconds in spent["scipy a column"]
    ]
    what = f"{means} means, {pairs} pairs, {carried} contrasts, n = {n}, {resamples:,} resamples"
    rows = versus(what, spent, scale=1.0, unit="s", bounds={"scipy a column": RATIO})
    return [*rows, Row(what, "peak above the rows", Spread.of([above]), "MB", MEGABYTES)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    return told(measure(n=arguments.n, resamples=arguments.resamples))


if __name__ == "__main__":
    sys.exit(main())
