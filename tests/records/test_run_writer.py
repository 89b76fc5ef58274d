"""Writing a record: folders never shared, rows kept at once, sorted at the end, resumed from another."""

import json
import os
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pytest_ragbench.errors import RecordError
from pytest_ragbench.records.record import RunRecord, latest
from pytest_ragbench.records.rowlog import LineLog
from pytest_ragbench.records.writer import RunWriter

NOON = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)
SHA = "0123456789abcdef0123456789abcdef01234567"


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_a_record_says_at_once_that_it_runs_and_who_writes_it(new_writer):
    run = json.loads((new_writer(split="dev").folder / "run.json").read_text())
    assert (run["status"], run["pid"], run["split"], run["schema_version"]) == ("running", os.getpid(), "dev", 2)
    assert run["started_at"] == "2026-09-01T12:00:00.000Z"
    assert run["run_id"] == "20260901T120000Z-0123456"
    assert run["process_started"]


def test_the_folder_is_named_in_utc_whatever_the_clock_shows(tmp_path):
    berlin = NOON.astimezone(timezone(timedelta(hours=2)))
    assert RunWriter.create(tmp_path, started_at=berlin, sha=None, run={}).folder.name == "20260901T120000Z-nogit"


def test_an_unknown_key_of_run_json_is_refused_before_anything_runs(new_writer):
    with pytest.raises(RecordError, match=r"run\.json: colour: Extra inputs"):
        new_writer(colour="red")


def test_the_folder_of_runs_hides_itself_from_git(new_writer):
    assert (new_writer().folder.parent / ".gitignore").read_text() == "*\n"


def test_rec_01_five_runs_of_one_second_get_five_folders(tmp_path):
    script = (
        "import sys; from datetime import *; from pathlib import Path; from pytest_ragbench.records.writer import RunWriter\n"
        "w = RunWriter.create(Path(sys.argv[1]), started_at=datetime(2026, 9, 1, 12, tzinfo=UTC), sha='ab'*20, run={})\n"
        'w.add(\'{"question":"q","configuration":"c"}\'); print(w.folder.name)'
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(5)
    ]
    names = sorted(process.communicate()[0].strip() for process in running)
    assert names == ["20260901T120000Z-abababa", *(f"20260901T120000Z-abababa-{n}" for n in (2, 3, 4, 5))]
    assert all(len(lines(tmp_path / name / "per_query.jsonl")) == 1 for name in names)


def test_rec_01_an_empty_folder_and_a_run_without_rows_break_neither_latest_nor_the_next_run(new_writer):
    first = new_writer()
    (first.folder.parent / "20270101T000000Z-abcdef0").mkdir()
    assert latest(first.folder.parent).folder == first.folder
    first.finish(status="failed", finished_at=NOON, reason="collection failed")
    assert latest(first.folder.parent).status == "failed"
    assert [new_writer().folder.name[-2:] for _ in range(10)][-1] == "11"
    assert latest(first.folder.parent).folder.name.endswith("-11")


def test_a_discarded_record_is_as_if_it_had_never_been_begun(new_writer):
    kept, writer = new_writer(), new_writer()
    writer.add('{"question":"q","configuration":"c"}', ["{}"])
    writer.discard()
    assert not writer.folder.exists()
    assert latest(kept.folder.parent).folder == kept.folder
    assert new_writer().folder == writer.folder


def test_a_row_and_its_new_chunks_are_in_the_files_as_soon_as_add_returns(new_writer, row_text):
    writer = new_writer()
    writer.add(row_text("lex-0001", "R0"), ["{}", '{"id":"1"}'])
    writer.add(row_text("lex-0001", "R1"), ['{"id":"1"}', '{"id":"2"}'])
    assert len(lines(writer.folder / "per_query.jsonl")) == writer.rows_kept == 2
    assert lines(writer.folder / "chunks.jsonl") == ["{}", '{"id":"1"}', '{"id":"2"}']


