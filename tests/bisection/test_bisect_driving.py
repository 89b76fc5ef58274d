"""BIS-02: what a bisect makes of the values of its commits: real git, and a value in the place of each run of pytest."""

from __future__ import annotations

import tempfile

import pytest

from pytest_ragbench.bisection.driving import bisect
from pytest_ragbench.bisection.measuring import Prober
from pytest_ragbench.bisection.model import UnscorableError
from pytest_ragbench.bisection.request import Request
from pytest_ragbench.bisection.scoring import Score
from pytest_ragbench.bisection.telling import STATUS, conclusion
from pytest_ragbench.errors import UsageError


@pytest.fixture
def told(toy, monkeypatch):
    """Bisect from the first commit to HEAD: the lines, and the exit status behind them.

    Values are taken by the commits' subjects, `commit 1` first; a text is the reason why there is none.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(toy.scratch))

    def bisected(*values, threshold=None, skips=False, good="", subjects=()):
        by_subject = dict(zip(subjects or [f"commit {n}" for n in range(1, len(values) + 1)], values, strict=True))

        def probe(_, commit):
            value = by_subject[commit.subject]
            if isinstance(value, str):
                raise UnscorableError(value)
            return Score(value, "mrr@10", "default", frozenset({"lex-0001"}), {})

        monkeypatch.setattr(Prober, "_probe", probe)
        if not subjects:
            toy.answers(*["[]"] * len(values))
        ends = {"good": good or toy.commits()[0], "bad": "HEAD", "metric": "mrr", "threshold": threshold}
        rest = {"configuration": None, "skip_unscorable": skips, "sets": None, "own_corpus": False, "links": ()}
        lines = []
        before = toy.state()
        outcome = bisect(
            Request(**ends, **rest, timeout=1.0, keep=None, pytest_args=(), folder=toy.folder),
            lambda _: None,
            lines.append,
            lambda _: None,
        )
        assert toy.state() == before
        return [*lines, *conclusion(outcome)], STATUS[outcome.found.answer]

    return bisected


def after(lines, sign):
    """What stands behind a sign in the one line that begins with it."""
    (line,) = [line for line in lines if line.startswith(sign)]
    return line.removeprefix(sign)


def test_bis_02_a_broken_commit_counts_as_regressed_and_is_labelled_with_a_status_of_its_own(told):
    lines, status = told(1.0, "it does not import", 1.0, 0.5)
    assert status == 2
    assert after(lines, "first regressed commit: ").endswith("could not be scored  commit 2")
    assert any("counts as regressed" in line and "it does not import" in line for line in lines)
    assert "  it counts as regressed and may be innocent: --skip-unscorable searches around such commits" in lines


def test_bis_02_a_broken_commit_that_is_skipped_is_not_blamed(told):
    lines, status = told(1.0, "it does not import", 1.0, 0.5, skips=True)
    assert status == 1
    assert lines[0].endswith("at most 4 probes, and two more for each commit that is skipped")
    assert after(lines, "first regressed commit: ").endswith("0.5000  commit 4")
    assert any("could not be scored  skipped  commit 2" in line for line in lines)


def test_what_is_no_regression_ends_with_status_0_after_the_ends(told):
    lines, status = told(0.5, 1.0, 1.0)
    assert (status, sum(line.startswith("probe ") for line in lines)) == (0, 2)
    assert lines[-1] == "no regression: mrr@10 is 1.0000 at the bad end and 0.5000 at the good end"


def test_a_bad_end_without_a_value_gives_no_middle_so_that_all_below_the_good_end_is_regressed(told):
    lines, status = told(0.9, 1.0, 0.89, "it hangs")
    assert after(lines, "threshold: ") == "0.9000, the good end's value"
    assert (status, after(lines, "first regressed commit: ")[10:]) == (1, "  0.8900  commit 3")


def test_a_bad_end_without_a_value_cannot_be_skipped(told):
    with pytest.raises(UsageError, match="the bad end could not be scored, and an end cannot be skipped: it hangs"):
        told(0.9, "it hangs", skips=True)


def test_a_good_end_below_the_threshold_is_refused(told):
    with pytest.raises(UsageError, match=r"the good end is regressed itself: mrr@10 0\.5000 is below 0\.8000") as error:
        told(0.5, 1.0, threshold=0.8)
    assert "are the two in the wrong order?" in str(error.value)


def test_only_first_parents_are_searched_and_a_merge_is_told_as_one(told, toy):
    toy.answers("[]")
    toy.git("checkout", "-q", "-b", "side")
    toy.history_after({"README": "side"})
    toy.git("checkout", "-q", "main")
    toy.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    good, merge = (toy.git("rev-parse", ref)[:10] for ref in ("HEAD~1", "HEAD"))
    lines, status = told(1.0, 0.5, subjects=("commit 1", "merged"), good="HEAD~1")
    assert (status, lines[0]) == (1, f"1 commit after {good} up to {merge}; at most 2 probes")
    assert after(lines, "first regressed commit: ").endswith("merged")
    assert f"  a merge; `git log {good}..{merge}` lists what it brought in" in lines
