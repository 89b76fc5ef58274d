"""What happens before and around the first cell of a process: waking, narrowing, warm-up, the cold row, a full disk."""

from __future__ import annotations

import json

import pytest
from plugin_support import question, rows, run_json, summary

LISTS = {"low": {"*": ["x.md", "g1.md"]}, "high": {"*": ["g1.md"]}}


@pytest.fixture
def ladder(project):
    return project.write([question(1), question(2, gold=[{"file": "g1.md"}])], LISTS)


def test_what_was_warmed_up_stands_in_the_record_and_no_row_is_cold(ladder):
    configs = {
        "defaults": {"list": "low"},
        "warm_up": ["list"],
        "configurations": {"low": {}, "high": {"overrides": {"list": "high"}}},
    }
    ladder.file("golden/configs.yaml", json.dumps(configs))
    assert ladder.run("--rag-configs=low,high").ret == 0
    assert run_json(ladder.runs[0])["warm_up"] == ["list=low", "list=high"]
    assert not any(row["cold"] for row in rows(ladder.runs[0]).values())
    assert len(ladder.searches) == 2 + 4


def test_an_arm_that_does_not_search_leaves_the_cold_row_to_the_first_that_does(ladder):
    configs = {
        "defaults": {"list": "low"},
        "factors": {"lane": {"list": "high"}},
        "lanes": ["lane"],
        "configurations": {"none": {}, "some": {"factors": ["lane"]}},
    }
    ladder.file("golden/configs.yaml", json.dumps(configs))
    assert ladder.run("--rag-configs=none,some").ret == 0
    cold = [key for key, row in rows(ladder.runs[0]).items() if row["cold"]]
    assert cold == [("lex-0001", "some")]
    assert summary(ladder.runs[0])["latency"]["none"]["_rows"]["cold"] == 0


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_bench_option_over_tests_without_a_cell_is_a_mistake(ladder, workers):
    ladder.file("tests/test_other.py", "def test_other(): pass\n")
    result = ladder.run("tests", "--rag-configs=low", *workers)
    assert result.ret == 4
    assert "no collected test asks for rag_row" in result.stderr.str() + result.stdout.str()
    assert not ladder.runs


def test_a_bench_setting_in_addopts_selects_nothing_and_narrows_nothing(ladder):
    ladder.file("pytest.ini", "[pytest]\naddopts = --rag-runs-dir=elsewhere\n")
    ladder.file("tests/test_other.py", "def test_other(): pass\n")
    ladder.run("tests").assert_outcomes(passed=1)
    ladder.run("--rag-configs=low").assert_outcomes(passed=2)
    ladder.run("--rag-configs=low", "tests", "golden").assert_outcomes(passed=3)
    assert len(list((ladder.path / "elsewhere").glob("*-*"))) == 2


def test_a_bench_run_loads_no_conftest_but_its_own(ladder):
    ladder.file("pytest.ini", "[pytest]\ntestpaths = tests\n")
    ladder.file("tests/conftest.py", "import a_package_that_is_not_here\n")
    ladder.file("tests/test_other.py", "def test_other(): pass\n")
    ladder.run("--rag-configs=low").assert_outcomes(passed=2)
    assert ladder.run().ret == 4


def test_m_that_only_cells_can_satisfy_finds_them_outside_testpaths(ladder):
    ladder.file("pytest.ini", "[pytest]\ntestpaths = tests\n")
    ladder.file("tests/test_other.py", "def test_other(): pass\n")
    ladder.run("-m", "low").assert_outcomes(passed=2)
    ladder.run("-m", "not low").assert_outcomes(passed=1)


def test_absolute_file_names_below_the_project_are_told_from_its_root(ladder):
    ladder.file("script.json", json.dumps({"low": {"*": [str(ladder.path / "g1.md")]}, "high": {"*": []}}))
    assert ladder.run("--rag-configs=low").ret == 0
    row = rows(ladder.runs[0])[("lex-0001", "low")]
    assert row["ranking"][0]["file"] == "g1.md"
    assert row["metrics"]["hit@1"] == 1.0


def test_a_configurations_file_that_an_ini_key_names_must_be_there(ladder):
    ladder.file("pytest.ini", "[pytest]\nrag_configs_file = golden/confgs.yaml\n")
    result = ladder.run()
    assert result.ret == 4
    assert "confgs.yaml: there is no such file" in result.stderr.str() + result.stdout.str()


def test_a_record_that_cannot_grow_ends_the_session_with_its_cause(ladder):
    ladder.file(
        "golden/conftest.py",
        "import resource, signal, pytest\n"
        "@pytest.fixture(autouse=True)\n"
        "def _small_disk(request):\n"
        "    if 'lex-0002' in request.node.name:\n"
        "        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))\n"
        "    yield\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n",
    )
    result = ladder.run("--rag-configs=low", "-p", "no:cacheprovider")
    assert result.ret == 3
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["*per_query.jsonl*"])
    assert ("lex-0001", "low") in rows(ladder.runs[0])


def test_addopts_are_settings_so_an_unrelated_selection_is_left_alone(ladder):
    ladder.file("pytest.ini", "[pytest]\naddopts = --rag-k=5\n")
    ladder.file("tests/test_other.py", "def test_other(): pass\n")
    ladder.run("-k", "other").assert_outcomes(passed=1)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_run_is_not_finished_with_a_pipeline_that_describes_itself_otherwise(ladder, workers):
    source = (ladder.path / "conftest.py").read_text(encoding="utf-8")
    described = source.replace(
        "class Scripted:\n",
        "class Scripted:\n    def describe(self):\n        return {'model': 'small', 'index': 'one'}\n",
    )
    ladder.file("conftest.py", described)
    script = {"low": {"question 1": ["g1.md"], "*": {"raise": "no"}}, "high": {"*": []}}
    ladder.file("script.json", json.dumps(script))
    assert ladder.run("--rag-configs=low").ret == 1
    ladder.file("conftest.py", described.replace("'one'", "'two'"))
    result = ladder.run("--rag-resume=last", *workers)
    assert result.ret == 4
    assert "measured a pipeline with another index" in result.stdout.str() + result.stderr.str()
    ladder.file("conftest.py", described)
    ladder.file("script.json", json.dumps(script | {"low": {"*": ["g1.md"]}}))
    assert ladder.run(f"--rag-resume={ladder.runs[0].name}", *workers).ret == 0


def test_items_that_another_plugin_does_not_set_up_have_error_rows(ladder):
    conftest = ladder.path / "conftest.py"
    hook = "\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_setup(): raise RuntimeError('no licence')\n"
    conftest.write_text(conftest.read_text() + hook)
    assert ladder.run("--rag-configs=low").ret == 1
    assert [row["error"] for row in rows(ladder.runs[0]).values()] == ["SetupError: RuntimeError: no licence"] * 2
    assert not ladder.searches
