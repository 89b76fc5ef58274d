"""Claims about clusters and the effective number of questions."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ragbench.statistics.clusters import Clusters


@pytest.mark.parametrize(
    ("labels", "count", "effective"),
    [
        (["a", "b", "c", "d"], 4, 4.0),
        (["a", "a", "b", "b"], 2, 2.0),
        (["a", "a", "a", "b"], 2, 16 / 10),
        (["a"] * 7, 1, 1.0),
        ([], 0, 0.0),
    ],
)
def test_effective_n_is_that_of_kish(labels, count, effective):
    clusters = Clusters.of(labels)
    assert (clusters.n, clusters.count) == (len(labels), count)
    assert clusters.effective_n == pytest.approx(effective)


def test_cluster_numbers_follow_the_sorted_labels():
    assert Clusters.of(["b", "a", "b", "c"]).codes.tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize("labels", [["b", "a", "b", "c"], ["d", "c", "b", "a"]])
def test_sums_are_taken_within_clusters(labels):
    values = np.arange(8.0).reshape(4, 2)
    expected = [
        values[[index for index, label in enumerate(labels) if label == name]].sum(axis=0)
        for name in sorted(set(labels))
    ]
    assert np.array_equal(Clusters.of(labels).sums(values), expected)
