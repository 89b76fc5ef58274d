"""Whether a run may be judged at all, and held against this baseline: what differs, and the command that mends it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.gates.model import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.baselines.model import Baseline
    from pytest_ragbench.errors import BaselineError

IDS_SHOWN = 3
ERROR_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run, or the run behind a baseline, measured.

    Attributes:
        metrics_version: Of the definitions that scored it.
        split: Which split.
        suites: The suites asked for; None for all.
        domains: The domains asked for; None for all.
        limit: How many questions were asked for; None for all.
        k: Depth of the rankings.
        questions_digest: Of the questions (`baselines.projection.measured_digest`).
        questions: Ids of those that have a score.
        configurations: Name to overrides.
        asked: Configurations and experiments as the command would name them.
    """

    metrics_version: int | None
    split: str | None
    suites: tuple[str, ...] | None
    domains: tuple[str, ...] | None
    limit: int | None
    k: int
    questions_digest: str
    questions: frozenset[str]
    configurations: Mapping[str, Mapping[str, Any]]
    asked: tuple[str, ...]


def measured_by(baseline: Baseline) -> Measured:
    """What the run behind a baseline measured."""
    return Measured(
        metrics_version=baseline.metrics_version,
        split=baseline.split,
        suites=baseline.suites,
        domains=baseline.domains,
        limit=baseline.limit,
        k=baseline.k,
        questions_digest=baseline.questions_digest,
        questions=frozenset(row.question for row in baseline.rows),
        configurations=baseline.configurations,
        asked=tuple(baseline.configurations),
    )


def command(measured: Measured, *flags: str) -> str:
    """The command that measures this again, with other flags behind it."""
    parts = ["pytest", f"--rag-configs={','.join(measured.asked)}"]
    if measured.split not in (None, "dev"):
        parts += [f"--rag-split={measured.split}", "--unseal-test"]
    parts += _selection(measured)
    if measured.k != 10:
        parts.append(f"--rag-k={measured.k}")
    return shlex.join([*parts, *flags])


def _selection(measured: Measured) -> list[str]:
    named = (("--rag-suites", measured.suites), ("--rag-domain", measured.domains))
    parts = [f"{flag}={','.join(names)}" for flag, names in named if names]
    return parts if measured.limit is None else [*parts, f"--rag-limit={measured.limit}"]


def unfit(run: Mapping[str, Any], errored: Sequence[Mapping[str, Any]], again: str) -> Iterator[Refusal]:
    """Why a run stands for less than it planned, so that it is neither judged nor kept.

    Args:
        run: `run.json`.
        errored: Its rows with an error.
        again: The command that measures it whole.
    """
    name = run["run_id"]
    if run["complete"] is not True and (run.get("reason") or not run.get("partial")):
        why = f" ({run['reason']})" if run.get("reason") else ""
        found = f"planned cells without a row{why}"
        yield Refusal("incomplete run", found, "a row for every planned cell", _resumed(name, again))
    if run.get("shard"):
        of = run["shard"]["of"]
        yield Refusal("shard", f"shard {run['shard']['index']} of {of}", "the whole run", again)
    elif run.get("partial"):
        found = "a selection (-k, -m, --lf, a path) that left planned cells out"
        yield Refusal("partial run", found, "every planned cell", again)
    if errored:
        first = min(errored, key=lambda row: (str(row["question"]), str(row["configuration"])))
        told = f"{first['question']} under {first['configuration']}: {_cut(str(first['error']))}"
        count = "1 row failed" if len(errored) == 1 else f"{len(errored)} rows failed, the first"
        yield Refusal("errored rows", f"{count}: {told}", "no row with an error", _resumed(name, again))


def _resumed(name: str, again: str) -> str:
    flags = [part for part in shlex.split(again) if part.startswith(("--rag-gate", "--rag-update", "--unseal"))]
    return shlex.join(["pytest", f"--rag-resume={name}", *flags])


