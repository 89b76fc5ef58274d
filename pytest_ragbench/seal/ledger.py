"""The ledger of looks at the sealed test split: append-only lines, each holding the hash of the one before.

It counts openings and refuses a file that was edited, cut or reordered. Who may open, and when, is for the harness.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_ragbench import canonical
from pytest_ragbench.durable import sync_folder
from pytest_ragbench.errors import SealedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

SCHEMA_VERSION = 1
FILE_NAME = "test_ledger.jsonl"
"""Its name in the folder of baselines."""

NO_HASH = "0" * 64
"""What the first entry holds as the hash of the one before it."""

LOCK_SECONDS = 30.0

_RESTORE = (
    "restore it from version control (`git log -p` shows its history); if it is lost for good, move the run records "
    "that saw it out of the runs folder, remove a baseline that saw it, and say wherever you report that the count "
    "began anew"
)


class Entry(BaseModel):
    """One opening of the test split, a line of the ledger.

    `index` is its position from 1, so also the count of looks up to it; `previous` the hash of the entry before;
    `hash` the sha256 of the canonical JSON of the other keys.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    schema_version: int
    index: int
    time: str
    run_id: str
    split: str
    configurations: list[str]
    git: dict[str, Any]
    questions_digest: str
    previous: str
    hash: str


class Claim(TypedDict):
    """The ledger as a run record anchors it: number of entries, and the hash of the last (zeros for none)."""

    count: int
    last_hash: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """What an earlier run, or the baseline, says of the ledger.

    Attributes:
        source: Who says it: a run id, or the baseline file.
        sha: The commit that it measured, or None outside a repository.
        count: Number of entries it saw.
        last_hash: Hash of the last of them, or None for none.
    """

    source: str
    sha: str | None
    count: int
    last_hash: str | None


