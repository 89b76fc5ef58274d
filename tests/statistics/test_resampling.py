"""Claims about resampled means and intervals, held against closed forms and scipy.stats.bootstrap."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_ragbench.canonical import quantise
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.resampling import Draws, Resamples, spread

SEED = 20260901


def alone(n: int) -> Clusters:
    """Every question its own cluster, in the order given."""
    return Clusters.of([f"{number:06d}" for number in range(n)])


def column(*values: float) -> np.ndarray:
    return quantise(np.array(values, dtype=np.float64)[:, None])


def test_sta_04_constant_values_have_an_interval_of_no_width():
    found = Resamples(alone(12), Draws(SEED)).estimate(column(*[1.0] * 12))
    assert (found.mean[0], found.low[0], found.high[0]) == (1.0, 1.0, 1.0)


def test_sta_07_one_question_has_an_interval_of_no_width():
    found = Resamples(alone(1), Draws(SEED)).estimate(column(0.5))
    assert (found.mean[0], found.low[0], found.high[0]) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("n", [2, 37, 500])
def test_equal_resamples_give_the_intervals_and_errors_of_scipy(n):
    values = np.random.default_rng(n).random(n)
    found, error = Resamples(alone(n), Draws(SEED, 2000)).estimate_with_errors(column(*values))
    # The same generator draws the same indexes: one row of n integers a resample.
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=2000, method="percentile", vectorized=True, rng=np.random.default_rng(SEED)
    )
    assert found.low[0] == pytest.approx(theirs.confidence_interval.low, abs=1e-10)
    assert found.high[0] == pytest.approx(theirs.confidence_interval.high, abs=1e-10)
    assert error[0] == pytest.approx(theirs.standard_error, abs=1e-10)
    assert found.mean[0] == pytest.approx(values.mean(), abs=1e-10)


def test_the_error_of_a_mean_is_close_to_its_closed_form():
    values = np.random.default_rng(1).random(400)
    _, error = Resamples(alone(400), Draws(SEED)).estimate_with_errors(column(*values))
    # sigma / sqrt(n), with a Monte Carlo error of 1 / sqrt(2 * 10,000) = 0.7 %.
    assert error[0] == pytest.approx(values.std() / 20, rel=0.03)


def test_clusters_are_drawn_whole_and_weighted_by_their_size():
    clusters = Clusters.of(["a", "b", "b", "b"])
    means = Resamples(clusters, Draws(SEED, 4000)).means(column(1.0, 0.0, 0.0, 0.0))[0]
    # Draws of two clusters: aa -> 2/2, ab and ba -> 1/4, bb -> 0/6.
    seen, counts = np.unique(means, return_counts=True)
    assert seen.tolist() == [0.0, 0.25, 1.0]
    assert counts / 4000 == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_questions_that_move_together_widen_the_interval():
    labels = [f"file{number // 8:02d}" for number in range(200)]
    values = np.repeat(np.random.default_rng(3).random(25), 8)
    together = Resamples(Clusters.of(labels), Draws(SEED)).estimate(column(*values))
    apart = Resamples(alone(200), Draws(SEED)).estimate(column(*values))
    # A design effect of 8: the interval is sqrt(8) = 2.83 times as wide.
    assert (together.high[0] - together.low[0]) / (apart.high[0] - apart.low[0]) == pytest.approx(8**0.5, rel=0.1)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_a_resampled_difference_is_the_difference_of_resampled_means(n, groups, seed):
    generator = np.random.default_rng(seed)
    clusters = Clusters.of([str(label) for label in generator.integers(0, groups, n)])
    one, two = quantise(generator.random((n, 3))), quantise(generator.random((n, 3)))
    resamples = Resamples(clusters, Draws(SEED, 200))
    assert resamples.means(one - two) == pytest.approx(resamples.means(one) - resamples.means(two), abs=1e-15)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_questions_changes_no_bit(n, groups, seed):
    generator = np.random.default_rng(seed)
    labels = [f"c{label}" for label in generator.integers(0, groups, n)]
    values = quantise(generator.random((n, 3)))
    order = generator.permutation(n)
    one = Resamples(Clusters.of(labels), Draws(SEED, 200)).means(values)
    two = Resamples(Clusters.of([labels[index] for index in order]), Draws(SEED, 200)).means(values[order])
    assert one.tobytes() == two.tobytes()


def test_neighbouring_columns_change_no_bit():
    values = quantise(np.random.default_rng(0).random((61, 300)))
    resamples = Resamples(alone(61), Draws(SEED, 1000))
    every, one = resamples.estimate(values), resamples.estimate(values[:, 299:])
    assert every.low[299:].tobytes() == one.low.tobytes()
    assert every.high[299:].tobytes() == one.high.tobytes()
    assert every.mean[299:].tobytes() == one.mean.tobytes()


def test_draws_come_out_the_same_whether_kept_or_drawn_again():
    draws = Draws(SEED, 500)
    first = np.concatenate(list(draws.weights(40)))
    for other in range(1, 200, 7):  # crowds the kept ones out
        list(draws.weights(other))
    assert np.array_equal(first, np.concatenate(list(draws.weights(40))))
    assert np.array_equal(first, np.concatenate(list(draws.weights(40))))
    assert np.array_equal(first, np.concatenate(list(Draws(SEED, 500).weights(40))))
    assert set(first.sum(axis=1)) == {40.0}


def test_another_seed_draws_other_resamples():
    one, two = (np.concatenate(list(Draws(seed, 50).weights(40))) for seed in (1, 2))
    assert not np.array_equal(one, two)


def test_a_set_of_150_000_questions_is_estimated():
    # 150,000 * 2**41 passes 2**53, where float64 stops to count by one.
    values = np.full((150_000, 1), 2.0**41 - 1)
    found = Resamples(Clusters.of([f"f{number % 7}" for number in range(150_000)]), Draws(SEED, 4)).estimate(values)
    assert [found.mean[0], found.low[0], found.high[0]] == pytest.approx([1 - 2.0**-41] * 3, abs=1e-15)


def test_five_thousand_questions_need_less_than_a_hundred_megabytes():
    values = quantise(np.random.default_rng(0).random((5000, 128)))
    resamples = Resamples(alone(5000), Draws(SEED, 2000))
    tracemalloc.start()
    resamples.estimate_with_errors(values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = 3 * 8 * 128 * 8000  # the means, and their deviations twice, of the 8,000 resamples that are spared here
    assert peak + held < 100e6


PRINT_DIGEST = """
import hashlib, numpy as np
from pytest_ragbench.canonical import quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import compare
from pytest_ragbench.statistics.resampling import Draws, Resamples
values = quantise(np.random.default_rng(0).uniform(-1, 1, (301, 129)))
resamples = Resamples(Clusters.of([str(number // 2) for number in range(301)]), Draws(1, 1500))
found = compare(values, np.zeros(129, dtype=bool), resamples)
print(hashlib.sha256(repr(found).encode()).hexdigest())
"""


def test_neither_threads_nor_kernels_of_the_linear_algebra_change_a_bit():
    settings = [{"OPENBLAS_NUM_THREADS": "1"}, {"OPENBLAS_NUM_THREADS": "3"}, {"OPENBLAS_CORETYPE": "Haswell"}]
    digests = [
        subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST], env=os.environ | setting, capture_output=True, text=True, check=True
        ).stdout
        for setting in settings
    ]
    assert len(set(digests)) == 1


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (np.array([[0.0], [np.nan]]), "NaN"),
        (np.array([[0.0], [np.inf]]), "infinity"),
        (np.zeros((3, 1)), r"\(2, columns\)"),
    ],
)
def test_bad_values_are_refused_by_name(values, named):
    with pytest.raises(StatisticsError, match=named):
        Resamples(alone(2), Draws(SEED, 10)).estimate(values)


def test_bad_settings_are_refused_by_name():
    with pytest.raises(StatisticsError, match="at least 2 resamples, found 1"):
        Draws(SEED, 1)
    with pytest.raises(StatisticsError, match="no question"):
        Resamples(alone(0), Draws(SEED))
    with pytest.raises(StatisticsError, match=r"confidence between 0 and 1, found 1\.5"):
        Resamples(alone(2), Draws(SEED)).estimate(column(0.0, 1.0), 1.5)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50))
def test_spread_is_the_standard_deviation(values):
    assert spread(np.array([values]))[0] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
