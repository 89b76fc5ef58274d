"""A record survives its writer: killed at any file operation, on a full disk, or below a folder that takes no file."""

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_ragbench.errors import RecordError
from pytest_ragbench.records.record import RunRecord, find_run, latest, row_key
from pytest_ragbench.records.writer import RunWriter
from pytest_ragbench.reports.commands import render_for_terminal, render_record, view_of

NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)
CELLS = [("q2", "R0"), ("q1", "R0"), ("q1", "R1")]

# One process forks a child for every n; the child dies at its nth operation on a file, or ends and stops the loop.
# What it was told to be kept stands in the file `told`, written past the counting.
KILLED = """
import os, signal, sys
from datetime import datetime, UTC
from pathlib import Path
from pytest_ragbench.records.writer import RunWriter

write, fsync, left = os.write, os.fsync, 0

def operation(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def half(descriptor, data):
    operation()
    if left == 1:
        data = data[: len(data) // 2]
    return write(descriptor, data)

def synced(descriptor):
    operation()
    fsync(descriptor)

def audited(event, arguments):
    if event in {"open", "os.mkdir", "os.rename", "os.chmod", "os.truncate"} and left > 0:
        operation()

def run(folder):
    told = os.open(folder / "told", os.O_WRONLY | os.O_CREAT)
    writer = RunWriter.create(folder / "runs", started_at=datetime(2026, 9, 1, 12, tzinfo=UTC), sha=None, run={})
    for question, configuration in %r:
        row = '{"configuration":"%%s","error":null,"metrics":{},"question":"%%s","ranking":[]}' %% (configuration, question)
        writer.add(row, ['{"id":"%%s"}' %% question])
        write(told, f"{question} {configuration}\\n".encode())
    writer.update(ledger={"count": 1, "last_hash": "ab"})
    writer.finish(status="done", finished_at=datetime(2026, 9, 1, 13, tzinfo=UTC), complete=True,
                  summary={"results": {}}, render=lambda record: "# report\\n")

os.write, os.fsync = half, synced
sys.addaudithook(audited)
for n in range(1, 1000):
    folder = Path(sys.argv[1]) / f"{n:03}"
    folder.mkdir()
    child = os.fork()
    if child == 0:
        left = n
        run(folder)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(n)
"""


def row_of(question, configuration):
    return json.dumps(
        {"configuration": configuration, "error": None, "metrics": {}, "question": question, "ranking": []},
        separators=(",", ":"),
    )


