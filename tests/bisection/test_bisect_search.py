"""BIS-02, BIS-08: the search, without git: what it finds, and how many commits it looks at."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.bisection.search import bisect_commits, probes_at_most
from pytest_ragbench.errors import UsageError

LETTERS = {"g": "good", "b": "regressed", "x": "unscorable"}


def searched(letters, **options):
    """Search `ggxb`: commits are positions from 0, the good end; every probe is counted."""
    looks = []

    def probe(index):
        looks.append(index)
        return LETTERS[letters[index]]

    found = bisect_commits(range(len(letters)), probe, **options)
    assert [commit for commit, _ in found.probes] == looks
    assert len(looks) == len(set(looks)), "a commit was probed twice"
    return found


@given(good=st.integers(1, 300), bad=st.integers(1, 300))
def test_the_first_regressed_commit_of_every_monotone_history_is_found(good, bad):
    found = searched("g" * good + "b" * bad)
    assert (found.answer, found.first_bad, found.before) == ("found", good, good - 1)
    assert len(found.probes) <= math.ceil(math.log2(good + bad - 1)) + 2 == probes_at_most(good + bad)


@pytest.mark.parametrize("first_bad", [1, 8, 16])
def test_bis_08_sixteen_commits_take_four_probes_beside_the_ends(first_bad):
    found = searched("g" * first_bad + "b" * (17 - first_bad))
    assert found.first_bad == first_bad
    assert len(found.probes) == 4 + 2  # log2(16) = 4


def test_bis_08_without_a_regression_only_the_ends_are_probed():
    found = searched("g" * 17)
    assert (found.answer, found.suspects, found.before) == ("no regression", (), None)
    assert [commit for commit, _ in found.probes] == [16, 0]


def test_two_commits_are_their_own_answer():
    assert searched("gb").first_bad == 1
    assert probes_at_most(2) == 2


def test_bis_02_a_commit_that_cannot_be_scored_counts_as_regressed_and_is_told_apart():
    found = searched("ggxggbbb")
    # positions: 7, 0, middle 3 is good, 5 regressed, 4 good: the broken commit is not even looked at
    assert (found.answer, found.first_bad) == ("found", 5)
    found = searched("gggxbbb")
    assert (found.answer, found.first_bad) == ("could not be scored", 3)


def test_bis_02_a_skipped_commit_before_the_drop_is_not_blamed():
    found = searched("gggxgbb", skip_unscorable=True)
    assert (found.answer, found.first_bad, found.before) == ("found", 5, 4)


def test_bis_02_a_skipped_commit_that_hides_the_answer_gives_the_range():
    found = searched("gggxxbb", skip_unscorable=True)
    assert (found.answer, found.suspects, found.first_bad, found.before) == ("hidden", (3, 4, 5), None, 2)


@given(data=st.data(), good=st.integers(1, 60), bad=st.integers(1, 60))
def test_skipping_finds_the_truth_or_a_range_that_holds_it(data, good, bad):
    letters = list("g" * good + "b" * bad)
    broken = data.draw(st.sets(st.integers(1, max(good + bad - 2, 1))))
    for index in broken & set(range(1, len(letters) - 1)):
        letters[index] = "x"
    found = searched(letters, skip_unscorable=True)
    assert good in found.suspects
    if found.answer == "found":
        assert found.first_bad == good
    else:
        *inner, last = found.suspects
        assert inner
        assert all(letters[index] == "x" for index in inner)
        assert letters[last] == "b"
    skipped = sum(outcome == "unscorable" for _, outcome in found.probes)
    assert len(found.probes) <= probes_at_most(len(letters)) + 2 * skipped


@given(letters=st.text("gbx", min_size=2, max_size=80))
def test_a_history_that_goes_up_and_down_still_yields_a_place_where_good_turns_bad(letters):
    letters = "g" + letters[1:-1] + "b"
    found = searched(letters)
    assert letters[found.before] == "g"
    assert found.first_bad == found.before + 1
    assert found.answer == {"b": "found", "x": "could not be scored"}[letters[found.first_bad]]
    assert len(found.probes) <= probes_at_most(len(letters))


def test_a_run_of_broken_commits_is_left_behind_in_growing_steps():
    # 64 broken commits around the middle of 200: steps of 1, 2, 4, ... to either side reach its edge, not 64 probes
    letters = "g" * 70 + "x" * 64 + "g" * 20 + "b" * 46
    found = searched(letters, skip_unscorable=True)
    assert found.first_bad == 154
    assert sum(outcome == "unscorable" for _, outcome in found.probes) <= 2 * math.ceil(math.log2(64))


@pytest.mark.parametrize(
    ("letters", "skips", "why"),
    [
        ("bb", False, "the good end is regressed itself"),
        ("xb", False, "the good end could not be scored"),
        ("gx", True, "the bad end could not be scored, and an end cannot be skipped"),
        ("g", False, "found 1 commits"),
    ],
)
def test_ends_between_which_nothing_can_be_searched_are_refused(letters, skips, why):
    with pytest.raises(UsageError, match=why):
        searched(letters, skip_unscorable=skips)


def test_a_bad_end_that_cannot_be_scored_counts_as_regressed():
    assert searched("ggx").answer == "could not be scored"


def test_a_probe_that_says_something_else_is_refused_with_what_it_may_say():
    with pytest.raises(UsageError, match=r"the probe of 8 says 'maybe'; it says one of good, regressed, unscorable"):
        bisect_commits(range(9), lambda _: "maybe")
