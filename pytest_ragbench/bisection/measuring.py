"""Measures a commit: its own code and configurations, in a fresh worktree, on the bad end's questions."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.bisection import environment
from pytest_ragbench.bisection.model import Commit, Measurement, UnscorableError
from pytest_ragbench.bisection.processes import run
from pytest_ragbench.bisection.repository import GitError, git
from pytest_ragbench.bisection.scoring import Score, check_same, read_score
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_ragbench.bisection.repository import Repository
    from pytest_ragbench.bisection.request import Request
    from pytest_ragbench.bisection.worktrees import Workspace

_REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Places:
    """Where a project keeps what is measured with; paths below the folder that was asked about, or elsewhere.

    Attributes:
        sets: Its question sets.
        corpus: The folder that `rag_corpus` names, or None.
    """

    sets: Path
    corpus: Path | None


class Prober:
    """Measures commits, each once. The bad end comes first: it says what all others are measured with.

    Attributes:
        reference: The score of the bad end, once it has one.
        corpus: The folder, below the top, that every worktree takes from the bad end; None for each commit's own.
        questions: Where the question sets come from, in words.
    """

    def __init__(
        self, request: Request, repository: Repository, workspace: Workspace, locate: Callable[[Path], Places]
    ) -> None:
        self._request = request
        self._repository = repository
        self._workspace = workspace
        self._locate = locate
        self._isolation = environment.Isolation(repository.trees, request.folder)
        self._measured: dict[str, Measurement] = {}
        self._bad_end: Commit | None = None
        self._sets = workspace.folder / "sets"
        self.reference: Score | None = None
        self.corpus: Path | None = None
        self.questions = ""

    @property
    def measured(self) -> dict[str, Measurement]:
        """What was measured so far, by the full name of the commit."""
        return dict(self._measured)

    def measure(self, commit: Commit) -> Measurement:
        """What a commit yields; a second question about it is answered from memory.

        Raises:
            UsageError: The bad end has no question sets, the run no such metric or several configurations; git fails.
        """
        if commit.sha not in self._measured:
            try:
                score = self._probe(commit)
            except UnscorableError as error:
                self._measured[commit.sha] = Measurement(None, str(error))
            else:
                self._measured[commit.sha] = Measurement(score.value)
                self.reference = self.reference or score
        return self._measured[commit.sha]

    def _probe(self, commit: Commit) -> Score:
        first = self._bad_end is None
        self._bad_end = self._bad_end or commit
        with self._workspace.worktree(commit.sha) as tree:
            below = self._request.folder.resolve().relative_to(self._repository.top)
            if first:
                self._take_material(tree, tree / below)
            if not (tree / below).is_dir():
                raise UnscorableError(f"the folder {below} is not in this commit")
            shared = self._link(tree)
            self._take_corpus(tree)
            place = self._place_of(commit)
            variables = self._isolation.environment(tree, self._workspace.scratch(), place / "processes", shared)
            command = environment.command(self._arguments(tree, place))
            log, timeout = place / "pytest.log", self._request.timeout
            status = run(command, tree / below, variables, log, timeout, self._workspace.folder)
            return self._read(place, status, commit)

    def _take_material(self, tree: Path, here: Path) -> None:
        """Keep the question sets of the bad end, or those that were named, and learn where its corpus lies."""
        named = self._request.sets
        places = self._locate(here) if here.is_dir() else None
        sets = named or (places.sets if places else None)
        if sets is None:
            raise UsageError(f"the folder {here.relative_to(tree)} is not in the bad end; stand in one that is")
        shown = sets.relative_to(tree) if sets.is_relative_to(tree) else sets
        if not sets.exists():
            raise UsageError(f"no question sets: {shown} is not there; say where they lie with --sets PATH")
        # Named like the original, so that a file stays a file of its kind and a folder a folder.
        self._sets = self._sets / sets.resolve().name
        self._sets.parent.mkdir()
        shutil.copytree(sets, self._sets) if sets.is_dir() else shutil.copy2(sets, self._sets)
        self.questions = f"{shown} as it is now" if named else f"the bad end's {shown}"
        corpus = places.corpus if places else None
        if corpus is not None and corpus.is_relative_to(tree) and not self._request.own_corpus:
            self.corpus = corpus.relative_to(tree)

    def _link(self, tree: Path) -> list[Path]:
        """Give a worktree links to what the user shares with it; what the commit has itself stays its own.

        Raises:
            UnscorableError: The commit has a file where a link needs a folder.
        """
        shared = []
        for link in self._request.links:
            source, place = self._repository.top / link, tree / link
            if os.path.lexists(place):
                continue
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(source, target_is_directory=source.is_dir())
            except OSError as error:
                raise UnscorableError(f"--link {link} has no place in this commit: {error.strerror}") from None
            shared.append(source.resolve())
        return shared

    def _take_corpus(self, tree: Path) -> None:
        """Replace the corpus of a worktree by the bad end's, deleted and added files included."""
        if self.corpus is None or self._bad_end is None:
            return
        source = f"--source={self._bad_end.sha}"
        try:
            git(tree, "restore", "--quiet", source, "--staged", "--worktree", "--", self.corpus.as_posix())
        except GitError as error:
            raise UsageError(f"git cannot put the bad end's {self.corpus} into a worktree: {error}") from None

    def _place_of(self, commit: Commit) -> Path:
        root = self._request.keep or self._workspace.folder / "probes"
        place = root / f"{len(self._measured) + 1:02}-{commit.short}"
        (place / "processes").mkdir(parents=True)
        return place.resolve()

    def _arguments(self, tree: Path, place: Path) -> list[str]:
        """The user's arguments, then what must be alike in every probe; of an option given twice the last counts."""
        arguments = [*self._request.pytest_args, f"--rag-sets={self._sets}", f"--rag-runs-dir={place / 'runs'}"]
        arguments += [f"--rag-report={place / 'report.md'}", "--maxfail=0"]
        if self.corpus is not None:
            arguments += ["-o", f"rag_corpus={tree / self.corpus}"]
        configuration = self._request.configuration or (self.reference and self.reference.configuration)
        if configuration:
            arguments.append(f"--rag-configs={configuration}")
        asked = self.reference.asked if self.reference else {}
        for flag, key in (("k", "k"), ("limit", "limit"), ("suites", "suites"), ("domain", "domains")):
            if value := asked.get(key):
                arguments.append(f"--rag-{flag}={','.join(value) if isinstance(value, list) else value}")
        return arguments

    def _read(self, place: Path, status: int | None, commit: Commit) -> Score:
        reports = place / "processes"
        if status is None:
            raise UnscorableError(f"it took longer than {self._request.timeout:g} s")
        try:
            score = read_score(place / "runs", self._request.metric, self._request.configuration, commit.sha)
        except UnscorableError as error:
            _check_strays(reports)
            if (place / "runs").exists():
                raise
            raise UnscorableError(
                f"pytest ended with exit status {status}: {_said(place / 'pytest.log') or error}"
            ) from None
        environment.check_isolated(reports)
        if self.reference is not None:
            check_same(score, self.reference)
        return score


def _check_strays(reports: Path) -> None:
    """Where code of another tree ran, that is the reason, whatever else went wrong; where none was told, it is not."""
    if any(reports.glob("*.json")):
        environment.check_isolated(reports)


def _said(log: Path) -> str:
    """The last line in which pytest says what went wrong, without its mark; the last line where there is none."""
    last = dict.fromkeys(("E   ", "ERROR: ", "ERROR ", ""), "")
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in filter(None, map(str.strip, lines)):
            mark = next(mark for mark in last if line.startswith(mark))
            last[mark] = line.removeprefix(mark).strip()[:_REASON_CHARACTERS]
    return next(filter(None, last.values()), "")
