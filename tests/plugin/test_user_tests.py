"""Tests that users write over `rag_row`: any shape of test, any pipeline, and what a miss or an error looks like."""

from __future__ import annotations

import json

import pytest
from plugin_support import HOW, question, rows, run_json

CONFTEST = """
import pytest

class Logged:
    def search(self, query, **overrides):
        with open(r"{path}/searches.log", "a") as log:
            log.write("0 " + query + "\\n")
        return ["x.md", "g1.md"]

@pytest.fixture(scope="session")
def rag_pipeline():
    return Logged()
"""


def write(project, count=2, *, test=None, conftest=None, configurations=("A",)):
    project.write([question(n) for n in range(1, count + 1)], {name: {} for name in configurations})
    project.file("conftest.py", conftest or CONFTEST.replace("{path}", str(project.path)))
    if test is not None:
        project.file("golden/test_golden.py", test)
    return project


TWO_TESTS = """
def test_b(rag_row): assert rag_row.metrics["hit@1"] == 0.0

def test_a(rag_row): assert rag_row.question
"""


@HOW
def test_two_tests_on_one_cell_search_once_and_the_first_by_node_id_records(project, workers):
    write(project, test=TWO_TESTS, configurations=("A", "B"))
    result = project.run("--rag-configs=A,B", *workers)
    result.assert_outcomes(passed=8)
    assert len(project.searches) == 4
    assert len(rows(project.runs[0])) == 4
    assert run_json(project.runs[0])["complete"] is True


SHAPES = """
import pytest

@pytest.fixture
def scored(rag_row):
    return rag_row.metrics["recall@10"]

@pytest.mark.parametrize("least", [0.0, 0.5], ids=["none", "half"])
def test_stacked(rag_row, least):
    assert rag_row.metrics["recall@10"] >= 0.0

@pytest.mark.parametrize("first", ["lex-0002", "A-lex-0002", "a [b] c"])
def test_stacked_with_awkward_ids(first, rag_row):
    assert rag_row.question in ("lex-0001", "lex-0002")

class TestClass:
    @pytest.fixture
    def doubled(self, scored):
        return 2 * scored

    def test_method(self, doubled, rag_row):
        assert doubled == 2 * rag_row.metrics["recall@10"]

    @pytest.mark.usefixtures("rag_row")
    def test_by_mark(self):
        pass

def test_wrapped(scored):
    assert scored in (0.0, 1.0)
"""


@HOW
def test_stacked_parameters_classes_and_wrapping_fixtures_share_the_rows(project, workers):
    write(project, test=SHAPES)
    result = project.run("--rag-configs=A", "-v", *workers)
    result.assert_outcomes(passed=2 * (2 + 3 + 1 + 1 + 1))
    assert len(project.searches) == 2
    assert set(rows(project.runs[0])) == {("lex-0001", "A"), ("lex-0002", "A")}
    assert run_json(project.runs[0])["complete"] is True


OVERRIDDEN = """
import pytest

@pytest.fixture
def rag_row(rag_row):
    rag_row.check()
    return (rag_row.question, rag_row.configuration)

def test_pair(rag_row):
    assert rag_row in [("lex-0001", "A"), ("lex-0002", "A")]
"""


def test_a_project_may_override_rag_row_itself(project):
    write(project, test=OVERRIDDEN)
    project.run("--rag-configs=A").assert_outcomes(passed=2)
    assert len(rows(project.runs[0])) == 2


MARKED = """
import pytest

@pytest.mark.skip(reason="not now")
def test_skipped(rag_row): pass

@pytest.mark.xfail(reason="known")
def test_expected(rag_row):
    assert rag_row.metrics["hit@1"] == 1.0

@pytest.mark.skipif(True, reason="never")
class TestSkipped:
    def test_method(self, rag_row): pass
"""


