"""What a report says of factors and of lost sources, from runs that the real code measured."""

import random
import re

import pytest

from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.canonical import dumps, loads
from pytest_ragbench.configurations.designs import factorial_arms, ladder_arms, leave_one_out_arms
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.reports import losses as lost
from pytest_ragbench.reports.attribution import factors_in_words
from pytest_ragbench.reports.build import build
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.model import Bullets, Sentences, Table
from pytest_ragbench.reports.question import build_question
from pytest_ragbench.reports.text import cell_text
from pytest_ragbench.reports.view import RunView

FACTORS = ("lane", "rerank", "noise")


def configurations(arms, lanes=("lane",)):
    return tuple(
        Configuration(
            arm.name, arm.name, {f: f in arm.factors for f in FACTORS}, arm.factors, arm.pairs,
            not lanes or bool(set(lanes) & set(arm.factors)),
        )
        for arm in arms
    )  # fmt: skip


FACTORIAL = configurations(factorial_arms(FACTORS))
LADDER = configurations(ladder_arms([("R0", ["lane"]), ("R1", ["lane", "rerank"]), ("R2", ["noise", "lane"])]))
LOO = configurations(leave_one_out_arms(FACTORS))


def make_questions(count=24):
    suites = ("books", "code")
    return [
        Question(f"q-{at:04d}", f"q{at}", suites[at % 2], "T1", gold=(GoldSource(Locator(f"{at}.md")),))
        for at in range(count)
    ]


def search(query, lane=False, rerank=False, noise=False):
    """The lane finds most files, deep; the rerank lifts most of them to the top; noise changes the filler alone."""
    luck = random.Random(query).random()
    found = [f"{query[1:]}.md"] if luck < 0.9 else []
    filler = [f"n{rank}.md" if noise else f"x{rank}.md" for rank in range(20)]
    depth = int(luck * 16)
    ranking = [*filler[:depth], *found, *filler[depth:]]
    stages = {"lane": ranking}
    if rerank:
        ranking = [*found, *filler] if luck < 0.8 else [*filler, *found]
    stages = {**stages, **({"rerank": ranking} if rerank else {}), "cut": ranking[:10]}
    return {"chunks": ranking[:10], "lanes_run": ["lane"], "stages": stages}


def report_of(arms, experiments, *, questions=None, pipeline=search, keep=None, **plan):
    questions = questions or make_questions()
    table = RowTable(metric_names())
    for question in questions:
        for arm in arms:
            table.add(measure(pipeline, question, arm, k=10).row)
    told = [
        {"name": arm.name, "overrides": arm.overrides, "factors": list(arm.factors), "pairs": list(arm.pairs)}
        for arm in arms
    ]
    run = {
        "run_id": "r", "status": "done", "started_at": "t", "k": 10, "configurations": told,
        "experiments": [{"name": one.name, "arms": list(one.arms)} for one in experiments],
    }  # fmt: skip
    planned = Plan(tuple(questions), arms, tuple(experiments), **{"resamples": 400, **plan})
    summary = summarise(table, planned, complete=True)
    if keep is not None:
        keep += [run, summary]
    return build(run, summary)


def experiment(name, arms):
    return Experiment(name, tuple(arm.name for arm in arms))


@pytest.fixture(scope="module")
def factorial():
    return report_of(FACTORIAL, [experiment("factorial", FACTORIAL)])


def section(report, title):
    return next(section for section in report.sections if section.title == title)


def rows(report, title, number=0):
    table = [block for block in section(report, title).blocks if isinstance(block, Table)][number]
    return [
        {column.title: cell_text(cell) for column, cell in zip(table.columns, row, strict=True)} for row in table.rows
    ]


def words(report, title, kind=Bullets):
    blocks = [block for block in section(report, title).blocks if isinstance(block, kind)]
    return "\n".join(text for block in blocks for text in ([block.text] if kind is Sentences else block.items))


def titles(report):
    return [section.title for section in report.sections]


# --- factors ------------------------------------------------------------------------------------------------------------


def test_of_a_factorial_is_told_in_words_what_the_factors_carry_and_not_each_subset_against_none(factorial):
    said = words(factorial, "In words")
    assert "against F:none" not in said
    assert said.startswith("Highest ndcg@10: F:lane+rerank, F:lane+rerank+noise, ")
    assert "All 3 factors against none: ndcg@10 +0." in said
    assert "by Shapley value carried by lane +0." in said
    assert said.index("carried by lane +0.") < said.index(", rerank +0.") < said.index("no difference for noise 0.000")
    assert "Strongest interactions: lane with rerank +0." in said
    assert "(more together)" in said


