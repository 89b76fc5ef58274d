"""The index on disk: parts that are built once, written atomically under a lock, and never trusted unchecked.

A part is a folder named by the digest of its sources. What is in it, its builder decides.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from rag.errors import IndexNotWrittenError, StaleIndexError
from rag.progress import Progress
from rag.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SCHEMA = 1
_MANIFEST = "manifest.json"
_KEPT = 4  # builds of one part that stay on disk: enough to go back and forth between two branches
_NAMED = 4  # files that a reason names before it counts

_UNWRITABLE = (
    None,  # numpy's own complaint about a file that it could not finish
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOTDIR,
    errno.EEXIST,
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is complete and checked.

    Attributes:
        folder: Where its files lie.
        facts: What its builder found worth keeping (strict JSON).
    """

    folder: Path
    facts: Mapping[str, Any]


class Store:
    """A folder of parts.

    Args:
        root: The folder; made when the first part is built.
        refuse: Whether a missing or stale part is an error instead of a build.
        progress: Where builds say why they happen.
        around: A context in which builds run, so that a host which captures output can let their words through.
    """

    def __init__(
        self,
        root: Path,
        *,
        refuse: bool = False,
        progress: Progress | None = None,
        around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self._root = root
        self._refuse = refuse
        self._progress = progress or Progress()
        self._around = around

    def open(
        self,
        name: str,
        sources: Mapping[str, str],
        build: Callable[[Path], Mapping[str, Any]],
        holds: Callable[[], bool] = lambda: True,
    ) -> Part:
        """The part made from these sources, built if it is not there.

        Args:
            name: What the part is called.
            sources: Whatever decides its content, named for people: files to digests, settings to values.
            build: Fills an empty folder and returns the facts.
            holds: Whether what the build left outside its folder is still there.

        Raises:
            StaleIndexError: It would have to be built, and the store refuses; the text says what changed.
            IndexNotWrittenError: The folder cannot be written, or the disk is full.
        """
        key = digest([SCHEMA, name, sources])
        folder = self._root / f"{name}-{key[:16]}"
        part, _ = _read(folder, key, holds)  # a finished part never changes, so a hit needs no lock
        if part is not None:
            return part
        if self._refuse:
            raise StaleIndexError(
                f"the {name} index is out of date: {self._reason(name, folder, key, sources)}; "
                "set `stale: rebuild` to have it rebuilt"
            )
        try:
            with self._around(), self._lock(name):
                part, _ = _read(folder, key, holds)
                if part is not None:
                    return part
                self._progress.say(f"building the {name} index: {self._reason(name, folder, key, sources)}")
                return self._build(name, folder, key, sources, build)
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            raise IndexNotWrittenError(
                f"the {name} index could not be built in {self._root}: {error}; "
                "free or unlock that folder, or set `state` to another"
            ) from error

    def _build(
        self,
        name: str,
        folder: Path,
        key: str,
        sources: Mapping[str, str],
        build: Callable[[Path], Mapping[str, Any]],
    ) -> Part:
        """Build beside the place, then rename: a killed build leaves a folder that nothing reads."""
        for left in self._root.glob(f".{name}-*.building"):
            shutil.rmtree(left, ignore_errors=True)
        working = Path(tempfile.mkdtemp(prefix=f".{name}-", suffix=".building", dir=self._root))
        try:
            facts = dict(build(working))
            files = {path.name: _digest(path) for path in sorted(working.iterdir())}
            body = {
                "schema": SCHEMA,
                "name": name,
                "key": key,
                "sources": dict(sources),
                "facts": facts,
                "files": files,
            }
            text = json.dumps(body | {"check": digest(body)}, ensure_ascii=False, sort_keys=True, indent=1)
            _write_through(working / _MANIFEST, text)
            if folder.exists():
                shutil.rmtree(folder)
            working.replace(folder)
        except BaseException:
            shutil.rmtree(working, ignore_errors=True)
            raise
        self._prune(name, folder)
        return Part(folder, facts)

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        self._root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._root / f".{name}.lock")
        try:
            lock.acquire(timeout=1)
        except Timeout:
            self._progress.say(f"waiting for another process that builds the {name} index ({lock.lock_file})")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _reason(self, name: str, folder: Path, key: str, sources: Mapping[str, str]) -> str:
        if folder.exists():
            return _read(folder, key)[1] or "what it left in the caches is gone"
        earlier = self._builds(name)
        return explain(_sources(earlier[0]), sources) if earlier else "there is none yet"

    def _builds(self, name: str) -> list[Path]:
        """Folders of this part, the newest first."""
        folders = [path for path in self._root.glob(f"{name}-*") if (path / _MANIFEST).is_file()]
        return sorted(folders, key=lambda path: (-(path / _MANIFEST).stat().st_mtime_ns, path.name))

    def _prune(self, name: str, current: Path) -> None:
        for old in self._builds(name)[_KEPT:]:
            if old != current:
                shutil.rmtree(old, ignore_errors=True)


def _read(folder: Path, key: str, holds: Callable[[], bool] = lambda: True) -> tuple[Part | None, str]:
    """The part, or None and why it cannot be trusted."""
    if not folder.is_dir():
        return None, "there is none yet"
    try:
        body = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        check = body.pop("check")
        if check != digest(body) or body["key"] != key or body["schema"] != SCHEMA:
            return None, f"its {_MANIFEST} is damaged"
        for name, expected in body["files"].items():
            if _digest(folder / name) != expected:
                return None, f"its {name} is damaged"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return None, f"it cannot be read ({type(error).__name__})"
    if not holds():
        return None, ""
    return Part(folder, body["facts"]), ""


def _sources(folder: Path) -> Mapping[str, str]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        sources = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))["sources"]
        return {str(name): str(value) for name, value in sources.items()}
    return {}


def explain(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """What differs between two sets of sources: `changed: a.md; added: b.md, chunking.max_chars 900 -> 500`."""
    changed = [name for name in sorted(old.keys() & new.keys()) if old[name] != new[name]]
    parts = [
        ("changed", [_change(name, old[name], new[name]) for name in changed]),
        ("added", sorted(new.keys() - old.keys())),
        ("removed", sorted(old.keys() - new.keys())),
    ]
    return (
        "; ".join(f"{verb}: {_listed(names)}" for verb, names in parts if names) or "nothing that is recorded differs"
    )


def _change(name: str, old: str, new: str) -> str:
    is_digest = len(old) == len(new) == 64
    return name if is_digest else f"{name} {old} -> {new}"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_through(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
