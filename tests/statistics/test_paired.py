"""Claims about whole comparisons of two arms."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ragbench.canonical import quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.paired import Comparison, compare
from pytest_ragbench.statistics.resampling import Draws, Resamples


def comparison(one, two, *, binary=True, labels=None) -> Comparison:
    differences = quantise(np.array(one, dtype=np.float64)) - quantise(np.array(two, dtype=np.float64))
    clusters = Clusters.of(labels or [f"{number:03d}" for number in range(len(one))])
    return compare(differences[:, None], np.array([binary]), Resamples(clusters, Draws(20260901)))[0]


def test_sta_01_two_runs_of_one_configuration_show_no_difference():
    hits = [1, 0] * 10
    found = comparison(hits, hits)
    assert (found.gained, found.lost, found.p_mcnemar, found.delta) == (0, 0, 1.0, 0.0)
    assert (found.verdict, found.p_sign_flip, found.mde) == ("no difference", 1.0, None)


def test_sta_04_the_same_difference_on_every_question_is_indeterminate():
    found = comparison([1] * 12, [0] * 12)
    assert (found.delta, found.low, found.high, found.verdict) == (1.0, 1.0, 1.0, "indeterminate")


def test_sta_07_one_question_is_indeterminate():
    found = comparison([0.75], [0.25], binary=False)
    assert (found.delta, found.low, found.high, found.verdict) == (0.5, 0.5, 0.5, "indeterminate")
    assert found.p_mcnemar is None


def test_scores_within_the_tolerance_are_neither_gained_nor_lost():
    found = comparison([0.3] * 8, [0.3 + 9e-10, 0.3 - 9e-10] * 4, binary=False)
    assert (found.gained, found.lost, found.differing, found.verdict) == (0, 0, 0, "no difference")


@pytest.mark.parametrize(("one_way", "verdict"), [(5, "unresolvable"), (6, "real")])
def test_sta_14_five_differing_questions_cannot_tell_six_can(one_way, verdict):
    assert comparison([1] * one_way + [1] * 10, [0] * one_way + [1] * 10).verdict == verdict


def test_gains_and_losses_in_one_cluster_that_cancel_are_a_difference_that_cannot_be_told():
    found = comparison([1, 0], [0, 1], labels=["a", "a"])
    assert (found.delta, found.gained, found.lost, found.differing) == (0.0, 1, 1, 0)
    assert found.verdict == "unresolvable"


def test_an_unresolved_difference_names_the_effect_that_could_have_been_found():
    one, two = [1, 0] * 10, [0, 1] * 9 + [0, 0]
    found = comparison(one, two)
    differences = np.array(one) - np.array(two)
    assert found.verdict == "not resolved"
    assert found.mde == pytest.approx(2.80 * differences.std() / len(one) ** 0.5, rel=0.03)
