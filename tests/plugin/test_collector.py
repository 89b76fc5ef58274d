"""A typed bench run keeps its items from the garbage collector, and gives everything back when it is over."""

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
