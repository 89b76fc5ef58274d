"""Which charts a report has and what they hold, from summaries written by hand."""

import pytest

from pytest_ragbench.reports import tables
from pytest_ragbench.reports.build import compose
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.model import Chart, Estimate, Intervals, Point, Scatter, Stack, Stacks
from pytest_ragbench.reports.terminal import render_terminal
from pytest_ragbench.reports.view import RunView

METRIC = "ndcg@10"
ARMS = {"R0": (), "R1": ("dense",), "R2": ("dense", "rerank")}


def mean(value):
    return {"mean": value, "low": value - 0.1, "high": value + 0.1, "n": 40}


def pair(delta, verdict="real", p_holm=0.01):
    return {"delta": delta, "low": delta - 0.02, "high": delta + 0.02, "n": 40, "verdict": verdict, "p_holm": p_holm}


def view_of(results, *, experiments=(), silent=(), attribution=None, latency=None):
    run = {
        "run_id": "r", "started_at": "t", "k": 10, "experiments": list(experiments),
        "configurations": [
            {"name": name, "factors": ARMS.get(name, ()), "searches": name not in silent} for name in results
        ],
    }  # fmt: skip
    return RunView(run, {"results": results, "attribution": attribution or {}, "latency": latency or {}})


def ladder(**pairs):
    """Three rungs, whose differences to the rung before are as said."""
    results = {name: {"overall": {METRIC: mean(0.5 + at / 10)}} for at, name in enumerate(ARMS)}
    for name, other in (("R1", "R0"), ("R2", "R1")):
        results[name]["paired"] = {other: {METRIC: pairs.get(name, pair(0.1))}}
    return results


EXPERIMENT = {"name": "ladder", "arms": list(ARMS)}


def charts(view, kind=Chart):
    return {
        section.title: [block for block in section.blocks if isinstance(block, kind)]
        for section in compose(view).sections
        if any(isinstance(block, kind) for block in section.blocks)
    }


def test_a_ladder_has_a_chart_of_means_and_one_of_steps_named_by_what_each_adds():
    found = charts(view_of(ladder(), experiments=[EXPERIMENT]))
    assert list(found) == ["Results", "Comparisons: ladder"]
    (means,), (steps,) = found.values()
    assert [(mark.label, mark.estimate.mean) for mark in means.marks] == [("R0", 0.5), ("R1", 0.6), ("R2", 0.7)]
    assert [mark.label for mark in steps.marks] == ["with dense: R1 against R0", "with rerank: R2 against R1"]
    assert steps.marks[0].estimate == Estimate(0.1, 0.1 - 0.02, 0.1 + 0.02, signed=True)
    assert steps.title == "What each step of the ladder adds: ndcg@10"


@pytest.mark.parametrize(
    ("entry", "verdict", "sure"),
    [
        (pair(0.1), "real", True),
        (pair(0.1, p_holm=None), "real", True),
        (pair(0.1, p_holm=0.2), "real, not once adjusted", False),
        (pair(0.1, "unresolvable", 1.0), "too few to tell", False),
    ],
)
def test_a_difference_is_filled_only_where_it_is_real_also_once_adjusted(entry, verdict, sure):
    (steps,) = charts(view_of(ladder(R1=entry), experiments=[EXPERIMENT]))["Comparisons: ladder"]
    assert (steps.marks[0].verdict, steps.marks[0].sure) == (verdict, sure)


def test_one_configuration_alone_has_no_chart():
    assert charts(view_of({"R0": {"overall": {METRIC: mean(0.5)}}})) == {}


def test_of_many_configurations_those_with_the_highest_mean_are_charted_and_the_note_says_so():
    count = tables.CHARTED + 6
    ((means,),) = charts(view_of({f"F{at}": {"overall": {METRIC: mean(at / 100)}} for at in range(count)})).values()
    assert [mark.label for mark in means.marks] == [f"F{at}" for at in range(count - 1, 5, -1)]
    assert means.note.startswith(f"The {tables.CHARTED} of {count} configurations where it is highest.")


def test_a_factorial_has_its_shapley_values_as_bars_and_leave_one_out_in_the_order_of_the_factors():
    def entry(value, verdict="real"):
        return {"value": value, "low": value, "high": value, "verdict": verdict, "p_holm": 0.01}

    factors = {"rerank": entry(0.2), "dense": entry(0.5, "not resolved")}
    attribution = {
        "factorial": {"experiment": "factorial", "factors": ["dense", "rerank"], "total": {METRIC: entry(0.7)}},
        "shapley": {METRIC: factors},
        "leave_one_out": {METRIC: factors},
        "interactions": {},
    }
    results = {name: {"overall": {METRIC: mean(0.5)}} for name in ARMS}
    bars, alone = charts(view_of(results, attribution=attribution))["What each factor carries: ndcg@10"]
    assert (bars.bars, alone.bars) == (True, False)
    for chart in (bars, alone):
        assert [(mark.label, mark.sure) for mark in chart.marks] == [("dense", False), ("rerank", True)]


def losses(lost, sources=40):
    return {
        "sources": sources,
        "lost": lost,
        "layers": {"fusion": lost},
        "ceiling": {},
        "by_suite": {},
        "questions": {},
    }


def test_lost_sources_are_stacked_by_layer_and_of_many_configurations_those_that_lose_most():
    few = {name: {"overall": {METRIC: mean(0.5)}, "losses": losses(at)} for at, name in enumerate(ARMS)}
    (chart,) = charts(view_of(few), Stacks)["Where sources are lost"]
    assert (chart.layers, chart.stacks[2]) == (("fusion",), Stack("R2", (2,), 40))
    many = {f"F{at}": {"overall": {METRIC: mean(0.5)}, "losses": losses(at)} for at in range(20)}
    (chart,) = charts(view_of(many), Stacks)["Where sources are lost"]
    assert [stack.label for stack in chart.stacks][:2] == ["F19", "F18"]
    assert chart.note.startswith("The 14 of 20 configurations that lose the most.")


def test_latency_against_quality_leaves_out_what_does_not_search():
    latency = {name: {"search": {"p50": 10.0 * at, "n": 5}} for at, name in enumerate(ARMS)}
    view = view_of(ladder(), latency=latency, silent=["R0"])
    (chart,) = charts(view, Scatter)["Latency"]
    assert [point.label for point in chart.points] == ["R1", "R2"]
    assert chart.points[0] == Point("R1", 10.0, Estimate(0.6, 0.5, 0.7))


def test_terminal_and_markdown_pass_charts_over():
    report = compose(view_of(ladder(), experiments=[EXPERIMENT]))
    assert any(isinstance(block, Intervals) for section in report.sections for block in section.blocks)
    for text in (render_terminal(report), render_markdown(report)):
        assert "What each step of the ladder adds" not in text
        assert "\n\n\n" not in text


def test_many_leaders_and_many_ties_are_counted_beyond_the_first_names():
    results = {f"F{at}": {"overall": {METRIC: mean(1.0)}, "tied_top": at} for at in range(12)}
    text = render_markdown(compose(view_of(results)))
    assert "Highest ndcg@10: F0, F1, F2, F3 and 8 more, 1.000" in text
    assert "11 of 12 configurations, from F1 in 1 row to F11 in 11 rows; their order" in text
