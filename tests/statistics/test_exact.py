"""Claims about sums that no order of addition can change, held against Python's whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.canonical import DECIMALS, number, quantise
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.exact import QUANTUM, ExactSums


def by_hand(values: np.ndarray, labels: list[str], factors: np.ndarray) -> list[list[int]]:
    """Sums of products in whole numbers, `(columns, rows)`."""
    names = sorted(set(labels))
    return [
        [
            sum(int(row[names.index(label)]) * int(value) for label, value in zip(labels, column, strict=True))
            for row in factors
        ]
        for column in values.T
    ]


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([1, 10**6]))
@settings(max_examples=40, deadline=None)
def test_products_are_the_correctly_rounded_whole_numbers(n, groups, seed, scale):
    generator = np.random.default_rng(seed)
    labels = [f"c{label}" for label in generator.integers(0, groups, n)]
    clusters = Clusters.of(labels)
    values = np.rint(generator.uniform(-(1 / QUANTUM), 1 / QUANTUM, (n, 2)))
    factors = generator.integers(-3, 4, (5, clusters.count)).astype(np.float64) * scale
    found = ExactSums(clusters, values, reach=n * 3 * scale).times(factors)
    assert found.tolist() == [[float(total) for total in row] for row in by_hand(values, labels, factors)]


shown = st.integers(0, 10**DECIMALS).map(lambda digits: digits / 10**DECIMALS)


@given(shown, shown)
def test_every_decimal_place_that_is_shown_is_right_in_values_and_in_differences(one, two):
    held = quantise(np.array([one, two]))
    assert [number(value) for value in held * QUANTUM] == [one, two]
    assert number((held[0] - held[1]) * QUANTUM) == round(one - two, DECIMALS)


def test_two_hundred_thousand_questions_stay_exact_in_one_cluster_or_in_many():
    n = 200_000
    values = np.full((n, 1), 1 / QUANTUM - 1)
    for labels in (["one"] * n, [f"f{index % 1000}" for index in range(n)]):
        clusters = Clusters.of(labels)
        found = ExactSums(clusters, values, reach=n).times(np.ones((1, clusters.count)))
        assert found[0, 0] == float(n * (int(1 / QUANTUM) - 1))


def test_more_than_the_halves_can_hold_is_refused():
    clusters, ones = Clusters.of(["a", "b"]), np.full((2, 1), 1 / QUANTUM)
    # 65,536 files, one of them with 65,535 questions, may all fall on the largest: below 2**32 questions in a resample.
    most = 2**16 * (2**16 - 1)
    found = ExactSums(clusters, ones, reach=most).times(np.array([[most / 2, most / 2]]))
    assert found[0, 0] == most / QUANTUM
    with pytest.raises(StatisticsError, match="2 questions with values up to 1 are too many to add"):
        ExactSums(clusters, ones, reach=2**32)
