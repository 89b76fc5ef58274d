"""Reading a record, whatever became of it; it is never edited."""

import json
import os
import subprocess
import sys
import time

import pytest

from pytest_ragbench.errors import RecordError
from pytest_ragbench.records import record as record_module
from pytest_ragbench.records.process import host, process_started
from pytest_ragbench.records.record import RunRecord, find_run, latest, ledger_claims


def change_run(folder, **changes):
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_finished_record_is_read_whole(finished, questions):
    record = RunRecord.load(finished)
    assert record.status == "done"
    assert [row["question"] for row in record.rows()] == ["lex-0001", "lex-0002"]
    assert [chunk["id"] for chunk in record.chunks()] == ["1"]
    assert record.questions() == tuple(sorted(questions, key=lambda question: question.id))
    assert record.summary() == {"results": {}}
    assert record.missing == []


def test_rec_02_a_torn_last_row_is_left_out_and_told(finished):
    path = finished / "per_query.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    before = bytes_of(finished)
    record = RunRecord.load(finished)
    assert [row["question"] for row in record.rows()] == ["lex-0001"]
    list(record.rows())
    assert len(record.missing) == 1
    assert "the last line of per_query.jsonl" in record.missing[0]
    assert bytes_of(finished) == before


def test_a_last_row_without_its_newline_counts(finished):
    path = finished / "per_query.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert len(list(RunRecord.load(finished).rows())) == 2


def test_rec_02_a_missing_summary_is_told_and_not_computed(finished):
    (finished / "summary.json").unlink()
    record = RunRecord.load(finished)
    assert record.summary() is None
    assert "summary.json is missing" in record.missing[0]
    assert not (finished / "summary.json").exists()


def test_rec_02_a_running_record_whose_process_is_gone_was_aborted(finished):
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone:
        gone.wait()
    before = (finished / "run.json").read_text()
    change_run(finished, status="running", pid=gone.pid)
    assert RunRecord.load(finished).status == "aborted"
    change_run(finished, **json.loads(before) | {"status": "running"})
    assert RunRecord.load(finished).status == "running"


def test_a_reused_pid_is_another_process(finished):
    change_run(finished, status="running", pid=os.getpid(), process_started="another boot:1")
    assert RunRecord.load(finished).status == "aborted"


def test_a_zombie_is_gone():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    deadline = time.monotonic() + 10
    while process_started(child.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_started(child.pid) is None
    child.wait()
    assert process_started(os.getpid()) == process_started(os.getpid())


def test_a_run_of_another_machine_counts_as_ended_after_an_hour_of_silence(finished, monkeypatch):
    change_run(finished, status="running", host=host() + "-other")
    assert RunRecord.load(finished).status == "running"
    monkeypatch.setattr(record_module, "STALE_SECONDS", -1.0)
    assert RunRecord.load(finished).status == "aborted"


def test_rec_02_an_old_record_with_a_renamed_metric_is_read(finished):
    path = finished / "per_query.jsonl"
    path.write_text('{"question":"q","configuration":"c","metrics":{"map@10":0.5},"error":null}\n')
    assert next(RunRecord.load(finished).rows())["metrics"] == {"map@10": 0.5}


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (1, "was not written by a released version"),
        (3, "upgrade pytest-ragbench"),
        ("1", "schema_version '1'"),
        (None, "no schema_version"),
        (True, "schema_version True"),
    ],
)
def test_another_schema_version_is_refused_in_words(finished, version, words):
    change_run(finished, schema_version=version)
    with pytest.raises(RecordError, match=words):
        RunRecord.load(finished)


def test_an_unknown_key_and_a_wrong_type_are_both_named(finished):
    change_run(finished, colour="red", k="many")
    with pytest.raises(RecordError) as caught:
        RunRecord.load(finished)
    assert "run.json: colour:" in str(caught.value)
    assert "run.json: k:" in str(caught.value)


