"""Claims about the contrasts of a factorial: brute force over all orders, games whose answers are known, efficiency."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.canonical import quantise
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.exact import QUANTUM
from pytest_ragbench.statistics.resampling import Draws, Resamples
from pytest_ragbench.statistics.shapley import (
    check_efficiency,
    compare_contrasts,
    interaction_contrasts,
    leave_one_out_contrasts,
    main_effect_contrasts,
    shapley,
    shapley_contrasts,
    total_contrast,
)

ORDERS = list(permutations(range(6)))
WORTHS = st.lists(st.floats(0, 1), min_size=64, max_size=64)


def values_of(contrasts, worth):
    """The contrasts of one question with these scores, in units of the metric."""
    return contrasts.of(quantise(np.array([worth], dtype=np.float64)))[0] / contrasts.divisor * QUANTUM


def over_all_orders(worth, count):
    """What each factor adds when it is switched on, a mean over all orders of switching on."""
    sums = [0.0] * count
    orders = list(permutations(range(count)))
    for order in orders:
        on = 0
        for factor in order:
            sums[factor] += worth[on | 1 << factor] - worth[on]
            on |= 1 << factor
    return [total / len(orders) for total in sums]


@settings(max_examples=40, deadline=None)
@given(WORTHS)
def test_sta_11_shares_of_six_factors_equal_brute_force_over_all_720_orders(worth):
    assert len(ORDERS) == 720
    assert values_of(shapley_contrasts(6), worth) == pytest.approx(over_all_orders(worth, 6), abs=1e-12)


@pytest.mark.parametrize("count", range(1, 11))
def test_weights_are_whole_and_what_each_factor_adds_is_weighed_once_in_all(count):
    for contrasts in (shapley_contrasts(count), main_effect_contrasts(count), leave_one_out_contrasts(count)):
        assert (contrasts.weights == np.rint(contrasts.weights)).all()
        assert (np.where(contrasts.weights > 0, contrasts.weights, 0).sum(axis=0) == contrasts.divisor).all()
        assert (contrasts.weights.sum(axis=0) == 0).all()


@given(WORTHS)
def test_the_matrix_and_the_formula_give_the_same_shares(worth):
    names = "abcdef"
    subsets = {frozenset(n for bit, n in enumerate(names) if mask >> bit & 1): worth[mask] for mask in range(64)}
    assert values_of(shapley_contrasts(6), worth) == pytest.approx(list(shapley(subsets, names).values()), abs=1e-12)


def test_sta_11_three_factors_and_a_constant_added_everywhere():
    # s is bit 0, d bit 1, r bit 2: none, s, d, sd, r, sr, dr, sdr
    worth = [0, 0.5, 0.4, 0.62, 0, 0.6, 0.55, 0.75]
    for shift in (0.0, 0.1):
        shares = values_of(shapley_contrasts(3), [value + shift for value in worth])
        assert shares == pytest.approx([0.37, 0.295, 0.085], abs=1e-12)
        assert shares.sum() == pytest.approx(0.75, abs=1e-12)
    # s with d: 0.62 - 0.5 - 0.4; s with r: 0.6 - 0.5 - 0; d with r: 0.55 - 0.4 - 0
    assert values_of(interaction_contrasts(3), worth) == pytest.approx([-0.28, 0.1, 0.15], abs=1e-12)
    # all minus all but one: 0.75 - 0.55, 0.75 - 0.6, 0.75 - 0.62
    assert values_of(leave_one_out_contrasts(3), worth) == pytest.approx([0.2, 0.15, 0.13], abs=1e-12)
    # s: the mean of 0.5, 0.62 - 0.4, 0.6 - 0, 0.75 - 0.55
    assert values_of(main_effect_contrasts(3), worth)[0] == pytest.approx(0.38, abs=1e-12)
    assert values_of(total_contrast(3), worth) == pytest.approx([0.75], abs=1e-12)


@given(st.lists(st.integers(-64, 64), min_size=5, max_size=5))
def test_of_an_additive_function_interactions_are_zero_and_every_effect_is_its_own_term(terms):
    worth = [0.5 + sum(term / 1024 for bit, term in enumerate(terms) if mask >> bit & 1) for mask in range(32)]
    assert (values_of(interaction_contrasts(5), worth) == 0).all()
    for contrasts in (shapley_contrasts(5), main_effect_contrasts(5), leave_one_out_contrasts(5)):
        assert values_of(contrasts, worth).tolist() == [term / 1024 for term in terms]


def test_pairs_come_in_the_order_of_combinations():
    pairs = list(combinations(range(4), 2))
    weights = interaction_contrasts(4).weights
    for column, (one, two) in enumerate(pairs):
        assert weights[1 << one | 1 << two, column] == 1
        assert np.flatnonzero(weights[:, column]).tolist() == sorted({0, 1 << one, 1 << two, 1 << one | 1 << two})


def resampled(n=20, count=3):
    worth = quantise(np.random.default_rng(7).random((n, 1 << count)))
    return worth, Resamples(Clusters.of([f"{number % 6}" for number in range(n)]), Draws(1, 100))


def test_shares_that_do_not_sum_to_what_all_add_are_a_defect_and_are_refused():
    worth, resamples = resampled()
    shares = shapley_contrasts(3)
    check_efficiency(shares, [worth, worth[::-1].copy()], resamples)
    weights = shares.weights.copy()
    weights[3, 0] += 1.0
    with pytest.raises(StatisticsError, match="the shares of 3 factors miss what all of them add by up to 0"):
        check_efficiency(replace(shares, weights=weights), [worth], resamples)


def test_metrics_and_kinds_come_back_in_the_order_in_which_they_were_given():
    worth, resamples = resampled()
    other = np.roll(worth, 1, axis=1)
    kinds = (total_contrast(3), shapley_contrasts(3), interaction_contrasts(3))
    together = compare_contrasts(kinds, [worth, other], resamples)
    for found, values in zip(together, (worth, other), strict=True):
        alone = [compare_contrasts([kind], [values], resamples)[0][0] for kind in kinds]
        assert found == alone
        assert [one.delta for one in found[1]] == pytest.approx(
            values_of(shapley_contrasts(3), values.mean(axis=0) * QUANTUM), abs=1e-11
        )
