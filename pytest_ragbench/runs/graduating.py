"""`ragbench graduate`: finds the records that the rule of graduation asks for, and says what to run where none is.

The rule itself is `analysis.graduation`. Records are only read, so nothing here opens the test split.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.graduation import Clause, Difference, decide, differences, graduates
from pytest_ragbench.configurations.designs import FULL
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import METRICS_VERSION
from pytest_ragbench.runs.powering import cells_of
from pytest_ragbench.runs.reading import plan_of, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.configurations.model import Catalogue
    from pytest_ragbench.records.record import RunRecord

SCHEMA_VERSION = 1
"""Of what `ragbench graduate --json` prints."""

CLOSE_SHOWN = 5
"""Records that came close and are named, with the reason."""


@dataclass
class Shelf:
    """The records that may serve, the newest first, and why those that come close do not.

    Attributes:
        records: As read.
        close: Sentences about records that have the arms and cannot be used.
    """

    records: Sequence[RunRecord]
    close: list[str] = field(default_factory=list)
    _cells: dict[str, Cells] = field(default_factory=dict)

    def measured(
        self, record: RunRecord | None, name: str, other: str, split: str, *, suites: bool = False
    ) -> tuple[Difference, ...]:
        """The differences that a record shows; none without a record. Its rows are read once."""
        if record is None:
            return ()
        run_id = record.run["run_id"]
        if run_id not in self._cells:
            self._cells[run_id] = cells_of(record, plan_of(record))
        return differences(self._cells[run_id], name, other, run=run_id, split=split, suites=suites)

    def find(self, names: Sequence[str], split: str, like: Mapping[str, Any] | None) -> RunRecord | None:
        """The newest complete record of a split with these arms; `like` another one in questions, depth and arms."""
        for record in self.records:
            entries = _entries(record.run)
            if not set(names) <= entries.keys() or record.run["split"] not in (split, "all"):
                continue
            reason = _unfit(record, names) or (like and _unlike(record.run, like))
            if reason is None:
                return record
            self.close.append(f"{record.run['run_id']} has {' and '.join(names)} on {split}, but {reason}")
        return None


def _entries(run: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry for entry in run["configurations"]}


def _unfit(record: RunRecord, names: Sequence[str]) -> str | None:
    """Why a record does not stand for all questions of its split, without an error; None when it does."""
    run = record.run
    if (complaint := whole(record)) or run["status"] != "done":
        return complaint or f"it broke off ({run['reason']})"
    parts = [key for key in ("suites", "domains", "limit", "shard") if run[key] is not None]
    if parts or run["partial"]:
        what = f"its {' and '.join(parts)}" if parts else "its selection"
        return f"{what} left questions out; run all of them"
    version = (record.summary() or {}).get("metrics_version")
    if version != METRICS_VERSION:
        return f"it was scored by metric definitions {version}, and this version has {METRICS_VERSION}; run it again"
    errored = sum(row["configuration"] in names for row in record.errored_rows())
    return f"{errored} of its searches failed; --rag-resume={run['run_id']} searches them again" if errored else None


def _unlike(run: Mapping[str, Any], like: Mapping[str, Any]) -> str | None:
    """What keeps a record from standing beside another: other questions or depth, other arms of the same names."""
    if run["questions_digest"] != like["questions_digest"]:
        digests = [str(one["questions_digest"])[:12] for one in (run, like)]
        return f"it asked other questions (set {digests[0]}, not {digests[1]} as {like['run_id']})"
    if run["k"] != like["k"]:
        return f"its rankings are cut at {run['k']}, not at {like['k']} as those of {like['run_id']}"
    mine, theirs = _entries(run), _entries(like)
    changed = [name for name in mine.keys() & theirs.keys() if mine[name]["overrides"] != theirs[name]["overrides"]]
    if changed:
        return f"{', '.join(sorted(changed))} had other overrides than in {like['run_id']}"
    return None


def graduate(
    records: Iterable[RunRecord],
    typed: str,
    typed_default: str,
    *,
    tolerance: float,
    looks: int,
    catalogue: Catalogue | None = None,
) -> dict[str, Any]:
    """Hold a configuration against the default by the rule.

    Args:
        records: Those that may be used, the newest first.
        typed: Name or marker of what may become the default.
        typed_default: Of what is the default now.
        tolerance: How far a suite may fall.
        looks: How often the test split was opened.
        catalogue: The declared configurations, for names that no record has yet.

    Returns:
        Strict JSON values: `schema_version`, `configuration`, `against`, `graduated`, `tolerance`, `looks`,
        `questions_digest`, `runs` (of the evidence: `run_id`, `split`, `started_at`, `git`, `look`), `clauses`
        (`clause`, `asks`, `state`, `found`, `decides`, `evidence`), `notes`, and `missing` (`clauses`, `command`,
        `opens_test`).

    Raises:
        UsageError: A name that nothing has, or one and the same twice.
        RecordError: A file of a record is damaged.
    """
    shelf = Shelf(list(records))
    known = _known(shelf.records, catalogue)
    name, default = _resolve(typed, known), _resolve(typed_default, known)
    if name == default:
        raise UsageError(f"{name} cannot be held against itself; --against names what is the default now")
    dev = shelf.find((name, default), "dev", None)
    test = shelf.find((name, default), "test", None if dev is None else dev.run)
    like = dev or test
    mine, theirs = (_factors(one, shelf, like, catalogue) for one in (name, default))
    out = _left_out(shelf, mine, test, like)
    used = {"dev": dev, "test": test, **{f"loo:{factor}": record for factor, record in out.items()}}
    clauses = decide(
        shelf.measured(dev, name, default, "dev", suites=True),
        shelf.measured(test, name, default, "test", suites=True),
        {
            factor: next(iter(shelf.measured(record, FULL, f"-{factor}", "test")), None)
            for factor, record in out.items()
        },
        [factor for factor in mine if factor not in theirs],
        tolerance,
    )
    return {
        "schema_version": SCHEMA_VERSION,
        "configuration": name,
        "against": default,
        "graduated": graduates(clauses),
        "tolerance": tolerance,
        "looks": looks,
        "questions_digest": None if like is None else like.run["questions_digest"],
        "runs": [*_runs(used.values())],
        "clauses": [_told(clause) for clause in clauses],
        "notes": [*_notes(dev, test, out, mine, theirs), *_close(shelf)],
        "missing": [*_missing(clauses, name, default)],
    }


def _known(records: Sequence[RunRecord], catalogue: Catalogue | None) -> dict[str, str]:
    """Name or marker to name, of everything that is declared or was ever measured."""
    declared = () if catalogue is None else catalogue.configurations.values()
    found = {configuration.marker: configuration.name for configuration in declared}
    entries = [entry for record in records for entry in record.run["configurations"]]
    found |= {entry["marker"] or entry["name"]: entry["name"] for entry in entries}
    return found | {name: name for name in found.values()}


def _resolve(typed: str, known: Mapping[str, str]) -> str:
    if typed in known:
        return known[typed]
    near = difflib.get_close_matches(typed, sorted(known), n=3)
    hint = (
        f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(sorted(set(known.values()))) or 'none'}"
    )
    raise UsageError(f"{typed}: no record has such a configuration, and none is declared; {hint}")


def _factors(name: str, shelf: Shelf, like: RunRecord | None, catalogue: Catalogue | None) -> tuple[str, ...]:
    """The factors that are on in a configuration: as the evidence has it, else as declared, else as last measured."""
    declared = {} if catalogue is None or like is not None else catalogue.configurations
    if name in declared:
        return declared[name].factors
    records = shelf.records if like is None else [like]
    entries = (_entries(record.run).get(name) for record in records)
    return next((tuple(entry["factors"]) for entry in entries if entry is not None), ())


def _left_out(
    shelf: Shelf, factors: Sequence[str], test: RunRecord | None, like: RunRecord | None
) -> dict[str, RunRecord | None]:
    """Factor to the record that shows what leaving it out costs on test; the record of the pair first, if it does."""
    ahead = Shelf([test] if test is not None else [])
    like_run = None if like is None else like.run
    found = {}
    for factor in factors:
        arms = (FULL, f"-{factor}")
        found[factor] = ahead.find(arms, "test", like_run) or shelf.find(arms, "test", like_run)
    return found


def _runs(records: Iterable[RunRecord | None]) -> Iterator[dict[str, Any]]:
    found = {record.run["run_id"]: record.run for record in records if record is not None}
    for run_id in sorted(found):
        run = found[run_id]
        look = (run["ledger"] or {}).get("count") if run["split"] != "dev" else None
        yield {key: run[key] for key in ("run_id", "split", "started_at", "git")} | {"look": look}


def _told(clause: Clause) -> dict[str, Any]:
    values = asdict(clause)
    return {"clause": values.pop("key"), **values, "evidence": list(values["evidence"])}


def _notes(
    dev: RunRecord | None,
    test: RunRecord | None,
    out: Mapping[str, RunRecord | None],
    mine: Sequence[str],
    theirs: Sequence[str],
) -> Iterator[str]:
    """What a reader should know of the evidence, though no clause asks for it."""
    if dev is not None and test is not None and test.run["started_at"] < dev.run["started_at"]:
        yield "the test run is older than the dev run, so dev cannot have decided what was tried on test"
    used = [record for record in (dev, test, *out.values()) if record is not None]
    if len({record.run["git"]["sha"] for record in used}) > 1:
        yield "the records measured different commits"
    if not set(mine) - set(theirs):
        yield "it brings no factor that the default has off, so no leave-one-out difference is asked for"
    for record in dict.fromkeys(record for record in out.values() if record is not None):
        full = _entries(record.run)[FULL]["factors"]
        if set(full) != set(mine):
            others = ", ".join(sorted(set(full) ^ set(mine)))
            yield f"full, in {record.run['run_id']}, differs from the configuration in {others}"


def _close(shelf: Shelf) -> Iterator[str]:
    found = list(dict.fromkeys(shelf.close))
    yield from found[:CLOSE_SHOWN]
    if len(found) > CLOSE_SHOWN:
        yield f"{len(found) - CLOSE_SHOWN} older records have the arms too, and do not serve either"


def _missing(clauses: Sequence[Clause], name: str, default: str) -> Iterator[dict[str, Any]]:
    """What to run for the clauses without evidence: one dev run, and one test run for all that is missing on test.

    Once dev has decided against it, no look at test is proposed.
    """
    lost = any(clause.key == "dev" and clause.state == "failed" for clause in clauses)
    lacking = [clause.key for clause in clauses if clause.state == "missing" and clause.decides]
    pair = [name, default] if "test" in lacking else []
    loo = ["loo"] if any(key.startswith("loo:") for key in lacking) else []
    if "dev" in lacking:
        yield {"clauses": ["dev"], "command": f"pytest --rag-configs={name},{default}", "opens_test": False}
    if (pair or loo) and not lost:
        command = f"pytest --rag-configs={','.join([*pair, *loo])} --rag-split=test --unseal-test"
        wanted = [key for key in lacking if key == "test" or key.startswith("loo:")]
        yield {"clauses": wanted, "command": command, "opens_test": True}
