"""A project of a stranger, driven by real pytest: question sets, configurations, and a pipeline that reads its script.

The pipeline returns, for a configuration's `list` override and a question, exactly what `script.json` says: a ranking, or
something to do instead (raise, die, interrupt, wait).
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

for _name in ("harness.hooks", "harness.recorder", "harness.session", "harness.terminal", "reports.commands"):
    importlib.import_module(f"pytest_ragbench.{_name}")
importlib.import_module("numpy.random")  # a session in this process forgets what it imported, and numpy loads once

PIPELINE = """
import json, os, pathlib, signal, time
import pytest

SCRIPT = json.loads((pathlib.Path(__file__).parent / "script.json").read_text(encoding="utf-8"))
LOG = pathlib.Path(__file__).parent / "searches.log"


class Scripted:
    def search(self, query, **overrides):
        with LOG.open("a", encoding="utf-8") as log:
            log.write(f"{os.getpid()} {query} {json.dumps(overrides, sort_keys=True)}\\n")
        answers = SCRIPT[overrides.get("list", "default")]
        answer = answers.get(query, answers.get("*", []))
        return self.act(answer) if isinstance(answer, dict) else answer

    def act(self, answer):
        if "sleep" in answer:
            time.sleep(answer["sleep"])
        if "raise" in answer:
            raise RuntimeError(answer["raise"])
        if "once" in answer:
            flag = pathlib.Path(__file__).parent / answer["once"]
            if not flag.exists():
                flag.write_text("x")
                self.act(answer["first"])
            return answer["then"]
        if answer.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if answer.get("interrupt"):
            raise KeyboardInterrupt
        return answer.get("chunks", [])


@pytest.fixture(scope="session")
def rag_pipeline():
    return Scripted()
"""

TEST = """
def test_question(rag_row):
    rag_row.check()
"""

CALM = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:platformdirs")
"""Other plugins of this environment that a stranger's project need not have; one of them takes a second to load."""

HOW = pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
"""For claims that hold with and without workers."""


def question(
    number: int, *, text: str | None = None, suite: str = "lexical", gold: Any = None, **keys: Any
) -> dict[str, Any]:
    """A record of a question set; its gold is `g<number>.md` unless said otherwise."""
    prefix = keys.pop("prefix", "lex")
    record: dict[str, Any] = {
        "id": f"{prefix}-{number:04d}",
        "question": text or f"question {number}",
        "suite": suite,
        "tier": keys.pop("tier", "T1"),
        "split": keys.pop("split", "dev"),
        "answerable": keys.pop("answerable", True),
        "gold": [{"file": f"g{number}.md"}] if gold is None else gold,
    }
    return record | keys


class Project:
    """A folder with everything that a run needs, and ways to run pytest in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def write(
        self,
        questions: list[dict[str, Any]],
        lists: dict[str, dict[str, Any]],
        *,
        configs: dict[str, Any] | None = None,
        test: str = TEST,
    ) -> Project:
        """Write sets, configurations and the script. Without `configs`, each list is a configuration of a ladder."""
        self.sets(questions)
        names = list(lists)
        default = {
            "defaults": {"list": names[0]},
            "configurations": {
                name: {"overrides": {"list": name}, **({"paired": names[at - 1]} if at else {})}
                for at, name in enumerate(names)
            },
        }
        self.file("golden/configs.yaml", yaml.safe_dump(configs or default, sort_keys=False))
        self.file("script.json", json.dumps(lists))
        self.file("conftest.py", PIPELINE)
        self.file("golden/test_golden.py", test)
        return self

    def sets(self, questions: list[dict[str, Any]], name: str = "set.yaml") -> None:
        """Write a question set."""
        self.file(f"golden/sets/{name}", yaml.safe_dump(questions, sort_keys=False, allow_unicode=True))

    def file(self, name: str, text: str) -> Path:
        """Write a file below the project."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest: with workers in a process of its own, else in this one, which takes a fifth of the time."""
        return self.spawn(*args) if any(arg.startswith("-n") for arg in args) else self.here(*args)

    def spawn(self, *args: str) -> pytest.RunResult:
        """Run pytest in a process of its own, for what depends on the process: signals, locale, what is imported."""
        return self.pytester.runpytest_subprocess(*CALM, *args)

    def here(self, *args: str) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess(*CALM, *args)

    def command(self, *args: str) -> pytest.RunResult:
        """Run `ragbench`, of this checkout whatever the PATH holds."""
        return self.pytester.run(sys.executable, "-m", "pytest_ragbench.cli", *args)

    def collect(self, *args: str) -> list[str]:
        """The node ids that `--collect-only -q` prints."""
        result = self.here("--collect-only", "-q", *args)
        return [line for line in result.outlines if "::" in line]

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start pytest and return while it runs."""
        command = [sys.executable, "-m", "pytest", *CALM, *args]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @property
    def runs(self) -> list[Path]:
        """The folders of records, oldest first."""
        return sorted((self.path / ".ragbench" / "runs").glob("*-*"), key=lambda folder: folder.stat().st_mtime_ns)

    @property
    def searches(self) -> list[str]:
        """`pid query overrides`, a line each, of every search that ran."""
        log = self.path / "searches.log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    @property
    def ledger(self) -> list[dict[str, Any]]:
        """The entries of the test split's ledger."""
        file = self.path / "baselines" / "test_ledger.jsonl"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def tree(self) -> dict[str, bytes]:
        """Every file of the project but pytest's own caches, for before and after."""
        skipped = {"__pycache__", ".pytest_cache"}
        return {
            path.relative_to(self.path).as_posix(): path.read_bytes()
            for path in sorted(self.path.rglob("*"))
            if path.is_file()
            and not skipped & set(path.parts)
            and path.name not in {"searches.log", "stdout", "stderr"}
        }


def run_json(folder: Path) -> dict[str, Any]:
    """`run.json` of a record."""
    value: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return value


def summary(folder: Path) -> dict[str, Any]:
    """`summary.json` of a record."""
    value: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return value


def results_bytes(folder: Path) -> str:
    """The `results` part of a summary, as compared across runs."""
    return json.dumps(summary(folder)["results"], sort_keys=True)


def rows(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of a record by cell."""
    lines = (folder / "per_query.jsonl").read_text(encoding="utf-8").splitlines()
    parsed = [json.loads(line) for line in lines]
    return {(row["question"], row["configuration"]): row for row in parsed}


def wait_for_rows(project: Project, count: int, seconds: float = 30.0) -> Path:
    """The record of the run that is going on, once it holds so many rows."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for folder in project.runs:
            log = folder / "per_query.jsonl"
            if log.exists() and log.read_text(encoding="utf-8").count("\n") >= count:
                return folder
        time.sleep(0.02)
    raise AssertionError(f"no run had {count} rows within {seconds} s")


def kill_group(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Send a signal to a process and everything it started."""
    os.killpg(process.pid, number)
