"""Files that are whole or absent."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_ragbench import durable


def broken() -> Iterator[bytes]:
    yield b"half"
    raise KeyboardInterrupt


def test_a_content_that_breaks_off_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        durable.write_atomic(tmp_path / "a.json", broken())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"old"}


def test_a_rename_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_self: Path, _target: Path) -> Path:
        raise OSError(5, "Input/output error")

    (tmp_path / "a.json").write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OSError, match="Input/output"):
        durable.write_atomic(tmp_path / "a.json", [b"new"])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.json": b"old"}


@pytest.mark.skipif(os.name == "nt", reason="files have no such permissions there")
def test_a_new_file_has_the_permissions_of_any_other_unless_told(tmp_path: Path) -> None:
    durable.write_atomic(tmp_path / "a", [b"x"])
    (tmp_path / "b").write_bytes(b"x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    staged = durable.stage(tmp_path / "a", [b"y"], mode=0o600)
    assert stat.S_IMODE(staged.stat().st_mode) == 0o600
    assert (staged.parent, staged.name.startswith("."), staged.read_bytes()) == (tmp_path, True, b"y")


def test_the_umask_is_read_and_left_as_it_was() -> None:
    before = os.umask(0o027)
    try:
        assert (durable.umask(), durable.umask()) == (0o027, 0o027)
    finally:
        os.umask(before)


def test_a_symbolic_link_stays_one_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.csv").write_bytes(b"old")
    (tmp_path / "near").symlink_to("folder/a.csv")
    (tmp_path / "far").symlink_to(tmp_path / "near")
    durable.write_atomic(tmp_path / "far", [b"new"])
    assert (tmp_path / "folder" / "a.csv").read_bytes() == b"new"
    assert [(tmp_path / name).is_symlink() for name in ("near", "far")] == [True, True]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.csv", "far", "folder", "near"]


def test_behind_a_link_too_a_content_that_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"old")
    (tmp_path / "link").symlink_to("a.csv")
    with pytest.raises(KeyboardInterrupt):
        durable.write_atomic(tmp_path / "link", broken())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.csv": b"old", "link": b"old"}


def test_a_link_to_nothing_yet_makes_the_file_that_it_names_and_a_ring_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a.csv")
    durable.write_atomic(tmp_path / "link", [b"new"])
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "a.csv").read_bytes()) == (True, b"new")
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"):
        durable.write_atomic(tmp_path / "one", [b"new"])
    assert (tmp_path / "one").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes there")
@pytest.mark.parametrize("through", ["pipe", "link"])
def test_a_pipe_is_written_to_and_stays_a_pipe(through: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        durable.write_atomic(tmp_path / through, [b"one, ", b"two"])
        assert os.read(reader, 100) == b"one, two"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_folder_in_the_way_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError):
        durable.write_atomic(tmp_path / "a", [b"x"])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