def weighed(verdict, value, p_holm):
    spread = {"low": value - 0.01, "high": value + 0.01, "n": 30, "differing": 9, "p_sign_flip": 0.01, "mde": 0.1}
    return {"value": value, "verdict": verdict, "p_holm": p_holm, **spread}


def test_every_factor_is_told_by_what_its_share_was_judged_to_be():
    shares = {
        "a": weighed("real", 0.2, 0.01),
        "b": weighed("real", 0.1, 0.09),
        "c": weighed("unresolvable", 0.09, 1.0),
        "d": weighed("no difference", 0.0, 1.0),
        "e": weighed("not resolved", -0.01, 0.6),
        "f": weighed("real", -0.02, 0.02),
        "g": weighed("real", -0.05, 0.02),
        "h": weighed("indeterminate", -0.06, 0.5),
    }
    factorial = {"experiment": "x", "factors": list(shares), "total": {"ndcg@10": weighed("real", 0.3, 0.001)}}
    attribution = {"factorial": factorial, "shapley": {"ndcg@10": shares}}
    (said,) = factors_in_words(RunView({}, {"results": {}, "attribution": attribution}), "ndcg@10")
    numbers = re.compile(r" [+-]?0\.\d{3} \[.*?\]")
    assert numbers.sub("", said.partition("by Shapley value ")[2]).rstrip(".").split("; ") == [
        "carried by a",
        "made worse by g, f",
        "not resolved once adjusted for b",
        "no difference for d",
        "indeterminate for h",
        "too few to tell for c",
        "not resolved for e",
    ]


def test_the_strongest_interactions_come_first_whatever_their_sign_and_only_those_that_are_resolved():
    entries = {
        "b": weighed("real", 0.05, 0.01),
        "c": weighed("real", -0.2, 0.01),
        "d": weighed("not resolved", -0.9, 0.5),
        "e": weighed("real", -0.3, 0.06),
    }
    factorial = {"experiment": "x", "factors": ["a"], "total": {"ndcg@10": weighed("real", 0.3, 0.001)}}
    attribution = {
        "factorial": factorial,
        "shapley": {"ndcg@10": {"a": weighed("real", 0.3, 0.01)}},
        "interactions": {"ndcg@10": {"a": entries}},
    }
    _, said = factors_in_words(RunView({}, {"results": {}, "attribution": attribution}), "ndcg@10")
    assert said == (
        "Strongest interactions: a with c -0.200 [-0.210, -0.190] (they overlap), a with b +0.050 [+0.040, +0.060] "
        "(more together)."
    )


def failing(*numbers):
    """The search, but that the arm of the lane alone cannot read some questions."""

    def searched(query, **switches):
        if [name for name, on in switches.items() if on] == ["lane"] and int(query[1:]) in numbers:
            raise OSError("no such page")
        return search(query, **switches)

    return searched


def test_of_questions_that_some_arm_did_not_score_is_told_how_many_are_left_and_whose_fault_it_is():
    lane = configurations(factorial_arms(FACTORS[:2]))
    report = report_of(lane, [experiment("factorial", lane)], pipeline=failing(2, 3, 5))
    assert words(report, "What each factor carries: ndcg@10").startswith(
        "What comes of factorial rests on the 21 questions that all 4 arms scored, where one scored 24; F:lane scored "
        "fewest, 21 questions.\n"
    )


def test_an_arm_that_scored_nothing_is_named_as_the_reason_why_nothing_is_attributed():
    lane = configurations(factorial_arms(FACTORS[:2]))
    report = report_of(lane, [experiment("factorial", lane)], pipeline=failing(*range(24)))
    assert words(report, "What each factor carries: ndcg@10") == (
        "No factor of factorial was weighed: no question was scored by all 4 arms; F:lane scored fewest, 0 questions."
    )
    assert "F:rerank against F:none" in words(report, "In words")
    assert not [title for title in titles(report) if title.startswith(("Interactions", "Shapley"))]


def test_comparisons_outside_the_factorial_keep_their_sentences():
    arms = (*FACTORIAL, *LADDER)
    said = words(report_of(arms, [experiment("factorial", FACTORIAL), experiment("ladder", LADDER)]), "In words")
    assert "rerank helps: R1 against R0" in said
    assert "against F:none" not in said


