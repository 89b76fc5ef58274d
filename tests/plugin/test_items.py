"""Items: what they are called, how `-m`, `-k` and node ids find them, and what is refused by name."""

from __future__ import annotations

import pytest
from plugin_support import HOW, question, rows, run_json

NAMED = {
    "defaults": {"list": "L", "a": 0, "rerank": 0},
    "factors": {"sparse": {"a": 1}, "rerank": {"rerank": 1}},
    "configurations": {"R0-bm25": {}},
}
"""Declares R0-bm25 and generates full, -sparse, -rerank, F:none, F:sparse, F:rerank, F:sparse+rerank."""

HOSTILE = [
    "naïve a::b [c] (d)\n🙂 " + "x" * 40,
    "tabs\tand \"quotes\" 'and' %s {} \\ $HOME `id` <b>",
    "ends with ] and :: and a line\r\n",
    "R0-bm25-lex-0001",
]


def write_named(project, count=4, **keys):
    questions = [question(number, **keys) for number in range(1, count + 1)]
    return project.write(questions, {"L": {"*": ["g1.md"]}}, configs=NAMED)


def test_pyt_01_every_name_is_a_registered_marker_and_is_selected_by_its_whole_name(project):
    write_named(project)
    strict = project.run("--strict-markers", "--rag-configs=R0-bm25,loo,factorial")
    strict.assert_outcomes(passed=4 * 8)
    names = {key[1] for key in rows(project.runs[0])}
    assert names == {"R0-bm25", "full", "-sparse", "-rerank", "F:none", "F:sparse", "F:rerank", "F:sparse+rerank"}
    wanted = {
        ("-m", "F:none"): {"F.none"},
        ("-m", "F.sparse+rerank"): {"F.sparse+rerank"},
        ("-m", "no-rerank"): {"no-rerank"},
        ("-m=-rerank",): {"no-rerank"},
        ("-m", "not R0-bm25", "--rag-configs=R0-bm25,factorial"): {"F.none", "F.sparse", "F.rerank", "F.sparse+rerank"},
        ("-m", "R0-bm25 or F:none"): {"R0-bm25", "F.none"},
        ("-m", "(F:sparse or F:rerank) and lexical and T1"): {"F.sparse", "F.rerank"},
    }
    for typed, markers in wanted.items():
        ids = project.collect(*typed)
        inside = {node_id.partition("[")[2].removesuffix("]") for node_id in ids}
        assert inside == {f"{marker}-lex-{n:04d}" for marker in markers for n in range(1, 5)}, typed


