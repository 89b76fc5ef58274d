"""A small repository with a retriever of a few lines, and ways to bisect it with real git and real pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    pass

CALM = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:platformdirs")
"""Other plugins of this environment that a stranger's project need not have; one of them takes a second to load."""

CONFTEST = """
import pytest
from toy import search


@pytest.fixture(scope="session")
def rag_pipeline():
    return search
"""

QUESTION = """\
- id: lex-{number:04}
  question: q{number}
  suite: lexical
  tier: T1
  split: dev
  answerable: true
  gold:
  - file: {gold}
"""

GOOD = '[f"g{query[1:]}.md", "x.md"]'
"""Every question is answered at rank 1: mrr is 1."""

BAD = '["x.md", f"g{query[1:]}.md"]'
"""Every question is answered at rank 2: mrr is 0.5."""

BROKEN = "1 / 0"
"""Every search raises."""


def search(answer: str) -> str:
    """The source of the toy's retriever."""
    return f"def search(query, **overrides):\n    return {answer}\n"


def questions(*golds: str) -> str:
    """A question set; the gold of question 1 is the first."""
    return "".join(QUESTION.format(number=number, gold=gold) for number, gold in enumerate(golds, start=1))


@dataclass
class Bisected:
    """How a bisect ended."""

    status: int
    out: str
    err: str

    @property
    def probes(self) -> list[str]:
        """The line of each probe."""
        return [line for line in (self.out + self.err).splitlines() if line.startswith("probe ")]

    @property
    def answer(self) -> str:
        """The line of the answer."""
        (line,) = [line for line in self.out.splitlines() if line.startswith("first regressed commit: ")]
        return line

    @property
    def json(self) -> dict[str, object]:
        """What `--json` printed."""
        return json.loads(self.out)


class Toy:
    """A repository of one retriever, `src/toy`, found by `pythonpath` or by an installed link."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = folder
        self.scratch = scratch
        self.python = sys.executable
        self.path = f"{folder / 'src'}"
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, folder: Path | None = None, stdin: str | None = None) -> str:
        """What git says."""
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(folder or self.folder)]
        command += ["-c", "protocol.file.allow=always", *arguments]
        environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}  # looking at the index must not rewrite it
        said = subprocess.run(command, check=True, capture_output=True, text=True, input=stdin, env=environment)
        return said.stdout.strip()

    def history(self, *commits: dict[str, str]) -> Toy:
        """Make a commit of each mapping of files, numbered from 1; the first brings the project along."""
        project = {
            ".gitignore": ".ragbench/\n__pycache__/\n.venv/\n",
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "conftest.py": CONFTEST,
            "src/toy/__init__.py": search(GOOD),
            "golden/test_golden.py": "def test_question(rag_row):\n    rag_row.check()\n",
            "golden/sets/set.yaml": questions("g1.md", "g2.md"),
        }
        stream = []
        for number, files in enumerate(commits, start=1):
            stream.append(f"commit refs/heads/main\ncommitter t <t@example.org> {1_700_000_000 + number} +0000")
            message = f"commit {number}"
            stream.append(f"data {len(message)}\n{message}")
            for name, text in (project | files if number == 1 else files).items():
                stream.append(f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}")
            stream.append("")
        self.git("fast-import", "--quiet", stdin="\n".join(stream))
        self.git("reset", "-q", "--hard")
        return self

    def history_after(self, files: dict[str, str]) -> None:
        """One more commit."""
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "-qm", "one more")

    def answers(self, *answers: str) -> Toy:
        """A commit for each source of the ranking, which is all that changes."""
        files = [{"src/toy/__init__.py": search(answer) + f"# {at}\n"} for at, answer in enumerate(answers)]
        return self.history(*files)

    def add_submodule(self, part: Path) -> None:
        """Make a repository of one file, and a commit with it as the submodule `part`."""
        self.git("init", "-q", "-b", "main", str(part))
        (part / "file.txt").write_text("one")
        self.git("add", ".", folder=part)
        self.git("commit", "-qm", "one", folder=part)
        self.git("submodule", "--quiet", "add", str(part), "part")
        self.git("commit", "-qm", "with a submodule")

    def commits(self) -> list[str]:
        """Full names, oldest first."""
        return self.git("rev-list", "--reverse", "HEAD").split()

    def state(self) -> tuple[str, ...]:
        """Everything of the user's that a bisect must leave alone."""
        index = (self.folder / ".git" / "index").stat()
        return (
            self.git("status", "--porcelain", "--ignored"),
            self.git("worktree", "list", "--porcelain"),
            self.git("for-each-ref"),
            self.git("stash", "list"),
            self.git("symbolic-ref", "HEAD"),
            f"{index.st_mtime_ns} {index.st_size}",
        )

    def command(self, *arguments: str, good: str = "", bad: str = "HEAD") -> list[str]:
        """The command line of a bisect, from the first commit to HEAD where nothing else is said."""
        typed, _, pytest_args = " ".join(arguments).partition(" -- ")
        ends = ["--good", good or self.commits()[0], "--bad", bad]
        metric = [] if "--metric" in typed else ["--metric", "mrr"]
        command = [self.python, "-P", "-m", "pytest_ragbench.cli", "bisect", *ends, *metric]
        return [*command, *typed.split(), "--", *CALM, *pytest_args.split()]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user, whose own tree is on the path and whose temporary folder is watched."""
        path = [self.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return kept | {"PYTHONPATH": os.pathsep.join(filter(None, path)), "TMPDIR": str(self.scratch)}

    def bisect(
        self,
        *arguments: str,
        good: str = "",
        bad: str = "HEAD",
        folder: Path | None = None,
        exported: dict[str, str] | None = None,
    ) -> Bisected:
        """Bisect as a user would, and see that nothing of the user's has changed and nothing is left."""
        before = self.state()
        said = subprocess.run(
            self.command(*arguments, good=good, bad=bad),
            cwd=folder or self.folder,
            env=self.environment | (exported or {}),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert self.state() == before
        assert list(self.scratch.iterdir()) == []
        assert "Traceback" not in said.stderr, said.stderr
        return Bisected(said.returncode, said.stdout, said.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a bisect, and return when its pipeline has begun to search, which `started` says."""
        process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        until = time.monotonic() + 60
        while (
            not (self.started.exists() and self.started.read_text())
            and process.poll() is None
            and time.monotonic() < until
        ):
            time.sleep(0.05)
        assert self.started.exists(), process.communicate()
        return process

    @property
    def started(self) -> Path:
        """A file by which a pipeline says that it searches."""
        return self.scratch.parent / "started"

    @property
    def waits(self) -> str:
        """The source of a ranking that says so and then takes its time."""
        return f"[open({str(self.started)!r}, 'w').write(str(__import__('os').getpid())), __import__('time').sleep(60)][2:]"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _interruptible(interruptible: None) -> None:
    """Every bisect that a test starts can be."""


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """An empty repository, and an empty temporary folder beside it."""
    (tmp_path / "scratch").mkdir()
    return Toy(tmp_path / "repository", tmp_path / "scratch")
