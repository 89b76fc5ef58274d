"""Every statistic of a comparison, worked out again question by question in plain Python: no code is shared.

What both sides agree on is written in the documentation: which numbers the generator draws, what a cluster is, and when
two values tie. Everything here runs over the questions themselves, not over cluster sums, and in fractions or whole
numbers where the product claims to be exact.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.canonical import quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import Comparison, compare
from pytest_ragbench.statistics.resampling import Draws, Resamples
from pytest_ragbench.statistics.significance import holm, mcnemar, sign_flip

SEED = 20260901


def by_cluster(values, labels) -> list[list[float]]:
    """The values of each cluster, clusters in the order of their labels."""
    members = defaultdict(list)
    for value, label in zip(values, labels, strict=True):
        members[label].append(value)
    return [members[label] for label in sorted(members)]


def quantile(values, share: float) -> float:
    """Linear interpolation between the two order statistics around the place `share * (count - 1)`."""
    ascending = sorted(values)
    place = share * (len(ascending) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] * (above - place) + ascending[above] * (place - below) if above > below else ascending[-1]


def bootstrap(values, labels, resamples: int, seed: int = SEED) -> tuple[float, float, float]:
    """Ends of the 95 % percentile interval and the standard error: whole clusters are drawn, one resample at a time."""
    clusters = by_cluster(values, labels)
    generator = np.random.default_rng(seed)
    means = []
    for _ in range(resamples):
        drawn = [value for number in generator.integers(0, len(clusters), len(clusters)) for value in clusters[number]]
        means.append(math.fsum(drawn) / len(drawn))
    return quantile(means, 0.025), quantile(means, 0.975), statistics.stdev(means)


def exact_p(values, labels) -> Fraction:
    """Share of all the ways to swap the arms in whole clusters that are at least as extreme, in whole 48ths."""
    clusters = [sum(round(value * 48) for value in cluster) for cluster in by_cluster(values, labels)]
    observed = abs(sum(clusters))
    patterns = list(itertools.product((1, -1), repeat=len(clusters)))
    extreme = sum(abs(sum(s * c for s, c in zip(signs, clusters, strict=True))) >= observed for signs in patterns)
    return Fraction(extreme, len(patterns))


def sampled_p(values, labels, flips: int, seed: int = SEED) -> Fraction:
    """(b + 1) / (B + 1) over random swaps, each of them a coin for every cluster in turn."""
    clusters = [sum(round(value * 48) for value in cluster) for cluster in by_cluster(values, labels)]
    observed = abs(sum(clusters))
    coins = np.random.default_rng([seed, 1]).integers(0, 2, (flips, len(clusters)))
    extreme = sum(
        abs(sum(total if up else -total for up, total in zip(row, clusters, strict=True))) >= observed
        for row in coins.tolist()
    )
    return Fraction(extreme + 1, flips + 1)


def holm_stepwise(values: list[float]) -> list[float]:
    """The definition: p of rank i is the largest (m - j + 1) p(j) of the ranks j up to i, at most 1."""
    ascending = sorted(values)
    steps = [min(1.0, (len(values) - rank) * p) for rank, p in enumerate(ascending)]
    return [max(steps[: ascending.index(p) + ascending.count(p)]) for p in values]


def compared(values, labels, *, resamples=400) -> Comparison:
    column = quantise(np.array(values, dtype=np.float64)[:, None])
    return compare(column, np.array([False]), Resamples(Clusters.of(labels), Draws(SEED, resamples)))[0]


differences = st.sampled_from([-48, -32, -16, -9, -3, 0, 0, 3, 6, 16, 32, 48]).map(lambda whole: whole / 48)
"""Thirds, which no float holds exactly, and sixteenths: many sums tie in whole 48ths that differ in the last bits."""


@st.composite
def clustered(draw, largest: int, most_clusters: int):
    values = draw(st.lists(differences, min_size=1, max_size=largest))
    labels = draw(st.lists(st.integers(1, most_clusters), min_size=len(values), max_size=len(values)))
    return values, [f"file{label:02d}.md" for label in labels]


@given(clustered(30, 12))
@settings(max_examples=25, deadline=None)
def test_mean_interval_and_minimal_effect_of_a_clustered_difference(case):
    values, labels = case
    found = compared(values, labels)
    low, high, error = bootstrap(values, labels, 400)
    assert found.delta == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert (found.mde or 0.0) == pytest.approx(2.80 * error, abs=1e-8)


def test_ten_thousand_resamples_that_are_drawn_in_several_blocks():
    generator = np.random.default_rng(3)
    values = [round(value, 3) for value in generator.normal(0.05, 0.3, 260)]
    labels = [f"{label:03d}" for label in generator.integers(0, 150, 260)]
    found = compared(values, labels, resamples=10_000)
    assert (found.low, found.high) == pytest.approx(bootstrap(values, labels, 10_000)[:2], abs=1e-11)


@given(clustered(24, 10))
@settings(max_examples=30, deadline=None)
def test_enumerated_sign_flips_of_whole_clusters(case):
    values, labels = case
    assert compared(values, labels).p_sign_flip == float(exact_p(values, labels))


def all_differing(clusters: int) -> tuple[list[float], list[str]]:
    """One question in every second cluster, three in the others; each a whole odd number of sixteenths, so that no
    cluster's differences cancel."""
    numbers = [number for number in range(clusters) for _ in range(1 if number % 2 else 3)]
    odd = np.random.default_rng(clusters).integers(-4, 5, len(numbers)) * 2 + 1
    return (odd / 16).tolist(), [f"file{number:03d}.md" for number in numbers]


