"""Claims about exact shares, on the reported case and on games whose shares are known."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.shapley import shapley

WORTH = {
    frozenset(names): value
    for names, value in (
        ("", 0), ("s", 0.5), ("d", 0.4), ("r", 0), ("sd", 0.62), ("sr", 0.6), ("dr", 0.55), ("sdr", 0.75),
    )
}  # fmt: skip


def test_sta_11_shares_of_three_factors():
    found = shapley(WORTH, ["s", "d", "r"])
    assert found == pytest.approx({"s": 0.37, "d": 0.295, "r": 0.085}, abs=1e-12)
    assert sum(found.values()) == pytest.approx(0.75, abs=1e-12)


def test_sta_11_a_constant_added_everywhere_changes_no_share():
    found = shapley({subset: value + 0.10 for subset, value in WORTH.items()}, ["s", "d", "r"])
    assert found == pytest.approx({"s": 0.37, "d": 0.295, "r": 0.085}, abs=1e-12)


def test_sta_11_a_missing_subset_is_named():
    worth = {subset: value for subset, value in WORTH.items() if subset != frozenset("sr")}
    with pytest.raises(StatisticsError, match=r"missing: \{s \+ r\}"):
        shapley(worth, ["s", "d", "r"])


@given(st.lists(st.floats(-1, 1), min_size=16, max_size=16))
def test_shares_are_the_mean_over_all_orders_of_switching_on(values):
    factors = "abcd"
    subsets = [frozenset(chosen) for size in range(5) for chosen in combinations(factors, size)]
    worth = dict(zip(subsets, values, strict=True))
    orders = list(permutations(factors))
    expected = {
        factor: sum(
            worth[frozenset(order[: order.index(factor) + 1])] - worth[frozenset(order[: order.index(factor)])]
            for order in orders
        )
        / len(orders)
        for factor in factors
    }
    assert shapley(worth, factors) == pytest.approx(expected, abs=1e-12)
