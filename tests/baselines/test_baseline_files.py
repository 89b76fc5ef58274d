"""`main.json` and `main.rows.jsonl`: read strictly, written whole, and told apart when they do not belong together."""

from __future__ import annotations

import json
import threading

import pytest
from filelock import FileLock

from pytest_ragbench import durable
from pytest_ragbench.baselines import MAIN, ROWS, files
from pytest_ragbench.baselines.files import read_anchor, read_baseline, write_baseline
from pytest_ragbench.baselines.projection import rows_digest
from pytest_ragbench.errors import BaselineError, RecordError

VALUES = {1: (1.0, 1.0), 2: (0.0, 0.5), 3: (1.0, 1 / 3)}


@pytest.fixture
def folder(tmp_path, capture):
    folder = tmp_path / "baselines"
    assert write_baseline(folder, capture(VALUES))
    return folder


def read(folder):
    return read_baseline(folder, "baselines")


def edit(folder, change):
    path = folder / MAIN
    main = json.loads(path.read_text(encoding="utf-8"))
    change(main)
    path.write_text(json.dumps(main), encoding="utf-8")


def test_what_was_written_is_read_again(folder, capture):
    assert read(folder) == capture(VALUES)


def test_without_a_file_there_is_no_baseline(tmp_path):
    assert read(tmp_path) is None
    assert read_anchor(tmp_path) is None


def test_the_same_baseline_leaves_both_files_alone(folder, capture):
    before = {name: (folder / name).stat().st_mtime_ns for name in (MAIN, ROWS)}
    assert not write_baseline(folder, capture(VALUES))
    assert {name: (folder / name).stat().st_mtime_ns for name in (MAIN, ROWS)} == before


def test_nothing_but_the_two_files_and_the_lock_is_left(folder):
    assert {path.name for path in folder.iterdir()} <= {MAIN, ROWS, f".{MAIN}.lock"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema_version": 1, "ndcg@10": NaN}', r"baselines/main.json:1:34: NaN is not JSON"),
        ('{\n "k": 10,\n "k": 10}', r"baselines/main.json:3:2: the key 'k' stands twice in one object"),
        ('{"k": ' + "9" * 5000 + "}", r"baselines/main.json:1:7: a whole number of 5000 digits is too long"),
        ("\ufeff{}", r"baselines/main.json:1:1: it starts with a byte order mark"),
        ("", r"baselines/main.json:1:1: it is empty"),
        ("[]", r"baselines/main.json:1:1: this must be an object, found a list"),
        ('{"k": 1e999}', r"baselines/main.json:1:7: 1e999 is too large for a number"),
        ('{"k": 10', r"baselines/main.json:1:9: this is no JSON"),
        ("<<<<<<< HEAD\n{}", r"baselines/main.json:1:1: this is no JSON"),
    ],
    ids=["nan", "duplicate", "digits", "bom", "empty", "list", "infinity", "cut", "conflict"],
)
def test_gat_07_what_is_no_strict_json_is_refused_with_path_and_position(folder, text, said):
    (folder / MAIN).write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=said):
        read(folder)


def test_gat_07_bytes_that_are_no_utf8_are_refused_with_path_and_position(folder):
    (folder / MAIN).write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(RecordError, match=r"baselines/main.json:2:7: this is no UTF-8 \(byte 0xff\)"):
        read(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda main: main.update(extra=1), "baselines/main.json: extra: Extra inputs are not permitted"),
        (lambda main: main.pop("k"), "baselines/main.json: k: Field required"),
        (lambda main: main.update(k="10"), "baselines/main.json: k: Input should be a valid integer"),
        (
            lambda main: main["results"]["one"]["overall"]["hit@10"].update(mean=2.0),
            "results.one.overall.hit@10.mean: Input should be less than or equal to 1",
        ),
    ],
)
def test_a_key_or_value_of_another_schema_is_named(folder, change, said):
    edit(folder, change)
    with pytest.raises(RecordError, match=said):
        read(folder)


@pytest.mark.parametrize(("version", "more"), [(2, "upgrade"), (0, ""), (True, ""), (None, "")])
def test_another_schema_version_is_told_with_both(folder, version, more):
    edit(folder, lambda main: main.update(schema_version=version))
    with pytest.raises(BaselineError, match="baseline schema") as caught:
        read(folder)
    assert "schema_version 1, which this version reads" in caught.value.expected
    assert more in caught.value.expected


def test_a_mean_changed_by_hand_is_named_with_what_the_rows_give(folder):
    edit(folder, lambda main: main["results"]["one"]["overall"]["hit@10"].update(mean=0.5))
    with pytest.raises(BaselineError) as caught:
        read(folder)
    assert caught.value.what == "baseline edited by hand"
    assert caught.value.found == "results.one.overall.hit@10.mean: 0.5 in baselines/main.json"
    assert caught.value.expected == "0.666666666667, as baselines/main.rows.jsonl gives"  # two of three


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda one: one["overall"]["hit@10"].update(n=4), "results.one.overall.hit@10.n: 4"),
        (
            lambda one: one["by_suite"]["books"]["hit@10"].update(mean=1.0),
            "results.one.by_suite.books.hit@10.mean: 1.0",
        ),
        (lambda one: one["by_domain"].pop("networking"), "results.one.by_domain.networking: nothing"),
        (lambda one: one["by_difficulty"].update(easy={}), "results.one.by_difficulty.easy: means"),
        (lambda one: one["rows"].update(scored=9), "results.one.rows.scored: 9"),
        (lambda one: one["overall"]["hit@10"].update(mean=None), "results.one.overall.hit@10.mean: None"),
        (lambda one: one["overall"].pop("recall@10"), "results.one.overall.recall@10: nothing"),
        (lambda one: one["by_suite"]["books"].pop("hit@10"), "results.one.by_suite.books.hit@10: nothing"),
    ],
)
def test_whatever_the_rows_do_not_give_is_found(folder, change, path):
    edit(folder, lambda main: change(main["results"]["one"]))
    with pytest.raises(BaselineError) as caught:
        read(folder)
    assert caught.value.found.startswith(path)


