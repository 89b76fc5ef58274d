"""Which folder a `--rag-*` run collects: the bench's own tests, so that no unrelated module can spoil it."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

narrowed_to = pytest.StashKey[str]()


def narrow(config: pytest.Config, folder: Path) -> None:
    """Collect `folder` alone when no path was typed and it holds a test module; remember it for the header."""
    if config.args_source is config.ArgsSource.ARGS or not _has_tests(config, folder):
        return
    config.args = [str(folder)]
    shown = folder.relative_to(config.rootpath) if folder.is_relative_to(config.rootpath) else folder
    config.stash[narrowed_to] = shown.as_posix()


def narrow_conftests(config: pytest.Config) -> None:
    """Before conftest files load: look for them where the bench's own tests lie, when no path was typed."""
    known = config.known_args_namespace
    base = config.inipath.parent if config.inipath else config.rootpath
    folder = base / str(config.getini("rag_tests") or "golden")
    if not known.file_or_dir and _has_tests(config, folder):
        known.file_or_dir = [str(folder)]


def _has_tests(config: pytest.Config, folder: Path) -> bool:
    patterns = config.getini("python_files")
    return folder.is_dir() and any(fnmatch(path.name, pattern) for path in folder.rglob("*.py") for pattern in patterns)
