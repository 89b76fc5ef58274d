"""What gates, walks, routing and ties say of a run, from rows that the real cell measured; every number by hand."""

import json
import math

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question

ONE = Configuration("one", "one")


def question(number, *files, hop=None, prefix="gph", tier="T3", suite="canvas", **fields):
    gold = tuple(GoldSource(Locator(file), hop=hop) for file in files)
    return Question(
        f"{prefix}-{number:04d}", f"q{prefix}{number}", suite, tier, "dev", answerable=bool(gold), gold=gold, **fields
    )


def summary(answers, *arms, **plan):
    """Of {question: result} under each arm; a result may be a mapping of arm to result, or an error."""
    arms = arms or (ONE,)
    table = RowTable(metric_names(plan.get("k", 10)))
    for asked, answer in answers.items():
        for arm in arms:
            result = answer[arm.name] if isinstance(answer, dict) and arm.name in answer else answer

            def search(query, result=result, **overrides):
                if isinstance(result, Exception):
                    raise result
                return result

            row = measure(search, asked, arm, k=plan.get("k", 10)).row
            table.add(json.loads(canonical.dumps(row)))  # as a resumed run reads it
    return summarise(table, Plan(tuple(answers), arms, resamples=100, **plan), complete=True)


def results(answers, *arms, **plan):
    return summary(answers, *arms, **plan)["results"]


def means(entry, *keys):
    return [(entry[key]["mean"], entry[key]["n"]) for key in keys]


# --- gate ---------------------------------------------------------------------------------------------------------------


def gated(chunks, removed=(), confidence=None, threshold=0.5):
    return {
        "chunks": list(chunks),
        "gate": {"scorer": "late", "threshold": threshold, "confidence": confidence, "removed": list(removed)},
    }


GATED = {
    question(1, "a.md", "b.md"): gated(["a.md"], ["b.md", "x.md"], 0.9),  # kept one of two: 1/2 of the gold removed
    question(2, "a.md"): gated([], ["a.md"], 0.4),  # wrongly abstained, all of its gold removed
    question(3, "c.md"): gated(["x.md"], [], 0.8),  # answered without its gold, of which nothing was retrieved
    question(4): gated([], ["x.md"], 0.2),  # rightly abstained
    question(5): gated(["x.md"], [], 0.8),  # answered what has no answer
    question(6, "d.md"): gated(["d.md"], ["d.md"], 0.6),  # removed one chunk of a source that another satisfies
}


def test_a_gate_is_judged_by_what_it_removed_and_by_what_abstaining_was_worth():
    gate = results(GATED)["one"]["gate"]
    assert (gate["scorers"], gate["thresholds"]) == (["late"], [0.5])
    assert means(gate, "removed", "gold_removed") == [
        (pytest.approx((2 + 1 + 0 + 1 + 0 + 1) / 6, abs=1e-12), 6),
        (pytest.approx((1 / 2 + 1 + 0) / 3, abs=1e-12), 3),  # questions 1, 2 and 6 had gold retrieved
    ]
    # Four of six answered; of those, questions 3 and 5 are losses.
    assert means(gate, "coverage", "risk") == [(pytest.approx(4 / 6, abs=1e-12), 6), (0.5, 4)]
    assert means(gate, "abstained_unanswerable", "abstained_answerable") == [(0.5, 2), (0.25, 4)]


