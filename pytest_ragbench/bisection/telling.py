"""How a bisect is told: the lines on the terminal and the JSON, from values alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.reports.text import plural, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ragbench.bisection.model import Commit, Measurement, Outcome

SCHEMA_VERSION = 1
"""Of what `--json` prints."""

STATUS = {"no regression": 0, "found": 1, "could not be scored": 2, "hidden": 2}
"""Exit status of each answer."""

LABEL = "could not be scored"

_ORIGINS = {
    "typed": "as typed",
    "midway": "midway between the two ends",
    "good end": "the good end's value",
}


def opening(commits: tuple[Commit, ...], at_most: int, *, skips: bool) -> str:
    """What is about to be searched."""
    more = ", and two more for each commit that is skipped" if skips else ""
    after = plural(len(commits) - 1, "commit")
    return f"{after} after {commits[0].short} up to {commits[-1].short}; at most {at_most} probes{more}"


def musing(number: int, at_most: int, commit: Commit) -> str:
    """What is shown while a probe runs."""
    return f"probe {number} of at most {at_most}: {commit.short}  {visible(commit.subject)}"


def probe_line(number: int, commit: Commit, measurement: Measurement, metric: str, verdict: str) -> str:
    """The line of one probe."""
    value = LABEL if measurement.value is None else f"{metric} {measurement.value:.4f}"
    reason = "" if measurement.reason is None else f"\n         {visible(measurement.reason)}"
    return f"probe {number:>2}  {commit.short}  {value}  {verdict}  {visible(commit.subject)}{reason}"


def verdict(judged: str, *, skips: bool) -> str:
    """What a probe's outcome means for the search."""
    if judged == "unscorable":
        return "skipped" if skips else "counts as regressed"
    return judged


def material(questions: str, corpus: str, threshold: float, origin: str) -> Iterator[str]:
    """What every commit is held against."""
    yield f"questions: {questions}; corpus: {corpus}; code and configurations: each commit's own"
    yield f"threshold: {threshold:.4f}, {_ORIGINS[origin]}"


def corpus_words(corpus: str | None) -> str:
    """Where the corpus comes from."""
    return "each commit's own" if corpus is None else f"the bad end's {corpus}"


def conclusion(outcome: Outcome) -> Iterator[str]:
    """The answer."""
    found = outcome.found
    if found.answer == "no regression":
        good, bad = (outcome.measured[commit.sha].value for commit in (outcome.commits[0], outcome.commits[-1]))
        yield f"no regression: {outcome.yardstick.metric} is {bad:.4f} at the bad end and {good:.4f} at the good end"
        if not outcome.corpus.startswith("each"):
            yield f"every commit read {outcome.corpus}; a change of the corpus itself shows with --own-corpus"
    elif found.answer == "hidden":
        yield f"the first regressed commit is one of these {len(found.suspects)}; those before the last {LABEL}:"
        for commit in found.suspects:
            yield f"  {_one_line(commit, outcome)}"
    else:
        commit = found.suspects[0]
        yield f"first regressed commit: {_one_line(commit, outcome)}"
        yield f"  {commit.date}  {visible(commit.author)}"
        if found.answer == LABEL:
            yield "  it counts as regressed and may be innocent: --skip-unscorable searches around such commits"
        if len(commit.parents) > 1:
            yield f"  a merge; `git log {commit.parents[0][:10]}..{commit.short}` lists what it brought in"
    if found.before is not None:
        yield f"last good commit before: {_one_line(found.before, outcome)}"


def as_json(outcome: Outcome) -> str:
    """What `--json` prints."""
    found, measured = outcome.found, outcome.measured

    def told(commit: Commit | None) -> dict[str, Any] | None:
        if commit is None:
            return None
        fields = {name: getattr(commit, name) for name in ("sha", "subject", "author", "date")}
        seen = measured.get(commit.sha)
        value = None if seen is None else canonical.number(seen.value)
        return fields | {"value": value, "reason": None if seen is None else seen.reason}

    return canonical.dumps_pretty(
        {
            "schema_version": SCHEMA_VERSION,
            "answer": found.answer,
            "exit_status": STATUS[found.answer],
            "first_bad": told(found.first_bad),
            "suspects": [told(commit) for commit in found.suspects],
            "before": told(found.before),
            "good": told(outcome.commits[0]),
            "bad": told(outcome.commits[-1]),
            "commits": len(outcome.commits) - 1,
            "metric": outcome.yardstick.metric,
            "configuration": outcome.yardstick.configuration,
            "threshold": canonical.number(outcome.yardstick.threshold),
            "threshold_from": outcome.yardstick.origin,
            "questions": outcome.questions,
            "corpus": outcome.corpus,
            "uncommitted_changes": outcome.dirty,
            "probes": [{**(told(commit) or {}), "verdict": verdict} for commit, verdict in found.probes],
        }
    )


def _one_line(commit: Commit, outcome: Outcome) -> str:
    seen = outcome.measured.get(commit.sha)
    value = "not probed" if seen is None else LABEL if seen.value is None else f"{seen.value:.4f}"
    return f"{commit.short}  {value}  {visible(commit.subject)}"
