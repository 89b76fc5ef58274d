"""What a session runs: options and their ini twins, defaults, narrowing, and when a run counts as whole."""

from __future__ import annotations

import re

import pytest
from plugin_support import HOW, question, rows, run_json, summary

LADDER = {
    "defaults": {"list": "good", "lane": 0},
    "factors": {"lane": {"lane": 1}},
    "ladder": [{"name": "R0", "factors": []}, {"name": "R1", "factors": ["lane"]}],
    "configurations": {"other": {"overrides": {"list": "none"}, "paired": "R0"}},
}
GOOD = {
    f"question {number}": [f"x{filler}.md" for filler in range(number - 1)] + [f"g{number}.md"]
    for number in range(1, 9)
}
LISTS = {"good": GOOD, "none": {}}


def write_mixed(project, **keys):
    """Eight questions: two suites, two domains, two of them of the test split."""
    questions = [
        question(
            number,
            suite="lexical" if number <= 4 else "books",
            domain="calculus" if number % 2 else "algebra",
            split="test" if number > 6 else "dev",
        )
        for number in range(1, 9)
    ]
    return project.write(questions, LISTS, configs=LADDER, **keys)


def cells(ids):
    """(configuration, question number) of node ids."""
    return [(match[1], int(match[2])) for node_id in ids if (match := re.search(r"\[(\w+)-lex-(\d+)\]", node_id))]


DEV = range(1, 7)
BOTH = [(name, number) for number in DEV for name in ("R0", "R1")]


def test_without_a_name_the_ladder_runs_and_without_a_ladder_the_first_configuration(project):
    write_mixed(project)
    assert cells(project.collect("golden")) == BOTH
    project.file("golden/configs.yaml", "configurations: {zeta: {}, alpha: {}}\n")
    assert cells(project.collect("golden")) == [("zeta", number) for number in DEV]
    (project.path / "golden" / "configs.yaml").unlink()
    assert cells(project.collect("golden")) == [("default", number) for number in DEV]


def test_configurations_named_by_m_or_by_a_node_id_are_the_ones_that_run(project):
    write_mixed(project)
    assert cells(project.collect("-m", "other")) == [("other", number) for number in DEV]
    assert cells(project.collect("-m", "other and books")) == [("other", 5), ("other", 6)]
    assert cells(project.collect("-m", "not R0")) == [("R1", number) for number in DEV]
    assert cells(project.collect("-m", "books and not R0")) == [("R1", 5), ("R1", 6)]
    assert cells(project.collect("golden/test_golden.py::test_question[other-lex-0002]")) == [("other", 2)]
    assert cells(project.collect("-m", "R1", "--rag-configs=R0,R1,other")) == [("R1", number) for number in DEV]
    assert cells(project.collect("--rag-configs=other,R0,other")) == [
        (name, number) for number in DEV for name in ("other", "R0")
    ]


def test_suites_domains_and_limit_choose_questions_by_id(project):
    write_mixed(project)
    assert cells(project.collect("--rag-suites=books", "--rag-configs=R0")) == [("R0", 5), ("R0", 6)]
    assert cells(project.collect("--rag-domain=calculus", "--rag-configs=R0")) == [("R0", n) for n in (1, 3, 5)]
    assert cells(project.collect("--rag-limit=2", "--rag-domain=algebra", "-m", "R1")) == [("R1", 2), ("R1", 4)]
    assert cells(project.collect("--rag-limit=1", "--rag-suites=books,lexical")) == [("R0", 1), ("R1", 1)]


INI = """[pytest]
rag_configs = other
rag_suites = books
rag_domain = algebra,calculus
rag_limit = 1
rag_k = 3
rag_require = hit@3
rag_sets = eval/sets
rag_configs_file = eval/configs.yaml
rag_tests = eval
rag_runs_dir = out/runs
rag_report = out/last.md
rag_cluster = none
rag_baselines = out/baselines
"""


