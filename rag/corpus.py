"""The chunks of a folder: how its files become chunks, and how these are kept in the index."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING, Any

from rag.chunking import chunk
from rag.errors import NothingToIndexError, RagError
from rag.labels import label
from rag.loaders import read
from rag.records import Chunk, Finding, Labels
from rag.text import digest, digest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rag.options import Settings

_FILE = "chunks.jsonl"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The chunks of a folder, sorted by file, and what was found on the way.

    Attributes:
        chunks: In index order; a position in a ranking refers to it.
        digest: Over every chunk, its place and its text.
        files: How many files, or records of collections, gave a chunk.
        findings: What readers could not take as it was.
    """

    chunks: tuple[Chunk, ...]
    digest: str
    files: int
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Findings by kind."""
        return dict(sorted(Counter(finding.kind for finding in self.findings).items()))

    @property
    def texts(self) -> list[str]:
        """What lanes and rerankers read of each chunk."""
        return [item.indexed_text for item in self.chunks]


def build(
    folder: Path,
    below: Path,
    files: Iterable[tuple[str, tuple[Path, str]]],
    findings: Sequence[Finding],
    settings: Settings,
) -> Mapping[str, Any]:
    """Read files and keep their chunks.

    Args:
        folder: Where the chunks are written.
        below: The folder that was scanned, as people know it.
        files: Each file's name to its place and the sha256 of its content, as it was scanned.
        findings: What scanning found.
        settings: How documents are cut and labelled.

    Returns:
        What `load` needs beside the folder.

    Raises:
        NothingToIndexError: No file holds text.
        RagError: A file has changed since it was scanned.
    """
    chunks: list[Chunk] = []
    found = list(findings)
    for name, (path, sha) in files:
        for document in read(name, content(name, path, sha)):
            found.extend(document.findings)
            chunks.extend(chunk(document, settings.chunking, label(document, settings.labels)))
    if not chunks:
        detail = "; ".join(f"{finding.file}: {finding.detail}" for finding in found[:3])
        raise NothingToIndexError(
            f"nothing to index: no file below {below} holds text" + (f" ({detail})" if detail else "")
        )
    chunks.sort(key=lambda item: item.file)  # stable: within a file, the order of its reader
    records = [_record(item) for item in chunks]
    lines = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    (folder / _FILE).write_text(lines, encoding="utf-8")
    return {
        "digest": digest(records),
        "files": len({item.file for item in chunks}),
        "findings": [asdict(finding) for finding in found],
    }


def load(folder: Path, facts: Mapping[str, Any]) -> Corpus:
    """What `build` kept."""
    chunks = []
    shared: dict[Labels, Labels] = {}  # a few hundred labels for any number of chunks
    with (folder / _FILE).open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            name, file, text, pages, heading, title, own, anchor = json.loads(line)
            labels = shared.setdefault(Labels(*own), Labels(*own))
            where = (tuple(pages) if pages else None, tuple(heading), title, labels, anchor)
            chunks.append(Chunk(name, file, text, *where))
    findings = tuple(Finding(**finding) for finding in facts["findings"])
    return Corpus(tuple(chunks), str(facts["digest"]), int(facts["files"]), findings)


def content(name: str, path: Path, sha: str) -> bytes:
    """A file as it was when it was scanned.

    Raises:
        RagError: It has changed since, or is gone.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RagError(f"{name} cannot be read any more ({error.strerror}); start again") from None
    if digest_bytes(data) != sha:
        raise RagError(f"{name} changed while it was read; start again")
    return data


def _record(item: Chunk) -> list[Any]:
    return [
        item.id,
        item.file,
        item.text,
        item.pages,
        item.heading,
        item.title,
        list(astuple(item.labels)),
        item.anchor,
    ]
