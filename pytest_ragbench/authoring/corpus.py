"""A plain folder of documents, read as far as `validate` needs it: which files there are, their headings and pages.

Nothing outside the folder is ever opened: files are looked up in a listing, and a symbolic link that leaves the folder
is listed as such and not followed.
"""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench.authoring.boards import board_text
from pytest_ragbench.authoring.headings import Outline, outline
from pytest_ragbench.authoring.importing.collection import COLLECTION, Entry, read_entries
from pytest_ragbench.canonical import fold_path
from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.loading import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
PAGED = frozenset({".pdf"})
PAGELESS = frozenset({*MARKDOWN, ".py", ".ipynb", ".canvas"})
"""Kinds of files that have no physical pages, so that no chunk of them can satisfy a paged source."""
TEXT = frozenset({*PAGELESS, ".txt", ".rst", ".tex", ".org", ".csv", ".json", ".yaml", ".yml", ".toml", ".html"})
MAX_BYTES = 20_000_000
"""Larger text files are not read."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a file could not be looked into."""

    reason: str


@dataclass(slots=True)
class Corpus:
    """The documents below a folder.

    Attributes:
        root: The folder.
        files: Folded path to every file that folds to it, as spelled on disk, with `/`; records of a collection too.
        outside: Folded paths of symbolic links that leave the folder.
    """

    root: Path
    files: Mapping[str, tuple[str, ...]]
    outside: frozenset[str]
    _paths: Mapping[str, Path]
    _entries: Mapping[str, Entry] = field(default_factory=dict)
    _comparisons: int = 25
    _texts: dict[str, str | Unread] = field(default_factory=dict)
    _outlines: dict[str, Outline] = field(default_factory=dict)
    _pdfs: dict[str, Any] = field(default_factory=dict)
    _pages: dict[tuple[str, int], str | Unread] = field(default_factory=dict)

    def find(self, path: str) -> tuple[str, ...]:
        """Files that a locator's path names: none, one, or several that fold to one key."""
        return self.files.get(fold_path(path), ())

    def near(self, path: str) -> str | None:
        """A file that may be meant by a path that names none: of the same name elsewhere, or spelled alike."""
        key = fold_path(path)
        name = key.rsplit("/", 1)[-1]
        same = next((found for found in self.files if found.rsplit("/", 1)[-1] == name), None)
        same = same or self.alike(key, self.files, 0.7)
        return None if same is None else self.files[same][0]

    def alike(self, text: str, known: Iterable[str], cutoff: float) -> str | None:
        """The text that is spelled most alike; None for all but the first calls: it takes time, and nobody reads on."""
        self._comparisons -= 1
        if self._comparisons < 0:
            return None
        return next(iter(difflib.get_close_matches(text, known, n=1, cutoff=cutoff)), None)

    def text(self, file: str) -> str | Unread:
        """Text of a file without pages: Markdown, notebooks (cells), canvases (nodes and edges), code, plain text."""
        if file not in self._texts:
            entry = self._entries.get(file)
            self._texts[file] = _read_text(self._paths[file]) if entry is None else entry.text()
        return self._texts[file]

    def outline(self, file: str) -> Outline | None:
        """The headings of a Markdown file, None for another kind or where it cannot be read."""
        if _suffix(file) not in MARKDOWN or file in self._entries:
            return None
        text = self.text(file)
        if isinstance(text, Unread):
            return None
        if file not in self._outlines:
            self._outlines[file] = outline(text)
        return self._outlines[file]

    def page_count(self, file: str) -> int | Unread:
        """Number of physical pages of a PDF."""
        if file in self._entries:
            return Unread("a record of a collection has no pages")
        if _suffix(file) not in PAGED:
            return Unread(f"pages of {_suffix(file) or 'such'} files are not known here")
        reader = self._pdf(file)
        return reader if isinstance(reader, Unread) else len(reader.pages)

    def page_text(self, file: str, page: int) -> str | Unread:
        """Text of one physical page of a PDF, counted from 1."""
        key = (file, page)
        if key not in self._pages:
            reader = self._pdf(file)
            if isinstance(reader, Unread):
                return reader
            try:
                self._pages[key] = str(reader.pages[page - 1].extract_text())
            except Exception as error:  # noqa: BLE001 - pypdf raises what a damaged page makes it raise
                self._pages[key] = Unread(f"page {page} cannot be read: {type(error).__name__}")
        return self._pages[key]

    def _pdf(self, file: str) -> Any:
        if file not in self._pdfs:
            self._pdfs[file] = _open_pdf(self._paths[file])
        return self._pdfs[file]


