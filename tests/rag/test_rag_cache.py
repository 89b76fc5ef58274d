"""Caches: bounded, charged at their first price, unharmed by damage, and never holding an error."""

from __future__ import annotations

import sqlite3
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.cache import DiskCache, Lazy, Memo, Meter


def test_the_least_recently_used_makes_room():
    memo = Memo(2)
    memo.put("a", 1)
    memo.put("b", 2)
    memo.get("a")
    memo.put("c", 3)
    assert [memo.get(key) for key in "abc"] == [1, None, 3]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 7)), max_size=30))
def test_a_memo_never_outweighs_its_capacity(puts):
    memo = Memo(10)
    held = {}
    for key, weight in puts:
        memo.put(key, weight, weight=weight)
        held = {name: memo.get(name) for name in "abcd" if memo.get(name) is not None}
        assert sum(held.values()) <= 10
        assert held[key] == weight
    assert len(memo) == len(held)


def test_a_stage_runs_once_and_is_charged_its_first_time_again():
    memo, calls = Memo(10), []

    def slow():
        calls.append(1)
        time.sleep(0.02)
        return "value"

    first, second = Meter(memo), Meter(memo)
    assert first.stage("dense", ("k",), slow) == second.stage("dense", ("k",), slow) == "value"
    assert len(calls) == 1
    assert first.timings == second.timings
    assert first.timings["dense"] >= 20
    assert (first.cached, second.cached) == ([], ["dense"])


def test_two_stages_of_one_search_that_share_a_third_pay_for_it_once():
    memo, meter = Memo(10), None
    for expected in ([], ["embed"]):
        meter = Meter(memo)
        meter.stage("embed", ("q",), lambda: time.sleep(0.01) or "vector")
        once = dict(meter.timings)
        meter.stage("embed", ("q",), lambda: "never")
        assert meter.timings == once
        assert meter.cached == expected


def test_an_error_is_not_kept():
    memo = Memo(10)

    def broken():
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        Meter(memo).stage("dense", ("k",), broken)
    assert Meter(memo).stage("dense", ("k",), lambda: 7) == 7


def test_loading_is_charged_apart_and_makes_the_search_cold():
    def load():
        time.sleep(0.03)
        return "model"

    model = Lazy(load)
    cold = Meter(Memo(10))
    cold.stage("embed", ("q",), lambda: model.get(cold))
    assert cold.cold
    assert cold.timings["load"] >= 30
    assert cold.timings["embed"] < 25
    warm = Meter(Memo(10))
    warm.stage("embed", ("q",), lambda: model.get(warm))
    assert not warm.cold


def test_loading_within_loading_counts_once():
    inner = Lazy(lambda: time.sleep(0.02) or "inner")
    meter = Meter(Memo(1))
    outer = Lazy(lambda: inner.get(meter))
    started = time.perf_counter()
    outer.get(meter)
    assert meter.timings["load"] <= (time.perf_counter() - started) * 1000


def test_what_failed_to_load_is_tried_again():
    attempts = []

    def flaky():
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("once")
        return "loaded"

    thing, meter = Lazy(flaky), Meter(Memo(1))
    with pytest.raises(OSError, match="once"):
        thing.get(meter)
    assert thing.get(meter) == "loaded"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "cache.sqlite"


def test_reading_makes_no_file_and_writing_makes_the_folder(path):
    assert DiskCache(path).get_many(["a"]) == {}
    assert not path.parent.exists()
    DiskCache(path).put_many({"a": b"1"})
    assert DiskCache(path).get_many(["a", "b"]) == {"a": b"1"}
    assert DiskCache(path).known(["a", "b"]) == {"a"}


def test_more_keys_than_a_statement_takes(path):
    items = {str(number): bytes([number % 256]) for number in range(1_300)}
    DiskCache(path).put_many(items)
    assert DiskCache(path).get_many(list(items)) == items


def test_a_value_whose_check_sum_is_wrong_is_not_there(path):
    DiskCache(path).put_many({"a": b"1", "b": b"2"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE cache SET value = ? WHERE key = 'a'", (b"9",))
    connection.close()
    assert DiskCache(path).get_many(["a", "b"]) == {"b": b"2"}


@pytest.mark.parametrize("content", [b"not a database" * 100, b"", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_begun_anew(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    cache = DiskCache(path)
    assert cache.get_many(["a"]) == {}
    cache.put_many({"a": b"1"})
    assert cache.get_many(["a"]) == {"a": b"1"}


def test_a_cache_that_has_grown_too_large_is_begun_anew(path):
    cache = DiskCache(path, max_bytes=1)
    cache.put_many({"a": b"1"})
    cache.put_many({"b": b"2"})
    assert cache.known(["a", "b"]) == {"b"}


def test_a_full_disk_or_a_place_that_is_no_folder_costs_time_and_no_search(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    DiskCache(tmp_path / "file" / "cache.sqlite").put_many({"a": b"1"})
    assert DiskCache(tmp_path / "file" / "cache.sqlite").get_many(["a"]) == {}
    cache = DiskCache(tmp_path / "cache.sqlite")

    def full(_rows):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(cache, "_write", full)
    cache.put_many({"a": b"1"})
    assert cache.get_many(["a"]) == {}


def test_a_folder_that_cannot_be_written_costs_time_and_no_search(tmp_path):
    (tmp_path / "cache.sqlite").mkdir()
    cache = DiskCache(tmp_path / "cache.sqlite")
    cache.put_many({"a": b"1"})
    assert cache.get_many(["a"]) == {}


@pytest.mark.parametrize("value", [None, "text", 7])
def test_a_value_that_is_no_bytes_is_not_there(path, value):
    DiskCache(path).put_many({"a": b"1", "b": b"2"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE cache SET value = ? WHERE key = 'a'", (value,))
    connection.close()
    assert DiskCache(path).get_many(["a", "b"]) == {"b": b"2"}


def test_a_file_whose_table_has_other_columns_is_begun_anew(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE cache (key TEXT PRIMARY KEY, value BLOB)")
        connection.execute("INSERT INTO cache VALUES ('a', x'31')")
    connection.close()
    cache = DiskCache(path)
    assert cache.get_many(["a"]) == {}
    cache.put_many({"a": b"1"})
    assert cache.get_many(["a"]) == {"a": b"1"}


def test_a_file_that_stays_locked_is_waited_for_once_and_then_done_without(path):
    DiskCache(path).put_many({"a": b"1"})
    cache = DiskCache(path, wait_s=0.3)
    holder = sqlite3.connect(path)
    holder.execute("BEGIN EXCLUSIVE")
    started = time.perf_counter()
    for _ in range(20):
        assert cache.get_many(["a"]) == {}
        cache.put_many({"b": b"2"})
    assert time.perf_counter() - started < 20 * 0.3
    holder.rollback()
    holder.close()
    assert DiskCache(path).get_many(["a", "b"]) == {"a": b"1"}
