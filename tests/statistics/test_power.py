"""Claims about what an effect needs: published sizes, another tool, exact enumeration, and simulation."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from statsmodels.stats.power import TTestPower

from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.power import (
    Spread,
    mcnemar_detectable,
    mcnemar_needed,
    needed,
    reachable,
)
from pytest_ragbench.statistics.verdicts import minimal_detectable_effect


def spread(n=100, clusters=100, sd=0.3, deff=1.0, differing=None, size=None):
    independent = sd / sqrt(n)
    return Spread(n, clusters, independent * sqrt(deff), independent, size or n / clusters, differing or clusters)


# --- McNemar ------------------------------------------------------------------------------------------------------------


def test_connors_example_and_one_by_hand():
    # p01 = 0.45, p10 = 0.05: 23 pairs, the example that calculators of his formula print
    assert mcnemar_needed(0.5, 0.4) == 23
    # (1.95996 * sqrt(0.3) + 0.84162 * sqrt(0.3 - 0.01))^2 / 0.01 = (1.07351 + 0.45322)^2 / 0.01 = 233.1
    assert mcnemar_needed(0.3, 0.1) == 234


def power_by_tables(n, share, effect, rejects):
    """Power of a test by adding up every table: discordant pairs are binomial, wins among them too."""
    wins = (share + effect) / (2 * share)
    total = 0.0
    for pairs in range(1, n + 1):
        won = np.arange(pairs + 1)
        total += binom.pmf(pairs, n, share) * binom.pmf(won[rejects(won, pairs)], pairs, wins).sum()
    return total


def asymptotic(won, pairs):
    return np.abs(2 * won - pairs) / sqrt(pairs) >= norm.ppf(0.975)


def exact(won, pairs):
    return 2 * binom.cdf(np.minimum(won, pairs - won), pairs, 0.5) <= 0.05


@pytest.mark.parametrize(("share", "effect"), [(0.3, 0.1), (0.2, 0.1), (0.1, 0.05), (0.5, 0.15), (0.12, 0.06)])
def test_the_size_has_a_power_of_four_in_five_when_every_table_is_counted(share, effect):
    # 29 to 140 discordant pairs are expected: few enough that the tables come in steps
    found = power_by_tables(mcnemar_needed(share, effect), share, effect, asymptotic)
    assert found == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(("share", "effect"), [(0.3, 0.1), (0.2, 0.1), (0.1, 0.05), (0.12, 0.06)])
def test_the_exact_test_falls_a_little_short_of_it(share, effect):
    assert 0.74 < power_by_tables(mcnemar_needed(share, effect), share, effect, exact) < 0.80


@given(st.floats(0.01, 1.0), st.floats(0.05, 1.0))
def test_the_detectable_effect_is_the_size_solved_backwards(share, part):
    n = mcnemar_needed(share, share * part)
    found = mcnemar_detectable(n, share)
    if found is None:  # rounding up to n may not quite reach the share itself
        assert part > 0.99
    else:
        assert found <= share * part + 1e-9
        assert mcnemar_needed(share, found) in (n - 1, n)


def test_an_effect_above_the_discordant_share_cannot_occur():
    assert mcnemar_needed(0.02, 0.03) is None
    assert mcnemar_needed(0.0, 0.03) is None
    assert mcnemar_needed(0.03, 0.03) == 260  # all one way: (1.95996 * sqrt(0.03) + 0.84162 * sqrt(0.0291))^2 / 0.0009
    assert mcnemar_detectable(20, 0.3) is None  # 0.3 alone would need 24
    assert mcnemar_detectable(100, 0.0) is None


# --- graded metrics, clusters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sd", "effect"), [(0.3, 0.03), (0.3, 0.1), (0.2, 0.05)])
def test_independent_questions_need_what_statsmodels_says(sd, effect):
    told = TTestPower().solve_power(effect_size=effect / sd, alpha=0.05, power=0.8)
    found = needed(spread(sd=sd), effect)
    assert found.questions == found.clusters
    assert found.questions == pytest.approx(told, abs=4)  # the t distribution asks for two or three more


def test_by_hand_the_standard_error_falls_with_the_root_of_the_clusters():
    # error 0.02: 2.80 * 0.02 = 0.056 detectable; for 0.028 four times as much
    one = Spread(n=200, clusters=50, error=0.02, independent=0.01, size=4.0, differing=50)
    assert minimal_detectable_effect(one.error) == pytest.approx(0.056)
    assert needed(one, 0.028) == (800, 200)
    # deff = (0.02 / 0.01)^2 = 4 = 1 + (4 - 1) * icc, so all questions of a file are as one
    assert (one.design_effect, one.icc) == (pytest.approx(4.0), pytest.approx(1.0))
    assert reachable(one, 0.028) == (False, None)


def test_by_hand_more_questions_about_the_same_files():
    # deff 1.6 = 1 + 3 * 0.2; v = 1e-4: 0.8 v shrinks, 0.2 * 4 v = 0.8 v stays
    one = Spread(n=200, clusters=50, error=sqrt(1.6e-4), independent=0.01, size=4.0, differing=50)
    assert one.icc == pytest.approx(0.2)
    # effect 2.8 * sqrt(1.2e-4): (0.8 v) / t + 0.8 v = 1.2 v, so t = 2
    assert reachable(one, 2.8 * sqrt(1.2e-4)) == (True, 400)
    assert needed(one, 2.8 * sqrt(1.2e-4)).questions == 267  # 200 * 1.6 / 1.2
    assert reachable(one, 2.8 * sqrt(0.79e-4)) == (False, None)


def test_six_clusters_must_be_expected_to_differ():
    # two of seven files differ: 6 / (2 / 7) = 21 files
    one = Spread(n=70, clusters=7, error=0.001, independent=0.001, size=10.0, differing=2)
    assert needed(one, 0.5) == (210, 21)
    assert reachable(one, 0.5) == (None, None)
    five = Spread(n=50, clusters=5, error=0.001, independent=0.001, size=10.0, differing=5)
    assert reachable(five, 0.5) == (False, None)


def test_without_a_spread_there_is_nothing_to_scale():
    still = Spread(n=50, clusters=10, error=0.0, independent=0.0, size=5.0, differing=0)
    assert (needed(still, 0.03), still.design_effect, still.icc) == (None, None, None)
    assert reachable(still, 0.03) == (None, None)


def test_a_likeness_is_not_told_from_a_few_shared_files():
    assert Spread(n=31, clusters=28, error=0.02, independent=0.019, size=1.2, differing=20).icc is None


def test_clusters_less_alike_than_chance_count_as_independent():
    one = Spread(n=200, clusters=50, error=0.009, independent=0.01, size=4.0, differing=50)
    assert one.icc == 0.0
    # v (1 - 0) / (E / 2.80)^2 = 0.0001 / 0.0045^2 = 0.0001 / 0.00002025 = 4.938, times 200 questions: 987.7
    assert reachable(one, 0.0126) == (True, 988)
    # more files come as they do now: (2.80 * 0.009 / 0.0126)^2 = 4, times 200
    assert needed(one, 0.0126).questions == 800


def test_clusters_more_alike_than_one_question_repeated_gain_nothing_from_more_questions():
    # large files differ most: deff = (0.03 / 0.01)^2 = 9 is above the size 4, and all of 0.03^2 stays
    one = Spread(n=200, clusters=50, error=0.03, independent=0.01, size=4.0, differing=50)
    assert one.icc == 1.0
    # 2.80 * 0.03 = 0.084 is what the run detects; 0.07 is above 2.80 * sqrt(4 v) = 0.056, and below that
    assert reachable(one, 0.07) == (False, None)
    assert reachable(one, 0.085) == (True, 50)


@pytest.mark.parametrize("effect", [0.0, -0.1, 1.5, float("nan")])
def test_what_is_no_effect_is_refused(effect):
    for function in (needed, reachable):
        with pytest.raises(StatisticsError):
            function(spread(), effect)
    with pytest.raises(StatisticsError):
        mcnemar_needed(0.3, effect)


@pytest.mark.parametrize(("n", "told"), [(29, False), (30, True)])
def test_an_icc_is_told_from_ten_questions_beyond_the_first_of_their_file(n, told):
    one = Spread(n=n, clusters=20, error=0.02, independent=0.019, size=1.7, differing=15)
    assert (one.icc is not None) is told


def test_a_large_effect_needs_no_fewer_questions_than_there_are_files():
    # By the formula 100 * (2.80 * 0.01 / 0.0933)^2 = 9 questions would do; but each of the 50 files keeps one.
    one = Spread(n=100, clusters=50, error=0.01, independent=0.01, size=2.0, differing=50)
    assert reachable(one, 0.28 / 3) == (True, 50)


def drawn(generator, runs, clusters, size, icc, sd=0.3):
    """Mean differences of files with a common part each, `(runs, clusters)`."""
    common = generator.normal(0.0, sd * sqrt(icc), size=(runs, clusters))
    return common + generator.normal(0.0, sd * sqrt((1 - icc) / size), size=(runs, clusters))


def true_spread(clusters, size, icc, sd=0.3):
    n = clusters * size
    deff = 1 + (size - 1) * icc
    return Spread(n, clusters, sd * sqrt(deff / n), sd / sqrt(n), float(size), clusters)


@pytest.mark.parametrize(("icc", "size"), [(0.0, 4), (0.2, 4), (0.5, 10)])
def test_simulated_clusters_find_the_effect_four_times_in_five(icc, size):
    effect, runs, generator = 0.05, 4_000, np.random.default_rng(7)
    more_files = needed(true_spread(60, size, icc), effect)
    means = effect + drawn(generator, runs, more_files.clusters, size, icc)
    z = means.mean(axis=1) / (means.std(axis=1, ddof=1) / sqrt(more_files.clusters))
    # Monte Carlo error: sqrt(0.8 * 0.2 / 4000) = 0.006; the normal quantile for some 100 files adds about 0.005
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize(("icc", "size"), [(0.1, 4), (0.2, 3)])
def test_simulated_questions_about_the_same_files_find_it_as_often(icc, size):
    files, runs, generator = 150, 4_000, np.random.default_rng(8)
    now = true_spread(files, size, icc)
    effect = 0.9 * minimal_detectable_effect(now.error)
    there = reachable(now, effect)
    assert there.questions > now.n
    means = effect + drawn(generator, runs, files, there.questions / files, icc)
    z = means.mean(axis=1) / (means.std(axis=1, ddof=1) / sqrt(files))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.025)