def test_a_configuration_that_has_rows_and_no_means_is_found(folder):
    edit(folder, lambda main: main.update(results={}))
    with pytest.raises(BaselineError, match=r"results\.one"):
        read(folder)


@pytest.mark.parametrize(
    ("configurations", "said"),
    [({}, "configurations.one: nothing"), ({"one": {}, "two": {}}, "configurations.two: overrides")],
)
def test_configurations_without_numbers_and_numbers_without_one_are_found(folder, configurations, said):
    edit(folder, lambda main: main.update(configurations=configurations))
    with pytest.raises(BaselineError) as caught:
        read(folder)
    assert caught.value.found.startswith(said)


def test_rows_changed_by_hand_no_longer_have_the_digest(folder):
    rows = folder / ROWS
    rows.write_text(rows.read_text(encoding="utf-8").replace('"hit@10":0.0', '"hit@10":1.0'), encoding="utf-8")
    with pytest.raises(BaselineError, match="another digest"):
        read(folder)


def test_a_digest_made_to_fit_does_not_make_the_means_fit(folder):
    rows = folder / ROWS
    rows.write_text(rows.read_text(encoding="utf-8").replace('"hit@10":0.0', '"hit@10":1.0'), encoding="utf-8")
    edit(folder, lambda main: main.update(rows_digest=rows_digest(rows.read_bytes())))
    with pytest.raises(BaselineError, match="baseline edited by hand"):
        read(folder)


def test_a_line_of_the_rows_that_is_none_is_named(folder):
    rows = folder / ROWS
    rows.write_bytes(rows.read_bytes() + b"{}\n")
    edit(folder, lambda main: main.update(rows_digest=rows_digest(rows.read_bytes())))
    with pytest.raises(RecordError, match=r"baselines/main.rows.jsonl:4: question: Field required"):
        read(folder)


def test_a_checkout_with_other_line_ends_is_the_same_baseline(folder, capture):
    for name in (MAIN, ROWS):
        path = folder / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read(folder) == capture(VALUES)
    assert not write_baseline(folder, capture(VALUES))  # a refresh leaves them, or git would show no change


def test_a_link_to_nothing_is_no_absent_baseline(tmp_path):
    (tmp_path / MAIN).symlink_to("nowhere")
    with pytest.raises(RecordError, match=r"main\.json: the file is missing"):
        read(tmp_path)


def test_a_folder_that_may_not_be_searched_is_no_absent_baseline(folder, monkeypatch):
    def denied(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(folder), "lstat", denied)
    for reader in (read, read_anchor):
        with pytest.raises(RecordError, match=r"cannot be read \(Permission denied\)"):
            reader(folder)


@pytest.mark.parametrize(("gone", "said"), [(MAIN, "a refresh was cut short"), (ROWS, "main.json alone")])
def test_one_file_without_the_other_is_told(folder, gone, said):
    (folder / gone).unlink()
    with pytest.raises(BaselineError) as caught:
        read(folder)
    assert said in caught.value.found


class Killed(BaseException):
    """The process dies here."""


def test_a_crash_between_the_two_files_is_detected_and_told(folder, capture, monkeypatch):
    def die(path):
        raise Killed  # the rows are in their place by now

    monkeypatch.setattr(durable, "sync_folder", die)
    with pytest.raises(Killed):
        write_baseline(folder, capture({1: (0.0, 0.0)}))
    monkeypatch.undo()
    with pytest.raises(BaselineError) as caught:
        read(folder)
    assert "a refresh was cut short between the two files, or one of them was edited" in caught.value.expected
    assert write_baseline(folder, capture({1: (0.0, 0.0)}))  # and a refresh mends it
    assert read(folder) == capture({1: (0.0, 0.0)})


def test_a_full_disk_changes_neither_file(folder, capture, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    real = durable.stage

    def stage(path, parts):
        if path.name == MAIN:
            raise OSError(28, "No space left on device")
        return real(path, parts)

    monkeypatch.setattr(durable, "stage", stage)
    with pytest.raises(RecordError, match="No space left on device"):
        write_baseline(folder, capture({1: (0.0, 0.0)}))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_two_refreshes_at_once_leave_one_of_the_two(folder, capture):
    candidates = [capture({number: (1.0, 0.5)}) for number in range(1, 5)]
    threads = [threading.Thread(target=write_baseline, args=(folder, one)) for one in candidates * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(folder) in candidates


def test_a_lock_that_is_held_too_long_is_told(folder, capture, monkeypatch):
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.05)
    with (
        FileLock(folder / f".{MAIN}.lock"),
        pytest.raises(RecordError, match="another session has held the baseline's lock"),
    ):
        write_baseline(folder, capture({1: (0.0, 0.0)}))


def test_the_ledgers_anchor_is_read_without_the_rest(folder):
    edit(folder, lambda main: main.update(ledger={"count": 3, "last_hash": "f" * 64}, results="nonsense"))
    assert read_anchor(folder) == (3, "f" * 64)