BAD_FILES = {
    "NaN": (b'{\n "ndcg@10": NaN}', r":2:13: NaN is not JSON"),
    "Infinity": (b'{"a": [1, -Infinity]}', r":1:11: -Infinity is not JSON"),
    "an overflowing float": (b'{"a": 1e999}', r":1:7: 1e999 is too large"),
    "a duplicate key": (b'{"a": {"b": 1,\n"b": 2}}', r":2:1: the key 'b' stands twice"),
    "a 5000-digit integer": (b'{"a": ' + b"7" * 5000 + b"}", r":1:7: a whole number of 5000 digits"),
    "a byte order mark": (b'\xef\xbb\xbf{"a": 1}', r":1:1: it starts with a byte order mark"),
    "an empty file": (b"", r":1:1: it is empty"),
    "a list": (b"[]", r":1:1: this must be an object, found a list"),
    "a number": (b"3", "found a number"),
    "null": (b"null", "found null"),
    "half a file": (b'{"a": ', r":1:7: this is no JSON"),
    "two values": (b"{} {}", r":1:4: this is no JSON \(Extra data\)"),
    "no UTF-8": (b'{"a":\n "\xff"}', r":2:3: this is no UTF-8"),
    "endless nesting": (b"[" * 100_000, "nested too deeply"),
    "the same words inside a text": (b'{"a": "NaN, \\"b\\": 1, \\"b\\": 2", "c": NaN}', r":1:39: NaN"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("file", ["run.json", "summary.json"])
def test_gat_07_what_is_no_strict_json_is_refused_with_path_and_position(finished, file, name):
    content, message = BAD_FILES[name]
    (finished / file).write_bytes(content)
    with pytest.raises(RecordError, match=rf"{file}.*{message}"):
        RunRecord.load(finished).summary()


@pytest.mark.parametrize("name", sorted(BAD_FILES.keys() - {"an empty file", "a duplicate key", "NaN", "no UTF-8"}))
@pytest.mark.parametrize("file", ["per_query.jsonl", "chunks.jsonl", "questions.jsonl"])
def test_gat_07_a_damaged_line_before_the_last_is_refused_with_its_number(finished, file, name):
    content, _ = BAD_FILES[name]
    (finished / file).write_bytes(b'{"id": "1", "question": "q", "suite": "s", "tier": "T1"}\n' + content + b"\n{}\n")
    record = RunRecord.load(finished)
    with pytest.raises(RecordError, match=rf"{file}:2:"):
        list({"p": record.rows, "c": record.chunks, "q": record.questions}[file[0]]())


def test_a_line_that_is_no_question_is_refused(finished):
    (finished / "questions.jsonl").write_text('{"id": "lex-0001"}\n')
    with pytest.raises(RecordError, match=r"questions\.jsonl:1: this is no question"):
        RunRecord.load(finished).questions()


QUESTION = {"id": "lex-0001", "question": "q", "suite": "lexical", "tier": "T1", "gold": [{"file": "a.md"}]}

NO_QUESTIONS = [
    ({"id": 1}, "id must be text, found a number"),
    ({"id": None}, "id must be text, found null"),
    ({"question": ["q"]}, "question must be text, found a list"),
    ({"suite": {}}, "suite must be text, found a mapping"),
    ({"tier": 1}, "tier must be text, found a number"),
    ({"tier": "T9"}, "tier must be one of T1, T2, T3, T4, found 'T9'"),
    ({"split": "tset"}, "split must be one of dev, test, found 'tset'"),
    ({"answerable": [1]}, "answerable must be true or false, found a list"),
    ({"gold": [1]}, "gold[0] must be a mapping, found a number"),
    ({"gold": [None]}, "gold[0] must be a mapping, found null"),
    ({"gold": "a.md"}, "gold must be a list, found text"),
    ({"gold": [{"file": "a.md"}, {}]}, "gold[1].file is missing"),
    ({"gold": [{"file": 7}]}, "gold[0].file must be text, found a number"),
    ({"gold": [{"file": "a", "pages": []}]}, "gold[0].pages must be a list of one or two page numbers"),
    ({"gold": [{"file": "a", "pages": ["1", "2"]}]}, "gold[0].pages must hold whole numbers"),
    ({"gold": [{"file": "a", "heading": [1]}]}, "gold[0].heading must be a list of texts, found a list"),
    ({"gold": [{"file": "a", "required": 1}]}, "gold[0].required must be true or false, found a number"),
    ({"gold": [{"file": "a", "hop": True}]}, "gold[0].hop must be a whole number, found a boolean"),
    ({"gold": [{"file": "a", "alternatives": [["b"]]}]}, "gold[0].alternatives[0] must be a mapping, found a list"),
    ({"nuggets": "n"}, "nuggets must be a list of texts, found text"),
    ({"domain": 3}, "domain must be text, found a number"),
    ({"strategy": []}, "strategy must be text, found a list"),
    ({"provenance": []}, "provenance must be a mapping, found a list"),
    ({"provenance": {"status": 1}}, "provenance.status must be text, found a number"),
    ({"provenance": {"seed_chunks": [None]}}, "provenance.seed_chunks must be a list of texts, found a list"),
]


@pytest.mark.parametrize(("change", "complaint"), NO_QUESTIONS)
def test_rec_02_a_question_of_another_shape_is_refused_with_its_line_and_its_field(finished, change, complaint):
    lines = [json.dumps({**QUESTION, "id": "lex-0002"}), json.dumps({**QUESTION, **change})]
    (finished / "questions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(RecordError) as caught:
        RunRecord.load(finished).questions()
    assert str(caught.value).startswith(f"{finished / 'questions.jsonl'}:2: this is no question ({complaint}")


def test_a_question_that_stands_twice_is_refused(finished):
    (finished / "questions.jsonl").write_text(f"{json.dumps(QUESTION)}\n" * 2)
    with pytest.raises(RecordError, match=r"questions\.jsonl:2: lex-0001 stands here again"):
        RunRecord.load(finished).questions()


BOOTSTRAP = {"seed": 1, "resamples": 1_000, "confidence": 0.95, "cluster": "file"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("confidence", value) for value in (0, 1, -0.5, 1e300)),
        *(("resamples", value) for value in (1, -1, 200_001, 10**30)),
        ("seed", -1),
        ("cluster", "course"),
        ("look", 0),
    ],
)
def test_rec_02_a_bootstrap_that_no_run_could_have_drawn_is_refused_by_its_key(finished, key, value):
    change_run(finished, bootstrap=BOOTSTRAP)
    assert RunRecord.load(finished).run["bootstrap"]["confidence"] == 0.95
    change_run(finished, bootstrap={**BOOTSTRAP, key: value})
    with pytest.raises(RecordError, match=rf"run\.json: bootstrap\.{key}: "):
        RunRecord.load(finished)


def test_errored_rows_are_found_whatever_the_spacing(finished):
    (finished / "per_query.jsonl").write_text(
        '{"question":"a","configuration":"c","error":null,"walk":{"error":null}}\n'
        '{"question":"b","configuration":"c","error":"ValueError: \\"error\\":null"}\n'
        '{"question": "c", "configuration": "c", "error": null}\n'
    )
    assert [row["question"] for row in RunRecord.load(finished).errored_rows()] == ["b"]


def test_a_run_is_found_by_last_by_id_and_by_path(finished):
    runs = finished.parent
    for name in ("last", finished.name, str(finished), str(finished / "run.json")):
        assert find_run(name, runs).folder == finished
    with pytest.raises(RecordError, match=rf"nowhere: no record here.*the latest: {finished.name}"):
        find_run("nowhere", runs)
    with pytest.raises(RecordError, match="run the bench first"):
        find_run("last", runs / "none")
    assert latest(runs / "none") is None


def test_ledger_claims_pass_over_what_cannot_be_read(finished, new_writer):
    new_writer(ledger={"count": 2, "last_hash": "ab"}, git={"sha": "c" * 40, "dirty": False})
    new_writer().folder.joinpath("run.json").write_text("{")
    claims = ledger_claims(finished.parent)
    assert [(sha, count, last) for _, sha, count, last in claims] == [("c" * 40, 2, "ab")]