def test_each_factor_has_its_step_its_leave_one_out_delta_and_its_share_side_by_side():
    arms = (*FACTORIAL, *LADDER, *LOO)
    experiments = [experiment(name, of) for name, of in (("factorial", FACTORIAL), ("ladder", LADDER), ("loo", LOO))]
    report = report_of(arms, experiments)
    table = {row["factor"]: row for row in rows(report, "What each factor carries: ndcg@10")}
    assert list(table) == list(FACTORS)
    # A rung that adds one factor is a step; R2, which takes rerank away and adds noise, is none.
    assert [name for name, row in table.items() if row["ladder step"]] == ["rerank"]
    comparisons = {row["configuration"]: row for row in rows(report, "Comparisons: loo") if row["metric"] == "ndcg@10"}
    low, high = (end.strip("[]") for end in comparisons["-lane"]["difference"].split(" ", 1)[1].split(", "))
    shown = table["lane"]["leave-one-out"]
    assert shown.split()[0] == comparisons["-lane"]["difference"].split()[0].replace("-", "+")
    assert shown.endswith(f"[{high.replace('-', '+')}, {low.replace('-', '+')}]")
    assert table["lane"]["verdict"] == "real"
    assert table["noise"] == {
        "factor": "noise", "ladder step": "", "leave-one-out": "0.000 [0.000, 0.000]",
        "Shapley value": "0.000 [0.000, 0.000]", "verdict": "no difference", "p Holm": "1.0000",
    }  # fmt: skip


def test_a_factorial_alone_has_leave_one_out_deltas_of_its_own(factorial):
    (table,) = [rows(factorial, title) for title in titles(factorial) if title.startswith("What each factor")]
    assert "ladder step" not in table[0]
    assert all(row["leave-one-out"] for row in table)


def test_two_sentences_say_how_to_read_them_and_the_rule_for_arms_without_a_lane_is_told(factorial):
    title = "What each factor carries: ndcg@10"
    said = words(factorial, title, Sentences)
    assert said.count(". ") == 1
    assert "leave-one-out for what to drop" in said
    assert words(factorial, title).startswith("4 arms without a lane did not search and scored 0 by rule")


def test_only_the_columns_that_are_there_are_explained(factorial):
    title = "What each factor carries: ndcg@10"
    assert "step" not in words(factorial, title, Sentences)
    both = report_of((*LADDER, *LOO), [experiment("ladder", LADDER), experiment("loo", LOO)])
    assert words(both, title, Sentences) == (
        "What a factor adds: a ladder step adds it to the rungs below, so it depends on their order; a leave-one-out "
        "delta adds it to all the others, so two factors that do the same work both show little. Read the step for "
        "what to build next, leave-one-out for what to drop."
    )


def test_a_main_effect_is_the_mean_of_what_a_factor_adds_over_all_settings_of_the_others(factorial):
    title = "Main effects of factors: ndcg@10"
    assert section(factorial, title).detail
    mean = {row["configuration"]: float(row["ndcg@10"].split()[0]) for row in rows(factorial, "Results")}
    pairs = [
        ("F:lane", "F:none"),
        ("F:lane+rerank", "F:rerank"),
        ("F:lane+noise", "F:noise"),
        ("F:lane+rerank+noise", "F:rerank+noise"),
    ]
    by_hand = sum(mean[one] - mean[other] for one, other in pairs) / 4
    lane, rerank, noise = rows(factorial, title)
    assert float(lane["main effect"].split()[0]) == pytest.approx(by_hand, abs=0.0011)  # four rounded differences
    assert (lane["factor"], lane["verdict"]) == ("lane", "real")
    assert rerank["p Holm"] != ""
    assert noise == {
        "factor": "noise", "main effect": "0.000 [0.000, 0.000]", "verdict": "no difference", "p Holm": "1.0000",
    }  # fmt: skip


def test_a_ladder_and_leave_one_out_stand_side_by_side_without_a_factorial_and_one_alone_has_no_table():
    both = report_of((*LADDER, *LOO), [experiment("ladder", LADDER), experiment("loo", LOO)])
    assert set(rows(both, "What each factor carries: ndcg@10")[0]) == {"factor", "ladder step", "leave-one-out"}
    alone = report_of(LADDER, [experiment("ladder", LADDER)])
    assert not [title for title in titles(alone) if "factor" in title]


def test_interactions_come_by_their_size_and_every_metric_has_its_shares_in_a_detail(factorial):
    found = rows(factorial, "Interactions of factors: ndcg@10")
    assert (found[0]["factor"], found[0]["with"]) == ("lane", "rerank")
    assert len(found) == 3
    detail = section(factorial, "Shapley values of every metric")
    assert detail.detail
    assert [row["factor"] for row in rows(factorial, "Shapley values of every metric")] == [*FACTORS, "all"]


def test_the_order_of_keys_in_the_file_changes_nothing():
    arms, experiments = FACTORIAL, [experiment("factorial", FACTORIAL)]
    kept = []
    written = report_of(arms, experiments, keep=kept)
    run, summary = kept
    assert build(run, loads(dumps(summary))) == written


