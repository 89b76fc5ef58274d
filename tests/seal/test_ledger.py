"""The ledger of looks: one line an opening, and any change of it is seen."""

import json
import os
import signal
import subprocess
import sys

import pytest

from pytest_ragbench.errors import SealedError
from pytest_ragbench.seal import ledger as ledger_module
from pytest_ragbench.seal.ledger import NO_HASH, Anchor, Ledger, check_anchors, check_budget, claim_of

FIELDS = {
    "time": "2026-09-01T12:00:00+00:00",
    "split": "test",
    "configurations": ["R0-bm25", "R1-dense"],
    "git": {"sha": "a" * 40, "dirty": False},
    "questions_digest": "d" * 64,
}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "baselines" / "test_ledger.jsonl")


@pytest.fixture
def three(ledger):
    for number in (1, 2, 3):
        ledger.open(run_id=f"run-{number}", **FIELDS)
    return ledger


def lines(ledger):
    return ledger.path.read_bytes().splitlines(keepends=True)


def test_a_ledger_that_does_not_exist_is_empty_and_reading_makes_no_file(ledger):
    assert ledger.entries() == ()
    assert ledger.claim() == {"count": 0, "last_hash": NO_HASH}
    assert not ledger.path.parent.exists()


def test_an_opening_appends_one_line_and_returns_its_count(three):
    entry = three.open(run_id="run-4", **FIELDS)
    assert (entry.index, len(lines(three))) == (4, 4)
    assert three.entries()[-1] == entry
    assert json.loads(lines(three)[-1]) == {
        **FIELDS, "run_id": "run-4", "index": 4, "schema_version": 1, "hash": entry.hash,
        "previous": three.entries()[2].hash,
    }  # fmt: skip