def open_corpus(root: Path) -> Corpus:
    """List the documents below a folder.

    Raises:
        UsageError: There is no such folder, or it cannot be listed to the end.
    """
    try:
        if root.is_dir():
            return _listed(root)
    except OSError as error:
        place = shown_path(Path(error.filename or root))
        raise UsageError(f"no corpus: {place} cannot be read: {error.strerror or error}") from None
    raise UsageError(f"no corpus: {shown_path(root)} is no folder; name it with --corpus or the ini key rag_corpus")


def _listed(root: Path) -> Corpus:
    paths: dict[str, Path] = {}
    entries: dict[str, Entry] = {}
    outside: set[str] = set()
    real_root = root.resolve()
    for folder, subfolders, names in os.walk(root, onerror=_raise):
        linked = [name for name in subfolders if Path(folder, name).is_symlink()]
        subfolders[:] = sorted(name for name in subfolders if name != ".git" and name not in linked)
        for name in sorted([*names, *linked]):
            path = Path(folder, name)
            shown = shown_path(path.relative_to(root))
            if path.is_symlink() and not _stays_inside(path, real_root):
                outside.add(fold_path(shown))
            elif path.is_file():
                paths[shown] = path
                if name == COLLECTION:
                    entries |= read_entries(path)
    files: dict[str, list[str]] = {}
    for shown in sorted({*paths, *entries}):
        files.setdefault(fold_path(shown), []).append(shown)
    return Corpus(root, {key: tuple(found) for key, found in files.items()}, frozenset(outside), paths, entries)


def _raise(error: OSError) -> None:
    raise error


def _stays_inside(link: Path, real_root: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(real_root)
    except (OSError, RuntimeError):
        return False


def _suffix(file: str) -> str:
    return Path(file).suffix.lower()


def kind_of_file(file: str) -> str:
    """The suffix, lower case, by which a file is read."""
    return _suffix(file)


def _read_text(path: Path) -> str | Unread:
    suffix = path.suffix.lower()
    if suffix not in TEXT:
        return Unread(f"{suffix or 'files without a suffix'} is no kind of text that is read here")
    try:
        if path.stat().st_size > MAX_BYTES:
            return Unread("larger than 20 MB")
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        return Unread(error.strerror or "cannot be read")
    return _inner_text(text, suffix)


def _inner_text(text: str, suffix: str) -> str | Unread:
    """What people read in a notebook or a canvas; other texts as they are."""
    if suffix not in (".ipynb", ".canvas"):
        return text
    try:
        content = json.loads(text) if text.strip() or suffix == ".ipynb" else {}  # an empty file is a new canvas
        if suffix == ".canvas":
            return board_text(content)
        return "\n\n".join("".join(part.get("source", "")) for part in content["cells"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Unread(f"is no valid {suffix} file")


def _open_pdf(path: Path) -> Any:
    try:
        from pypdf import PdfReader
    except ImportError:
        return Unread("pypdf is not installed, so pages were not checked")
    try:
        reader = PdfReader(path)
        len(reader.pages)
    except Exception as error:  # noqa: BLE001 - pypdf raises what a damaged file makes it raise
        return Unread(f"is no readable PDF ({type(error).__name__})")
    return reader