def test_marks_of_pytest_mean_what_they_mean(project):
    write(project, test=MARKED)
    result = project.run("--rag-configs=A", "--rag-require=hit@1")
    result.assert_outcomes(skipped=4, xfailed=2)
    assert result.ret == 0
    assert len(project.searches) == 2
    assert run_json(project.runs[0])["complete"] is True


def test_cells_of_skipped_items_are_not_run_and_the_run_is_incomplete(project):
    test = "import pytest\ndef test_question(rag_row, request): pass\n"
    write(project, test=test, configurations=("A", "B"))
    conftest = (project.path / "conftest.py").read_text()
    hook = "def pytest_collection_modifyitems(items):\n    items[0].add_marker(pytest.mark.skip)\n"
    project.file("conftest.py", conftest + hook)
    result = project.run("--rag-configs=A,B")
    result.assert_outcomes(passed=3, skipped=1)
    run = run_json(project.runs[0])
    assert (run["complete"], run["status"], len(rows(project.runs[0]))) == (False, "done", 3)


ATTRIBUTES = """
import pytest

def test_fields(rag_row):
    assert (rag_row.question, rag_row.configuration, rag_row.suite, rag_row.tier) == ("lex-0001", "A", "lexical", "T1")
    assert (rag_row.split, rag_row.domain, rag_row.strategy) == ("dev", None, None)
    assert rag_row.golden.text == "question 1"
    assert rag_row.golden.gold[0].locators[0].file == "g1.md"
    assert [entry["file"] for entry in rag_row.ranking] == ["x.md", "g1.md"]
    assert rag_row.metrics["mrr@10"] == 0.5
    assert rag_row.timings["search"] >= 0
    assert rag_row.error is None
    assert rag_row.fields["question"] == "lex-0001"
    assert "lex-0001 under A" in repr(rag_row)
    rag_row.check()
    with pytest.raises(AttributeError, match="no field 'metric'; it has .*metrics"):
        rag_row.metric
    assert not hasattr(rag_row, "_private")
"""


def test_a_row_has_its_fields_as_attributes(project):
    write(project, 1, test=ATTRIBUTES)
    project.run("--rag-configs=A").assert_outcomes(passed=1)


def test_a_miss_of_one_question_shows_the_ranking_beside_the_gold(project):
    write(project, 12)
    result = project.run("-k", "lex-0002", "-m", "A")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*lex-0002: question 2*", "*g2.md*", "*1*x.md*", "*2*g1.md*", "*Partial*"])
    every = project.run("--rag-configs=A")
    assert "lex-0002: question 2" not in every.stdout.str()


RAISES = {"question 1": {"raise": "no such index"}, "*": ["g2.md"]}


