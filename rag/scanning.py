"""Which files of a folder are documents, and what was passed over. What is in them, readers say."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from rag.errors import NothingToIndexError
from rag.loaders import reader_for
from rag.records import Finding
from rag.text import digest_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def scan(
    corpus: Path, wanted: Callable[[str], object] = reader_for
) -> tuple[dict[str, tuple[Path, str]], list[Finding]]:
    """Files that are wanted by name, by their path below the corpus, with path and sha256; and what was passed over.

    Hidden files and folders are not looked at. A link to a folder, or out of the corpus, is not followed. Content
    counts, times do not.

    Raises:
        NothingToIndexError: The corpus is no folder.
    """
    if not corpus.is_dir():
        raise NothingToIndexError(f"nothing to index: the corpus {corpus} is no folder; set `corpus` in the settings")
    files: dict[str, tuple[Path, str]] = {}
    findings: list[Finding] = []
    home = corpus.resolve()
    for path in sorted(_walk(corpus, wanted, findings), key=lambda path: path.relative_to(corpus).as_posix()):
        name = path.relative_to(corpus).as_posix()
        complaint = _complaint(path, name, home)
        if complaint is not None:
            findings.append(Finding(_shown(name), "skipped", complaint))
            continue
        try:
            if S_ISREG(path.stat().st_mode):
                files[name] = (path, digest_bytes(path.read_bytes()))
            else:  # reading a pipe would wait for ever
                findings.append(Finding(name, "skipped", "no regular file"))
        except OSError as error:
            findings.append(Finding(name, "failed", f"cannot be read: {error.strerror}"))
    return files, findings


def _walk(corpus: Path, wanted: Callable[[str], object], findings: list[Finding]) -> Iterator[Path]:
    """Files that are wanted; folders that cannot be entered become findings, since the walk itself passes them over."""

    def unreadable(error: OSError) -> None:
        name = Path(error.filename).relative_to(corpus).as_posix()
        findings.append(Finding(_shown(name), "failed", f"cannot be read: {error.strerror}"))

    for parent, folders, names in os.walk(corpus, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in folders:
            if (linked := Path(parent, name)).is_symlink():
                shown = _shown(linked.relative_to(corpus).as_posix())
                findings.append(Finding(shown, "skipped", "a link to a folder"))
        yield from (Path(parent, name) for name in names if not name.startswith(".") and wanted(name))


def _complaint(path: Path, name: str, home: Path) -> str | None:
    """Why a file is not looked into, or None."""
    if _shown(name) != name:
        return "its name is not UTF-8"
    return None if path.resolve().is_relative_to(home) else "a link out of the corpus"


def _shown(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
