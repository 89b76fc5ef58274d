"""Reads the record of a run, whatever became of it: finished, failed, killed, damaged. It never writes."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench.errors import RecordError
from pytest_ragbench.questions.serial import from_mapping
from pytest_ragbench.records.files import read_object, reading
from pytest_ragbench.records.process import host, process_started
from pytest_ragbench.records.schema import GATE_VERSION, SUMMARY_VERSION, check_run, check_version
from pytest_ragbench.records.strict import parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ragbench.questions.model import Question

CellKey = tuple[str, str]
"""(question id, configuration name)."""

STALE_SECONDS = 3_600.0
"""Silence after which a run of another machine, which cannot be asked, counts as ended."""

_NAME = re.compile(r"(\d{8}T\d{6}Z)-[0-9A-Za-z]+?(?:-(\d+))?")


class RunRecord:
    """One run as its folder tells it.

    Attributes:
        folder: The record's folder.
        run: `run.json`, with the defaults of absent keys.
        missing: What was found absent or torn so far, in words; complete once everything was read.
    """

    def __init__(self, folder: Path, run: dict[str, Any]) -> None:
        self.folder = folder
        self.run = run
        self.missing: list[str] = []

    @classmethod
    def load(cls, folder: Path) -> RunRecord:
        """Read `run.json`; the other files are read when they are asked for.

        Raises:
            RecordError: It is missing, no strict JSON, of another schema version, or has an unknown key.
        """
        path = folder / "run.json"
        return cls(folder, check_run(read_object(path), str(path)))

    @property
    def status(self) -> str:
        """`done`, `failed`, `running`, or `aborted` when it says that it runs but its process is gone."""
        said = str(self.run["status"])
        return "aborted" if said == "running" and not self._lives() else said

    def _lives(self) -> bool:
        pid, started = self.run["pid"], self.run["process_started"]
        if pid is not None and started and self.run["host"] == host():
            return process_started(int(pid)) == str(started)
        files = [self.folder / name for name in ("run.json", "per_query.jsonl")]
        heard = max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
        return time.time() - heard < STALE_SECONDS

    def summary(self) -> dict[str, Any] | None:
        """`summary.json`, or None where it is missing.

        Raises:
            RecordError: It is no strict JSON object, or of another schema version.
        """
        path = self.folder / "summary.json"
        if not path.is_file():
            self._note("summary.json is missing, so there are no means, intervals and verdicts")
            return None
        found = read_object(path)
        check_version(found.get("schema_version", SUMMARY_VERSION), str(path), reads=SUMMARY_VERSION)
        return found

    def gate(self) -> dict[str, Any] | None:
        """`gate.json`, what the gate said of the run; None where the run was not gated.

        Raises:
            RecordError: It is no strict JSON object, or of another schema version.
        """
        path = self.folder / "gate.json"
        if not path.is_file():
            return None
        found = read_object(path)
        check_version(found.get("schema_version", GATE_VERSION), str(path), reads=GATE_VERSION)
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in the order of the file; of an unfinished run a cell may have several, the last counts.

        Raises:
            RecordError: A line before the last is no strict JSON object.
        """
        return (row for _, row in self._lines("per_query.jsonl"))

    def errored_rows(self) -> Iterator[dict[str, Any]]:
        """The rows with an error; a row without is passed over unparsed where its text shows that it has none."""
        lines = self._lines("per_query.jsonl", skip=b'"error":null')
        return (row for _, row in lines if row.get("error") is not None)

    def check_rows(self, told: int) -> None:
        """Note it in `missing` when the file has not as many whole rows as its summary tells of."""
        path = self.folder / "per_query.jsonl"
        if not path.is_file():
            return
        with reading(path), path.open("rb") as file:
            lines = sum(line.endswith(b"\n") for line in file)
        if lines != told:
            self._note(f"per_query.jsonl has {lines:,} whole rows and summary.json tells of {told:,}")

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The chunk table: `id`, `file`, `pages`, `heading`, `text`.

        Raises:
            RecordError: A line before the last is no strict JSON object.
        """
        return (chunk for _, chunk in self._lines("chunks.jsonl"))

    def questions(self) -> tuple[Question, ...]:
        """The planned questions, by id.

        Raises:
            RecordError: A line is no question, or one that stands there already.
        """
        found: dict[str, Question] = {}
        for number, mapping in self._lines("questions.jsonl"):
            place = f"{self.folder / 'questions.jsonl'}:{number}"
            try:
                question = from_mapping(mapping)
            except ValueError as error:
                raise RecordError(
                    f"{place}: this is no question ({error}); the file was edited after the run"
                ) from error
            if found.setdefault(question.id, question) is not question:
                raise RecordError(f"{place}: {question.id} stands here again; the file was edited after the run")
        return tuple(found.values())

    def _lines(self, name: str, *, skip: bytes | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        path = self.folder / name
        if not path.is_file():
            self._note(f"{name} is missing")
            return
        with reading(path), path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if (skip is not None and skip in line and line.endswith(b"\n")) or not line.strip():
                    continue
                try:
                    yield number, parse_object(_decoded(line, path, number), str(path), number)
                except RecordError:
                    if line.endswith(b"\n"):
                        raise
                    self._note(f"the last line of {name} ({len(line)} bytes) is torn and was left out")

    def _note(self, words: str) -> None:
        if words not in self.missing:
            self.missing.append(words)


def row_key(row: Mapping[str, Any]) -> CellKey:
    """(question id, configuration name) of a row.

    Raises:
        RecordError: It names no cell.
    """
    question, configuration = row.get("question"), row.get("configuration")
    if not isinstance(question, str) or not isinstance(configuration, str):
        raise RecordError(f"a row names no cell: question {question!r}, configuration {configuration!r}")
    return question, configuration


def newest(runs_dir: Path) -> Iterator[RunRecord]:
    """The records below a folder, the latest first; folders without a readable `run.json` are passed over."""
    for folder in run_folders(runs_dir):
        with suppress(RecordError):
            yield RunRecord.load(folder)


def latest(runs_dir: Path) -> RunRecord | None:
    """The latest record below a folder, or None."""
    return next(newest(runs_dir), None)


def find_run(name: str, runs_dir: Path) -> RunRecord:
    """The record that a user names: `last`, a run id below `runs_dir`, or a path to a record or a file in it.

    Raises:
        RecordError: There is none; the message lists the latest.
    """
    if name == "last":
        if (record := latest(runs_dir)) is None:
            raise RecordError(f"{runs_dir}: there is no readable record here; run the bench first")
        return record
    typed = Path(name)
    with suppress(OSError):  # a text too long for a name is none
        for folder in (typed.parent if typed.is_file() else typed, runs_dir / name):
            if folder.is_dir():
                return RunRecord.load(folder)
    known = ", ".join(folder.name for folder in run_folders(runs_dir)[:3]) or "none"
    raise RecordError(f"{name}: no record here, and none of that name in {runs_dir} (the latest: {known}, or `last`)")


def ledger_claims(runs_dir: Path) -> tuple[tuple[str, str | None, int, str | None], ...]:
    """What every readable record says of the ledger: (run id, commit, number of entries, hash of the last)."""
    claims: list[tuple[str, str | None, int, str | None]] = []
    for folder in run_folders(runs_dir):
        try:
            run = RunRecord.load(folder).run
        except RecordError:
            continue
        if run["ledger"] is not None:
            claims.append((run["run_id"], run["git"]["sha"], run["ledger"]["count"], run["ledger"]["last_hash"]))
    return tuple(claims)


def run_folders(runs_dir: Path) -> list[Path]:
    """The folders below `runs_dir` that are named as a record is, the latest first; none where it cannot be read."""
    try:
        folders = [folder for folder in runs_dir.iterdir() if folder.is_dir()]
    except OSError:
        return []
    named = [(_NAME.fullmatch(folder.name), folder) for folder in folders]
    dated = [(match[1], int(match[2] or 1), folder) for match, folder in named if match]
    return [folder for _, _, folder in sorted(dated, reverse=True)]


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}:{number}:{error.start + 1}: this is no UTF-8") from None
