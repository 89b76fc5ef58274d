"""Claims about the simulation behind docs/validity.md: its draws are what they say, and the page is what it counts."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("benchmarks.validity", reason="benchmarks/ is not part of this distribution")

from benchmarks.validity import __main__ as command
from benchmarks.validity import words
from benchmarks.validity.counting import EFFECTS, Effort, Null, Share, expanded, null, power
from benchmarks.validity.laws import LAWS, Questions, draw, tilted
from benchmarks.validity.page import false_real_row, paragraph, render
from benchmarks.validity.results import Results, broken, measure, promised, rate

PAGE = Path(__file__).parents[2] / "docs" / "validity.md"
NAMES = [law.name for law in LAWS]
QUICK = Effort(replicates=20, resamples=100, sizes=(20, 50))


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_the_arms_of_a_law_have_equal_means_until_it_is_tilted(law):
    assert law.joint.sum() == pytest.approx(1.0, abs=1e-12)
    assert (law.joint >= 0).all()
    assert law.effect == pytest.approx(0.0, abs=1e-12)
    for effect in EFFECTS if law.regular else ():
        assert tilted(law, effect).effect == pytest.approx(effect, abs=1e-12)


def test_tilted_hits_won_and_lost_differ_by_the_effect():
    joint = tilted(LAWS[0], 0.05).joint
    # The tilt multiplies won by t and divides lost by it: their product over that of the ties stays.
    assert joint[0, 1] - joint[1, 0] == pytest.approx(0.05, abs=1e-12)
    assert joint[0, 1] * joint[1, 0] / (joint[0, 0] * joint[1, 1]) == pytest.approx(0.1 * 0.1 / (0.2 * 0.6), abs=1e-12)


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_every_step_of_a_ladder_is_drawn_from_the_law(law):
    arms = 4 if law.exchangeable else 2
    drawn = draw(law, Questions(50, clustered=False), arms, 2000, np.random.default_rng(1))
    for before, after in pairwise(drawn):
        counts = np.zeros_like(law.joint)
        np.add.at(counts, (before, after), 1.0)
        error = np.sqrt(law.joint * (1 - law.joint) / before.size)
        assert (np.abs(counts / before.size - law.joint) <= 4.5 * error).all()


@pytest.mark.parametrize("law", LAWS, ids=NAMES)
def test_scores_and_differences_have_the_intraclass_correlation_that_the_page_names(law):
    questions = Questions(16, clustered=True)
    scores = law.values[draw(law, questions, 2, 40_000, np.random.default_rng(2))]
    for values, centre in ((scores[0], law.mean), (scores[1] - scores[0], 0.0)):
        first, second, elsewhere = values[0] - centre, values[1] - centre, values[8] - centre
        assert (first * second).mean() / (first**2).mean() == pytest.approx(0.3, abs=0.06)
        assert (first * elsewhere).mean() / (first**2).mean() == pytest.approx(0.0, abs=0.03)


def test_counted_coverage_of_a_hit_rate_is_what_enumeration_gives():
    """With k hits of n, resampled counts are binomial (n, k / n), so that the interval's ends are its quantiles."""
    n, rate_, effort = 20, 0.7, Effort(replicates=1500, resamples=2000)
    hits = np.arange(n + 1)
    low, high = (stats.binom.ppf(share, n, hits / n) for share in (0.025, 0.975))
    low, high = (np.where((hits == 0) | (hits == n), hits, end) for end in (low, high))
    exact = stats.binom.pmf(hits, n, rate_)[(low <= n * rate_) & (n * rate_ <= high)].sum()
    counted = null(0, Questions(n, clustered=False), effort).mean
    assert counted.value == pytest.approx(exact, abs=3 * counted.error)


def test_what_is_promised_is_the_coverage_of_normal_values():
    """The half-width is 1.96 s sqrt((n - 1) / n) / sqrt(n) with s over n - 1: checked by drawing."""
    values = np.random.default_rng(3).normal(size=(40_000, 20))
    held = np.abs(values.mean(axis=1)) <= 1.959964 * values.std(axis=1) / np.sqrt(20)
    assert promised(20) == pytest.approx(held.mean(), abs=0.004)
    assert promised(20) == pytest.approx(0.929, abs=0.0005)
    assert 0.949 < promised(500) < 0.95


