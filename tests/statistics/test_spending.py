"""Claims about alpha spending: the shares of all looks sum to the level, and the resamples suffice for each."""

from __future__ import annotations

from math import fsum, log, pi

import numpy as np
import pytest
from scipy.stats import norm

from pytest_ragbench.canonical import quantise
from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import compare
from pytest_ragbench.statistics.resampling import Draws, Resamples
from pytest_ragbench.statistics.spending import MOST_RESAMPLES, resamples_for, spent_level
from pytest_ragbench.statistics.verdicts import fewest_differing, level_of, meanings, minimal_detectable_effect


def test_the_first_looks_by_hand():
    # 6 * 0.05 / pi^2 = 0.3 / 9.8696044 = 0.030396355; a quarter and a ninth of it for looks 2 and 3
    found = [spent_level(look, 0.05) for look in (1, 2, 3)]
    assert found == pytest.approx([0.030396355, 0.007599089, 0.003377373], abs=1e-9)


def test_the_shares_of_all_looks_sum_to_the_level():
    count = 100_000
    spent = fsum(spent_level(look, 0.05) for look in range(1, count + 1))
    # what is left lies between the integrals of 6 a / (pi^2 x^2) from count + 1 and from count on
    left = 6 * 0.05 / pi**2
    assert left / (count + 1) < 0.05 - spent < left / count


@pytest.mark.parametrize(("look", "level"), [(0, 0.05), (-1, 0.05), (1, 0.0), (1, 1.0)])
def test_what_is_no_look_and_no_level_is_refused(look, level):
    with pytest.raises(StatisticsError):
        spent_level(look, level)


def test_the_level_of_an_interval_is_told_to_the_last_bit():
    assert level_of(0.95) == 0.05
    assert level_of(0.9) == 0.1


@pytest.mark.parametrize("level", [0.05, spent_level(1, 0.05), spent_level(2, 0.05), spent_level(9, 0.05)])
def test_the_fewest_clusters_are_the_least_whose_smallest_p_reaches_the_level(level):
    count = fewest_differing(level)
    assert 2.0 ** (1 - count) <= level < 2.0 ** (2 - count)
    assert f"fewer than {count} clusters" in meanings(level)["unresolvable"]
    assert count == 1 + int(np.ceil(-log(level) / log(2)))


def test_the_detectable_effect_follows_the_level():
    wanted = 0.1 * (norm.ppf(1 - 0.030396355 / 2) + 0.84)
    assert minimal_detectable_effect(0.1, spent_level(1, 0.05)) == pytest.approx(wanted, abs=1e-8)


def test_resamples_suffice_for_the_level_and_stay_within_bounds():
    assert resamples_for(0.05, 10_000) == 10_000
    for look in range(1, 60):
        level = spent_level(look, 0.05)
        count = resamples_for(level, 10_000)
        assert 10_000 <= count <= MOST_RESAMPLES
        assert 1 / (count + 1) <= level  # a random sign-flip test can still reach it
        assert count == MOST_RESAMPLES or count * level >= 50  # of an interval, so many lie beyond its ends


def compared(differences, confidence, count=2_000):
    values = quantise(np.array(differences, dtype=np.float64)[:, None])
    resamples = Resamples(Clusters.of([str(n) for n in range(len(values))]), Draws(1, count))
    return compare(values, np.array([False]), resamples, confidence)[0]


def test_six_clusters_that_all_differ_are_real_at_five_percent_and_too_few_at_the_first_look():
    # all one way: p = 2^-5 = 0.03125, at most 0.05, but above 0.0304
    rising = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    usual, spent = compared(rising, 0.95), compared(rising, 1 - spent_level(1, 0.05))
    assert (usual.p_sign_flip, spent.p_sign_flip) == (0.03125, 0.03125)
    assert (usual.verdict, spent.verdict) == ("real", "unresolvable")
    assert spent.low < usual.low < usual.high < spent.high


def test_random_flips_too_few_to_reach_the_level_are_too_few_to_tell():
    # 20 clusters, 100 flips: p cannot be below 1/101 = 0.0099, whatever the data
    verdicts = [compared(np.linspace(0.1, 0.5, 20), 1 - level, count=100).verdict for level in (0.05, 0.005)]
    assert verdicts == ["real", "unresolvable"]
