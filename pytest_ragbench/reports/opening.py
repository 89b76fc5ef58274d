"""The first sections: what ran and how far it got, and the errors, before any number is believed."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.model import Bullets, Section, Sentences
from pytest_ragbench.reports.text import cut, look_sentence, plural
from pytest_ragbench.statistics.verdicts import level_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ragbench.reports.view import RunView

ERRORS_SHOWN = 3
"""Error texts shown for each configuration."""

ERROR_CHARACTERS = 300


def opening(view: RunView) -> Section:
    """Identity, state, sizes and the ledger's count."""
    bullets = [_identity(view), _size(view), _state(view), *_looks(view.run), *_left_out(view.run)]
    bullets.extend(_sentence(note) for note in view.run.get("notes") or ())
    bullets.extend(f"Missing: {words}." for words in view.missing)
    return Section("What ran", (Bullets(tuple(bullets)),))


def _identity(view: RunView) -> str:
    run = view.run
    git = run.get("git") or {}
    dirty = {True: ", with changes", False: ", clean", None: ""}[git.get("dirty")]
    commit = f"commit {git['sha'][:12]}{dirty}" if git.get("sha") else "no commit"
    parts = [f"Run {run['run_id']}", commit, f"started {run['started_at']}"]
    if run.get("resumed_from"):
        parts.append(f"resumed from {run['resumed_from']}")
    if run.get("merged_from"):
        parts.append(f"merged from {', '.join(run['merged_from'])}")
    return ", ".join(parts) + "."


def _size(view: RunView) -> str:
    run = view.run
    parts = [f"Split {run['split']}"] if run.get("split") else []
    parts.extend(f"{what} {', '.join(run[what])}" for what in ("suites", "domains") if run.get(what))
    limit = "" if run.get("limit") is None else f"limited to {run['limit']:,}"
    if view.names:
        questions = plural(max(_planned(view.results[name]) for name in view.names), "question")
        parts.append(f"{questions} ({limit})" if limit else questions)
    elif limit:
        parts.append(f"questions {limit}")
    if run.get("questions_digest"):
        parts.append(f"question set {run['questions_digest'][:12]}")
    configurations = len(run.get("configurations") or ())
    parts.append(f"{plural(configurations, 'configuration')}, rankings cut at {view.k}")
    return _sentence(", ".join(parts))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."


def _planned(result: Mapping[str, Any]) -> int:
    rows: Mapping[str, int] = result.get("rows") or {}
    return sum(rows.values()) + int(result.get("unanswerable") or 0)


def _state(view: RunView) -> str:
    run, reason = view.run, view.run.get("reason")
    kept = "" if view.rows_kept is None else f"; {plural(view.rows_kept, 'row')} kept"
    because = f": {cut(str(reason), ERROR_CHARACTERS)}" if reason else ""
    resume = "every planned cell has a row" if run.get("complete") else f"--rag-resume={run['run_id']} completes it"
    if view.status == "aborted":
        return f"This run was aborted: run.json says that it runs, but its process is gone{kept}; {resume}."
    if view.status == "running":
        return f"Still running{kept}."
    if view.status == "failed":
        return f"Broke off{because}{kept}; {'' if run.get('complete') else 'incomplete, '}{resume}."
    if part := _part(run):
        return part
    if run.get("complete") is False:
        missing = sum((view.results[name].get("rows") or {}).get("not_run", 0) for name in view.names)
        return f"Incomplete: {plural(missing, 'planned cell')} without a row; {resume}."
    lost = any("per_query.jsonl" in words for words in view.missing)
    return "Complete when it ended; since then rows were lost." if lost else "Complete: every planned cell has a row."


def _part(run: Mapping[str, Any]) -> str | None:
    """The state of a run that was not meant to be whole, or None."""
    shard = run.get("shard")
    if shard and run.get("complete"):
        part = f"Shard {shard['index']} of {shard['of']} of a run of {plural(shard['questions'], 'question')}"
        return f"{part}: it stands for its part alone; `ragbench merge` makes one run of all shards."
    if run.get("partial") and not shard:
        return "Partial: the selection left planned cells out, so it stands for the selection alone."
    return None


def _looks(run: Mapping[str, Any]) -> Iterator[str]:
    ledger = run.get("ledger")
    if ledger is not None:
        yield f"Test split opened {plural(ledger['count'], 'time')}."
    bootstrap = run.get("bootstrap") or {}
    if bootstrap.get("look"):
        yield f"{look_sentence(bootstrap['look'], level_of(bootstrap['confidence']))}."


def _left_out(run: Mapping[str, Any]) -> Iterator[str]:
    left = {what: count for what, count in sorted((run.get("left_out") or {}).items()) if count}
    if left:
        remedy = "; `ragbench split` gives a split to what has none" if "unsplit" in left else ""
        yield f"Left out of the set: {', '.join(f'{count:,} {what}' for what, count in left.items())}{remedy}."


def errors(view: RunView) -> Iterator[Section]:
    """How many rows of each configuration failed, and the first texts."""
    if not view.errors:
        return
    order = {entry["name"]: index for index, entry in enumerate(view.run.get("configurations") or ())}
    rows = sorted(view.errors, key=lambda row: (order.get(row["configuration"], len(order)), row["configuration"]))
    bullets: list[str] = []
    for name, group in groupby(rows, key=lambda row: str(row["configuration"])):
        failed = sorted(group, key=lambda row: str(row["question"]))
        bullets.append(f"{name}: {len(failed):,} failed.")
        bullets.extend(
            f"{name}, {row['question']}: {cut(str(row['error']), ERROR_CHARACTERS)}" for row in failed[:ERRORS_SHOWN]
        )
    sentence = (
        f"{plural(len(rows), 'search', 'searches')} failed, out of every mean below. The session fails for them. "
        f"The first {ERRORS_SHOWN} of each configuration:"
    )
    yield Section("Errors", (Sentences(sentence), Bullets(tuple(bullets))))
