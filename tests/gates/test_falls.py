"""Whether a fall counts: paired by question, whole clusters resampled and flipped."""

from __future__ import annotations

import pytest

from pytest_ragbench.gates.falls import in_scope, judge_of
from pytest_ragbench.statistics.resampling import Draws

DRAWS = Draws(20260901, 10_000)


@pytest.fixture
def fall_of(row, baseline):
    """The fall of `hit@10` from 1 to the values given, a question each; `clusters` name what belongs together."""

    def fall(values, *, clusters=None, before=1.0):
        rows = [row(number, before, cluster=clusters and clusters[number]) for number in range(len(values))]
        now = {(kept.question, "one"): {"hit@10": value} for kept, value in zip(rows, values, strict=True)}
        return judge_of(baseline(rows), now, DRAWS, 0.95)("one", "overall", "hit@10")

    return fall


def test_eight_losses_in_twenty_questions_are_real(fall_of):
    fall = fall_of([0.0] * 8 + [1.0] * 12)
    assert fall.counts
    assert fall.verdict == "real"
    assert fall.p == pytest.approx(2 / 2**8)  # of 2^8 patterns of signs, the one seen and its mirror image
    assert fall.n == 20


def test_three_losses_are_too_few_and_say_what_would_decide(fall_of):
    fall = fall_of([0.0] * 3 + [1.0] * 17)
    assert not fall.counts
    assert fall.verdict == "unresolvable"
    # 20 * (2.80 * se / 0.15)^2 with se = sqrt(0.15 * 0.85 / 20) is 44.4; the resampled se differs a little
    assert fall.needs.questions == pytest.approx(44.4, rel=0.05)
    assert fall.needs.clusters == fall.needs.questions


def test_losses_about_one_file_are_one_loss(fall_of):
    clusters = ["a.md"] * 8 + [f"g{number}.md" for number in range(12)]
    fall = fall_of([0.0] * 8 + [1.0] * 12, clusters=clusters)
    assert not fall.counts
    assert fall.p == 1.0  # one cluster: two patterns, each as extreme as the other


def test_a_collapse_of_every_question_alike_counts_though_it_has_no_spread(fall_of):
    fall = fall_of([0.0] * 20)
    assert fall.verdict == "indeterminate"
    assert fall.counts


def test_a_few_questions_that_all_fell_alike_cannot_count(fall_of):
    fall = fall_of([0.0] * 4)
    assert fall.p == pytest.approx(2 / 2**4)
    assert not fall.counts
    assert fall.needs is None


@pytest.mark.parametrize(("files", "fewest"), [(1, 6), (5, 6), (6, None)])
def test_about_fewer_than_six_files_no_fall_is_real_and_the_fall_says_so(fall_of, files, fewest):
    fall = fall_of([0.0] * files)
    assert fall.fewest == fewest  # 2 / 2^5 is above 0.05, 2 / 2^6 is not
    assert fall.counts is (fewest is None)


def test_only_questions_that_both_scored_are_paired(row, baseline):
    rows = [row(1, 1.0), row(2, None), row(3, 1.0), row(4, 1.0)]
    now = {("lex-0001", "one"): {"hit@10": 0.0}, ("lex-0002", "one"): {"hit@10": 0.0}, ("lex-0003", "one"): {}}
    judge = judge_of(baseline(rows), now, DRAWS, 0.95)
    assert judge("one", "overall", "hit@10").n == 1
    assert judge("two", "overall", "hit@10") is None


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        ("overall", True),
        ("suite:lexical", True),
        ("suite:books", False),
        ("domain:networking", True),
        ("domain:lexical", False),
        ("difficulty:hard", True),
        ("difficulty:", False),
    ],
)
def test_a_row_is_in_the_scopes_of_its_question(row, scope, inside):
    assert in_scope(row(1, 1.0, domain="networking", difficulty="hard"), scope) is inside
