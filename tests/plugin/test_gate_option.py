"""`--rag-gate` in real sessions: what it prints, saves and exits with, with and without workers."""

from __future__ import annotations

import json
import re

import pytest
from plugin_support import HOW, question

QUESTIONS = 8
RULES = "hard_gates:\n  recall@10: {min: 0.5, max_regression_delta: 0.05}\n"


def lists(found, *names):
    """Under each configuration the first `found` questions are answered, the others missed."""
    answers = {f"question {n}": [f"g{n}.md"] if n <= found else ["x.md"] for n in range(1, 20)}
    return dict.fromkeys(names or ("one",), answers)


def write(project, *, found=QUESTIONS, rules=RULES, questions=QUESTIONS, names=("one",)):
    project.write([question(number) for number in range(1, questions + 1)], lists(found, *names))
    if rules is not None:
        project.file("baselines/thresholds.yaml", rules)
    return project


def script(project, found, *names, **answers):
    """Another pipeline over the same questions."""
    scripted = {name: {**answered, **answers} for name, answered in lists(found, *names).items()}
    project.file("script.json", json.dumps(scripted))


@pytest.fixture
def based(project):
    """A project whose baseline answers all of its questions."""
    write(project)
    assert project.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    return project


def gate(project, *args):
    """Run the gate: (exit status, its section in one line, the whole result)."""
    result = project.run("--rag-configs=one", "--rag-gate", *args)
    section = re.split(r"=+ ragbench gate =+\n", result.stdout.str())
    told = re.split(r"\n=+ (?:short test|\d|.* in )", section[1])[0] if len(section) > 1 else ""
    return int(result.ret), " ".join(told.split()), result


def saved(project):
    return json.loads((project.runs[-1] / "gate.json").read_text(encoding="utf-8"))


@HOW
def test_a_run_like_its_baseline_passes(based, workers):
    status, told, _ = gate(based, *workers)
    assert status == 0
    assert told.endswith("Gate passed: 1 number judged.")
    assert "recall@10 ok 1.000 1.000 0.000 0.500 0.050 8" in told
    assert saved(based)["status"] == "passed"


def test_a_floor_breach_is_red(based):
    script(based, 3)
    status, told, _ = gate(based)
    assert status == 1
    assert "recall@10 below floor 1.000 0.375 -0.625 0.500 0.050 8" in told
    assert told.endswith("Gate failed: 1 of 1 number: recall@10 of one below floor.")


@HOW
def test_a_regression_above_the_floor_is_red(based, workers):
    script(based, 7)
    status, told, _ = gate(based, *workers)
    assert status == 1
    assert "recall@10 regressed 1.000 0.875 -0.125 0.500 0.050 8" in told
    assert told.endswith("Gate failed: 1 of 1 number: recall@10 of one regressed.")


def test_another_question_set_is_refused_with_the_command_that_mends_it(based):
    based.sets([question(number) for number in range(2, QUESTIONS + 2)])
    status, told, result = gate(based)
    assert status == 1
    assert "question set: found 1 that it has not (lex-0009) and without 1 of its own (lex-0001)" in told
    assert "expected the 8 questions of baselines/main.json" in told
    assert "To mend it: pytest --rag-configs=one --rag-update-baseline" in told
    assert told.endswith("Gate refused: question set.")
    result.stdout.fnmatch_lines(["ragbench: the gate will refuse this run: question set: *"])


@HOW
def test_a_slice_by_k_is_refused(based, workers):
    status, told, _ = gate(based, "-k", "lex-0001 or lex-0002", *workers)
    assert status == 1
    assert "partial run: found a selection (-k, -m, --lf, a path) that left planned cells out" in told
    assert "To mend it: pytest --rag-configs=one --rag-gate" in told
    assert told.endswith("Gate refused: partial run.")


@HOW
def test_an_errored_row_is_refused(based, workers):
    script(based, QUESTIONS, **{"question 3": {"raise": "no index"}})
    status, told, _ = gate(based, *workers)
    assert status == 1
    assert "errored rows: found 1 row failed: lex-0003 under one: RuntimeError: no index" in told
    assert f"pytest --rag-resume={based.runs[-1].name} --rag-gate" in told
    assert told.endswith("Gate refused: errored rows.")


