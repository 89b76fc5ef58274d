"""Which records of finished runs serve as evidence for a decision, and in words why those that come close do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ragbench.analysis.graduation import Difference, differences
from pytest_ragbench.errors import RecordError
from pytest_ragbench.metrics.catalogue import METRICS_VERSION
from pytest_ragbench.runs.reading import cells_of, plan_of, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.analysis.cells import Cells
    from pytest_ragbench.records.record import RunRecord


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

    def find(self, names: Sequence[str], split: str, like: Mapping[str, Any] | None) -> RunRecord | None:
        """The newest complete record of a split with these arms; `like` another one in questions, depth and arms.

        A damaged one is passed over as any other that does not serve.
        """
        for record in self.records:
            if not set(names) <= entries(record.run).keys() or record.run["split"] not in (split, "all"):
                continue
            reason = self._against(record, names, like)
            if reason is None:
                return record
            self.close.append(f"{record.run['run_id']} has {' and '.join(names)} on {split}, but {reason}")
        return None

    def _against(self, record: RunRecord, names: Sequence[str], like: Mapping[str, Any] | None) -> str | None:
        """What speaks against a record, or None."""
        try:
            if reason := _unfit(record, names) or (like and _unlike(record.run, like)):
                return str(reason)
            self._measured(record)
        except RecordError as error:
            return f"it is damaged: {error}"
        return None

    def measured(
        self, record: RunRecord | None, name: str, other: str, split: str, *, suites: bool = False
    ) -> tuple[Difference, ...]:
        """The differences that a record shows; none without a record.

        Raises:
            RecordError: A file of it is damaged.
        """
        if record is None:
            return ()
        cells = self._measured(record)
        return differences(cells, name, other, run=record.run["run_id"], split=split, suites=suites)

    def _measured(self, record: RunRecord) -> Cells:
        """The cells of a record, whose rows are read once."""
        run_id = record.run["run_id"]
        if run_id not in self._cells:
            self._cells[run_id] = cells_of(record, plan_of(record))
        return self._cells[run_id]


def entries(run: Mapping[str, Any]) -> dict[str, Any]:
    """The configurations of a run by name, as `run.json` tells them."""
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
    mine, theirs = entries(run), entries(like)
    changed = [name for name in mine.keys() & theirs.keys() if mine[name]["overrides"] != theirs[name]["overrides"]]
    if changed:
        return f"{', '.join(sorted(changed))} had other overrides than in {like['run_id']}"
    return None