@pytest.mark.parametrize("files", [7, 20, 100])
def test_an_expanded_interval_of_normal_values_is_as_wide_as_student_s(files):
    """A resampled mean of normal values has the deviation s sqrt((n - 1) / n) / sqrt(n); t has s / sqrt(n)."""
    reach = stats.norm.ppf(0.5 + expanded(files) / 2) * np.sqrt((files - 1) / files)
    assert reach == pytest.approx(stats.t.ppf(0.975, files - 1), rel=1e-9)
    assert 1 - 2 * stats.t.sf(reach, files - 1) == pytest.approx(0.95, abs=1e-9)


def test_wider_intervals_cover_more_of_few_questions():
    found = null(1, Questions(20, clustered=False), Effort(replicates=500, resamples=500))
    assert found.wider_mean.count > found.mean.count
    assert found.wider_difference.count > found.difference.count


def test_fewer_than_six_files_are_never_called_real():
    found = power(1, Questions(40, clustered=True), 0.10, Effort(replicates=50, resamples=100))
    assert found.questions.count == 5
    assert found.real.count == 0


def test_a_rate_stands_with_its_error_and_what_breaks_a_promise_is_named():
    assert rate(Share(200, 4000)) == "5.0 ± 0.3 %"
    assert rate(Share(0, 4000)) == "0.0 ± 0.0 %"
    good, bad = Share(3790, 4000), Share(3600, 4000)
    ladders = Share(9, 4000), Share(280, 4000)
    cell = Null(LAWS[0], Questions(50, clustered=False), good, bad, Share(1, 4000), *ladders, good, good)
    ladder, interval = broken(Results(Effort(), (cell,), ()))
    assert "7.0 ± 0.4 % of the ladders hold a false `real`" in ladder
    assert "the interval of the difference covers 90.0 ± 0.5 %, promised are 94.2 %" in interval
    uneven = Null(LAWS[3], cell.questions, bad, bad, bad, None, None, bad, bad)
    assert broken(Results(Effort(), (uneven,), ())) == []


def test_the_command_prints_the_page_and_writes_it_when_told(monkeypatch, capsys, tmp_path):
    results = measure(QUICK)
    monkeypatch.setattr(command, "measure", lambda *_, **__: results)
    monkeypatch.setattr(command, "PAGE", tmp_path / "validity.md")
    monkeypatch.setattr(sys, "argv", ["validity"])
    assert command.main() == 0
    printed = capsys.readouterr().out
    assert printed == render(results)
    assert not command.PAGE.exists()
    monkeypatch.setattr(sys, "argv", ["validity", "--write"])
    command.main()
    assert command.PAGE.read_text(encoding="utf-8") == printed


def shape(page: str) -> list[str]:
    """Headings, and the first two cells of every row."""
    return ["|".join(line.split("|")[:3]) for line in page.splitlines() if line[:1] in {"#", "|"}]


def test_the_page_has_the_defaults_and_the_tables_of_this_code():
    page, usual = PAGE.read_text(encoding="utf-8"), Effort()
    made = render(measure(Effort(replicates=2, resamples=50)))
    assert shape(page) == shape(made)
    assert paragraph(words.opening(usual)[-1]) in page
    for told in (words.COMMAND, *map(paragraph, (words.COVERAGE, words.WIDER, words.FALSE_REAL, words.POWER))):
        assert told in page
    assert page.partition("## What is drawn")[2].partition("## Coverage")[0] in made


@pytest.mark.simulation
@pytest.mark.parametrize(("number", "n", "clustered"), [(1, 20, False), (0, 200, True)])
def test_the_figures_of_the_page_come_out_again(number, n, clustered):
    page = PAGE.read_text(encoding="utf-8")
    found = null(number, Questions(n, clustered), Effort())
    assert f"| {' | '.join(false_real_row(found))} |" in page
    plain, wider = (
        page.replace("*", "").partition(start)[2].partition(end)[0]
        for start, end in (("## Coverage", "## Wider"), ("## Wider", "## False"))
    )
    column = 2 + 2 * number
    for part, shares in ((plain, (found.mean, found.difference)), (wider, (found.wider_mean, found.wider_difference))):
        told = [line.split(" | ") for line in part.splitlines() if line.startswith(f"| {n} |")][int(clustered)]
        assert [cell.removesuffix(" |") for cell in told[column : column + 2]] == [rate(share) for share in shares]
