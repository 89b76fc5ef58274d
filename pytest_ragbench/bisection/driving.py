"""A bisect from its first line to its last: what is refused, both ends, the threshold, the search."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.bisection import telling
from pytest_ragbench.bisection.interruption import terminable
from pytest_ragbench.bisection.measuring import Places, Prober
from pytest_ragbench.bisection.model import Commit, Measurement, Outcome, Yardstick
from pytest_ragbench.bisection.repository import Repository
from pytest_ragbench.bisection.scoring import check_metric
from pytest_ragbench.bisection.search import bisect_commits, probes_at_most
from pytest_ragbench.bisection.worktrees import Workspace
from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ragbench.bisection import search
    from pytest_ragbench.bisection.request import Request

_TAKEN = {
    "--rag-sets": "every probe asks the bad end's questions, or those of --sets PATH before the --",
    "--rag-runs-dir": "records of probes are thrown away; keep them with --keep DIR before the --",
    "--rag-resume": "every probe is a run of its own",
    "--rag-report": "every probe would write it; keep the reports with --keep DIR before the --",
    "--rag-comment": "every probe would write it; compare two runs instead",
    "--rag-update-baseline": "a probe has no baseline to keep",
    "--unseal-test": "every probe would be a look at the test split that no ledger keeps; bisect on dev",
}


def bisect(
    request: Request, locate: Callable[[Path], Places], say: Callable[[str], None], muse: Callable[[str], None]
) -> Outcome:
    """Find the first regressed commit.

    Args:
        request: What was asked for.
        locate: Where the project of a folder keeps its sets and corpus.
        say: Takes each line when it is known.
        muse: Takes what is being done, to be shown until the next line.

    Raises:
        UsageError: The request cannot be carried out; nothing is left behind.
    """
    check_metric(request.metric)
    repository = Repository.of(request.folder)
    _check(request, repository)
    commits = repository.commits(request.good, request.bad)
    at_most = probes_at_most(len(commits))
    say(telling.opening(commits, at_most, skips=request.skip_unscorable))
    if dirty := repository.is_dirty():
        say("note: the working tree has uncommitted changes, which are not measured; the bad end is a commit")
    with terminable(), Workspace(repository) as workspace:
        prober = Prober(request, repository, workspace, locate)

        def measure(commit: Commit, meaning: Callable[[Measurement], str]) -> Measurement:
            number = len(prober.measured) + 1
            muse(telling.musing(number, at_most, commit))
            found = prober.measure(commit)
            metric = prober.reference.metric if prober.reference else request.metric
            say(telling.probe_line(number, commit, found, metric, meaning(found)))
            return found

        bad = measure(commits[-1], lambda _: "bad end")
        good = measure(commits[0], lambda _: "good end")
        yardstick = _yardstick(request, prober, good, bad)
        corpus = telling.corpus_words(prober.corpus.as_posix() if prober.corpus else None)
        for line in telling.material(prober.questions, corpus, yardstick.threshold, yardstick.origin):
            say(line)

        def verdict(found: Measurement) -> str:
            judged = _judge(found, yardstick)
            return telling.verdict(judged, skips=request.skip_unscorable)

        def probe(commit: Commit) -> search.Outcome:
            if commit in (commits[0], commits[-1]):
                return _judge(prober.measure(commit), yardstick)
            return _judge(measure(commit, verdict), yardstick)

        found = bisect_commits(commits, probe, skip_unscorable=request.skip_unscorable)
        return Outcome(yardstick, commits, found, prober.measured, prober.questions, corpus, dirty)


def _yardstick(request: Request, prober: Prober, good: Measurement, bad: Measurement) -> Yardstick:
    """What commits are held against, from the two ends.

    Raises:
        UsageError: The good end has no value or is below the threshold itself, or the bad end may not be skipped.
    """
    if good.value is None or prober.reference is None:
        raise UsageError(f"the good end could not be scored, so there is nothing to compare with: {good.reason}")
    if bad.value is None and request.skip_unscorable:
        raise UsageError(f"the bad end could not be scored, and an end cannot be skipped: {bad.reason}")
    threshold, origin = request.threshold, "typed"
    if threshold is None:
        fell = bad.value is not None and bad.value < good.value - TOLERANCE
        threshold, origin = (
            ((good.value + bad.value) / 2, "midway") if fell and bad.value is not None else (good.value, "good end")
        )
    if good.value < threshold - TOLERANCE:
        raise UsageError(
            f"the good end is regressed itself: {prober.reference.metric} {good.value:.4f} is below {threshold:.4f}"
            + ("; the bad end is not: are the two in the wrong order?" if (bad.value or 0.0) >= threshold else "")
        )
    return Yardstick(prober.reference.metric, prober.reference.configuration, threshold, origin)


def _judge(found: Measurement, yardstick: Yardstick) -> search.Outcome:
    if found.value is None:
        return "unscorable"
    return "regressed" if found.value < yardstick.threshold - TOLERANCE else "good"


def _check(request: Request, repository: Repository) -> None:
    """Refuse what would reach out of the worktrees, before any is made.

    Raises:
        UsageError: An argument is not one that a probe can take.
    """
    for argument in (*request.pytest_args, *_always()):
        name = argument.partition("=")[0]
        if name in _TAKEN:
            raise UsageError(f"{name} is not for bisect: {_TAKEN[name]}")
        _check_path(argument, repository)
    for link in request.links:
        if Path(link).is_absolute() or ".." in Path(link).parts or not (repository.top / link).exists():
            raise UsageError(
                f"--link {link}: it is a path below the top of the repository ({repository.top}) that exists"
            )
    if request.sets is not None and not request.sets.exists():
        raise UsageError(f"--sets {request.sets}: there is no such file or folder")
    if (
        request.keep is not None
        and request.keep.exists()
        and (not request.keep.is_dir() or any(request.keep.iterdir()))
    ):
        raise UsageError(f"--keep {request.keep}: it exists already; name a new folder")
    if changed := repository.changed_submodules():
        raise UsageError(
            f"submodule {changed[0]} has changes, or stands at another commit than is recorded; no commit of this "
            "repository holds that: commit it, or run `git submodule update`"
        )


def _check_path(argument: str, repository: Repository) -> None:
    """A path into the user's tree would bring its code into every probe; a store of completions is data, and taken."""
    if argument.startswith("--rag-llm="):
        return
    pieces = argument.split("=")
    for start in range(len(pieces)):  # of `-o rag_corpus=PATH` and `--override-ini=rag_corpus=PATH` too
        typed = Path("=".join(pieces[start:]).partition("::")[0])
        if typed.is_absolute() and any(typed.resolve().is_relative_to(tree) for tree in repository.trees):
            raise UsageError(
                f"{argument} lies in your own tree, not in a commit's; write it relative to where you stand"
            )


def _always() -> list[str]:
    """What pytest adds to every command line."""
    try:
        return shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    except ValueError as error:
        raise UsageError(f"PYTEST_ADDOPTS cannot be read as arguments: {error}") from None