def test_a_run_that_was_completed_by_resuming_is_judged(based):
    script(based, QUESTIONS, **{"question 3": {"raise": "no index"}})
    assert gate(based)[0] == 1
    script(based, QUESTIONS)
    result = based.here("--rag-resume=last", "--rag-gate")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["Gate passed: 1 number judged."])


def test_with_nothing_left_to_resume_the_gate_judges_nothing_and_is_not_green(based):
    result = based.here("--rag-resume=last", "--rag-gate")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["The gate judged nothing: the run has every row already, *; run without --rag-resume"])


def test_gat_04_a_metric_without_a_value_is_red(project):
    write(project, rules="hard_gates:\n  faithfulness: {min: 0.0}\n")  # no question has an answer or nuggets
    status, told, _ = gate(project)
    assert status == 1
    assert "faithfulness of one: no value (n = 0)." in told
    assert told.endswith("1 of 1 number: faithfulness of one no value.")


def test_a_baseline_edited_by_hand_is_refused(based):
    path = based.path / "baselines" / "main.json"
    text = path.read_text(encoding="utf-8")
    main = json.loads(text)
    main["results"]["one"]["overall"]["recall@10"]["mean"] = 0.5
    path.write_text(json.dumps(main), encoding="utf-8")
    script(based, 5)
    status, told, result = gate(based)
    assert status == 1
    assert "baseline edited by hand: found results.one.overall.recall@10.mean: 0.5 in baselines/main.json" in told
    assert "expected 1.0, as baselines/main.rows.jsonl gives" in told
    assert (
        "To mend it: git checkout -- baselines/main.json baselines/main.rows.jsonl, or pytest --rag-configs=one" in told
    )
    assert told.endswith("Gate refused: baseline edited by hand.")
    result.stdout.fnmatch_lines(["ragbench: the gate will refuse this run: baseline edited by hand: *"])


@pytest.mark.parametrize(
    ("options", "what", "remedy"),
    [
        (["--rag-limit=3"], "another selection: found --rag-limit=3; expected every question", "--rag-gate"),
        (["--rag-domain=networking"], "another selection: found --rag-domain=networking;", "--rag-gate"),
        (["--rag-suites=lexical"], "another selection: found --rag-suites=lexical;", "--rag-gate"),
        (["--rag-k=5"], "k: found rankings cut at 5; expected cut at 10", "--rag-gate"),
        (["--rag-split=test", "--unseal-test"], "split: found test; expected dev", "--rag-gate"),
        (["--rag-shard=1/2"], "shard: found shard 1 of 2; expected the whole run", "--rag-gate"),
    ],
)
def test_what_was_measured_otherwise_than_the_baseline_is_refused(project, options, what, remedy):
    project = write(project, rules="hard_gates:\n  recall: {min: 0.5, max_regression_delta: 0.05}\n")
    others = [question(number, split="test") for number in range(11, 13)]
    project.sets([question(n, domain="networking") for n in range(1, QUESTIONS + 1)] + others)
    assert project.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    status, told, _ = gate(project, *options)
    assert status == 1
    assert f"- {what}" in told
    assert f"pytest --rag-configs=one {remedy}" in told
    assert told.endswith(f"Gate refused: {what.partition(':')[0]}.")


def test_a_configuration_of_the_baseline_that_did_not_run_is_refused(project):
    write(project, names=("one", "two"))
    assert project.here("--rag-configs=one,two", "--rag-update-baseline").ret == 0
    status, told, _ = gate(project)
    assert status == 1
    assert "configurations left out: found one; expected one, two, as in baselines/main.json" in told
    assert "pytest --rag-configs=one,two --rag-gate" in told