def test_a_summary_without_attribution_has_no_such_section():
    run = {"run_id": "r", "status": "done", "started_at": "t", "k": 10}
    assert [section.title for section in build(run, {"results": {}}).sections] == ["What ran"]


# --- losses -------------------------------------------------------------------------------------------------------------


def test_lost_sources_are_counted_by_layer_with_the_pool_s_ceiling(factorial):
    by_arm = {row["configuration"]: row for row in rows(factorial, "Where sources are lost")}
    assert set(by_arm) == {arm.name for arm in FACTORIAL if arm.searches}
    luck = {question.text: random.Random(question.text).random() for question in make_questions()}
    nowhere, deep = sum(value >= 0.9 for value in luck.values()), sum(10 / 16 <= value < 0.9 for value in luck.values())
    assert by_arm["F:lane"] == {
        "configuration": "F:lane", "lost": f"{nowhere + deep}/24", "not in any lane": str(nowhere), "rerank": "0",
        "cut-off": str(deep),
    }  # fmt: skip
    sunk = sum(0.8 <= value < 0.9 for value in luck.values())
    told = {name: by_arm["F:lane+rerank"][name] for name in ("not in any lane", "rerank", "cut-off")}
    assert told == {"not in any lane": str(nowhere), "rerank": str(sunk), "cut-off": "0"}
    ceiling = {row["configuration"]: row for row in rows(factorial, "Where sources are lost", 1)}
    assert ceiling["F:lane"]["pool, first 30"].startswith(f"{1 - nowhere / 24:.3f}")
    assert ceiling["F:lane"]["pool, first 10"] == ceiling["F:lane"]["recall@10"]
    assert "not in any lane: no lane returned it" in words(factorial, "Where sources are lost")


def test_the_lost_questions_are_named_and_counted(monkeypatch):
    monkeypatch.setattr(lost, "NAMED", 1)
    report = report_of(LADDER, [experiment("ladder", LADDER)])
    luck = {question.id: random.Random(question.text).random() for question in make_questions()}
    nowhere = [name for name, value in luck.items() if value >= 0.9]
    assert len(nowhere) > 1
    said = words(report, "Lost questions")
    assert f"R0, not in any lane, {len(nowhere)} questions: {nowhere[0]} and {len(nowhere) - 1} more." in said
    assert section(report, "Lost questions").detail


def test_by_suite_every_configuration_has_its_layers():
    found = rows(report_of(LADDER, [experiment("ladder", LADDER)]), "Where sources are lost, by suite")
    assert [(row["configuration"], row["suite"]) for row in found] == [
        (arm.name, suite) for arm in LADDER for suite in ("books", "code")
    ]
    whole = rows(report_of(LADDER, [experiment("ladder", LADDER)]), "Where sources are lost")
    for row in whole:
        parts = [int(part["lost"].split("/")[0]) for part in found if part["configuration"] == row["configuration"]]
        assert sum(parts) == int(row["lost"].split("/")[0])


def test_of_many_configurations_only_the_best_is_told_in_detail():
    arms = (*LADDER, *FACTORIAL)
    report = report_of(arms, [experiment("ladder", LADDER), experiment("factorial", FACTORIAL)])
    assert {row["configuration"] for row in rows(report, "Where sources are lost, by suite")} == {"R1"}
    assert words(report, "Lost questions", Sentences).startswith("Only R1, with the highest main metric")


def test_of_a_table_by_suite_that_would_fill_pages_only_the_best_configuration_is_left(monkeypatch):
    monkeypatch.setattr(lost, "ROWS_SHOWN", 5)  # three rungs by two suites make six
    report = report_of(LADDER, [experiment("ladder", LADDER)])
    assert {row["configuration"] for row in rows(report, "Where sources are lost, by suite")} == {"R1"}


def test_a_run_without_stages_has_no_such_section():
    report = report_of(LADDER, [experiment("ladder", LADDER)], pipeline=lambda _, **__: {"chunks": ["x.md"]})
    assert not [title for title in titles(report) if "lost" in title.lower()]


def test_rpt_02_names_of_layers_factors_and_questions_are_escaped():
    odd = configurations(factorial_arms(("a|b", "c*d")), lanes=())
    text = render_markdown(
        report_of(odd, [experiment("factorial", odd)], pipeline=lambda _, **__: {"chunks": ["0.md"], "stages": {}})
    )
    assert "| a\\|b |" in text
    assert "| c\\*d |" in text


def test_one_question_says_where_its_sources_were_lost():
    question = make_questions()[0]
    told = measure(lambda _, **__: {"chunks": ["x.md"], "stages": {"lane": ["x.md"]}}, question, LADDER[0], k=10).row
    assert "Lost: 0 (not in any lane)." in words(build_question(question, [told], {}), "R0", Sentences)
