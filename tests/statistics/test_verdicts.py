"""Claims about verdicts, their order and their words."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_ragbench.statistics.verdicts import MEANINGS, WORDS, Verdict, judge, minimal_detectable_effect


@pytest.mark.parametrize(
    ("low", "high", "p", "differing", "identical", "verdict"),
    [
        (0.0, 0.0, 1.0, 0, True, "no difference"),
        (1.0, 1.0, 0.001, 12, False, "indeterminate"),
        (0.5, 0.5, 1.0, 1, False, "indeterminate"),
        (-0.5, -0.5, 0.001, 12, False, "indeterminate"),
        (0.0, 0.0, 1.0, 0, False, "unresolvable"),
        (0.1, 0.4, 0.0625, 5, False, "unresolvable"),
        (0.1, 0.4, 0.03125, 6, False, "real"),
        (-0.4, -0.1, 0.05, 9, False, "real"),
        (0.1, 0.4, 0.0501, 9, False, "not resolved"),
        (-0.1, 0.4, 0.01, 9, False, "not resolved"),
        (0.0, 0.4, 0.01, 9, False, "not resolved"),
        (1e-10, 0.4, 0.01, 9, False, "not resolved"),
    ],
)
def test_the_first_verdict_that_applies(low, high, p, differing, identical, verdict):
    assert judge(low=low, high=high, p=p, differing=differing, identical=identical) == verdict


def test_sta_14_a_pair_that_could_not_reach_the_level_reads_too_few_to_tell():
    assert WORDS[judge(low=0.1, high=0.4, p=0.0625, differing=5, identical=False)] == "too few to tell"


def test_every_verdict_has_words_and_a_meaning():
    assert set(get_args(Verdict)) == set(WORDS) == set(MEANINGS)


def test_the_minimal_detectable_effect_is_2_80_standard_errors():
    # z(0.975) + z(0.8) = 1.95996 + 0.84162
    assert minimal_detectable_effect(0.1) == pytest.approx(0.280)
    assert minimal_detectable_effect(0.0) is None