def test_a_configuration_that_the_baseline_lacks_is_held_to_the_floors(project):
    write(project, names=("one", "two"), rules="hard_gates:\n  recall@10: {min: 0.5, max_regression_delta: 0}\n")
    assert project.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    result = project.here("--rag-configs=one,two", "--rag-gate")
    assert result.ret == 0
    told = " ".join(result.stdout.str().split())
    assert "two is not in baselines/main.json: it is held to the floors alone." in told
    assert "recall@10 of two: no baseline;" in told


def test_changed_overrides_are_told_and_judged(based):
    based.file("script.json", json.dumps(lists(QUESTIONS, "one", "other")))
    configs = {"configurations": {"one": {"overrides": {"list": "other"}}}}
    based.file("golden/configs.yaml", json.dumps(configs))
    status, told, _ = gate(based)
    assert status == 0
    assert 'one has other overrides than in baselines/main.json (list: "one" to "other")' in told


def test_gat_03_a_misspelt_metric_is_a_mistake_before_any_search(project):
    write(project, rules="hard_gates:\n  ndgc@10: {min: 0.5}\n")
    result = project.here("--rag-configs=one", "--rag-gate")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*baselines/thresholds.yaml:2: hard_gates.ndgc@10: *did you mean `ndcg@10`?*"])
    assert not project.searches


def test_gat_03_a_suite_that_the_run_left_out_fails_by_name(project):
    write(project, rules="hard_gates:\n  ndcg@10: {min: 0.5, suite: books}\n")
    project.sets([question(1), question(2, suite="books")])
    result = project.here("--rag-configs=one", "--rag-gate=floors", "--rag-suites=lexical")
    assert result.ret == 1
    told = " ".join(result.stdout.str().split())
    assert "the run has no ndcg@10 for one in suite:books" in told
    assert "Gate failed, floors alone: 1 of 1 number: ndcg@10 of one in suite:books missing." in told


def test_gat_10_another_definition_is_refused_and_another_version_of_the_package_is_not(based, monkeypatch):
    monkeypatch.setattr("pytest_ragbench.__version__", "99.0")
    assert gate(based)[0] == 0
    path = based.path / "baselines" / "main.json"
    main = json.loads(path.read_text(encoding="utf-8"))
    assert "version" not in "".join(main.keys() - {"schema_version", "metrics_version"})
    path.write_text(json.dumps(main | {"metrics_version": 2}), encoding="utf-8")
    status, told, _ = gate(based)
    assert status == 1
    assert "metric definitions: found definitions 1 in this run; expected definitions 2 in baselines/main.json" in told
    assert "To mend it: pytest --rag-configs=one --rag-update-baseline" in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"ndcg@10": NaN}', ":1:13: NaN is not JSON"),
        ('{"k": 1, "k": 2}', ":1:10: the key 'k' stands twice in one object"),
        ('{"k": ' + "1" * 5000 + "}", ":1:7: a whole number of 5000 digits is too long"),
        ("\ufeff{}", ":1:1: it starts with a byte order mark"),
        ("", ":1:1: it is empty"),
        ("[]", ":1:1: this must be an object, found a list"),
    ],
    ids=["nan", "duplicate", "digits", "bom", "empty", "list"],
)
def test_gat_07_a_baseline_that_is_no_strict_json_ends_the_session_before_any_search(project, text, said):
    write(project)
    project.file("baselines/main.json", text)
    result = project.here("--rag-configs=one", "--rag-gate")
    assert result.ret == 4
    assert f"the baseline cannot be read: baselines/main.json{said}" in result.stderr.str()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert not project.searches


def test_a_baseline_of_another_schema_is_refused(based):
    path = based.path / "baselines" / "main.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"schema_version": 1', '"schema_version": 7'), encoding="utf-8"
    )
    status, told, _ = gate(based)
    assert status == 1
    assert "baseline schema: found schema_version 7 in baselines/main.json" in told
    assert "upgrade pytest-ragbench" in told


def test_without_a_baseline_the_floors_alone_hold_and_say_so(project):
    write(project, found=6)
    status, told, _ = gate(project)
    assert status == 0
    assert "There is no baselines/main.json: floors alone are judged" in told
    assert "`pytest --rag-configs=one --rag-update-baseline` captures it" in told
    assert told.endswith("Gate passed, floors alone: 1 number judged.")
    script(project, 2)
    assert gate(project)[0] == 1


