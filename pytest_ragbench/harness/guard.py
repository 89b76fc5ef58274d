"""What a session may run: the seal on the test split, the cells that selection leaves, and what a resumed run skips."""

from __future__ import annotations

import difflib
import functools
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ragbench.baselines import MAIN
from pytest_ragbench.errors import RecordError, SealedError, UsageError
from pytest_ragbench.harness import expressions, models
from pytest_ragbench.harness.cells import cell_of
from pytest_ragbench.questions.shards import parse_shard
from pytest_ragbench.records.git import is_ancestor
from pytest_ragbench.records.record import RunRecord, find_run, ledger_claims, row_key
from pytest_ragbench.seal.ledger import FILE_NAME, Anchor, Ledger, check_anchors, check_budget

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    import pytest

    from pytest_ragbench.harness.bench import Bench
    from pytest_ragbench.harness.cells import Key
    from pytest_ragbench.harness.settings import Settings

SEALED_SHARD = (
    "--rag-shard: the test split is opened by one run in one place, so that the ledger counts it once; run it whole"
)
HOW_TO_UNSEAL = "type --unseal-test to open it; every opening is recorded in the ledger and shown in every report"


_OPTIONS = {"domains": "rag_domain"}
"""Of what a run selects, the options that are not named as the selection is."""


def ledger_of(settings: Settings) -> Ledger:
    """The ledger of a project."""
    return Ledger(settings.baselines / FILE_NAME)


def check_request(bench: Bench, markexpr: str) -> None:
    """Refuse, before anything is collected or written, what the command may not have.

    Raises:
        SealedError: It asks for the test split unasked, the ledger is not intact, or the budget of looks is spent.
    """
    settings = bench.settings
    entries = ledger_of(settings).entries()
    claims = ledger_claims(settings.runs_dir)
    anchors = [Anchor(source=run, sha=sha, count=count, last_hash=last) for run, sha, count, last in claims]
    anchors += _baseline_anchor(bench)
    check_anchors(entries, anchors, functools.cache(functools.partial(is_ancestor, settings.root)))
    sealed = [node_id for node_id in bench.typed_ids if (cell := bench.finder.find(node_id)) and cell.sealed]
    if not settings.unseal:
        if settings.split in ("test", "all"):
            raise SealedError(f"the split {settings.split} holds the sealed test split; {HOW_TO_UNSEAL}")
        if sealed:
            raise SealedError(f"{sealed[0]} is a question of the sealed test split; {HOW_TO_UNSEAL}")
        if expressions.turns_true(markexpr, "sealed"):
            raise SealedError(f"-m {markexpr!r} asks for the sealed test split; {HOW_TO_UNSEAL}")
        return
    if opens(bench):
        if settings.shard is not None:
            raise SealedError(SEALED_SHARD)
        check_budget(len(entries), settings.test_looks)


def _baseline_anchor(bench: Bench) -> list[Anchor]:
    """What the baseline says of the ledger; it lies in the commit that is checked out, so that it always counts.

    Raises:
        SealedError: The baseline cannot be read, and the run would open the test split.
    """
    settings = bench.settings
    if not opens(bench) and not os.path.lexists(settings.baselines / MAIN):
        return []
    # Its schema takes milliseconds, which most projects need not pay.
    from pytest_ragbench.baselines.files import read_anchor

    try:
        found = read_anchor(settings.baselines)
    except RecordError as error:
        if opens(bench):
            raise SealedError(
                f"the baseline anchors the ledger of the test split, and cannot be read: {error}"
            ) from error
        return []
    shown = settings.shown(settings.baselines / MAIN)
    return [] if found is None else [Anchor(source=shown, sha=None, count=found[0], last_hash=found[1])]


def opens(bench: Bench) -> bool:
    """Whether the run will look at the test split."""
    return bench.settings.unseal and bench.split != "dev"


def next_look(bench: Bench) -> int | None:
    """Which look at the test split the run would be, from 1; None when it does not look."""
    return len(ledger_of(bench.settings).entries()) + 1 if opens(bench) else None


def partition(
    bench: Bench, items: Iterable[pytest.Item], finished: Collection[Key]
) -> tuple[list[pytest.Item], list[pytest.Item], int]:
    """Divide items into those that run and those that do not.

    Returns:
        Kept items, dropped items, and how many were dropped because they are sealed.
    """
    may_open = opens(bench)
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    sealed = 0
    for item in items:
        cell = cell_of(item)
        if cell is None:
            kept.append(item)
        elif cell.sealed and not may_open:
            sealed += 1
            dropped.append(item)
        elif bench.plans(cell.question) and cell.key not in finished:
            kept.append(item)
        else:
            dropped.append(item)
    return kept, dropped, sealed