@HOW
def test_an_errored_row_fails_its_item_where_the_test_forgets_to_check(project, workers):
    project.write([question(1), question(2)], {"A": RAISES}, test="def test_question(rag_row): pass\n")
    result = project.run("--rag-configs=A", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*lex-0001 under A: the search failed: RuntimeError: no such index*"])
    assert rows(project.runs[0])[("lex-0001", "A")]["error"] == "RuntimeError: no such index"


def test_an_error_that_a_test_swallows_or_expects_still_ends_the_session_with_1(project):
    test = "import pytest\n@pytest.mark.xfail\ndef test_question(rag_row):\n    rag_row.check()\n"
    project.write([question(1), question(2)], {"A": RAISES}, test=test)
    result = project.run("--rag-configs=A")
    result.assert_outcomes(xfailed=1, xpassed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@HOW
def test_a_pipeline_that_cannot_be_built_gives_error_rows(project, workers):
    conftest = (
        "import pytest\n@pytest.fixture(scope='session')\ndef rag_pipeline():\n    raise OSError('no index here')\n"
    )
    write(project, conftest=conftest)
    result = project.run("--rag-configs=A", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(errors=2)
    errors = {row["error"] for row in rows(project.runs[0]).values()}
    assert errors == {"SetupError: OSError: no index here"}


REFUSES = """
import pytest

class Picky:
    def check_overrides(self, **overrides):
        if overrides["list"] == "B":
            raise ValueError("rerank: the weights of cross-encoder are not here")

    def search(self, query, **overrides):
        return ["g1.md"]

@pytest.fixture(scope="session")
def rag_pipeline():
    return Picky()
"""


@HOW
def test_overrides_that_the_pipeline_refuses_end_the_session_before_any_row(project, workers):
    write(project, 4, conftest=REFUSES, configurations=("A", "B"))
    result = project.run("--rag-configs=A,B", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "configuration B: rerank: the weights of cross-encoder are not here" in said
    assert "Traceback" not in said
    assert "INTERNALERROR" not in said
    assert not any(rows(folder) for folder in project.runs)
    assert project.run("--rag-configs=A").ret == 0


RESULTS = {
    "a list of names": ("return ['g1.md']", None),
    "a tuple of mappings": ("return ({'file': 'g1.md', 'score': 1.0},)", None),
    "a generator": ("yield {'file': 'g1.md'}", None),
    "pairs": ("return [({'file': 'g1.md'}, 0.5)]", None),
    "an object": ("return type('R', (), {'chunks': ['g1.md'], 'timings': {'lane': 1.5}})()", None),
    "nothing": ("return None", "PipelineError: search returned None*"),
    "a text": ("return 'g1.md'", "PipelineError: search returned*"),
    "a set": ("return {'g1.md'}", "PipelineError: *no order*"),
    "numbers": ("return [1, 2]", "PipelineError: chunks[0]*"),
    "a mapping without a ranking": ("return {'hits': []}", "PipelineError: *found: hits*"),
    "a coroutine": ("async def later(): pass\n    return later()", "PipelineError: search is asynchronous*"),
    "an exit of its own": ("raise ValueError('bad \\x1b[31m query')", "ValueError: bad *"),
}


def test_a_callable_is_a_pipeline_and_unknown_results_are_error_rows(project):
    body = "\n".join(f"def p{n}(query, **_):\n    {code}" for n, (code, _) in enumerate(RESULTS.values()))
    table = ", ".join(f"p{n}" for n in range(len(RESULTS)))
    conftest = f"""
import pytest
{body}

@pytest.fixture(scope="session")
def rag_pipeline():
    return lambda query, **overrides: ({table})[overrides["which"]](query)
"""
    configurations = {f"c{n}": {"overrides": {"which": n}} for n in range(len(RESULTS))}
    project.write([question(1)], {"A": {}}, configs={"configurations": configurations})
    project.file("conftest.py", conftest)
    result = project.run("--rag-configs=" + ",".join(configurations))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = rows(project.runs[0])
    for n, (name, (_, error)) in enumerate(RESULTS.items()):
        row = found[("lex-0001", f"c{n}")]
        if error is None:
            assert row["error"] is None, name
            assert row["metrics"]["hit@1"] == 1.0, name
        else:
            pattern = error.replace("[", "[[]")
            assert pytest.LineMatcher([row["error"]]).str(), name
            pytest.LineMatcher([row["error"]]).fnmatch_lines([pattern])
            assert row["ranking"] == [], name
    assert found[("lex-0001", "c4")]["timings"]["lane"] == 1.5
    json.dumps(list(found.values()), allow_nan=False)


def test_an_object_that_cannot_search_says_what_a_pipeline_is(project):
    write(project, 1, conftest="import pytest\n@pytest.fixture(scope='session')\ndef rag_pipeline():\n    return 7\n")
    result = project.run("--rag-configs=A")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "a int cannot be measured" in rows(project.runs[0])[("lex-0001", "A")]["error"]


def test_rag_row_asked_for_at_run_time_explains_itself(project):
    write(project, 1, test="def test_question(request):\n    request.getfixturevalue('rag_row')\n")
    result = project.run("golden")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*rag_row is for tests that name it as an argument*"])
