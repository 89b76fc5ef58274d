"""Claims about paired tests, held against scipy, statsmodels and the reported cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from pytest_ragbench.canonical import quantise
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import compare
from pytest_ragbench.statistics.resampling import Draws, Resamples
from pytest_ragbench.statistics.significance import holm, mcnemar, sign_flip

SEED = 20260901


def flip(values, labels=None, **settings):
    values = np.array(values, dtype=np.float64)
    clusters = Clusters.of(labels or [f"{number:06d}" for number in range(len(values))])
    return sign_flip(quantise(values.reshape(len(values), -1)), clusters, seed=SEED, **settings)


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (1, 0, 1.0),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (3, 3, 1.0),
        (8, 1, 0.0390625),
        (7, 2, 0.1796875),
        (10, 2, 0.03857421875),
        (30, 12, 0.007915897334896727),
        (0, 0, 1.0),
    ],
)
def test_sta_02_exact_mcnemar_at_small_counts(gained, lost, p):
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-12)
    assert mcnemar(lost, gained) == mcnemar(gained, lost)
    hits = quantise(np.array([1.0] * gained + [-1.0] * lost + [0.0] * 9))[:, None]
    resamples = Resamples(Clusters.of([f"{number:02d}" for number in range(len(hits))]), Draws(SEED, 2))
    assert compare(hits, np.array([True]), resamples)[0].p_mcnemar == mcnemar(gained, lost)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_that_of_scipy_and_statsmodels(gained, lost):
    found = mcnemar(gained, lost)
    assert found == pytest.approx(float(statsmodels_mcnemar([[0, gained], [lost, 0]], exact=True).pvalue), abs=1e-9)
    if gained + lost:
        assert found == pytest.approx(stats.binomtest(gained, gained + lost).pvalue, abs=1e-9)


def test_mcnemar_of_thousands_of_pairs_neither_overflows_nor_underflows():
    assert mcnemar(2100, 1900) == pytest.approx(stats.binomtest(2100, 4000).pvalue, abs=1e-9)
    assert mcnemar(5000, 0) == 0.0


def test_mcnemar_refuses_negative_counts():
    with pytest.raises(StatisticsError, match="found -1 and 2"):
        mcnemar(-1, 2)


@given(st.lists(st.floats(0, 1), max_size=20))
@settings(max_examples=15, deadline=None)  # theirs takes a tenth of a second
def test_holm_is_that_of_statsmodels(values):
    expected = multipletests(values, method="holm")[1] if values else []
    assert holm(values) == pytest.approx(list(expected), abs=1e-12)


def test_holm_refuses_what_is_no_probability():
    with pytest.raises(StatisticsError, match="between 0 and 1"):
        holm([0.1, float("nan")])


@pytest.mark.parametrize(
    ("one_way", "p"), [(4, 0.125), (5, 0.0625), (6, 0.03125), (11, 0.0009765625), (12, 0.00048828125)]
)
def test_sta_14_the_smallest_attainable_p(one_way, p):
    found = flip([1.0] * one_way + [0.0] * 30)
    assert (found.p[0], found.smallest[0], found.differing[0]) == (p, p, one_way)


def test_sta_14_six_differing_pairs_are_needed_for_one_comparison_and_twelve_for_sixty_three():
    smallest = [flip([1.0] * count).smallest[0] for count in range(1, 14)]
    assert next(count for count, p in enumerate(smallest, start=1) if p <= 0.05) == 6
    assert next(count for count, p in enumerate(smallest, start=1) if p <= 0.05 / 63) == 12


def test_sta_01_without_a_difference_p_is_one():
    found = flip([0.0] * 20)
    assert (found.p[0], found.differing[0], found.smallest[0]) == (1.0, 0, 1.0)


@given(st.lists(st.integers(-4, 4).map(lambda quarter: quarter / 4), min_size=2, max_size=12))
@settings(max_examples=60, deadline=None)
def test_enumerated_sign_flips_are_those_of_scipy(values):
    theirs = stats.permutation_test(
        (np.array(values),), lambda x, axis: np.abs(x.sum(axis=axis)), permutation_type="samples",
        n_resamples=np.inf, alternative="greater", vectorized=True,
    )  # fmt: skip
    assert flip(values).p[0] == pytest.approx(theirs.pvalue, abs=1e-12)


def test_one_differing_cluster_more_than_can_be_enumerated_is_sampled():
    generator = np.random.default_rng(5)
    values = np.round(generator.normal(0.3, 1.0, (17, 3)) * 4) / 4 + 0.001
    exact = [
        stats.permutation_test(
            (column,), lambda x, axis: np.abs(x.sum(axis=axis)), permutation_type="samples",
            n_resamples=np.inf, alternative="greater", vectorized=True, batch=4096,
        ).pvalue
        for column in values.T
    ]  # fmt: skip
    found = flip(values, flips=10_000)
    assert set(found.differing) == {17}
    assert set(found.smallest) == {1 / 10_001}
    assert found.p == pytest.approx(exact, abs=4 * 0.5 / 100)  # four standard errors of a share of 10,000


def test_a_sampled_p_is_never_zero():
    assert flip([1.0] * 60, flips=999).p[0] == 1 / 1000


def test_whole_clusters_are_flipped():
    values, labels = [0.25, 0.25, -0.25, 0.5, 0.5, 0.5], ["a", "a", "b", "b", "c", "c"]
    # Cluster sums 0.5, 0.25, 1.0: of the eight patterns only the observed and its mirror image reach 1.75.
    found = flip(values, labels)
    assert (found.p[0], found.differing[0]) == (0.25, 3)


def test_a_cluster_whose_differences_cancel_does_not_differ():
    assert flip([0.5, -0.5, 0.5], ["a", "a", "b"]).differing[0] == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sums_that_differ_by_rounding_alone_are_ties(sign):
    third = sign / 3.0
    # In quanta 1/3 + 1/3 is not 2/3. Of the 16 patterns of 1/3, 1/3, -2/3, 1/2 all but four are as far from zero as the
    # data, 1/2: those whose thirds add up to 2/3 against the half, |2/3 - 1/2| = 1/6.
    assert quantise(np.array([third])).item() * 2 != quantise(np.array([2 * third])).item()
    assert flip([third, third, -2 * third, 0.5]).p[0] == 12 / 16
    assert flip([third, third, -2 * third], ["a", "a", "a"]).differing[0] == 0


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_neither_the_order_of_the_questions_nor_the_other_columns_change_a_p(n, seed):
    generator = np.random.default_rng(seed)
    values = np.round(generator.normal(size=(n, 3)) * 2) / 2
    labels = [f"c{label:02d}" for label in generator.integers(0, 30, n)]
    order = generator.permutation(n)
    every = flip(values, labels, flips=200)
    assert flip(values[order], [labels[index] for index in order], flips=200).p.tolist() == every.p.tolist()
    assert flip(values[:, 1], labels, flips=200).p[0] == every.p[1]


def test_refuses_nan():
    with pytest.raises(StatisticsError, match="NaN"):
        flip([0.0, np.nan])