@HOW
def test_pyt_01_a_part_of_a_name_selects_nothing_and_says_so(project, workers):
    write_named(project)
    before = project.tree()
    result = project.run("-m", "R0", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'R0'*names match whole*did you mean R0-bm25?*"])
    assert project.tree() == before


def test_pytest_explains_every_marker(project):
    write_named(project)
    shown = project.run("--markers")
    for line in (
        "@pytest.mark.ragbench: *",
        "@pytest.mark.sealed: *--unseal-test*",
        "@pytest.mark.R0-bm25: configuration R0-bm25",
        "@pytest.mark.no-rerank: configuration -rerank",
        "@pytest.mark.F.sparse+rerank: configuration F:sparse+rerank",
        "@pytest.mark.lexical: *",
        "@pytest.mark.T4: *",
    ):
        shown.stdout.fnmatch_lines([line])


def test_pyt_02_ids_hold_no_text_of_the_question_and_each_selects_one_item(project):
    project.write(
        [question(number, text=text) for number, text in enumerate(HOSTILE, start=1)],
        {"A": {}, "B": {}},
        test="def test_one(rag_row): pass\n\nclass TestAll:\n    def test_two(self, rag_row): pass\n",
    )
    ids = project.collect("--rag-configs=A,B")
    cells = [f"[{name}-lex-{number:04d}]" for number in range(1, 5) for name in "AB"]
    assert ids == [
        *(f"golden/test_golden.py::test_one{cell}" for cell in cells),
        *(f"golden/test_golden.py::TestAll::test_two{cell}" for cell in cells),
    ]
    for node_id in (ids[0], ids[3], ids[-1]):
        assert project.collect(node_id) == [node_id]
    one_each = project.run(*ids)
    one_each.assert_outcomes(passed=len(ids))
    assert project.collect("-k", "lex-0003", "--rag-configs=A,B") == [node for node in ids if "lex-0003" in node]


def test_pyt_02_every_printed_id_runs_exactly_that_item(project):
    project.write([question(n, text=text) for n, text in enumerate(HOSTILE[:2], start=1)], {"A": {}, "B": {}})
    for node_id in project.collect("--rag-configs=A,B"):
        result = project.run(node_id, "-v")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines([f"*{node_id.replace('[', '[[]')} PASSED*"])
        name, _, question_id = node_id.partition("[")[2].removesuffix("]").partition("-")
        assert set(rows(project.runs[-1])) == {(question_id, name)}


@HOW
def test_pyt_03_a_question_id_in_two_files_is_refused_with_the_text_of_validate(project, workers):
    write_named(project, count=1)
    project.sets([question(7)], "lexical.yaml")
    project.sets([question(7, suite="paraphrase")], "paraphrase.yaml")
    before = project.tree()
    result = project.run("--rag-configs=R0-bm25", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = project.command("validate")
    assert said.ret == 1
    complaints = [line.removeprefix("error: ") for line in said.outlines if line.startswith("error: ")]
    assert complaints
    assert "lexical.yaml" in complaints[0]
    assert "paraphrase.yaml" in complaints[0]
    assert "lex-0007" in complaints[0]
    for complaint in complaints:
        assert complaint in result.stderr.str()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert project.tree() == before


MISTAKES = [
    (("--rag-suites=lexcal",), "*--rag-suites*'lexcal'*did you mean lexical?*"),
    (("--rag-configs=R0-bm52",), "*'R0-bm52'*did you mean R0-bm25?*"),
    (("--rag-domain=algebra",), "*--rag-domain*'algebra'*"),
    (("-m", "no-such-config"), "*-m names 'no-such-config'*"),
    (("-k", "lex-9999", "--rag-configs=R0-bm25"), "*nothing to run*"),
    (("--rag-sets=nowhere",), "*no question sets: *nowhere does not exist*"),
    (("--rag-sets=empty",), "*no question sets: *empty holds no question*"),
    (("--rag-split=tets",), "*--rag-split=tets*dev, test or all*"),
    (("--rag-limit=0",), "*rag_limit = 0*1 or more*"),
    (("--rag-k=ten",), "*rag_k = ten*whole number*"),
    (("--rag-require=hit10",), "*--rag-require*'hit10'*"),
    (("--rag-require=ndcg@10>=high",), "*no rule*"),
    (("--rag-resume=last",), "*no readable record*"),
]


@pytest.mark.parametrize(
    ("typed", "said"), MISTAKES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_pyt_11_a_mistake_in_the_command_ends_with_4_and_no_trace(project, typed, said):
    write_named(project, domain="calculus")
    (project.path / "empty").mkdir()
    before = project.tree()
    result = project.run(*typed)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert project.tree() == before


@pytest.mark.parametrize(
    "typed", [("--rag-suites=lexcal",), ("-m", "no-such-config"), ("-k", "nothing", "--rag-configs=loo")]
)
def test_pyt_11_under_workers_too(project, typed):
    write_named(project)
    before = project.tree()
    result = project.run(*typed, "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert project.tree() == before


@HOW
def test_pyt_11_without_a_pipeline_the_session_shows_how_to_write_one(project, workers):
    write_named(project)
    project.file("conftest.py", "")
    before = project.tree()
    result = project.run("--rag-configs=R0-bm25", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no pipeline to measure*", "*def rag_pipeline():*"])
    assert project.tree() == before


def test_pyt_11_missing_sets_are_told_by_a_test_that_asks_for_rows(project):
    write_named(project)
    for file in (project.path / "golden" / "sets").iterdir():
        file.unlink()
    for typed in ((), ("-n2",)):
        result = project.run(*typed)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*no question sets*"])
    assert not project.runs


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        ("skip", "skip"),
        ("lexical", "lexical"),
        ("T2", "T2"),
        ("sealed", "sealed"),
        ("ragbench", "ragbench"),
        ("A:b", "A.b"),
    ],
)
def test_a_name_that_means_something_else_already_is_refused(project, name, marker):
    configurations = {name: {}} | ({marker: {"overrides": {"a": 2}}} if marker != name else {})
    project.write([question(1)], {"L": {}}, configs={"configurations": configurations})
    result = project.run("--rag-configs=" + name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*golden/configs.yaml:*{name}*rename*"])
    assert not project.runs


LISTING = """
def pytest_collection_modifyitems(items):
    with open("fixtures.txt", "w") as file:
        file.writelines(" ".join(sorted(item.fixturenames)) + "\\n" for item in items)
"""


def test_an_item_sets_up_its_row_and_the_pipeline_and_no_request(project):
    project.write([question(1), question(2)], {"A": {"*": ["g1.md"]}})
    project.file("golden/conftest.py", LISTING)
    project.run("--rag-configs=A").assert_outcomes(passed=2)
    assert (project.path / "fixtures.txt").read_text() == "rag_pipeline rag_row\n" * 2


def test_other_plugins_marks_and_the_projects_own_stay_usable_in_expressions(project):
    write_named(project, count=2)
    project.file("pytest.ini", "[pytest]\nmarkers =\n    slow: a mark of the project\n")
    project.file("golden/test_golden.py", "import pytest\n@pytest.mark.slow\ndef test_question(rag_row): pass\n")
    result = project.run("--strict-markers", "-m", "slow and F:none")
    result.assert_outcomes(passed=2)
    assert run_json(project.runs[0])["partial"] is False
