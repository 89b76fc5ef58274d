"""One run measures one pipeline, and a row that was scored stands whatever makes its item fail."""

from __future__ import annotations

import pytest
from plugin_support import HOW, question, rows, run_json

ANSWERS = {"A": {"question 1": ["g1.md"], "question 2": ["x.md"], "question 3": ["g3.md"]}}
QUESTIONS = [question(1), question(2), question(3)]

OTHER = """
import pytest

@pytest.fixture(scope="session")
def rag_pipeline():
    return lambda query, **overrides: ["other.md"]
"""
PARAMETRIZED = OTHER.replace('scope="session"', 'scope="session", params=["good", "bad"]').replace("()", "(request)")
BEHIND = """
import pytest

@pytest.fixture(scope="session", params=["small", "large"])
def embedder(request):
    return request.param

@pytest.fixture(scope="session")
def rag_pipeline(embedder):
    return lambda query, **overrides: [f"{embedder}.md"]
"""


@HOW
@pytest.mark.parametrize("layout", ["module", "folder", "parametrized", "behind"])
def test_tests_that_see_different_pipelines_are_refused_before_anything_is_searched(project, workers, layout):
    project.write(QUESTIONS, ANSWERS)
    body = "def test_question(rag_row): pass\n"
    if layout == "module":
        project.file("golden/test_other.py", OTHER + "\n" + body)
    elif layout == "folder":
        project.file("golden/other/conftest.py", OTHER)
        project.file("golden/other/test_other.py", body)
    else:
        project.file("golden/conftest.py", PARAMETRIZED if layout == "parametrized" else BEHIND)
    result = project.run("--rag-configs=A", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "one run measures one pipeline, but golden/" in said
    assert "run them apart, each by its path or by -k, or make the variants configurations of one pipeline" in said
    assert not project.searches
    assert not project.runs


def test_apart_each_pipeline_is_measured(project):
    project.write(QUESTIONS, ANSWERS)
    project.file("golden/other/conftest.py", OTHER)
    project.file("golden/other/test_other.py", "def test_question(rag_row): pass\n")
    project.run("--rag-configs=A", "golden/other").assert_outcomes(passed=3)
    assert {row["ranking"][0]["file"] for row in rows(project.runs[0]).values()} == {"other.md"}


def test_several_tests_and_a_parametrized_fixture_that_is_none_of_the_pipelines_share_its_rows(project):
    project.write(QUESTIONS, ANSWERS)
    project.file(
        "golden/test_more.py",
        "import pytest\n@pytest.fixture(params=[1, 2])\ndef depth(request): return request.param\n"
        "def test_more(rag_row, depth): assert rag_row.metrics['hit@10'] is not None\n",
    )
    project.run("--rag-configs=A").assert_outcomes(passed=9)
    assert len(project.searches) == 3


TEARDOWN = """
import pathlib, pytest

@pytest.fixture
def container(rag_row):
    yield
    flag = pathlib.Path(__file__).with_name(f"stopped-{rag_row.question}")
    if not flag.exists():
        flag.write_text("x")
        raise OSError("it did not stop")

def test_question(rag_row, container): pass
"""
SETUP = """
import pytest

@pytest.fixture
def strict(rag_row):
    assert rag_row.metrics["hit@1"] == 1.0

def test_question(rag_row, strict): pass
"""


@HOW
def test_an_item_whose_teardown_fails_is_run_again_with_the_row_it_had(project, workers):
    project.write(QUESTIONS, ANSWERS, test=TEARDOWN)
    assert project.run("--rag-configs=A", "--reruns=1", *workers).ret == 0
    assert len(project.searches) == 3
    found = {question_id: row["metrics"]["hit@1"] for (question_id, _), row in rows(project.runs[0]).items()}
    assert found == {"lex-0001": 1.0, "lex-0002": 0.0, "lex-0003": 1.0}


@HOW
@pytest.mark.parametrize("reruns", [0, 1])
def test_a_fixture_behind_the_row_that_fails_leaves_the_row_as_it_was_scored(project, workers, reruns):
    project.write(QUESTIONS, ANSWERS, test=SETUP)
    assert project.run("--rag-configs=A", f"--reruns={reruns}", *workers).ret == 1
    found = rows(project.runs[0])
    assert [row["error"] for row in found.values()] == [None] * 3
    assert found["lex-0002", "A"]["metrics"]["hit@1"] == 0.0
    assert run_json(project.runs[0])["complete"] is True


def test_a_row_that_another_test_scored_is_no_error_when_this_ones_fixture_fails(project):
    project.write(QUESTIONS, ANSWERS, test=SETUP.replace("test_question", "test_a"))
    project.file("golden/test_z.py", "def test_z(rag_row): pass\n")
    assert project.run("--rag-configs=A", "golden/test_z.py", "golden/test_golden.py").ret == 1
    assert [row["error"] for row in rows(project.runs[0]).values()] == [None] * 3


def test_a_search_that_ends_the_session_ends_it(project):
    project.write(QUESTIONS, ANSWERS)
    project.file(
        "golden/conftest.py",
        "import pytest\ndef search(query, **overrides): pytest.exit('no index', 7)\n"
        "@pytest.fixture(scope='session')\ndef rag_pipeline(): return search\n",
    )
    result = project.run("--rag-configs=A")
    assert result.ret == 7
    result.stdout.fnmatch_lines(["*no index*"])


IMPORTED = "from shared import rag_pipeline\ndef test_b(rag_row): pass\n"
UNRELATED = """
import pytest
from shared import rag_pipeline

@pytest.fixture
def depth(): return 1

def test_b(rag_row, depth): pass
"""


@pytest.mark.parametrize(
    ("second", "refused"),
    [(IMPORTED, False), (UNRELATED, False), (OTHER + "\ndef test_b(rag_row): pass\n", True)],
    ids=["imported", "unrelated", "defined"],
)
def test_one_function_imported_into_several_modules_is_one_pipeline(project, second, refused):
    project.write(QUESTIONS, ANSWERS)
    project.file("shared.py", OTHER)
    project.file("golden/test_golden.py", "from shared import rag_pipeline\ndef test_a(rag_row): pass\n")
    project.file("golden/test_second.py", second)
    project.file("pytest.ini", "[pytest]\npythonpath = .\n")
    result = project.run("--rag-configs=A")
    assert (result.ret == pytest.ExitCode.USAGE_ERROR) is refused


@pytest.mark.parametrize(("one", "other", "refused"), [("one", "two", True), ("one", "one", False)])
def test_parameters_of_a_pipeline_are_compared_by_value(project, one, other, refused):
    project.write(QUESTIONS, ANSWERS)
    project.file("golden/conftest.py", OTHER.replace("()", "(request)").replace("other.md", "{request.param}.md"))
    body = "import pytest\n" + "".join(
        f"@pytest.mark.parametrize('rag_pipeline', ['{value}'], indirect=True)\ndef test_{name}(rag_row): pass\n"
        for name, value in (("a", one), ("b", other))
    )
    project.file("golden/test_golden.py", body)
    result = project.run("--rag-configs=A")
    assert (result.ret == pytest.ExitCode.USAGE_ERROR) is refused


def test_a_pipeline_that_fails_when_its_item_runs_again_leaves_the_row_that_was_scored(project):
    project.write(QUESTIONS, ANSWERS, test="def test_question(rag_row): assert rag_row.metrics['hit@1'] == 1\n")
    project.file(
        "golden/conftest.py",
        "import pytest\nmade = []\n@pytest.fixture\ndef rag_pipeline(request):\n"
        "    made.append(request.node.name)\n    if made.count(request.node.name) > 1: raise OSError('refused')\n"
        "    return lambda query, **overrides: ['g1.md']\n",
    )
    assert project.run("--rag-configs=A", "--reruns=1").ret == 1
    assert [row["error"] for row in rows(project.runs[0]).values()] == [None] * 3
