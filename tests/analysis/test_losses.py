"""Claims about the counts of lost sources in a summary; every expected number is counted by hand."""

from __future__ import annotations

import pytest

from pytest_ragbench.analysis import losses as analysed
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question

ARM = Configuration("c", "c")


def question(number, *files, suite="lexical", optional=()):
    gold = [GoldSource(Locator(file)) for file in files]
    gold += [GoldSource(Locator(file), required=False) for file in optional]
    return Question(f"q-{number:04d}", f"q{number}", suite, "T1", answerable=bool(gold), gold=tuple(gold))


def padded(*files, length=100):
    """A ranking with files at given ranks: `padded(("a.md", 3))`."""
    ranking = [f"other{rank}.md" for rank in range(1, length + 1)]
    for file, rank in files:
        ranking[rank - 1] = file
    return ranking


def searched(final, *, sparse=(), dense=(), fusion=(), **more):
    stages = {"sparse": padded(*sparse), "dense": padded(*dense), "fusion": padded(*fusion, length=180)}
    return {"chunks": final, "lanes_run": ["sparse", "dense"], "stages": {**stages, "cut": final}, **more}


def found_of(answers, *, pipeline=None):
    """`losses` of the one configuration, from question -> what the search returned."""
    table = RowTable(metric_names())
    for asked, result in answers.items():
        table.add(measure(pipeline or (lambda _, r=result: r), asked, ARM, k=10).row)
    summary = summarise(table, Plan(tuple(answers), (ARM,), resamples=200), complete=True)
    return summary["results"]["c"].get("losses")


def answers():
    two = question(1, "a.md", "b.md", optional=["o.md"])
    return {
        two: searched(["x.md"], sparse=[("a.md", 4)], fusion=[("a.md", 12)]),  # a: fusion; b: no lane; o: optional
        question(2, "a.md"): searched(["a.md"], sparse=[("a.md", 1)], fusion=[("a.md", 1)]),
        question(3, "a.md", suite="code"): searched(["x.md"], dense=[("a.md", 45)], fusion=[("a.md", 60)]),  # cut-off
    }


def test_every_lost_required_source_is_counted_once_by_layer_suite_and_question():
    found = found_of(answers())
    assert (found["n"], found["sources"], found["lost"]) == (3, 4, 3)
    assert found["layers"] == {"not in any lane": 1, "fusion": 1, "cut-off": 1}
    assert found["by_suite"] == {
        "code": {"sources": 1, "lost": 1, "layers": {"cut-off": 1}},
        "lexical": {"sources": 3, "lost": 2, "layers": {"not in any lane": 1, "fusion": 1}},
    }
    assert found["questions"] == {
        "not in any lane": {"n": 1, "ids": ["q-0001"]},
        "fusion": {"n": 1, "ids": ["q-0001"]},
        "cut-off": {"n": 1, "ids": ["q-0003"]},
    }


def test_the_ceiling_is_the_recall_of_so_much_of_the_pool():
    # Ranks in the fused pool: question 1 has 12 and none, question 2 has 1, question 3 has 60.
    ceiling = found_of(answers())["ceiling"]
    means = {depth: (entry["mean"], entry["n"]) for depth, entry in ceiling.items()}
    assert means == {
        "10": (pytest.approx((0 + 1 + 0) / 3), 3),
        "30": (pytest.approx((0.5 + 1 + 0) / 3), 3),
        "50": (pytest.approx((0.5 + 1 + 0) / 3), 3),
        "100": (pytest.approx((0.5 + 1 + 1) / 3), 3),
    }


def test_the_ceiling_counts_required_sources_up_to_the_depth_itself():
    deep = question(1, "a.md", "b.md", optional=["o.md"])
    ceiling = found_of({deep: searched(["x.md"], fusion=[("o.md", 1), ("a.md", 10), ("b.md", 31)])})["ceiling"]
    # a at 10 counts at 10, b at 31 not at 30; what is optional never.
    assert [ceiling[depth]["mean"] for depth in ("10", "30", "50", "100")] == [0.5, 0.5, 1.0, 1.0]


def test_a_run_that_reports_no_stages_has_no_losses():
    assert found_of({question(1, "a.md"): {"chunks": ["x.md"]}}) is None


def test_unanswerable_questions_failed_searches_and_rows_without_stages_are_not_counted():
    given = {
        question(1, "a.md"): searched(["x.md"]),
        question(2): searched(["x.md"]),
        question(3, "a.md"): {"chunks": ["x.md"], "stages": 3},
        question(4, "a.md"): {"chunks": ["x.md"]},
    }
    found = found_of(given)
    assert (found["n"], found["sources"], found["layers"]) == (1, 1, {"not in any lane": 1})


def test_a_run_in_which_nothing_is_lost_says_so():
    found = found_of({question(1, "a.md"): searched(["a.md"], sparse=[("a.md", 1)], fusion=[("a.md", 1)])})
    assert (found["lost"], found["layers"], found["questions"]) == (0, {}, {})


def test_the_last_row_of_a_cell_counts():
    asked = question(1, "a.md")
    table = RowTable(metric_names())
    for result in (searched(["x.md"]), {"chunks": ["x.md"]}):
        table.add(measure(lambda _, r=result: r, asked, ARM, k=10).row)
    summary = summarise(table, Plan((asked,), (ARM,), resamples=50), complete=True)
    assert "losses" not in summary["results"]["c"]


def test_beyond_so_many_questions_a_layer_only_counts_them(monkeypatch):
    monkeypatch.setattr(analysed, "NAMED", 2)
    found = found_of({question(number, "a.md"): searched(["x.md"]) for number in range(5)})
    assert found["questions"] == {"not in any lane": {"n": 5, "ids": ["q-0000", "q-0001"]}}
