"""A bench run makes its items unseen by the garbage collector, keeps them from it, and gives everything back."""

from __future__ import annotations

import gc

import pytest
from plugin_support import question

FROZEN = """
import gc

def test_question(rag_row):
    assert (gc.get_freeze_count() > 0) is {frozen}
"""


@pytest.fixture(autouse=True)
def thawed():
    """Nothing is frozen before a test, nor left so by it."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def in_process(project, *args):
    """Run a session in this process; how many objects it left frozen."""
    project.here(*args).assert_outcomes(passed=1)
    return gc.get_freeze_count()


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "ini"])
def test_items_are_frozen_while_they_run_where_a_bench_option_was_typed_and_never_longer(project, typed):
    project.write([question(1)], {"default": {}})
    project.file("golden/test_golden.py", FROZEN.format(frozen=typed))
    if not typed:
        project.file("pytest.ini", "[pytest]\nrag_configs = default\n")
    assert in_process(project, *(["--rag-configs=default"] if typed else [])) == 0


def test_what_somebody_else_has_frozen_stays_as_it_is(project):
    project.write([question(1)], {"default": {}})
    gc.freeze()
    before = gc.get_freeze_count()
    assert in_process(project, "--rag-configs=default") == pytest.approx(before, abs=before / 10)


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["serial", "worker"])
def test_the_collector_rests_while_items_are_made_and_works_while_they_run(project, workers):
    project.write([question(1)], {"default": {}})
    project.file(
        "golden/test_golden.py",
        "import gc\nat_import, questions = gc.isenabled(), gc.get_freeze_count()\n"
        "making = []\n"
        "def pytest_generate_tests(metafunc): making.append(gc.isenabled())\n"
        "def test_question(rag_row):\n"
        "    assert (at_import, making, gc.isenabled()) == (True, [False], True)\n"
        "    assert 0 < questions < gc.get_freeze_count()\n",
    )
    project.run("--rag-configs=default", *workers).assert_outcomes(passed=1)


def test_the_collector_works_again_after_a_collection_that_failed(project):
    project.write([question(1)], {"default": {}}, test="def test_question(rag_row):\n")
    assert project.here("--rag-configs=default").ret == pytest.ExitCode.INTERRUPTED
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off(project):
    project.write([question(1)], {"default": {}})
    project.file("golden/test_golden.py", "import gc\ndef test_question(rag_row): assert not gc.isenabled()\n")
    gc.disable()
    try:
        project.here("--rag-configs=default").assert_outcomes(passed=1)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("place", ["golden/conftest.py", "golden/test_golden.py"])
def test_a_collector_that_is_switched_off_while_modules_are_imported_stays_off(project, place):
    project.write([question(1)], {"default": {}})
    project.file("golden/test_golden.py", "import gc\ndef test_question(rag_row): assert not gc.isenabled()\n")
    text = (project.path / place).read_text() if (project.path / place).exists() else ""
    project.file(place, f"import gc\ngc.disable()\n{text}")
    project.run("--rag-configs=default").assert_outcomes(passed=1)