def test_the_first_entry_follows_zeros_and_the_hash_is_sha256_of_the_other_keys(three):
    import hashlib

    first = json.loads(lines(three)[0])
    assert first["previous"] == "0" * 64
    said = first.pop("hash")
    text = json.dumps(first, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert said == hashlib.sha256(text.encode()).hexdigest()


DAMAGE = {
    "an edited value": (
        lambda rows: [rows[0], rows[1].replace(b"run-2", b"run-9"), rows[2]],
        r":2: the entry was edited",
    ),
    "a cut middle": (lambda rows: [rows[0], rows[2]], r":2: this is entry 3, and it does not follow entry 1"),
    "a cut beginning": (lambda rows: rows[1:], r":1: this is entry 2"),
    "another order": (lambda rows: [rows[0], rows[2], rows[1]], r":2: this is entry 3"),
    "a line twice": (lambda rows: [*rows, rows[2]], r":4: this is entry 3"),
    "a line of something else": (
        lambda rows: [rows[0], b"<<<<<<< HEAD\n", *rows[1:]],
        r":2: this line is no strict JSON",
    ),
    "an empty line": (lambda rows: [rows[0], b"\n", *rows[1:]], r":2: this line is no strict JSON"),
    "a torn last line": (lambda rows: [*rows[:2], rows[2][:40]], r":3: the last line is torn.*delete that line"),
    "an added key": (lambda rows: [*rows[:2], rows[2].replace(b'{"conf', b'{"a":1,"conf')], r":3: a: Extra inputs"),
    "a key twice": (lambda rows: [*rows[:2], rows[2].replace(b'{"conf', b'{"index":3,"conf')], r":3: .*stands twice"),
    "a removed key": (lambda rows: [*rows[:2], rows[2].replace(b'"split":"test",', b"")], r":3: split: Field required"),
    "no UTF-8": (lambda rows: [*rows[:2], rows[2].replace(b"run-3", b"run-\xff")], r":3: this line is no strict JSON"),
    "a list": (lambda _: [b"[]\n"], r":1: the entry: .*edited"),
    "a newer schema": (lambda _: [b'{"schema_version": 2, "new": 1}\n'], r":1: schema_version 2; .*upgrade"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_led_01_a_ledger_that_was_touched_is_refused_with_file_and_line(three, name):
    damage, message = DAMAGE[name]
    three.path.write_bytes(b"".join(damage(lines(three))))
    before = three.path.read_bytes()
    for ask in (three.entries, three.claim, lambda: three.open(run_id="run-4", **FIELDS)):
        with pytest.raises(SealedError, match=rf"test_ledger\.jsonl{message}"):
            ask()
    assert three.path.read_bytes() == before


def test_line_ends_of_another_system_and_a_lost_last_newline_change_nothing(three):
    three.path.write_bytes(b"".join(lines(three)).replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
    assert three.open(run_id="run-4", **FIELDS).index == 4
    assert len(three.entries()) == 4


def test_the_budget_is_checked_under_the_lock_and_nothing_is_written(three):
    with pytest.raises(SealedError, match="opened 3 times, and rag_test_looks allows 3"):
        three.open(run_id="run-4", budget=3, **FIELDS)
    assert len(three.entries()) == 3
    assert three.open(run_id="run-4", budget=4, **FIELDS).index == 4
    check_budget(1_000, None)


def anchor(entries, count, sha="a" * 40, **changes):
    claim = claim_of(entries[:count])
    return Anchor(**{"source": f"run-{count}", "sha": sha, **claim, **changes})


def test_what_earlier_runs_saw_must_be_a_prefix_of_the_chain(three):
    entries = three.entries()
    check_anchors(entries, [anchor(entries, count) for count in range(4)], lambda _: True)


def test_led_01_a_ledger_cut_at_its_end_is_refused_by_what_a_run_saw(three):
    entries = three.entries()
    with pytest.raises(SealedError, match="run-3 saw the test split opened 3 times, it has 2"):
        check_anchors(entries[:2], [anchor(entries, 3)], lambda _: True)


def test_led_01_a_ledger_written_anew_is_refused_by_what_a_run_saw(three, tmp_path):
    forged = Ledger(tmp_path / "forged.jsonl")
    for number in (7, 8, 9):
        forged.open(run_id=f"run-{number}", **FIELDS)
    with pytest.raises(SealedError, match="entry 2 is now another one"):
        check_anchors(forged.entries(), [anchor(three.entries(), 2)], lambda _: True)


def test_what_a_run_of_another_branch_saw_does_not_count(three):
    entries = three.entries()
    check_anchors(entries[:2], [anchor(entries, 3, sha="b" * 40)], lambda sha: sha != "b" * 40)


def test_outside_a_repository_every_run_counts(three):
    entries = three.entries()
    with pytest.raises(SealedError, match="cut or rewritten"):
        check_anchors(entries[:2], [anchor(entries, 3, sha=None)], lambda _: False)


OPEN = """
import sys
from pathlib import Path
from pytest_ragbench.seal.ledger import Ledger
fields = dict(time="t", split="test", configurations=["R0"], git={}, questions_digest="d")
sys.stdin.readline()
print(*(Ledger(Path(sys.argv[1])).open(run_id=sys.argv[2], **fields).index for _ in range(5)))
"""


def test_led_03_openings_at_once_wait_for_each_other_and_each_gets_its_own_count(ledger):
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(ledger.path), f"run-{n}"], stdin=-1, stdout=-1, text=True)
        for n in (1, 2)
    ]
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    counts = [int(count) for process in running for count in process.communicate()[0].split()]
    assert sorted(counts) == list(range(1, 11))
    entries = ledger.entries()
    assert [entry.run_id for entry in entries].count("run-1") == 5


KILLED = """
import os, signal, sys
from pathlib import Path
from pytest_ragbench.seal.ledger import Ledger
write = os.write
def torn(descriptor, data):
    write(descriptor, data[: len(data) * int(sys.argv[2]) // 4])
    os.kill(os.getpid(), signal.SIGKILL)
os.write = torn
Ledger(Path(sys.argv[1])).open(run_id="killed", time="t", split="test", configurations=[], git={}, questions_digest="d")
"""


@pytest.mark.parametrize("quarters", [0, 1, 3, 4])
def test_led_03_a_kill_in_the_middle_of_an_opening_leaves_a_readable_file_or_one_refused_with_its_remedy(
    three, quarters
):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(three.path), str(quarters)], check=False)
    assert killed.returncode == -signal.SIGKILL
    if quarters in (0, 4):
        assert len(three.entries()) == 3 + quarters // 4
    else:
        with pytest.raises(SealedError, match="delete that line"):
            three.entries()
        three.path.write_bytes(b"".join(lines(three)[:3]))  # as the message says
    assert three.open(run_id="after", **FIELDS).index == len(three.entries())


def test_a_lock_that_is_held_ends_in_a_sentence(three, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr(ledger_module, "LOCK_SECONDS", 0.05)
    with (
        FileLock(three.path.with_name(".test_ledger.jsonl.lock")),
        pytest.raises(SealedError, match="held the ledger's lock"),
    ):
        three.open(run_id="run-4", **FIELDS)


LIMITED = """
import os, resource, sys
from pathlib import Path
from pytest_ragbench.errors import SealedError
from pytest_ragbench.seal.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (ledger.path.stat().st_size + 40, resource.RLIM_INFINITY))
try: ledger.open(run_id="cut", time="t", split="test", configurations=[], git={}, questions_digest="d")
except SealedError as error: print(error)
"""


def test_an_opening_that_the_disk_takes_only_in_part_is_refused_and_leaves_no_torn_line(three):
    pytest.importorskip("resource")
    before = three.path.read_bytes()
    command = [sys.executable, "-c", LIMITED, str(three.path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "the opening cannot be recorded (File too large); the test split stays sealed" in said
    assert three.path.read_bytes() == before


def test_a_disk_that_cannot_sync_keeps_the_split_sealed_and_the_ledger_as_it_was(three, monkeypatch):
    before = three.path.read_bytes()

    def refused(_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refused)
        with pytest.raises(SealedError, match="the test split stays sealed"):
            three.open(run_id="run-4", **FIELDS)
    assert three.path.read_bytes() == before


def test_a_ledger_that_cannot_be_written_keeps_the_split_sealed(three, monkeypatch):
    def refused(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "write", refused)
    with pytest.raises(SealedError, match="the test split stays sealed"):
        three.open(run_id="run-4", **FIELDS)