def test_finishing_sorts_the_rows_and_keeps_the_last_attempt(new_writer, row_text):
    writer = new_writer()
    for question, configuration, attempt in (("b", "R1", 1), ("a", "R1", 1), ("b", "R0", 1), ("a", "R1", 2)):
        writer.add(row_text(question, configuration, attempt=attempt), key=(question, configuration))
    folder = writer.finish(status="done", finished_at=NOON).folder
    rows = [json.loads(line) for line in lines(folder / "per_query.jsonl")]
    assert [(row["question"], row["configuration"], row["attempt"]) for row in rows] == [
        ("a", "R1", 2), ("b", "R0", 1), ("b", "R1", 1),
    ]  # fmt: skip


def test_the_same_rows_in_any_order_give_the_same_bytes(new_writer, row_text):
    chunks = ['{"id":"1"}', '{"id":"2"}']
    files = []
    for order in ((0, 1), (1, 0)):
        writer = new_writer()
        for index in order:
            writer.add(row_text(f"q{index}", "R0"), [chunks[index]])
        folder = writer.finish(status="done", finished_at=NOON).folder
        files.append([(folder / name).read_bytes() for name in ("per_query.jsonl", "chunks.jsonl", "questions.jsonl")])
    assert files[0] == files[1]


def test_run_json_is_written_last(new_writer):
    writer = new_writer()

    def render(record):
        assert json.loads((record.folder / "run.json").read_text())["status"] == "running"
        assert record.status == "done"
        return "# report\n"

    record = writer.finish(status="done", finished_at=NOON, summary={"results": {}}, render=render, complete=True)
    run = json.loads((record.folder / "run.json").read_text())
    assert (run["status"], run["finished_at"], run["complete"]) == ("done", "2026-09-01T12:00:00.000Z", True)
    assert {path.name for path in record.folder.iterdir()} == {
        "run.json", "summary.json", "per_query.jsonl", "chunks.jsonl", "questions.jsonl", "report.md",
    }  # fmt: skip


def test_gat_07_nothing_with_nan_is_written(new_writer):
    writer = new_writer()
    with pytest.raises(ValueError, match="not JSON compliant"):
        writer.finish(status="done", finished_at=NOON, summary={"mean": float("nan")})
    with pytest.raises(RecordError, match="NaN is not JSON"):
        writer.add('{"question":"q","configuration":"c","score":NaN}')


def test_a_row_that_names_no_cell_is_refused(new_writer):
    with pytest.raises(RecordError, match="names no cell"):
        new_writer().add('{"question":"q"}')


def test_a_full_disk_is_a_sentence(new_writer, monkeypatch, row_text):
    writer = new_writer()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RecordError, match=r"per_query\.jsonl: it cannot be written \(No space left on device\)"):
        writer.add(row_text("q", "c"))


def test_a_write_that_breaks_off_leaves_no_half_line(new_writer, row_text, monkeypatch):
    writer, write = new_writer(), os.write
    writer.add(row_text("q1", "c"))

    def breaks_off(descriptor, data):
        if len(data) < 10:
            raise KeyboardInterrupt
        return write(descriptor, data[:-5])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            writer.add(row_text("q2", "c"))
    writer.add(row_text("q3", "c"))
    record = writer.finish(status="failed", finished_at=NOON, reason="interrupted")
    assert [row["question"] for row in record.rows()] == ["q1", "q3"]


def test_a_question_with_a_lone_surrogate_is_read_back(tmp_path, questions):
    import dataclasses

    odd = dataclasses.replace(questions[0], text="\ud800?")
    folder = RunWriter.create(tmp_path, started_at=NOON, sha=SHA, run={}, questions=[odd]).folder
    assert RunRecord.load(folder).questions() == (odd,)