def obstacles(run: Measured, baseline: Measured, shown: str) -> Iterator[Refusal]:
    """What keeps a run from being held against a baseline; nothing where it may be.

    Args:
        run: What the run measured.
        baseline: What the baseline's run measured.
        shown: The baseline's path.
    """
    refresh = command(run, "--rag-update-baseline")
    like = command(baseline, "--rag-gate")
    if run.metrics_version != baseline.metrics_version:
        found = f"definitions {run.metrics_version} in this run"
        yield Refusal("metric definitions", found, f"definitions {baseline.metrics_version} in {shown}", refresh)
    if run.split != baseline.split:
        yield Refusal("split", str(run.split), f"{baseline.split}, as in {shown}", like)
    if run.k != baseline.k:
        yield Refusal("k", f"rankings cut at {run.k}", f"cut at {baseline.k}, as in {shown}", like)
    if (run.suites, run.domains, run.limit) != (baseline.suites, baseline.domains, baseline.limit):
        found, expected = (" ".join(_selection(one)) or "every question" for one in (run, baseline))
        yield Refusal("another selection", found, f"{expected}, as in {shown}", like)
    elif run.split == baseline.split and run.questions_digest != baseline.questions_digest:
        yield _questions(run, baseline, shown, refresh)
    if left_out := [name for name in baseline.configurations if name not in run.configurations]:
        ran, kept = (", ".join(one.configurations) for one in (run, baseline))
        none = len(left_out) == len(baseline.configurations)
        what = "no configuration in common" if none else "configurations left out"
        yield Refusal(what, ran, f"{kept}, as in {shown}", like)


def _questions(run: Measured, baseline: Measured, shown: str, refresh: str) -> Refusal:
    new, gone = (sorted(one) for one in (run.questions - baseline.questions, baseline.questions - run.questions))
    parts = [f"{len(new)} that it has not ({_some(new)})"] if new else []
    parts += [f"without {len(gone)} of its own ({_some(gone)})"] if gone else []
    found = " and ".join(parts) or "questions of the same ids, with another text, gold, nuggets or label"
    expected = f"the {len(baseline.questions)} questions of {shown} ({baseline.questions_digest[:12]})"
    return Refusal("question set", f"{found} ({run.questions_digest[:12]})", expected, refresh)


def unjudged(run: Measured, shown: str) -> Refusal:
    """A gate that held nothing against anything: its rules are about falls alone, and nothing is there to fall from."""
    found = f"no rule with a floor, and no number of {shown} to have fallen from"
    expected = f"a baseline of this run, or `min` in {shown.rpartition('/')[0] or '.'}/thresholds.yaml"
    return Refusal("nothing judged", found, expected, command(run, "--rag-update-baseline"))


def unusable(error: BaselineError, run: Measured, shown: str) -> Refusal:
    """A baseline that is none: edited, torn or of another schema."""
    both = (shown, f"{shown.removesuffix('.json')}.rows.jsonl")
    restore = shlex.join(["git", "checkout", "--", *both])
    return Refusal(error.what, error.found, error.expected, f"{restore}, or {command(run, '--rag-update-baseline')}")


def taken_over(run: Mapping[str, Any]) -> Iterator[str]:
    """What no commit vouches for: rows of an earlier run, over code that may have changed since.

    Args:
        run: `run.json`; a resumed run is `dirty` when the run that it finishes was.
    """
    if run.get("resumed_from") and (run["git"]["dirty"] or not run["git"]["sha"]):
        yield (
            f"Rows of {run['resumed_from']} were taken over, and no commit holds the code that was measured: what has "
            "changed since is not in them."
        )


def remarks(run: Measured, baseline: Baseline, shown: str) -> Iterator[str]:
    """What differs and is judged all the same, a sentence each."""
    for name, overrides in run.configurations.items():
        then = baseline.configurations.get(name)
        if then is None:
            yield f"{name} is not in {shown}: it is held to the floors alone."
        elif keys := sorted(key for key in {*overrides, *then} if _json(overrides, key) != _json(then, key)):
            changes = ", ".join(f"{key}: {_json(then, key)} to {_json(overrides, key)}" for key in keys)
            yield f"{name} has other overrides than in {shown} ({changes}): that may be the very change under test."
    if baseline.forced:
        yield (
            f"{shown} was captured with --rag-force from a run that is not whole ({'; '.join(baseline.forced)}): only "
            "numbers over the same questions are compared."
        )


def _json(overrides: Mapping[str, Any], key: str) -> str:
    return canonical.dumps(overrides[key]) if key in overrides else "unset"


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
    return ", ".join(ids[:IDS_SHOWN]) + more


def _cut(text: str) -> str:
    return text if len(text) <= ERROR_CHARACTERS else text[: ERROR_CHARACTERS - 1] + "…"
