"""Modules of the package are loaded by Python's own loader, in a session that measures and for as long as it lasts."""

from __future__ import annotations

import subprocess
import sys

import pytest
from plugin_support import CALM, question

TELLING = """
import atexit, sys

FRONT_DOOR = {"pytest_ragbench.harness.options", "pytest_ragbench.harness.imports"}  # loaded before the session wakes

def tell(when):
    ours = [name for name in sys.modules if name.startswith("pytest_ragbench.harness.") and name not in FRONT_DOOR]
    loaders = sorted({type(sys.modules[name].__loader__).__name__ for name in ours})
    finder = "_OwnModules" in [type(finder).__name__ for finder in sys.meta_path]
    print(f"\\n{when}: {', '.join(loaders)}, finder {finder}")

def pytest_sessionfinish():
    tell("during")

atexit.register(tell, "after")
"""


@pytest.mark.parametrize("asserts", ["rewrite", "plain"])
def test_modules_of_the_package_are_loaded_plainly_and_the_finder_goes_with_the_session(project, asserts):
    project.write([question(1)], {"default": {}})
    project.file("golden/conftest.py", TELLING)
    command = [sys.executable, "-m", "pytest", *CALM, "-s", "--rag-configs=default", f"--assert={asserts}"]
    done = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True)
    told = [line for line in done.stdout.splitlines() if line.startswith(("during: ", "after: "))]
    assert told == [
        f"during: SourceFileLoader, finder {asserts == 'rewrite'}",
        "after: SourceFileLoader, finder False",
    ]


def test_asserts_of_a_users_tests_are_rewritten_as_ever(project):
    test = "def test_question(rag_row): assert rag_row.error == 'none'\n"
    project.write([question(1)], {"default": {}}, test=test)
    project.run("--rag-configs=default").stdout.fnmatch_lines(["E *assert None == 'none'"])
