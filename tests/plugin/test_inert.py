"""Inert until asked: an unrelated session pays nothing, and what only shows a run leaves no trace of one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from plugin_support import CALM, question

HEAVY = ("numpy", "scipy", "pydantic", "yaml", "torch", "filelock", "tabulate", "hypothesis")

WATCHER = f"""
import atexit, os, sys

_seen = []
_log = os.environ["WATCH_LOG"]

def _hook(event, args):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system", "socket.connect"):
        _seen.append(event)
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        _seen.append(f"open {{args[0]}}")
    elif event in ("os.mkdir", "os.rename"):
        _seen.append(f"{{event}} {{args[0]}}")

sys.addaudithook(_hook)

def _report():
    modules = [name for name in sys.modules if name.partition(".")[0] in {HEAVY!r}]
    package = [name for name in sys.modules if name.startswith("pytest_ragbench")]
    with open(_log, "w") as log:
        log.write("\\n".join(["seen " + what for what in _seen] + ["module " + name for name in modules + package]))

atexit.register(_report)
"""


def watched(project, *args):
    """Run pytest with nothing but its own plugins and ours, and say what it printed, did and imported."""
    project.file("watch/sitecustomize.py", WATCHER)
    log = project.path / "watch" / "log.txt"
    environment = os.environ | {
        "WATCH_LOG": str(log),
        "PYTHONPATH": str(project.path / "watch"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", *CALM, "-p", "no:cacheprovider", *args]
    done = subprocess.run(command, cwd=project.path, env=environment, capture_output=True, text=True, check=False)
    noted = log.read_text().splitlines()
    seen = [line.removeprefix("seen ") for line in noted if line.startswith("seen ")]
    modules = {line.removeprefix("module ") for line in noted if line.startswith("module ")}
    return done, [what for what in seen if str(log) not in what], modules


def without_times(text):
    """Output without durations and without the line that lists plugins."""
    lines = [line for line in text.splitlines() if not line.startswith("plugins: ")]
    return [line.partition(" in 0.")[0] for line in lines]


@pytest.mark.parametrize("typed", [("--version",), ("test_other.py", "-v"), ("--fixtures", "test_other.py")])
def test_pyt_09_an_unrelated_session_imports_writes_spawns_and_prints_nothing(project, typed):
    project.file("test_other.py", "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_n(n): pass\n")
    before = project.tree()
    with_it, seen, modules = watched(project, *typed)
    without, seen_without, modules_without = watched(project, "-p", "no:ragbench", *typed)
    assert with_it.returncode == without.returncode == 0
    assert {name for name in modules if not name.startswith("pytest_ragbench")} == set()
    assert modules - modules_without <= {
        "pytest_ragbench",
        "pytest_ragbench.plugin",
        "pytest_ragbench.errors",
        "pytest_ragbench.harness",
        "pytest_ragbench.harness.options",
    }
    assert seen == seen_without
    assert not [what for what in seen if not what.startswith("open ")]
    if typed[0] != "--fixtures":
        assert without_times(with_it.stdout) == without_times(without.stdout)
    assert with_it.stderr == without.stderr
    after = {name: data for name, data in project.tree().items() if not name.startswith("watch/")}
    assert after == before


def write_sealed(project):
    """A project whose pipeline leaves a mark as soon as it is built."""
    project.write([question(1), question(2, split="test")], {"A": {}})
    project.file(
        "conftest.py",
        "import pathlib, pytest\n"
        "@pytest.fixture(scope='session')\n"
        "def rag_pipeline():\n"
        "    pathlib.Path(__file__).with_name('loaded').write_text('x')\n"
        "    return lambda query, **_: []\n",
    )
    return project


@pytest.mark.parametrize("asked", [("--rag-configs=A",), ("-m", "sealed", "--unseal-test")], ids=["dev", "unsealed"])
@pytest.mark.parametrize(
    "mode",
    [("--collect-only",), ("--markers",), ("--fixtures",), ("--fixtures-per-test",), ("--help",), ("--setup-plan",)],
    ids=lambda mode: mode[0],
)
def test_pyt_04_what_only_shows_leaves_no_trace(project, mode, asked):
    write_sealed(project)
    before = project.tree()
    result = project.run(*mode, *asked)
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert project.tree() == before
    assert not (project.path / ".ragbench").exists()


@pytest.mark.parametrize("mode", ["--collect-only", "--setup-plan"])
def test_pyt_04_under_workers_too(project, mode):
    write_sealed(project)
    before = project.tree()
    result = project.run(mode, "-n2", "--rag-split=all", "--unseal-test")
    assert result.ret == pytest.ExitCode.OK
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert project.tree() == before
    assert not project.ledger


def test_a_session_over_lexical_questions_loads_no_model_library(project):
    project.write(
        [question(1)], {"A": {}}, test="import sys\ndef test_question(rag_row): assert 'torch' not in sys.modules\n"
    )
    assert project.spawn("--rag-suites=lexical", "--rag-configs=A").ret == 0


def test_a_session_that_only_collects_loads_no_numbers(project):
    write_sealed(project)
    project.file(
        "golden/conftest.py", "import sys\ndef pytest_unconfigure(): print('numpy' in sys.modules, 'loaded')\n"
    )
    for typed, said in (("--collect-only",), "False loaded"), ((), "True loaded"):
        assert said in project.spawn("--rag-configs=A", *typed).stdout.str()


def test_sets_that_nobody_asked_for_may_be_broken(project):
    write_sealed(project)
    project.file("golden/sets/set.yaml", "- id: [broken\n")
    project.file("test_other.py", "def test_other(): pass\n")
    before = project.tree()
    for typed in ((), ("-m", "not slow"), ("--markers",)):
        assert project.run("test_other.py", *typed).ret == 0
    assert project.run("test_other.py", "-n2").ret == 0
    assert project.tree() == before


def test_a_run_without_gate_or_baseline_loads_nothing_of_either(project):
    project.write([question(1)], {"A": {"question 1": ["g1.md"]}})
    project.file(
        "golden/conftest.py",
        "import sys\ndef pytest_unconfigure():\n"
        "    parts = ('gates', 'baselines.files', 'baselines.schema', 'bisection', 'api', 'reports.html')\n"
        "    print([part for part in parts if f'pytest_ragbench.{part}' in sys.modules], 'of the gate loaded')\n",
    )
    result = project.spawn("--rag-configs=A")
    assert result.ret == 0
    assert "[] of the gate loaded" in result.stdout.str()