def test_the_curve_orders_by_confidence_and_judges_an_abstention_by_what_was_removed():
    curve = results(GATED)["one"]["gate"]["risk_coverage"]
    # 0.9 right; 0.8 twice lost; 0.6 right; 0.4 right, had it been answered; 0.2 lost, since unanswerable.
    risks = [(1, 0 / 1), (3, 2 / 3), (4, 2 / 4), (5, 2 / 5), (6, 3 / 6)]
    assert curve["points"] == [[round(count / 6, 12), round(risk, 12)] for count, risk in risks]
    assert curve["aurc"] == pytest.approx((0 + 2 / 3 + 2 / 3 + 1 / 2 + 2 / 5 + 3 / 6) / 6, abs=1e-12)
    assert curve["aurc_best"] == pytest.approx((0 + 0 + 0 + 1 / 4 + 2 / 5 + 3 / 6) / 6, abs=1e-12)
    assert curve["n"] == 6


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.95])
def test_the_curve_is_the_scorers_where_a_gate_removes_chunk_by_chunk(threshold):
    scores = {1: {"1.md": 0.9}, 2: {"x.md": 0.8, "2.md": 0.4}, 3: {"x.md": 0.7, "3.md": 0.3}, 4: {"x.md": 0.2}}
    answers = {}
    for number, ranked in scores.items():
        kept = [file for file, score in ranked.items() if score >= threshold]
        removed = [file for file, score in ranked.items() if score < threshold]
        answers[question(number, f"{number}.md")] = gated(kept, removed, max(ranked.values()), threshold)
    curve = results(answers)["one"]["gate"]["risk_coverage"]
    assert [risk for _, risk in curve["points"]] == [0.0, 0.0, 0.0, 0.25]


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.95, 2.0])
def test_the_curve_is_the_scorers_whatever_the_threshold(threshold):
    confidences = [0.9, 0.8, 0.6, 0.4, 0.1]
    found = [True, False, True, True, False]
    answers = {}
    for number, (confidence, right) in enumerate(zip(confidences, found, strict=True), start=1):
        ranking = [f"{number}.md"] if right else ["x.md"]
        kept, removed = (ranking, []) if confidence >= threshold else ([], ranking)
        answers[question(number, f"{number}.md")] = gated(kept, removed, confidence, threshold)
    curve = results(answers)["one"]["gate"]["risk_coverage"]
    assert [risk for _, risk in curve["points"]] == [0.0, 0.5, round(1 / 3, 12), 0.25, 0.4]
    assert curve["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 4 + 2 / 5) / 5, abs=1e-12)


def test_rnk_01_an_empty_pool_without_a_confidence_is_the_last_step():
    answers = {question(1, "a.md"): gated(["a.md"], [], -3.0), question(2, "b.md"): gated([], [], None)}
    assert results(answers)["one"]["gate"]["risk_coverage"]["points"] == [[0.5, 0.0], [1.0, 0.5]]


def test_a_gate_that_tells_no_confidence_has_no_curve_and_errored_rows_are_in_no_number():
    answers = {question(1, "a.md"): gated(["a.md"]), question(2, "b.md"): OSError("no index")}
    gate = results(answers)["one"]["gate"]
    assert gate["risk_coverage"] is None
    assert (gate["coverage"]["mean"], gate["coverage"]["n"]) == (1.0, 1)


def test_a_sweep_is_several_arms_that_differ_in_the_threshold_alone():
    def arm(name, **overrides):
        return Configuration(name, name, {"top_k": 10, "gate": "late", **overrides})

    arms = (
        arm("high", gate_threshold=0.9),
        arm("low", gate_threshold=0.1),
        arm("other", gate_threshold=0.1, top_k=5),
        arm("ten", gate_threshold=0.5),
        arm("off", gate="none"),
    )
    thresholds = {"high": 0.9, "low": 0.1, "other": 0.1, "ten": 0.5}
    answer = {name: gated(["a.md"], [], 0.8, at) for name, at in thresholds.items()} | {"off": ["a.md"]}
    found = summary({question(1, "a.md"): answer}, *arms)
    assert found["attribution"]["sweeps"] == [
        {"over": "gate_threshold", "scorers": ["late"], "arms": ["low", "ten", "high"]}
    ]
    assert "gate" not in found["results"]["off"]


# --- walk ---------------------------------------------------------------------------------------------------------------


def walked(chunks, search, added=(), seeds=0):
    steps = [{"chunk": file, "edge": "e1", "hop": 1, "generated": file.startswith("gen")} for file in added]
    return {"chunks": list(chunks), "walk": {"search": list(search), "added": steps, "query_seeds": seeds}}


def test_a_walk_is_credited_with_what_it_alone_found():
    answers = {
        question(1, "a.md", "b.md", hop=2): walked(["a.md", "b.md"], ["a.md"], ["b.md", "gen.md"], 2),
        question(2, "c.md", hop=2): walked(["c.md"], ["c.md"], ["x.md", "y.md"], 1),
        question(3, "d.md", "e.md", hop=2): walked(["d.md", "e.md"], [], ["d.md", "e.md"]),
        question(4): walked(["x.md"], ["x.md"], ["y.md"]),
    }
    walk = results(answers)["one"]["walk"]
    assert means(walk, "added", "kept", "query_seeds") == [(7 / 4, 4), (3 / 4, 4), (3 / 4, 4)]
    # Of two sources one, of one none, of two both; the unanswerable question has none to find.
    assert means(walk, "found") == [(pytest.approx((1 / 2 + 0 + 1) / 3, abs=1e-12), 3)]
    assert (walk["found_sources"], walk["found_questions"]) == (3, 2)
    assert walk["generated"] == {"share": pytest.approx(1 / 7, abs=1e-12), "added": 7}


def test_a_walk_that_cannot_say_what_the_search_alone_returns_has_no_finds():
    answer = {"chunks": ["a.md"], "walk": {"added": [{"chunk": "a.md"}]}}
    walk = results({question(1, "a.md"): answer})["one"]["walk"]
    assert (walk["found"]["mean"], walk["found_sources"], walk["found_questions"]) == (None, None, None)
    assert walk["kept"]["mean"] == 1.0


def test_the_controls_are_single_hop_questions_and_carry_a_verdict_against_each_partner():
    arms = (Configuration("off", "off"), Configuration("on", "on", pairs=("off",)))
    answers = {}
    for number in range(8):  # controls of eight files, all of which the walk pushes out
        file = f"f{number}.md"
        tier, hop = (("T1", 2), ("T3", None))[number % 2]
        answers[question(number, file, hop=hop, tier=tier)] = {"off": [file], "on": walked(["x.md"], [file], ["x.md"])}
    answers[question(9, "z.md", hop=2)] = {"off": ["x.md"], "on": walked(["z.md"], ["x.md"], ["z.md"])}
    controls = results(answers, *arms)["on"]["walk"]["controls"]
    assert controls["questions"] == 8
    assert set(controls["paired"]["off"]) == {"ndcg@10", "recall@10", "complete@10", "hit@1"}
    entry = controls["paired"]["off"]["recall@10"]
    assert (entry["delta"], entry["n"], entry["lost"], entry["gained"]) == (-1.0, 8, 8, 0)
    # Every cluster shows the same difference: no width, so the verdict is withheld.
    assert entry["verdict"] == "indeterminate"


# --- route --------------------------------------------------------------------------------------------------------------


def routed(chunks=(), **route):
    return {"chunks": list(chunks), "route": route}


def test_routing_is_right_wrong_or_none_against_what_the_question_expects():
    chosen = {
        "Numerical-Methods": {"course": "Numerical Methods", "scope": "primary/course:numerical_methods"},
        "Databases": {"course": "Thermodynamics", "scope": "course:Thermodynamics"},
        "Physics": {"course": "Thermodynamics", "area": "physics", "scope": "area:Physics"},
        "Control": {"course": None, "area": None, "kind": "lab", "scope": None},
        "Signals": {"course": "Signals", "scope": None},
    }
    answers = {
        question(number, f"{number}.md", expect_course=expected): routed(
            [f"{number}.md"] if number % 2 else [f"x{number}.md", f"{number}.md"], **route
        )
        for number, (expected, route) in enumerate(chosen.items(), start=1)
    }
    answers[question(9, "a.md")] = routed(["a.md"], course="Databases")  # expects nothing
    route = results(answers)["one"]["route"]
    assert {key: route["accuracy"][key] for key in ("mean", "n", "right", "wrong", "none")} == {
        "mean": 0.6, "n": 5, "right": 3, "wrong": 1, "none": 1,
    }  # fmt: skip
    second = 1 / math.log2(3)  # nDCG of the one source at rank 2
    assert {scope: (entry["mean"], entry["n"]) for scope, entry in route["scope"].items()} == {
        "right": (1.0, 2),
        "wrong": (pytest.approx(second, abs=1e-12), 1),
        "none": (pytest.approx((1 + second) / 2, abs=1e-12), 2),
    }
    assert route["counts"] == {}


def test_the_six_counts_are_means_over_rows_without_an_error():
    counts = {"router_hits": 4, "routed": 3, "unrouted": 1, "targets": 7, "targets_missing": 0, "new": 2**40}
    answers = {
        question(1, "a.md"): routed(["a.md"], **counts),
        question(2): routed([], **dict.fromkeys(counts, 0)),
        question(3, "c.md"): OSError("no index"),
    }
    route = results(answers)["one"]["route"]
    assert {name: (entry["mean"], entry["n"]) for name, entry in route["counts"].items()} == {
        name: (value / 2, 2) for name, value in counts.items()
    }
    assert "accuracy" not in route


def test_counts_without_a_choice_are_no_wrong_choice():
    answers = {question(1, "a.md", expect_course="Databases"): routed(["a.md"], router_hits=2)}
    route = results(answers)["one"]["route"]
    assert "accuracy" not in route
    assert route["counts"]["router_hits"]["mean"] == 2.0


def test_without_the_main_metric_nothing_is_told_by_scope_and_no_other_metric_takes_its_place():
    asked = question(1, "a.md", expect_course="Databases")
    table = RowTable([name for name in metric_names(10) if name != "ndcg@10"])
    answer = routed(["a.md"], course="Databases", scope="course:Databases")
    table.add(json.loads(canonical.dumps(measure(lambda _, **__: answer, asked, ONE, k=10).row)))
    route = summarise(table, Plan((asked,), (ONE,), resamples=100), complete=True)["results"]["one"]["route"]
    assert route["accuracy"]["right"] == 1
    assert "scope" not in route


def test_a_row_that_comes_again_without_a_report_leaves_nothing_of_the_first():
    asked = question(1, "a.md", expect_course="Databases")
    table = RowTable(metric_names())
    first = {**gated(["a.md"], ["b.md"], 0.5), **walked(["a.md"], [], ["a.md"]), **routed(["a.md"], course="Databases")}
    for answer in (first, ["a.md"]):
        table.add(measure(lambda _, answer=answer: answer, asked, ONE, k=10).row)
    found = summarise(table, Plan((asked,), (ONE,), resamples=50), complete=True)["results"]["one"]
    assert not {"gate", "walk", "route"} & found.keys()


# --- by prefix, ties ----------------------------------------------------------------------------------------------------


def test_prefixes_part_a_set_of_rtc_and_rtu_over_all_and_by_suite():
    answers = {
        question(1, "a.md", prefix="rtc", suite="books"): ["a.md"],
        question(2, "b.md", prefix="rtc"): ["x.md"],
        question(3, "c.md", prefix="rtu"): ["c.md"],
        question(4, prefix="una"): ["x.md"],  # no scored question
    }
    found = results(answers)["one"]["by_prefix"]
    assert {prefix: held["all"]["hit@1"]["mean"] for prefix, held in found.items()} == {"rtc": 0.5, "rtu": 1.0}
    assert {suite: means["hit@1"]["mean"] for suite, means in found["rtc"]["by_suite"].items()} == {
        "books": 1.0, "canvas": 0.0,
    }  # fmt: skip
    assert found["rtu"]["by_suite"]["canvas"]["hit@1"]["n"] == 1


@pytest.mark.parametrize("prefixes", [("rtc", "rtc"), ("rtc", "rtu", "lex"), ("rtcs", "rtu"), ("lex", "par")])
def test_other_sets_have_no_prefixes(prefixes):
    answers = {question(n, "a.md", prefix=prefix): ["a.md"] for n, prefix in enumerate(prefixes)}
    assert "by_prefix" not in results(answers)["one"]


def test_rnk_02_the_run_says_how_many_rows_had_tied_top_scores():
    def scored(*scores):
        return [{"file": f"{number}.md", "score": score} for number, score in enumerate(scores)]

    answers = {
        question(1, "a.md"): scored(*[1.0] * 20),
        question(2, "a.md"): scored(0.5, 0.5 + 1e-10, 0.1),
        question(3, "a.md"): scored(0.5, 0.4, 0.4),
        question(4, "a.md"): scored(None, None),
        question(5, "a.md"): scored(1.0),
    }
    assert results(answers)["one"]["tied_top"] == 2
    assert "tied_top" not in results({question(3, "a.md"): scored(0.5, 0.4)})["one"]