def test_floors_alone_can_be_asked_for_and_need_no_comparable_baseline(based):
    script(based, 5)
    result = based.here("--rag-configs=one", "--rag-gate=floors", "--rag-limit=6")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["Gate passed, floors alone: 1 number judged."])
    result.stdout.re_match_lines([r" *metric +verdict +current +floor +n *$"])
    assert saved(based)["mode"] == "floors"
    assert based.here("--rag-configs=one", "--rag-gate").ret == 1


def test_floors_alone_need_a_floor(project):
    write(project, rules="hard_gates:\n  recall@10: {max_regression_delta: 0.1}\n")
    result = project.here("--rag-configs=one", "--rag-gate=floors")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*baselines/thresholds.yaml has no floor under hard_gates that this gate judges*"])


@pytest.mark.parametrize("flag", ["--rag-gate", "--rag-gate=floors"])
def test_the_flag_does_not_swallow_the_path_behind_it(based, flag):
    result = based.here(flag, "golden/test_golden.py", "--rag-configs=one")
    assert result.ret == 0
    result.assert_outcomes(passed=QUESTIONS)


def test_another_value_of_the_flag_is_a_mistake(based):
    assert based.here("--rag-configs=one", "--rag-gate=half").ret == 4


def test_the_ini_key_gates_every_run_until_it_is_off(based):
    script(based, 7)
    based.file("pytest.ini", "[pytest]\nrag_gate = full\n")
    assert based.here("--rag-configs=one").ret == 1
    assert based.here("--rag-configs=one", "-o", "rag_gate=floors").ret == 0
    assert based.here("--rag-configs=one", "-o", "rag_gate=off").ret == 0
    result = based.here("--rag-configs=one", "-o", "rag_gate=ful")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*rag_gate = ful: it is full, floors or off*"])


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (None, "--rag-gate: baselines/thresholds.yaml does not exist; say what this project tolerates*"),
        ("max_suite_regression: 0.1\n", "baselines/thresholds.yaml has no rule under hard_gates*"),
        ("hard_gates:\n  leaks: {enforced_by: others}\n", "*has no rule under hard_gates that this gate judges*"),
    ],
)
def test_a_gate_that_would_judge_nothing_is_a_mistake(project, rules, said):
    write(project, rules=rules)
    result = project.here("--rag-configs=one", "--rag-gate")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{said}"])
    assert not project.searches


def test_a_gate_over_items_that_were_all_skipped_is_not_green(project):
    write(project)
    project.file("golden/test_golden.py", "import pytest\n@pytest.mark.skip\ndef test_question(rag_row):\n    pass\n")
    result = project.here("--rag-configs=one", "--rag-gate")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["The gate judged nothing: *"])


def test_what_another_suite_enforces_is_shown_and_not_judged(project):
    write(project, rules=RULES + "  access_leaks: {enforced_by: access suite}\n")
    status, told, _ = gate(project)
    assert status == 0
    assert "access_leaks: enforced by access suite; not judged here." in told


def test_a_significant_rule_lets_a_small_fall_pass_as_inconclusive(project):
    write(project, rules="hard_gates:\n  recall@10: {max_regression_delta: 0.05, significant: true}\n")
    assert project.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    script(project, 6)
    status, told, _ = gate(project)
    assert status == 0
    assert re.search(r"8 questions cannot tell it from chance \(sign-flip p = 0\.5\); \d+ questions of \d+ files", told)
    assert told.endswith("Gate passed: 1 number judged, 1 inconclusive.")
    script(project, 1)  # seven of eight fell: 2 / 2^7
    status, told, _ = gate(project)
    assert status == 1
    assert "sign-flip p = 0.01562 over 8 questions" in told


def test_a_significant_rule_that_could_never_fail_says_so(project):
    write(
        project, questions=4, found=4, rules="hard_gates:\n  recall@10: {max_regression_delta: 0, significant: true}\n"
    )
    assert project.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    script(project, 0)
    status, told, _ = gate(project)
    assert status == 0
    assert "about fewer than 6 files no fall is ever told from it." in told


