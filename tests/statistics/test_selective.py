"""Risk and coverage, by hand, by another way of counting, and by the properties that the curve must have."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.selective import risk_coverage


def test_a_curve_by_hand():
    # The surest is right, the next wrong, then right, then wrong: risks 0/1, 1/2, 1/3, 2/4.
    curve = risk_coverage([0.9, 0.8, 0.7, 0.1], [False, True, False, True])
    assert curve.points == ((0.25, 0.0), (0.5, 0.5), (0.75, 1 / 3), (1.0, 0.5))
    assert curve.area == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4, abs=1e-15)
    # Both losses last: 0, 0, 1/3, 2/4.
    assert curve.best == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4, abs=1e-15)


def test_questions_of_one_confidence_are_one_step_whatever_order_they_come_in():
    # Two at 0.9, one of them lost: 1/2 for both; then the third, right: 1/3.
    for losses in ([True, False, False], [False, True, False]):
        curve = risk_coverage([0.9, 0.9, 0.1], losses)
        assert curve.points == ((2 / 3, 0.5), (1.0, 1 / 3))
        assert curve.area == pytest.approx((0.5 + 0.5 + 1 / 3) / 3, abs=1e-15)


def test_what_has_no_confidence_comes_last_and_together():
    curve = risk_coverage([None, -5.0, None], [True, False, True])
    assert curve.points == ((1 / 3, 0.0), (1.0, 2 / 3))


def test_all_right_is_no_risk_and_all_lost_is_nothing_else():
    assert (risk_coverage([1, 2], [False, False]).area, risk_coverage([1, 2], [False, False]).best) == (0.0, 0.0)
    assert (risk_coverage([1, 2], [True, True]).area, risk_coverage([1, 2], [True, True]).best) == (1.0, 1.0)


@pytest.mark.parametrize(("confidences", "losses"), [([], []), ([0.1], [True, False])])
def test_no_question_and_missing_confidences_are_refused(confidences, losses):
    with pytest.raises(StatisticsError):
        risk_coverage(confidences, losses)


PAIRS = st.lists(st.tuples(st.none() | st.integers(-3, 3), st.booleans()), min_size=1, max_size=30)


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_the_questions_changes_no_bit(pairs, shuffler: random.Random):
    shuffled = pairs.copy()
    shuffler.shuffle(shuffled)
    assert risk_coverage(*zip(*pairs, strict=True)) == risk_coverage(*zip(*shuffled, strict=True))


@given(PAIRS)
def test_the_area_is_the_mean_risk_at_each_questions_own_threshold(pairs):
    def risk_from(threshold):
        answered = [loss for confidence, loss in pairs if threshold is None or (confidence or -9) >= threshold]
        return statistics.fmean(answered)

    pairs = [(confidence or -9, loss) for confidence, loss in pairs]
    curve = risk_coverage(*zip(*pairs, strict=True))
    assert curve.area == pytest.approx(statistics.fmean(risk_from(confidence) for confidence, _ in pairs), abs=1e-12)
    assert curve.best <= curve.area + 1e-12
    assert curve.points[-1] == (1.0, sum(loss for _, loss in pairs) / len(pairs))
