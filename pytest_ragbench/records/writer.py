"""Writes the record of a run: created exclusively, grown row by row, finished atomically with `run.json` last."""

from __future__ import annotations

import hashlib
import os
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pytest_ragbench import canonical
from pytest_ragbench.errors import RecordError
from pytest_ragbench.questions.serial import to_mapping
from pytest_ragbench.records.files import encode, write_atomic, write_object, writing
from pytest_ragbench.records.process import host, process_started
from pytest_ragbench.records.record import CellKey, RunRecord, row_key
from pytest_ragbench.records.rowlog import LineLog
from pytest_ragbench.records.schema import SCHEMA_VERSION, check_run
from pytest_ragbench.records.strict import parse_object

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from pytest_ragbench.questions.model import Question


class RunWriter:
    """The one writer of a record.

    Attributes:
        folder: The record's folder.
        run: `run.json` as it now stands.
    """

    def __init__(self, folder: Path, run: dict[str, Any]) -> None:
        self.folder = folder
        self.run = run
        self._rows = LineLog(folder / "per_query.jsonl")
        self._chunks = LineLog(folder / "chunks.jsonl")

    @classmethod
    def create(
        cls,
        runs_dir: Path,
        *,
        started_at: datetime,
        sha: str | None,
        run: Mapping[str, Any],
        questions: Iterable[Question] = (),
    ) -> RunWriter:
        """Make `<timestamp>-<sha>` below `runs_dir`, with `-2`, `-3` … behind it where it is taken.

        Args:
            runs_dir: The folder of records; made when absent, with a `.gitignore` of its own.
            started_at: When the session began, with a time zone.
            sha: The commit that is measured, or None.
            run: The keys of `run.json` that the session knows; identity, status and process are added.
            questions: The planned questions, in any order.

        Raises:
            RecordError: The folder cannot be made, or a key of `run` is not one of `run.json`.
        """
        moment = started_at.astimezone(UTC)
        folder = _new_folder(runs_dir, f"{moment:%Y%m%dT%H%M%SZ}-{(sha or 'nogit')[:7]}")
        known = {
            **run,
            "schema_version": SCHEMA_VERSION,
            "run_id": folder.name,
            "status": "running",
            "started_at": _stamp(moment),
            "pid": os.getpid(),
            "host": host(),
            "process_started": process_started(os.getpid()),
        }
        checked = check_run(known, str(folder / "run.json"))
        write_object(folder / "run.json", checked)
        ordered = sorted(questions, key=lambda question: question.id)
        lines = (encode(canonical.dumps(to_mapping(question))) + b"\n" for question in ordered)
        write_atomic(folder / "questions.jsonl", lines)
        return cls(folder, checked)

    @property
    def rows_kept(self) -> int:
        """Number of cells that have a row."""
        return len(self._rows)

    def add(self, row_json: str, chunks: Iterable[str] = (), *, key: CellKey | None = None) -> None:
        """Append a row, and those of its chunk lines that are new.

        Args:
            row_json: One JSON object without a line break, as `canonical.dumps` writes it.
            chunks: Lines of `chunks.jsonl` (`records.chunks.chunk_line`).
            key: The row's (question, configuration), where the caller has parsed it; else it is parsed here.

        Raises:
            RecordError: The row is no strict JSON object of a cell, or the disk refuses.
        """
        for line in chunks:
            self._add_chunk(line)
        self._rows.append(key or row_key(parse_object(row_json, "row")), row_json)

    def _add_chunk(self, line: str) -> None:
        digest = (hashlib.blake2b(encode(line), digest_size=12).hexdigest(),)
        if digest not in self._chunks:
            self._chunks.append(digest, line)

    def update(self, **changes: Any) -> None:
        """Change keys of `run.json` while the run goes on (the ledger's count, what was warmed up).

        Raises:
            RecordError: A key is not one of `run.json`, or the file cannot be written.
        """
        self.run = check_run({**self.run, **changes}, str(self.folder / "run.json"))
        write_object(self.folder / "run.json", self.run)

    def resume_from(
        self,
        old: RunRecord,
        *,
        wanted: Collection[CellKey] | None = None,
        seen: Callable[[dict[str, Any]], None] | None = None,
    ) -> frozenset[CellKey]:
        """Copy the finished rows of an earlier run, and record where they come from; rows with an error run again.

        Args:
            old: The earlier record; it is only read.
            wanted: The cells of this run; None takes all.
            seen: Called with each copied row.

        Returns:
            The cells that need not run.
        """
        git = self.run["git"]
        if old.run["git"]["dirty"]:  # some of the rows are then of no commit, whatever the tree is by now
            git = {**git, "dirty": True}
        self.update(resumed_from=old.run["run_id"], git=git)
        last: dict[CellKey, bool] = {}
        for row in old.rows():
            last[row_key(row)] = row.get("error") is None
        kept = {key for key, finished in last.items() if finished and (wanted is None or key in wanted)}
        for row in old.rows():
            if (key := row_key(row)) in kept and row.get("error") is None:
                self._rows.append(key, canonical.dumps(row))  # of several attempts the last counts here too
                if seen is not None:
                    seen(row)
        for chunk in old.chunks() if kept else ():
            self._add_chunk(canonical.dumps(chunk))
        return frozenset(kept)

    def finish(
        self,
        *,
        status: Literal["done", "failed"],
        finished_at: datetime,
        reason: str | None = None,
        summary: Mapping[str, Any] | None = None,
        render: Callable[[RunRecord], str] | None = None,
        **changes: Any,
    ) -> RunRecord:
        """Sort the rows, write `summary.json` and `report.md`, and `run.json` last.

        Args:
            status: `failed` when the session broke off before its end, else `done`.
            finished_at: When the session ended, with a time zone.
            reason: Why it failed, in words.
            summary: The whole of `summary.json`, or None where there is none.
            render: Makes `report.md` from the finished record.
            **changes: Further keys of `run.json` (`complete`, `partial`, `ledger`).

        Raises:
            RecordError: A file cannot be written; the record then still says that it runs.
        """
        ended = {"status": status, "reason": reason, "finished_at": _stamp(finished_at.astimezone(UTC))}
        final = check_run({**self.run, **changes, **ended}, str(self.folder / "run.json"))
        self._rows.rewrite_sorted()
        self._chunks.rewrite_sorted()
        if summary is not None:
            write_object(self.folder / "summary.json", dict(summary))
        record = RunRecord(self.folder, final)
        if render is not None:
            write_atomic(self.folder / "report.md", [render(record).encode("utf-8")])
        write_object(self.folder / "run.json", final)
        self.run = final
        return record

    def discard(self) -> None:
        """Take the whole record away, as if it had never been begun: nothing in it is worth a reader's time."""
        self._rows.close()
        self._chunks.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _new_folder(runs_dir: Path, name: str) -> Path:
    with writing(runs_dir):
        if not runs_dir.exists():
            runs_dir.mkdir(parents=True, exist_ok=True)
            (runs_dir / ".gitignore").write_text("*\n", encoding="utf-8")
    for attempt in range(1, 10_000):
        folder = runs_dir / (name if attempt == 1 else f"{name}-{attempt}")
        with writing(folder):
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    raise RecordError(f"{runs_dir / name}: ten thousand runs of this second are there; clear the folder")


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