def test_every_option_has_an_ini_twin_that_a_typed_value_overrides(project):
    write_mixed(project)
    (project.path / "golden").rename(project.path / "eval")
    project.file("pytest.ini", INI)
    assert cells(project.collect()) == [("other", 5)]
    typed = ("--rag-configs=R1", "--rag-suites=lexical", "--rag-limit=3")
    assert cells(project.collect(*typed)) == [("R1", n) for n in (1, 2, 3)]
    result = project.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*lex-0005 under other: hit@3 is 0, and --rag-require asks for 1*"])
    folder = next((project.path / "out" / "runs").glob("*-*"))
    run = run_json(folder)
    assert (run["k"], run["bootstrap"]["cluster"], run["sets"]) == (3, "none", "eval/sets")
    assert (project.path / "out" / "last.md").read_bytes() == (folder / "report.md").read_bytes()


def test_the_depth_names_the_metrics_and_cuts_the_rankings(project):
    write_mixed(project)
    assert project.run("--rag-configs=R0", "--rag-k=3").ret == 0
    row = rows(project.runs[0])[("lex-0004", "R0")]
    assert len(row["ranking"]) == 3
    named = {
        "hit@1",
        "hit@3",
        "recall@3",
        "complete@3",
        "mrr@3",
        "ndcg@3",
        "p@3",
        "doc_recall@3",
        "citation_precision@3",
    }
    assert named <= row["metrics"].keys()
    assert not [name for name in row["metrics"] if name.endswith("@10")]
    assert row["metrics"]["recall@3"] == 0.0
    assert summary(project.runs[0])["results"]["R0"]["overall"]["hit@3"]["mean"] == 0.5


@HOW
def test_a_requirement_fails_the_items_below_it_and_no_other(project, workers):
    write_mixed(project)
    result = project.run("--rag-configs=R0", "--rag-require=hit@10,ndcg@10>=0.5", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    # A gold at rank r has nDCG 1 / log2(r + 1): 1, 0.63, 0.5, then 0.43 and less.
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["*lex-0004 under R0: ndcg@10 is 0.430677, and --rag-require asks for 0.5*"])
    assert not any(row["error"] for row in rows(project.runs[0]).values())
    assert run_json(project.runs[0])["complete"] is True


