"""Means against floors and a baseline: every outcome, the tolerance, and which rule judges what."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.configurations.hard_gates import GateRule
from pytest_ragbench.gates.falls import Fall, Needs
from pytest_ragbench.gates.model import FAILING
from pytest_ragbench.gates.rules import floors_of, judge

RECALL = "recall@10"


def mean(value, n=40):
    return {"mean": value, "n": n, "low": value, "high": value}


def results(value=0.9, *, name="one", metric=RECALL, n=40, **sections):
    return {
        name: {"overall": {metric: mean(value, n)}, "by_suite": {}, "by_domain": {}, "by_difficulty": {}, **sections}
    }


def outcome(rule, current, baseline=None, falls=None):
    line = judge([rule], current, baseline, falls)[0]
    return line.outcome, line.failed


@pytest.mark.parametrize(
    ("floor", "value", "expected"),
    [(0.8, 0.9, "ok"), (0.8, 0.8, "ok"), (0.8, 0.79, "below floor"), (0.0, 0.0, "ok"), (1.0, 1.0, "ok")],
)
def test_a_floor_is_reached_at_its_own_value(floor, value, expected):
    assert outcome(GateRule(RECALL, floor=floor), results(value)) == (expected, expected in FAILING)


@pytest.mark.parametrize(
    ("before", "now", "allowed", "expected"),
    [
        (0.9, 0.9, 0.0, "ok"),
        (0.9, 0.88, 0.02, "ok"),
        (0.9, 0.87, 0.02, "regressed"),
        (0.9, 0.899, 0.0, "regressed"),
        (0.9, 1.0, 0.0, "ok"),
    ],
)
def test_a_fall_beyond_what_is_allowed_is_a_regression_whatever_the_floor(before, now, allowed, expected):
    rule = GateRule(RECALL, floor=0.5, allowed=allowed)
    assert outcome(rule, results(now), results(before)) == (expected, expected in FAILING)


def test_the_delta_of_a_loss_is_negative():
    (line, *_) = judge([GateRule(RECALL, allowed=0.5)], results(0.7), results(0.9))
    assert (line.current, line.baseline, line.delta) == (0.7, 0.9, -0.2)


def test_below_the_floor_comes_before_regressed_and_says_both():
    (line, *_) = judge([GateRule(RECALL, floor=0.8, allowed=0.01)], results(0.7), results(0.9))
    assert line.outcome == "below floor"
    assert "fell by more" in line.note


GRID = st.integers(0, 1000).map(lambda steps: steps / 1000)


@given(floor=GRID, off=st.floats(-9e-10, 9e-10))
def test_a_mean_within_the_tolerance_of_its_floor_holds(floor, off):
    value = min(max(floor + off, 0.0), 1.0)
    assert outcome(GateRule(RECALL, floor=floor), results(value)) == ("ok", False)


@given(floor=st.integers(1, 1000).map(lambda steps: steps / 1000), off=st.floats(2e-9, 1e-3))
def test_a_mean_that_is_further_below_its_floor_does_not(floor, off):
    assert outcome(GateRule(RECALL, floor=floor), results(floor - off)) == ("below floor", True)


@given(before=GRID, now=GRID, allowed=GRID)
def test_a_regression_is_a_loss_of_more_thousandths_than_allowed(before, now, allowed):
    lost = round(before * 1000) - round(now * 1000)  # whole numbers: what 0.9 - 0.88 > 0.02 gets wrong
    expected = "regressed" if lost > round(allowed * 1000) else "ok"
    assert outcome(GateRule(RECALL, allowed=allowed), results(now), results(before))[0] == expected


def test_gat_03_a_metric_that_the_run_does_not_have_fails_by_name():
    (line, *_) = judge([GateRule("ndgc@10", floor=0.1)], results())
    assert (line.metric, line.outcome, line.failed) == ("ndgc@10", "missing", True)
    assert "the run has no ndgc@10 for one" in line.note


def test_gat_03_a_metric_on_a_suite_that_is_absent_from_the_run_fails_by_name():
    (line, *_) = judge([GateRule(RECALL, "suite:books", floor=0.1)], results())
    assert (line.scope, line.outcome, line.failed) == ("suite:books", "missing", True)
    assert "one in suite:books" in line.note


def test_gat_03_a_gated_metric_of_the_baseline_that_the_run_lost_fails_by_name():
    rule = GateRule("ndcg@10", allowed=0.1)
    (line, *_) = judge([rule], results(), results(metric="ndcg@10"))
    assert (line.metric, line.baseline, line.outcome, line.failed) == ("ndcg@10", 0.9, "missing", True)


def test_gat_03_a_metric_that_the_baseline_lacks_is_held_to_its_floor_and_told():
    rule = GateRule("ndcg@10", floor=0.5, allowed=0.0)
    now = results(0.6, metric="ndcg@10")
    (line, *_) = judge([rule], now, results())
    assert (line.outcome, line.failed) == ("no baseline", False)
    assert outcome(rule, results(0.4, metric="ndcg@10"), results()) == ("below floor", True)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_gat_04_what_is_no_number_never_passes(value):
    rule = GateRule(RECALL, floor=0.0, allowed=1.0)
    (line, *_) = judge([rule], results(value, n=0), results(0.0))
    assert (line.outcome, line.failed, line.current, line.note) == ("no value", True, None, "no value (n = 0)")


def test_gat_04_a_baseline_without_a_value_is_none():
    rule = GateRule(RECALL, floor=0.1, allowed=0.0)
    assert outcome(rule, results(0.5), results(None, n=0)) == ("no baseline", False)


def test_means_over_different_numbers_of_questions_are_not_compared():
    rule = GateRule(RECALL, floor=0.1, allowed=0.0)
    (line, *_) = judge([rule], results(0.5, n=40), results(0.9, n=38))
    assert line.outcome == "no baseline"
    assert "the baseline has 38 questions here, this run 40" in line.note


def test_a_rule_that_names_a_configuration_stands_in_place_of_one_that_does_not():
    rules = [GateRule(RECALL, floor=0.9), GateRule(RECALL, configuration="weak", floor=0.5)]
    lines = judge(rules, results(0.9) | results(0.6, name="weak"))
    judged = {line.configuration: (line.floor, line.outcome) for line in lines if line.gated}
    assert judged == {"one": (0.9, "ok"), "weak": (0.5, "ok")}


def test_a_rule_for_a_configuration_that_did_not_run_is_missing():
    assert outcome(GateRule(RECALL, configuration="gone", floor=0.1), results()) == ("missing", True)


def test_suites_and_domains_are_judged_by_their_own_means():
    sections = {"by_suite": {"books": {RECALL: mean(0.4)}}, "by_domain": {"networking": {RECALL: mean(0.6)}}}
    rules = [GateRule(RECALL, "suite:books", floor=0.5), GateRule(RECALL, "domain:networking", floor=0.5)]
    judged = [(line.scope, line.outcome) for line in judge(rules, results(0.9, **sections)) if line.gated]
    assert judged == [("suite:books", "below floor"), ("domain:networking", "ok")]


def test_a_metric_without_a_rule_is_shown_and_never_fails():
    current = results(0.0, metric="mrr@10")
    (line,) = [line for line in judge([], current, results(1.0, metric="mrr@10")) if line.metric == "mrr@10"]
    assert (line.outcome, line.gated, line.failed, line.delta) == ("shown", False, False, -1.0)


def test_a_metric_of_the_baseline_alone_that_no_rule_names_is_told_and_never_fails():
    lines = judge([], results(), results(metric="old@10"))
    (line,) = [line for line in lines if line.metric == "old@10"]
    assert (line.outcome, line.gated, line.failed) == ("missing", False, False)


def test_what_another_suite_enforces_is_shown_and_not_judged():
    rules = [GateRule("access_leaks", enforced_by="access suite")]
    (line,) = [line for line in judge(rules, results()) if line.metric == "access_leaks"]
    assert (line.outcome, line.gated, line.failed, line.note) == (
        "enforced elsewhere",
        False,
        False,
        "enforced by access suite",
    )


def test_gated_metrics_are_shown_in_every_suite_domain_and_difficulty():
    sections = {
        "by_suite": {"books": {RECALL: mean(0.4), "mrr@10": mean(0.1)}},
        "by_domain": {"networking": {RECALL: mean(0.6)}},
        "by_difficulty": {"hard": {RECALL: mean(0.2)}},
    }
    lines = judge([GateRule(RECALL, floor=0.1)], results(0.9, **sections))
    shown = [(line.scope, line.metric, line.current) for line in lines if line.outcome == "shown"]
    assert shown == [
        ("suite:books", RECALL, 0.4),
        ("domain:networking", RECALL, 0.6),
        ("difficulty:hard", RECALL, 0.2),
    ]


def falling(fall):
    rule = GateRule(RECALL, allowed=0.01, significant=True)
    return judge([rule], results(0.5), results(0.9), lambda *_: fall)[0]


def test_a_significant_rule_counts_a_fall_that_is_real():
    line = falling(Fall(counts=True, verdict="real", p=0.01, n=40, needs=Needs(40, 40)))
    assert (line.outcome, line.failed) == ("regressed", True)
    assert "sign-flip p = 0.01 over 40 questions" in line.note


def test_a_fall_that_chance_could_give_is_inconclusive_and_says_how_many_questions_would_decide():
    line = falling(Fall(counts=False, verdict="not resolved", p=0.2, n=40, needs=Needs(130, 65)))
    assert (line.outcome, line.failed) == ("inconclusive", False)
    assert "130 questions of 65 files would decide" in line.note


def test_significance_is_asked_only_about_falls_beyond_what_is_allowed():
    def never(*_):
        raise AssertionError("nothing fell")

    rule = GateRule(RECALL, allowed=0.1, significant=True)
    assert outcome(rule, results(0.9), results(0.9), never) == ("ok", False)


def test_a_floor_holds_whatever_chance_could_have_done():
    rule = GateRule(RECALL, floor=0.8, allowed=0.01, significant=True)
    fall = Fall(counts=False, verdict="not resolved", p=0.9, n=40, needs=None)
    assert outcome(rule, results(0.5), results(0.9), lambda *_: fall) == ("below floor", True)


def test_floors_alone_keep_no_rule_that_needs_a_baseline():
    rules = [
        GateRule(RECALL, floor=0.5, allowed=0.1, significant=True),
        GateRule("mrr@10", allowed=0.1),
        GateRule("leaks", enforced_by="others"),
    ]
    assert floors_of(rules) == (GateRule(RECALL, floor=0.5), GateRule("leaks", enforced_by="others"))


@pytest.mark.parametrize(
    ("floor", "allowed", "now", "note"),
    [
        (0.8, None, 0.79996, "it misses by 4e-05"),  # a table shows 0.800 beside 0.800
        (None, 0.1, 0.79998, "it misses by 2e-05"),  # from 0.9 to here is 0.10002
        (0.8, None, 0.79, ""),
        (0.8, None, 0.8, ""),
    ],
)
def test_a_miss_that_a_table_would_round_away_is_told_in_words(floor, allowed, now, note):
    (line,) = judge([GateRule(RECALL, floor=floor, allowed=allowed)], results(now), results(0.9))
    assert line.note == note


def test_a_rule_about_falls_alone_judges_nothing_without_a_number_to_fall_from():
    first, second = judge(
        [GateRule(RECALL, allowed=0.1), GateRule(RECALL, scope="suite:x", floor=0.1, allowed=0.1)],
        results(0.8, by_suite={"x": {RECALL: mean(0.8)}}),
        results(0.8, name="other"),
    )[:2]
    assert (first.outcome, first.judged) == ("no baseline", False)
    assert (second.outcome, second.judged) == ("no baseline", True)