def test_resuming_copies_finished_rows_and_runs_errors_again(new_writer, row_text):
    old = new_writer()
    for question, error in (
        ("a", None),
        ("b", "boom"),
        ("c", "boom"),
        ("c", None),
        ("d", None),
        ("d", "boom"),
        ("x", None),
    ):
        old.add(row_text(question, "R0", error), [f'{{"id":"{question}"}}'])
    before = (old.folder / "per_query.jsonl").read_bytes()
    new, seen = new_writer(), []
    wanted = {(question, "R0") for question in "abcd"}
    kept = new.resume_from(RunRecord.load(old.folder), wanted=wanted, seen=seen.append)
    assert kept == {("a", "R0"), ("c", "R0")}
    assert [row["question"] for row in seen] == ["a", "c"]
    assert new.rows_kept == 2
    assert new.run["resumed_from"] == old.folder.name
    assert (old.folder / "per_query.jsonl").read_bytes() == before


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True), (False, False), (None, None)])
def test_rows_of_a_dirty_tree_make_the_run_that_takes_them_over_dirty(new_writer, row_text, before, after):
    old, new = (new_writer(git={"sha": "a" * 40, "dirty": dirty}) for dirty in (before, after))
    old.add(row_text("a", "R0", None))
    new.resume_from(RunRecord.load(old.folder))
    assert new.run["git"] == {"sha": "a" * 40, "dirty": before or after}


def test_a_resumed_run_ends_in_the_same_bytes_as_one_that_was_never_interrupted(new_writer, row_text):
    def measure(writer, cells):
        for cell in cells:
            writer.add(row_text(*cell), [f'{{"id":"{cell[0]}"}}'])

    cells = [(f"q{n}", f"R{m}") for n in range(4) for m in range(3)]
    whole, broken, resumed = new_writer(), new_writer(), new_writer()
    measure(whole, cells)
    measure(broken, cells[:5])
    with (broken.folder / "per_query.jsonl").open("a") as file:
        file.write('{"question": "q2", "confi')  # the row that was being written when the machine stopped
    kept = resumed.resume_from(RunRecord.load(broken.folder), wanted=set(cells))
    measure(resumed, [cell for cell in cells if cell not in kept])
    for name in ("per_query.jsonl", "chunks.jsonl"):
        ends = [(writer.folder / name) for writer in (whole, resumed)]
        if name == "per_query.jsonl":
            whole.finish(status="done", finished_at=NOON)
            resumed.finish(status="done", finished_at=NOON)
        assert ends[0].read_bytes() == ends[1].read_bytes()


def test_pyt_08_a_killed_process_leaves_every_finished_row(tmp_path):
    script = (
        "import os, signal, sys; from datetime import *; from pathlib import Path\n"
        "from pytest_ragbench.records.writer import RunWriter\n"
        "w = RunWriter.create(Path(sys.argv[1]), started_at=datetime(2026, 9, 1, 12, tzinfo=UTC), sha=None, run={})\n"
        'for n in range(7): w.add(\'{"question":"q%d","configuration":"c"}\' % n)\n'
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    record = latest(tmp_path)
    assert record.status == "aborted"
    assert len(list(record.rows())) == 7


def test_many_rows_stay_on_the_disk(new_writer, row_text):
    writer = new_writer()
    text = row_text("{}", "R0", padding="x" * 2_000)  # 32,000 of them are 66 MB of text
    tracemalloc.start()
    for number in range(8_000):
        writer.add(text, key=(f"q{number % 500}", f"R{number // 500}"))
    writer.finish(status="done", finished_at=NOON)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000  # a quarter of 32 MB, and 17 MB of text went through


def test_a_date_without_a_zone_is_local_time(tmp_path):
    local = datetime(2026, 9, 1, 12, 0, 0)  # noqa: DTZ001
    folder = RunWriter.create(tmp_path, started_at=local, sha=None, run={}).folder
    assert folder.name == f"{local.astimezone(UTC):%Y%m%dT%H%M%SZ}-nogit"


@pytest.mark.parametrize(
    ("written", "rewritten"), [("abc", False), ("acb", True), ("abca", True), ("", False)], ids=str
)
def test_a_file_is_written_anew_only_where_its_lines_are_not_sorted_by_now(tmp_path, written, rewritten):
    log = LineLog(tmp_path / "rows.jsonl")
    for number, name in enumerate(written):
        log.append((name, "R0"), f"{name}{number}")
    before = log.path.stat().st_ino
    log.rewrite_sorted()
    last = {name: number for number, name in enumerate(written)}
    assert log.path.read_text(encoding="utf-8") == "".join(f"{name}{last[name]}\n" for name in sorted(last))
    assert (log.path.stat().st_ino != before) is rewritten