def test_sixteen_differing_clusters_are_still_enumerated():
    values, labels = all_differing(16)
    found = compared(values, labels)
    assert (found.differing, found.p_smallest) == (16, 2.0**-15)
    assert found.p_sign_flip == float(exact_p(values, labels))


@pytest.mark.parametrize(("clusters", "flips"), [(17, 500), (40, 2000), (300, 2000)])
def test_sampled_sign_flips_of_whole_clusters(clusters, flips):
    values, labels = all_differing(clusters)
    found = compared(values, labels, resamples=flips)
    assert (found.differing, found.p_smallest) == (clusters, 1 / (flips + 1))
    assert found.p_sign_flip == float(sampled_p(values, labels, flips))


@pytest.mark.parametrize("sign", [1, -1])
def test_sampled_sign_flips_that_tie_but_for_the_last_bits(sign):
    # In quanta 1/3 + 1/3 is not 2/3: patterns that flip such a triple tie with the data by the tolerance alone.
    values = [sign / 3, sign / 3, -sign * 2 / 3] * 8 + [1 / 16] * 3
    labels = [f"{number:02d}" for number in range(len(values))]
    found = compared(values, labels, resamples=2000)
    assert found.differing == 27
    assert found.p_sign_flip == float(sampled_p(values, labels, 2000))


def test_many_columns_are_flipped_alike_whatever_the_blocks():
    values = (np.random.default_rng(8).integers(-8, 10, (20, 300)) * 2 + 1) / 16
    labels = [f"{number:02d}" for number in range(20)]
    # 300 columns are more than 20 clusters and set the size of a block: 3,495 of the 4,000 flips, then the rest.
    found = sign_flip(quantise(values), Clusters.of(labels), seed=SEED, flips=4000)
    for column in (0, 299):
        assert found.p[column] == float(sampled_p(values[:, column].tolist(), labels, 4000))


@given(st.lists(st.sampled_from([0.001, 0.01, 0.02, 0.03, 0.04, 0.2, 0.6, 1.0]) | st.floats(0, 1), max_size=12))
def test_holm_by_its_definition(values):
    assert holm(values) == pytest.approx(holm_stepwise(values), abs=1e-15)


@pytest.mark.parametrize("pairs", range(11))
def test_mcnemar_by_counting_every_table(pairs):
    # Every way in which the discordant pairs could have fallen is equally likely.
    falls = Counter(sum(way) for way in itertools.product((0, 1), repeat=pairs))
    for gained in range(pairs + 1):
        as_uneven = sum(count for other, count in falls.items() if abs(2 * other - pairs) >= abs(2 * gained - pairs))
        assert mcnemar(gained, pairs - gained) == as_uneven / 2**pairs


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_effective_n_is_the_number_of_equal_clusters_with_the_same_variance(sizes):
    labels = [number for number, size in enumerate(sizes) for _ in range(size)]
    # A cluster that scores alike weighs size / n in the mean: variance sum (size / n)^2, of m equal ones 1 / m.
    variance = sum(Fraction(size, sum(sizes)) ** 2 for size in sizes)
    assert Clusters.of(labels).effective_n == pytest.approx(float(1 / variance))


def test_an_effect_of_the_minimal_detectable_size_is_called_real_four_times_in_five():
    generator = np.random.default_rng(4)
    # 100 questions with a standard deviation of 0.2: an error of 0.02, so an effect of 0.056.
    values = quantise(generator.normal(0.056, 0.2, (100, 1000)))
    found = compare(values, np.zeros(1000, dtype=np.bool_), Resamples(Clusters.of(range(100)), Draws(SEED, 1000)))
    assert statistics.median(one.mde for one in found) == pytest.approx(0.056, rel=0.03)
    share = sum(one.verdict == "real" for one in found) / 1000
    assert share == pytest.approx(0.80, abs=0.04)  # three Monte Carlo standard errors
