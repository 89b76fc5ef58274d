"""Claims about sums that no order of addition can change, held against Python's whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.exact import ExactSums


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
    values = np.rint(generator.uniform(-(2.0**36), 2.0**36, (n, 2)))
    factors = generator.integers(-3, 4, (5, clusters.count)).astype(np.float64) * scale
    found = ExactSums(clusters, values, reach=n * 3 * scale).times(factors)
    assert found.tolist() == [[float(total) for total in row] for row in by_hand(values, labels, factors)]


def test_two_hundred_thousand_questions_stay_exact_in_one_cluster_or_in_many():
    n = 200_000
    values = np.full((n, 1), 2.0**36 - 1)
    for labels in (["one"] * n, [f"f{number % 1000}" for number in range(n)]):
        clusters = Clusters.of(labels)
        found = ExactSums(clusters, values, reach=n).times(np.ones((1, clusters.count)))
        assert found[0, 0] == float(n * (2**36 - 1))


def test_more_than_the_halves_can_hold_is_refused():
    with pytest.raises(StatisticsError, match="2 questions with values up to 1 are too many to add"):
        ExactSums(Clusters.of(["a", "b"]), np.full((2, 1), 2.0**36), reach=2**40)