def sealed_after_errors(count: int) -> str:
    """The text of a refusal to open the test split when not everything could be collected."""
    errors = "1 error" if count == 1 else f"{count} errors"
    return f"{errors} during collection: the test split stays sealed"


def sealed_alone(bench: Bench | None, count: int) -> str:
    """The text of a refusal when a selection names sealed items only."""
    items = "the one item selected belongs" if count == 1 else f"all {count} items selected belong"
    remedy = HOW_TO_UNSEAL
    if bench is not None and bench.settings.unseal:
        remedy = f"--unseal-test alone opens nothing, and this run is of the split {bench.split}: add --rag-split=test"
    return f"{items} to the sealed test split; {remedy}"


def unknown_marker(name: str, known: Collection[str]) -> str:
    """The text of a refusal when `-m` names what is no marker, and so nothing is left."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"nothing to run: -m names {name!r}, which is no configuration, suite or tier (names match whole){hint}"


def empty_shard(bench: Bench) -> str:
    """The text of a refusal when a run has fewer questions than shards."""
    return f"nothing to run: the run has {len(bench.whole)} questions, too few for shard {bench.settings.shard}"


def resume(settings: Settings, typed: Collection[str]) -> tuple[Settings, frozenset[Key]]:
    """The settings of a run that finishes an earlier one, and the cells it need not measure again.

    What the earlier run selected is selected again; a typed value must agree with it.

    Raises:
        UsageError: The record is not there, or something else was typed than it selected.
        RecordError: The record cannot be read.
    """
    if settings.resume is None:
        return settings, frozenset()
    record = find_run(settings.resume, settings.runs_dir)
    selection = dict(record.run["selection"] or {})
    changes: dict[str, object] = {}
    for name in ("configs", "suites", "domains", "split", "limit", "k", "shard"):
        recorded: Any = selection.get(name)
        recorded = tuple(recorded) if isinstance(recorded, list) else recorded
        if name == "shard" and recorded is not None:
            recorded = parse_shard(str(recorded))
        asked = getattr(settings, name)
        if asked != recorded and _OPTIONS.get(name, f"rag_{name}") in typed:
            raise UsageError(f"--rag-resume: {record.run['run_id']} ran with {name} = {recorded}, not {asked}")
        changes[name] = recorded
    return replace(settings, **changes), _finished(record)  # type: ignore[arg-type]


def resumed_record(settings: Settings) -> RunRecord | None:
    """The record that a run resumes, or None."""
    return None if settings.resume is None else find_run(settings.resume, settings.runs_dir)


def check_resumable(bench: Bench, record: RunRecord, sha: str | None) -> None:
    """Refuse to mix rows of two states of questions, configurations or code in one record.

    Raises:
        UsageError: Something differs; the text says what, and what to do.
    """
    run = record.run
    then_sha = run["git"]["sha"]
    differing = [
        name
        for name, then, now in (
            ("questions", run["questions_digest"], bench.questions.digest),
            ("configurations", run["config_digest"], bench.catalogue.digest),
            ("commit", then_sha, sha if then_sha else then_sha),
            ("language model", _model(run["llm"]), _model(models.described(bench.settings))),
        )
        if then != now
    ]
    if differing:
        raise UsageError(
            f"--rag-resume: {run['run_id']} was measured with other {' and '.join(differing)}; "
            f"restore them, or start a new run"
        )


def _model(llm: Mapping[str, Any] | None) -> object:
    """Whose answers a run uses; a store that has learnt more of the same model's is no other model."""
    return (llm or {}).get("model")


def check_same_pipeline(record: RunRecord, pipeline: Mapping[str, Any] | None) -> None:
    """Refuse to finish a run with a pipeline that describes itself otherwise: other settings, index or model.

    Raises:
        UsageError: It differs; the text names the keys.
    """
    then, now = record.run["pipeline"] or {}, pipeline or {}
    differing = sorted(key for key in {*then, *now} if then.get(key) != now.get(key)) if then else []
    if differing:
        raise UsageError(
            f"--rag-resume: {record.run['run_id']} measured a pipeline with another {', '.join(differing)}; "
            f"restore it, or start a new run"
        )


def _finished(record: RunRecord) -> frozenset[Key]:
    """Cells whose last row has no error."""
    last = {row_key(row): row.get("error") is None for row in record.rows()}
    return frozenset(key for key, clean in last.items() if clean)