@pytest.mark.parametrize(
    ("typed", "partial", "planned"),
    [
        (("--rag-configs=ladder",), False, 12),
        (("-m", "R1"), False, 6),
        (("-m", "R1", "--rag-configs=ladder"), True, 12),
        (("-m", "lexical"), True, 12),
        (("--rag-suites=lexical",), False, 8),
        (("--rag-limit=2", "--rag-configs=R0"), False, 2),
        (("-k", "0002", "--rag-configs=R0"), True, 6),
        (("golden/test_golden.py::test_question[R0-lex-0003]",), True, 6),
        (("--deselect=golden/test_golden.py::test_question[R0-lex-0003]", "--rag-configs=R0"), True, 6),
        (("--rag-configs=R0", "golden"), False, 6),
        (("-m", "sealed", "--unseal-test"), False, 4),
        (("-m", "sealed and R0", "--unseal-test"), False, 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_run_is_whole_when_the_selection_leaves_no_planned_cell_out(project, typed, partial, planned):
    write_mixed(project)
    assert project.run(*typed).ret == 0
    run = run_json(project.runs[0])
    results = summary(project.runs[0])["results"]
    assert sum(sum(result["rows"].values()) for result in results.values()) == planned
    assert (run["partial"], run["complete"]) == (partial, not partial)
    if partial:
        assert "Partial" in (project.runs[0] / "report.md").read_text(encoding="utf-8")


def test_what_failed_last_time_runs_alone_and_is_partial(project):
    write_mixed(project)
    assert project.run("--rag-configs=R0", "--rag-require=mrr@10>=0.2").ret == 1
    again = project.run("--rag-configs=R0", "--lf")
    again.assert_outcomes(passed=1)
    assert set(rows(project.runs[1])) == {("lex-0006", "R0")}
    assert run_json(project.runs[1])["partial"] is True


BROKEN = {
    "tests/test_broken.py": "def test_x(:\n",
    "test_needs_more.py": "import a_package_that_is_not_there\n",
    "tests/test_unit.py": "def test_unit(): pass\n",
}


@HOW
def test_a_rag_run_collects_the_bench_alone_so_a_broken_module_elsewhere_spoils_nothing(project, workers):
    write_mixed(project)
    for name, text in BROKEN.items():
        project.file(name, text)
    result = project.run("--rag-configs=R0", *workers)
    assert result.ret == 0
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["ragbench: 6 questions x 1 configuration (R0), split dev, collecting golden only"])
    assert run_json(project.runs[0])["complete"] is True


def test_a_typed_path_is_collected_as_it_stands(project):
    write_mixed(project)
    for name, text in BROKEN.items():
        project.file(name, text)
    result = project.run("--rag-configs=R0", "tests/test_unit.py", "golden")
    result.assert_outcomes(passed=7)
    assert "collecting" not in result.stdout.str().replace("collecting ...", "")
    broken = project.run("--rag-configs=R0", "tests", "golden")
    assert broken.ret == pytest.ExitCode.INTERRUPTED
    assert len(project.runs) == 1


def test_tests_of_the_bench_elsewhere_are_found_where_the_folder_holds_none(project):
    write_mixed(project)
    (project.path / "golden" / "test_golden.py").rename(project.path / "test_mine.py")
    assert cells(project.collect("--rag-configs=R0")) == [("R0", number) for number in DEV]


@HOW
def test_a_plain_session_runs_unit_tests_and_the_bench_side_by_side(project, workers):
    write_mixed(project)
    project.file("tests/test_unit.py", "def test_unit(): pass\ndef test_low(): assert False\n")
    result = project.run(*workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=13, failed=1)
    run = run_json(project.runs[0])
    assert (run["status"], run["partial"], run["complete"]) == ("done", False, True)
    assert len(rows(project.runs[0])) == 12
    unit = project.run("tests/test_unit.py", *workers)
    assert unit.ret == pytest.ExitCode.TESTS_FAILED
    assert len(project.runs) == 1


def test_questions_without_a_split_or_rejected_stay_out_and_are_counted(project):
    write_mixed(project)
    project.sets(
        [
            question(11, split=None),
            question(12, provenance={"author": "draft", "status": "rejected"}),
            question(13),
        ],
        "more.yaml",
    )
    result = project.run("--rag-configs=R0")
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(
        ["*1 question is left out: rejected by review*", "*1 question is left out: without a split*"]
    )
    assert run_json(project.runs[0])["left_out"] == {"rejected": 1, "unsplit": 1}


def test_a_set_that_nobody_has_split_runs_as_dev_and_says_so(project):
    project.write([question(number, split=None) for number in (1, 2)], LISTS, configs=LADDER)
    result = project.run("--rag-configs=R0")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*no question is split yet: all run as dev*"])
    assert "No question is split yet" in (project.runs[0] / "report.md").read_text(encoding="utf-8")


@HOW
@pytest.mark.parametrize("wrong", ["lexical and", "R0(", "sealed or"])
def test_an_expression_that_is_none_is_a_mistake_in_the_command(project, wrong, workers):
    project.write([question(1)], LISTS, configs=LADDER)
    result = project.run("-m", wrong, *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    result.stderr.fnmatch_lines([f"ERROR: -m '{wrong.replace('(', '[(]')}': *"])
    assert project.runs == []


@pytest.mark.parametrize("key", ["judged_by", "guarded_by"])
def test_a_metric_that_an_experiment_is_judged_by_must_be_one(project, key):
    arms = {"A": {}, "B": {"paired": "A"}}
    project.write([question(1)], {"default": {}}, configs={"experiments": {"e": {"arms": arms, key: ["hitt@1"]}}})
    result = project.run("--rag-configs=e")
    assert result.ret == 4
    assert any("no metric is called 'hitt@1'; did you mean hit@1?" in line for line in result.errlines)