def test_the_verdict_is_in_the_report_and_every_report_of_the_record_says_the_same(based):
    script(based, 7)
    assert gate(based)[0] == 1
    folder = based.runs[-1]
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "## Gate: failed" in report
    assert "Gate failed: 1 of 1 number: recall@10 of one regressed." in report
    assert "## Gate: questions that changed" in report
    assert re.search(r"\| lex-0008 +\| one +\| recall@10 +\| +1\.000 \| +0\.000 \| +-1\.000 \|", report)
    assert based.command("report", folder.name).stdout.str().strip() == report.strip()
    shown = based.command("show", folder.name).stdout.str()
    assert "Gate: failed" in shown
    assert "questions that changed" not in shown.partition("Not shown here")[0]


def test_a_session_without_the_gate_says_nothing_of_one_and_loads_none_of_it(based):
    result = based.spawn("--rag-configs=one", "-p", "watched")
    assert result.ret != 0  # no such plugin: the next one watches
    based.file(
        "watched.py",
        "import sys\ndef pytest_unconfigure():\n"
        "    print('LOADED', sorted(m for m in sys.modules if '.gates.rules' in m or '.gating' in m))\n",
    )
    result = based.spawn("--rag-configs=one", "-p", "watched", "-s")
    assert result.ret == 0
    assert "ragbench gate" not in result.stdout.str()
    assert "pytest_ragbench.runs.gating" not in result.stdout.str()
    assert "pytest_ragbench.harness.gating" not in result.stdout.str()
    assert "LOADED" in result.stdout.str()
    assert not (based.runs[-1] / "gate.json").exists()


def test_rules_about_falls_alone_and_no_baseline_are_refused_and_foreseen(project):
    write(project, found=0, rules="hard_gates:\n  recall@10: {max_regression_delta: 0.1}\n")
    status, told, result = gate(project)
    assert status == 1
    assert told.endswith("Gate refused: nothing judged.")
    assert "To mend it: pytest --rag-configs=one --rag-update-baseline" in told
    result.stdout.fnmatch_lines(["ragbench: the gate will refuse this run: nothing judged: *"])


def test_a_number_taken_out_of_the_baseline_by_hand_does_not_make_a_worse_run_green(based):
    path = based.path / "baselines" / "main.json"
    main = json.loads(path.read_text(encoding="utf-8"))
    del main["results"]["one"]["overall"]["recall@10"]
    path.write_text(json.dumps(main), encoding="utf-8")
    script(based, 5)
    status, told, _ = gate(based)
    assert status == 1
    assert told.endswith("Gate refused: baseline edited by hand.")


FORGETFUL = """
import collections, pytest
TRIES = collections.Counter()

@pytest.fixture(scope="session")
def rag_pipeline():
    def search(query, **overrides):
        number = int(query.split()[1])
        TRIES[number] += 1
        if number == 4 and TRIES[4] == 1:
            raise TimeoutError("busy")
        return [f"g{number}.md"] if number < 4 or TRIES[number] > 1 else ["x.md"]
    return search
"""


@HOW
def test_searching_again_until_a_question_is_answered_makes_no_run_greener(based, workers):
    based.file(
        "conftest.py", FORGETFUL
    )  # 1 to 3 are found at once, 4 raises at first, 5 to 8 are found when asked again
    status, told, result = gate(based, "--rag-require=hit@10", "--reruns=2", *workers)
    assert status == 1
    assert "recall@10 regressed 1.000 0.500 -0.500 0.500 0.050 8" in told  # 4 of 8, which the floor allows
    result.assert_outcomes(passed=4, failed=4)


def test_a_session_of_other_tests_hears_nothing_of_a_gate_that_is_a_setting(based):
    based.file("pytest.ini", "[pytest]\nrag_gate = full\n")
    based.file("unit/test_other.py", "def test_other(): pass\n")
    result = based.here("unit")
    assert result.ret == 0
    assert "gate" not in result.stdout.str().partition("collected")[2]
