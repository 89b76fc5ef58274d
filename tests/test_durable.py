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
