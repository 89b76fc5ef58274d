"""A finished record under the gate, outside of any session: what `api.gate` and the harness share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_ragbench.analysis.cells import cluster_label
from pytest_ragbench.baselines.files import read_baseline, write_baseline
from pytest_ragbench.configurations.hard_gates import GateRule
from pytest_ragbench.errors import BaselineError, RecordError, UsageError
from pytest_ragbench.runs.gating import Held, baseline_of_run, check_rules, judge_run

MAIN = "baselines/main.json"
RULES = (GateRule("recall@10", floor=0.5, allowed=0.05),)


@pytest.fixture
def run(run_of, question_of):
    """`run(found, of=8)`: a record in which the first `found` questions are answered."""

    def make(found, of=8, **keys):
        questions = [question_of(number) for number in range(1, of + 1)]
        answers = {q.id: [f"g{n}.md"] if n <= found else ["x.md"] for n, q in enumerate(questions, start=1)}
        return run_of(questions, {"one": answers}, **keys)

    return make


def test_a_run_against_its_own_baseline_passes_without_a_flip(run):
    record = run(6)
    verdict = judge_run(record, RULES, Held(MAIN, baseline_of_run(record)))
    assert (verdict.status, verdict.mode, verdict.baseline, verdict.flips) == ("passed", "full", MAIN, ())


def test_the_baseline_survives_its_files(run, tmp_path):
    baseline = baseline_of_run(run(6))
    assert write_baseline(tmp_path / "baselines", baseline)
    assert read_baseline(tmp_path / "baselines", "baselines") == baseline


def test_a_worse_run_fails_and_names_the_questions_that_flipped(run):
    verdict = judge_run(run(5), RULES, Held(MAIN, baseline_of_run(run(6))))
    assert verdict.status == "failed"
    assert [(flip.question, flip.before, flip.after) for flip in verdict.flips] == [("lex-0006", 1.0, 0.0)]


def test_questions_that_got_worse_come_before_those_that_got_better(run_of, question_of):
    questions = [question_of(number) for number in (1, 2)]
    old = run_of(questions, {"one": {"lex-0001": [], "lex-0002": ["g2.md"]}})
    new = run_of(questions, {"one": {"lex-0001": ["g1.md"], "lex-0002": []}})
    verdict = judge_run(new, RULES, Held(MAIN, baseline_of_run(old)))
    assert [(flip.question, flip.before, flip.after) for flip in verdict.flips] == [
        ("lex-0002", 1.0, 0.0),
        ("lex-0001", 0.0, 1.0),
    ]


def test_a_refused_baseline_leaves_the_floors_to_be_read(run):
    held = Held(MAIN, baseline_of_run(run(8, of=9)))
    verdict = judge_run(run(3), RULES, held)
    assert (verdict.status, [refusal.what for refusal in verdict.refusals]) == ("refused", ["question set"])
    assert [(line.outcome, line.baseline) for line in verdict.lines if line.gated] == [("below floor", None)]


def test_a_baseline_that_is_none_is_refused(run):
    held = Held(MAIN, error=BaselineError("baseline edited by hand", "a", "b"))
    verdict = judge_run(run(8), RULES, held)
    assert (verdict.status, verdict.baseline, verdict.refusals[0].what) == ("refused", MAIN, "baseline edited by hand")
    told = [(line.outcome, line.note) for line in verdict.lines if line.gated]
    assert told == [("ok", "the floor holds; not held against the baseline")]  # it has one, so not `no baseline`


@pytest.mark.parametrize("keys", [{"partial": True}, {"complete": False}])
def test_a_run_that_is_not_whole_has_no_lines(run, keys):
    verdict = judge_run(run(8, **keys), RULES, None)
    assert (verdict.status, verdict.mode, verdict.lines) == ("refused", "floors", ())


def test_floors_alone_read_no_baseline(run):
    verdict = judge_run(run(8), RULES, None)
    assert (verdict.status, verdict.mode, verdict.baseline) == ("passed", "floors", None)


def test_the_rows_of_a_baseline_carry_what_their_questions_are_resampled_with(run):
    record = run(6)
    clusters = {question.id: cluster_label(question, "file") for question in record.questions()}
    assert {row.question: row.cluster for row in baseline_of_run(record).rows} == clusters


def test_without_a_summary_there_is_nothing_to_judge(run):
    record = run(8)
    (record.folder / "summary.json").unlink()
    with pytest.raises(RecordError, match="there is nothing to judge"):
        judge_run(record, RULES, None)


@pytest.mark.parametrize("lacking", ["no baseline", "no configuration with numbers"])
def test_rules_about_falls_alone_are_refused_where_there_is_nothing_to_have_fallen_from(run, lacking):
    baseline = None
    if lacking != "no baseline":
        baseline = replace(baseline_of_run(run(8)), results={"one": {"overall": {}}})
    verdict = judge_run(run(0), (GateRule("recall@10", allowed=0.05),), Held(MAIN, baseline))
    assert (verdict.status, [refusal.what for refusal in verdict.refusals]) == ("refused", ["nothing judged"])
    assert verdict.refusals[0].remedy == "pytest --rag-configs=one --rag-update-baseline"


@pytest.mark.parametrize(
    ("rules", "floors", "what"),
    [
        ((), False, "rule"),
        ((GateRule("leaks", enforced_by="others"),), False, "rule"),
        ((GateRule("recall@10", allowed=0.1),), True, "floor"),
    ],
)
def test_a_gate_without_a_rule_is_a_mistake(rules, floors, what):
    with pytest.raises(UsageError, match=f"t.yaml has no {what} under hard_gates"):
        check_rules(rules, "t.yaml", floors=floors)
