"""Intervals of many columns against scipy.stats.bootstrap: same values, same resamples, one process.

    python benchmarks/bench_statistics.py [--n 500] [--resamples 10000]

scipy is called once a column, and once for all columns together in batches that hold about 50 MB; it is timed on 32
columns and scaled up to the others. Equal intervals are checked: fed the same generator, all draw the same
resamples. Exit status 1 when an interval differs by more than 1e-9 or a ratio falls short.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from measuring import Bound, in_turn, told, versus
from scipy import stats

from pytest_ragbench.canonical import TOLERANCE, quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.resampling import Draws, Resamples

TITLE = "Statistics: intervals"
SEED = 20260901
BOUNDS = {130: Bound(least=20.0), 640: Bound(least=40.0)}
"""Columns, and how many times as long scipy must take, called once a column."""

TIMED = 32
BATCH_BYTES = 50_000_000


def by_scipy(values, resamples, **settings):
    generator = np.random.default_rng(SEED)
    settings |= {"n_resamples": resamples, "method": "percentile", "vectorized": True, "rng": generator}
    interval = stats.bootstrap((values,), np.mean, **settings).confidence_interval
    return interval.low, interval.high


def column_by_column(values, resamples):
    return np.array([by_scipy(column, resamples) for column in values.T]).T


def batched(values, resamples):
    return np.array(by_scipy(values, resamples, axis=0, batch=max(1, BATCH_BYTES // values.nbytes)))


def ours(values, resamples):
    clusters = Clusters.of([f"{number:06d}" for number in range(len(values))])
    found = Resamples(clusters, Draws(SEED, resamples)).estimate(quantise(values))
    return np.stack([found.low, found.high])


def measure(*, quick=False, n=500, resamples=10_000):
    rows = []
    for columns, bound in BOUNDS.items():
        values = np.random.default_rng(columns).random((n, columns))
        values[:, ::2] = np.round(values[:, ::2])  # half of the metrics are binary
        some = values[:, : 4 if quick else TIMED]
        calls = {
            "ours": lambda values=values: ours(values, resamples),
            "scipy a column": lambda some=some: column_by_column(some, resamples),
            "scipy batched": lambda some=some: batched(some, resamples),
        }
        found = {name: call() for name, call in calls.items()}
        spent = in_turn(calls, 1 if quick else 5)
        for name in list(spent)[1:]:
            difference = float(np.abs(found["ours"][:, : some.shape[1]] - found[name]).max())
            if difference > TOLERANCE:
                raise SystemExit(f"{columns} columns: ours and {name} differ by {difference:.1e}")
            spent[name] = [seconds * columns / some.shape[1] for seconds in spent[name]]
        what = f"{columns} means, n = {n}, {resamples:,} resamples"
        rows += versus(what, spent, bounds={"scipy a column": bound})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    return told(measure(n=arguments.n, resamples=arguments.resamples))


if __name__ == "__main__":
    sys.exit(main())
