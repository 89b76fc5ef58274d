"""`ragbench graduate`: holds the records that serve against the rule of graduation, and says what to run where none is.

The rule itself is `analysis.graduation`; which records serve is decided in `shelf`. Records are only read, so nothing
here opens the test split.
"""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.graduation import Clause, decide, graduates
from pytest_ragbench.configurations.designs import FULL
from pytest_ragbench.errors import UsageError
from pytest_ragbench.runs.differing import differences
from pytest_ragbench.runs.shelf import Shelf, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_ragbench.configurations.model import Catalogue
    from pytest_ragbench.records.record import RunRecord

SCHEMA_VERSION = 1
"""Of what `ragbench graduate --json` prints."""

CLOSE_SHOWN = 5
"""Records that came close and are named, with the reason."""

NAMES_SHOWN = 10
"""Known names that are told where none is near to what was typed."""

NOTED_ELSEWHERE = frozenset({"commit", "uncommitted changes", "measured configurations"})
"""Differences between the records that have a note of their own, or that dev and leave-one-out runs have by nature."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the rule is held against.

    Attributes:
        dev: The record of the pair on dev, or None where none serves.
        test: The same on test.
        left_out: Factor of the candidate to the record that shows what leaving it out costs on test, or None.
        mine: Factors that are on in the candidate.
        theirs: Those that are on in the default.
    """

    dev: RunRecord | None
    test: RunRecord | None
    left_out: Mapping[str, RunRecord | None]
    mine: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def like(self) -> RunRecord | None:
        """The record that every other one has to be like."""
        return self.dev or self.test

    @property
    def records(self) -> list[RunRecord]:
        """All of them once, by id."""
        found = [record for record in (self.dev, self.test, *self.left_out.values()) if record is not None]
        return [record for _, record in sorted({record.run["run_id"]: record for record in found}.items())]


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
        (`clause`, `asks`, `state`, `found`, `evidence`), `notes`, and `missing` (`clauses`, `command`,
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
    evidence = _gather(shelf, name, default, catalogue)
    clauses = _held(shelf, evidence, name, default, tolerance)
    like = evidence.like
    return {
        "schema_version": SCHEMA_VERSION,
        "configuration": name,
        "against": default,
        "graduated": graduates(clauses),
        "tolerance": tolerance,
        "looks": looks,
        "questions_digest": None if like is None else like.run["questions_digest"],
        "runs": [_told_run(record.run) for record in evidence.records],
        "clauses": [_told(clause) for clause in clauses],
        "notes": [*_notes(evidence), *_close(shelf)],
        "missing": [*_missing(clauses, name, default)],
    }


def _gather(shelf: Shelf, name: str, default: str, catalogue: Catalogue | None) -> Evidence:
    """The newest records that serve."""
    dev = shelf.find((name, default), "dev", None)
    test = shelf.find((name, default), "test", None if dev is None else dev.run)
    like = dev or test
    mine, theirs = (_factors(one, shelf, like, catalogue) for one in (name, default))
    return Evidence(dev, test, _left_out(shelf, mine, test, like), mine, theirs)


def _held(shelf: Shelf, evidence: Evidence, name: str, default: str, tolerance: float) -> tuple[Clause, ...]:
    """Every clause, by what the records show."""
    worth = {
        factor: next(iter(shelf.measured(record, FULL, f"-{factor}", "test")), None)
        for factor, record in evidence.left_out.items()
    }
    return decide(
        shelf.measured(evidence.dev, name, default, "dev", suites=True),
        shelf.measured(evidence.test, name, default, "test", suites=True),
        worth,
        [factor for factor in evidence.mine if factor not in evidence.theirs],
        tolerance,
    )


def _known(records: Sequence[RunRecord], catalogue: Catalogue | None) -> dict[str, str]:
    """Name or marker to name, of everything that is declared or was ever measured."""
    declared = () if catalogue is None else catalogue.configurations.values()
    found = {configuration.marker: configuration.name for configuration in declared}
    measured = [entry for record in records for entry in record.run["configurations"]]
    found |= {entry["marker"] or entry["name"]: entry["name"] for entry in measured}
    return found | {name: name for name in found.values()}


def _resolve(typed: str, known: Mapping[str, str]) -> str:
    if typed in known:
        return known[typed]
    spelt = {name.lower(): name for name in sorted(known)}
    near = [spelt[match] for match in difflib.get_close_matches(typed.lower(), spelt, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else _some(dict.fromkeys(known.values()))
    raise UsageError(f"{typed}: no record has such a configuration, and none is declared; {hint}")


def _some(names: Iterable[str]) -> str:
    """The first names, the declared ones ahead, and how many others there are: a factorial alone has up to 1,024."""
    told = [*names]
    more = f" and {len(told) - NAMES_SHOWN:,} more" if len(told) > NAMES_SHOWN else ""
    return f"known are {', '.join(told[:NAMES_SHOWN]) or 'none'}{more}"


def _factors(name: str, shelf: Shelf, like: RunRecord | None, catalogue: Catalogue | None) -> tuple[str, ...]:
    """The factors that are on in a configuration: as the evidence has it, else as declared, else as last measured."""
    declared = {} if catalogue is None or like is not None else catalogue.configurations
    if name in declared:
        return declared[name].factors
    records = shelf.records if like is None else [like]
    found = (entries(record.run).get(name) for record in records)
    return next((tuple(entry["factors"]) for entry in found if entry is not None), ())


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


def _told_run(run: Mapping[str, Any]) -> dict[str, Any]:
    look = (run["ledger"] or {}).get("count") if run["split"] != "dev" else None
    return {key: run[key] for key in ("run_id", "split", "started_at", "git")} | {"look": look}


def _told(clause: Clause) -> dict[str, Any]:
    values = asdict(clause)
    return {"clause": values.pop("key"), **values, "evidence": list(values["evidence"])}


def _notes(evidence: Evidence) -> Iterator[str]:
    """What a reader should know of the evidence, though no clause asks for it."""
    dev, test, used = evidence.dev, evidence.test, [record.run for record in evidence.records]
    if dev is not None and test is not None and test.run["started_at"] < dev.run["started_at"]:
        yield "the test run is older than the dev run, so dev cannot have decided what was tried on test"
    if len({run["git"]["sha"] for run in used}) > 1:
        yield "the records measured different commits"
    if dirty := [run["run_id"] for run in used if run["git"]["dirty"]]:
        yield f"{', '.join(dirty)} measured uncommitted changes, which no commit holds"
    if others := [row["what"] for row in differences(used) if row["what"] not in NOTED_ELSEWHERE]:
        yield f"the records were not measured alike; they differ in {', '.join(others)}"
    if not evidence.mine:
        yield "it has no factor that can be left out, so no leave-one-out difference is asked for"
    for record in dict.fromkeys(record for record in evidence.left_out.values() if record is not None):
        full = entries(record.run)[FULL]["factors"]
        if set(full) != set(evidence.mine):
            odd = ", ".join(sorted(set(full) ^ set(evidence.mine)))
            yield f"full, in {record.run['run_id']}, differs from the configuration in {odd}"


def _close(shelf: Shelf) -> Iterator[str]:
    found = list(dict.fromkeys(shelf.close))
    yield from found[:CLOSE_SHOWN]
    if len(found) > CLOSE_SHOWN:
        yield f"{len(found) - CLOSE_SHOWN} older records have the arms too, and do not serve either"


def _missing(clauses: Sequence[Clause], name: str, default: str) -> Iterator[dict[str, Any]]:
    """What to run for the clauses without evidence: one dev run, and one test run for all that is missing on test.

    The suites need the pair on both splits, so they stand beside each run of it that is missing. Once dev has decided
    against it, no look at test is proposed.
    """
    lost = any(clause.key == "dev" and clause.state == "failed" for clause in clauses)
    lacking = [clause.key for clause in clauses if clause.state == "missing"]
    pair = [name, default] if "test" in lacking else []
    loo = ["loo"] if any(key.startswith("loo:") for key in lacking) else []
    suites = [key for key in lacking if key == "suites"]
    if "dev" in lacking:
        yield {"clauses": ["dev", *suites], "command": f"pytest --rag-configs={name},{default}", "opens_test": False}
    if (pair or loo) and not lost:
        command = f"pytest --rag-configs={','.join([*pair, *loo])} --rag-split=test --unseal-test"
        wanted = [key for key in lacking if key == "test" or key.startswith("loo:")]
        yield {"clauses": [*wanted, *(suites if pair else [])], "command": command, "opens_test": True}