def complete(folder, old=None):
    """A run of every cell that an earlier record lacks; its files."""
    writer = RunWriter.create(folder, started_at=NOON, sha=None, run={})
    kept = frozenset() if old is None else writer.resume_from(old)
    for cell in CELLS:
        if cell not in kept:
            writer.add(row_of(*cell), [f'{{"id":"{cell[0]}"}}'])
    record = writer.finish(status="done", finished_at=NOON)
    return kept, [(record.folder / name).read_bytes() for name in ("per_query.jsonl", "chunks.jsonl")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
def test_pyt_08_a_kill_at_any_file_operation_loses_no_row_that_was_kept_and_the_record_is_shown_and_resumed(
    tmp_path, monkeypatch
):
    script = [sys.executable, "-c", KILLED % CELLS, str(tmp_path)]
    operations = int(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
    assert operations > 30
    monkeypatch.setattr(os, "fsync", lambda _: None)  # the slowest part, and nothing dies from here on
    _, whole = complete(tmp_path / "whole")
    statuses = []
    for number in range(1, operations + 1):
        folder = tmp_path / f"{number:03}"
        told = {tuple(line.split()) for line in (folder / "told").read_text().splitlines()} if number > 1 else set()
        record = latest(folder / "runs")
        if record is None:  # killed before run.json was there: nothing had been promised
            assert told == set()
            continue
        statuses.append(record.status)
        assert {row_key(row) for row in record.rows()} >= told, number
        assert record.run["run_id"] in render_record(record)
        assert render_for_terminal(view_of(record))
        kept, files = complete(folder / "runs", record)
        assert kept >= told
        assert files == whole, number
    assert set(statuses) == {"aborted", "done"}
    assert statuses == sorted(statuses)  # from some operation on it is done, and never half of it


def failing(monkeypatch, at):
    """Let the nth operation on a file fail, and all that follow, as on a disk that has filled up."""
    left = at

    def counted(function):
        def call(*arguments, **options):
            nonlocal left
            left -= 1
            if left <= 0:
                raise OSError(28, "No space left on device")
            return function(*arguments, **options)

        return call

    for name in ("write", "fsync", "replace", "mkdir"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return lambda: left > 0


def test_a_disk_that_fills_up_at_any_moment_is_a_sentence_and_when_there_is_room_again_the_run_can_be_finished(
    tmp_path, monkeypatch
):
    _, whole = complete(tmp_path / "whole")
    for number in range(1, 100):
        runs, told, writer = tmp_path / f"{number:03}", [], None
        runs.mkdir()
        with monkeypatch.context() as patched:
            unharmed = failing(patched, number)
            try:
                writer = RunWriter.create(runs, started_at=NOON, sha=None, run={})
                for cell in CELLS:
                    writer.add(row_of(*cell), [f'{{"id":"{cell[0]}"}}'])
                    told.append(cell)
                writer.finish(status="done", finished_at=NOON)
            except RecordError as error:
                assert "No space left on device" in str(error)  # noqa: PT017 - which operation fails is the loop's
            if unharmed():
                break
        if writer is None:
            continue
        assert {row_key(row) for row in RunRecord.load(writer.folder).rows()} == set(told)
        if len(told) == len(CELLS):
            folder = writer.finish(status="failed", finished_at=NOON, reason="the disk was full").folder
            assert [(folder / name).read_bytes() for name in ("per_query.jsonl", "chunks.jsonl")] == whole
    assert 15 < number < 99


LIMITED = """
import resource, sys
from datetime import datetime, UTC
from pathlib import Path
from pytest_ragbench.errors import RecordError
from pytest_ragbench.records.writer import RunWriter
w = RunWriter.create(Path(sys.argv[1]), started_at=datetime(2026, 9, 1, 12, tzinfo=UTC), sha=None, run={})
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
row = '{"configuration":"c","error":null,"question":"q%d","text":"' + "x" * 900 + '"}'
try:
    for n in range(9): w.add(row % n)
except RecordError as error: print(n, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
w.finish(status="failed", finished_at=datetime(2026, 9, 1, 13, tzinfo=UTC), reason="the disk was full")
"""


def test_a_write_that_the_system_cuts_leaves_no_half_row(tmp_path):
    pytest.importorskip("resource")
    said = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], check=True, capture_output=True, text=True)
    assert said.stdout.startswith("4 ")
    assert "per_query.jsonl: it cannot be written (File too large)" in said.stdout
    assert [row["question"] for row in latest(tmp_path).rows()] == ["q0", "q1", "q2", "q3"]


@pytest.mark.parametrize("name", ["file/runs", "file", "x" * 300])
def test_a_place_that_can_hold_no_record_is_a_sentence(tmp_path, name):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordError, match="cannot be written"):
        RunWriter.create(tmp_path / name, started_at=NOON, sha=None, run={})
    assert latest(tmp_path / name) is None


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is read-only for this user")
def test_a_folder_that_is_read_only_is_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RecordError, match=r"cannot be written \(Permission denied\)"):
        RunWriter.create(tmp_path / "runs", started_at=NOON, sha=None, run={})


def test_a_file_of_a_record_that_cannot_be_read_is_a_sentence(finished, monkeypatch):
    record = RunRecord.load(finished)

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(io, "open", refused)  # what pathlib opens with
    for name in ("rows", "errored_rows", "chunks", "questions", "summary"):
        with pytest.raises(RecordError, match=r"json.*: it cannot be read \(Permission denied\)"):
            list(getattr(record, name)())


def test_a_name_too_long_for_a_file_is_no_record(tmp_path):
    with pytest.raises(RecordError, match="no record here"):
        find_run("x" * 5_000, tmp_path)


def test_a_leftover_of_a_killed_writer_is_no_part_of_the_record(finished):
    Path(finished / ".summary.json.abc.tmp").write_text('{"results": ')
    assert RunRecord.load(finished).summary() == {"results": {}}