class Ledger:
    """The ledger in one file, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self) -> tuple[Entry, ...]:
        """Read and verify every entry; an absent file has none.

        Raises:
            SealedError: The file cannot be read, or was edited, cut, reordered or torn; it names the line.
        """
        found: list[Entry] = []
        lines = self._lines()
        for number, line in enumerate(lines, start=1):
            place = f"{self.path}:{number}"
            torn = number == len(lines) and not line.endswith(b"\n")
            entry = _checked(_parsed(line, place, torn=torn), place)
            before = found[-1].hash if found else NO_HASH
            if entry.index != number or entry.previous != before:
                raise SealedError(
                    f"{place}: this is entry {entry.index}, and it does not follow entry {number - 1}: "
                    f"the ledger was cut or reordered, or two branches were merged; {_RESTORE}"
                )
            found.append(entry)
        return tuple(found)

    def claim(self) -> Claim:
        """Number of entries and hash of the last, for a run record.

        Raises:
            SealedError: As `entries`.
        """
        return claim_of(self.entries())

    def open(
        self,
        *,
        time: str,
        run_id: str,
        split: str,
        configurations: Sequence[str],
        git: Mapping[str, Any],
        questions_digest: str,
        budget: int | None = None,
    ) -> Entry:
        """Append one opening, synced to the disk, and return it; its `index` is the count of looks.

        Concurrent openings wait for each other. The budget is checked under the same lock, so it cannot be overrun.

        Raises:
            SealedError: The budget is spent, the ledger is not intact, or it cannot be written.
        """
        from filelock import FileLock, Timeout  # every session reads the ledger, and few write to it

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=LOCK_SECONDS):
                entries = self.entries()
                check_budget(len(entries), budget)
                entry = _sealed(
                    schema_version=SCHEMA_VERSION,
                    index=len(entries) + 1,
                    time=time,
                    run_id=run_id,
                    split=split,
                    configurations=list(configurations),
                    git=dict(git),
                    questions_digest=questions_digest,
                    previous=entries[-1].hash if entries else NO_HASH,
                )
                self._append(canonical.dumps(entry.model_dump()))
        except Timeout:
            raise SealedError(
                f"{self.path}: another run has held the ledger's lock for {LOCK_SECONDS:.0f} s; "
                "try again when it has ended"
            ) from None
        except OSError as error:
            raise SealedError(
                f"{self.path}: the opening cannot be recorded ({error.strerror or error}); the test split stays sealed"
            ) from error
        return entry

    def _lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SealedError(f"{self.path}: the ledger cannot be read ({error.strerror or error})") from error

    def _append(self, text: str) -> None:
        before = b"".join(self._lines())
        unended = before != b"" and not before.endswith(b"\n")  # an editor may drop the last newline
        rest = memoryview((b"\n" if unended else b"") + text.encode("utf-8", "backslashreplace") + b"\n")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o666)
        try:
            while rest:  # a disk that fills up takes a part without complaint
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, len(before))  # an opening that could not be kept was none
            raise
        finally:
            os.close(descriptor)
        if not before:
            sync_folder(self.path.parent)


def _parsed(line: bytes, place: str, *, torn: bool) -> Any:
    """The JSON of a line, however a checkout or an editor has ended it."""
    try:
        return canonical.loads(line.decode("utf-8").rstrip("\r\n"))
    except ValueError as error:
        if torn:
            raise SealedError(
                f"{place}: the last line is torn: an opening was interrupted while it was written, before any search "
                "ran; delete that line, and nothing else, to go on"
            ) from None
        raise SealedError(f"{place}: this line is no strict JSON ({error}); {_RESTORE}") from None


def _checked(value: Any, place: str) -> Entry:
    """The entry of a line, when it has the keys of one and its own hash is right."""
    version = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SealedError(
            f"{place}: schema_version {version}; this version reads {SCHEMA_VERSION}; upgrade pytest-ragbench"
        )
    try:
        entry = Entry.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the entry"
        raise SealedError(f"{place}: {field}: {first['msg']}; the ledger was edited; {_RESTORE}") from None
    if (computed := _hash(value)) != entry.hash:
        raise SealedError(
            f"{place}: the entry was edited: its keys hash to {computed[:12]}…, it says {entry.hash[:12]}…; {_RESTORE}"
        )
    return entry


def claim_of(entries: Sequence[Entry]) -> Claim:
    """What a run record says of these entries."""
    return {"count": len(entries), "last_hash": entries[-1].hash if entries else NO_HASH}


def check_budget(looks: int, budget: int | None) -> None:
    """Refuse a further look when the project's budget (`rag_test_looks`) is spent.

    Raises:
        SealedError: It is spent.
    """
    if budget is not None and looks >= budget:
        raise SealedError(
            f"the test split has been opened {_times(looks)}, and rag_test_looks allows {budget}; "
            "raise it only with a reason that others can read"
        )


def check_anchors(entries: Sequence[Entry], anchors: Iterable[Anchor], is_ancestor: Callable[[str], bool]) -> None:
    """Hold the ledger against what earlier runs saw of it: each must be a prefix of the chain.

    Args:
        entries: The verified ledger.
        anchors: What run records and the baseline say.
        is_ancestor: Whether a commit is HEAD or an ancestor of it; anchors of other branches do not count.

    Raises:
        SealedError: The ledger was cut or rewritten since; it names the anchor.
    """
    for anchor in anchors:
        if anchor.count == 0:
            continue
        kept = len(entries) >= anchor.count and entries[anchor.count - 1].hash == anchor.last_hash
        if kept or (anchor.sha is not None and not is_ancestor(anchor.sha)):
            continue
        what = f"it has {len(entries)}" if len(entries) < anchor.count else f"entry {anchor.count} is now another one"
        raise SealedError(
            f"the ledger was cut or rewritten: {anchor.source} saw the test split opened {_times(anchor.count)}, "
            f"{what}; {_RESTORE}"
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _sealed(**fields: Any) -> Entry:
    return Entry(**fields, hash=_hash(fields))


def _hash(fields: Mapping[str, Any]) -> str:
    return canonical.digest({key: value for key, value in fields.items() if key != "hash"})
