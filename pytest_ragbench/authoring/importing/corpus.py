"""A BEIR corpus, checked and rewritten so that its ids are files of locators: `corpus/corpus.jsonl`, sorted by id.

Lines are spooled to disk while they are checked, so memory holds ids and offsets, never texts.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import fold_path
from pytest_ragbench.execution.document_ids import check_text, document_file
from pytest_ragbench.execution.source_lines import Findings, numbered_lines
from pytest_ragbench.execution.trec_files import json_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where it is said that a document is relevant: the file as shown, the record, and its line where one is known."""

    file: str
    record: str
    line: int | None


class Documents:
    """Ids of documents, as far as scoring needs to tell them apart.

    A locator folds case, separators and Unicode form; two documents of one folded file would both satisfy a source.
    """

    def __init__(self, relevant: Iterable[str]) -> None:
        self._relevant: dict[str, set[str]] = {}
        for document in relevant:
            self._relevant.setdefault(fold_path(document_file(document)), set()).add(document)

    def clash(self, document: str) -> str | None:
        """A relevant document that this one cannot be told apart from, or None."""
        others = self._relevant.get(fold_path(document_file(document)), set()) - {document}
        return min(others) if others else None


def clash_message(document: str, other: str) -> str:
    """What is wrong when two ids fold to one file."""
    return (
        f"the documents {document!r} and {other!r} are one file to a locator (case, separators and Unicode form are "
        "folded), and the latter is relevant to a query; rename one in the corpus and its judgments"
    )


def copy_corpus(source: Path, target: Path, relevant: Mapping[str, Wanted], findings: Findings) -> int:
    """Check a corpus and write it, sorted by id; problems go to `findings`.

    Args:
        source: BEIR's `corpus.jsonl`, plain or gzipped.
        target: The file to write: objects with `_id` (the locator's file), `title` and `text`.
        relevant: Id of each relevant document to where that is said.
        findings: Also gets relevant documents that the corpus lacks.

    Returns:
        Number of documents.
    """
    documents = Documents(relevant)
    shown = source.as_posix()
    before = len(findings)
    offsets: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryFile(dir=target.parent) as spool:
        position = 0
        for number, line in numbered_lines(source, findings, progress=True):
            record = json_record(line, shown, number, findings)
            if record is None or not _valid(record, shown, number, findings):
                continue
            document = record["_id"]
            if document in offsets:
                message = "the id stands twice; ids of documents are unique"
                findings.add(shown, number, message, "duplicate-id", record=document)
                continue
            if (other := documents.clash(document)) is not None:
                findings.add(shown, number, clash_message(document, other), "document-ambiguous", record=document)
            raw = _line(record)
            spool.write(raw)
            offsets[document] = position, len(raw)
            position += len(raw)
        if not offsets and not findings:
            findings.add(shown, None, "the corpus holds no document", "empty-file")
        if len(findings) == before:
            _missing(relevant, offsets, shown, findings)
        with target.open("wb") as output:
            for document in sorted(offsets, key=document_file):
                start, length = offsets[document]
                spool.seek(start)
                output.write(spool.read(length))
    return len(offsets)


def _valid(record: Mapping[str, Any], shown: str, number: int, findings: Findings) -> bool:
    complaints = []
    if "text" not in record:
        complaints.append(f"has no `text` (found: {', '.join(map(repr, list(record)[:8]))})")
    elif (complaint := check_text(record["text"])) is not None:
        complaints.append(f"`text` {complaint}")
    title = record.get("title")
    if title is not None and (complaint := check_text(title)) is not None:
        complaints.append(f"`title` {complaint}; leave it out where there is none")
    for complaint in complaints:
        findings.add(shown, number, complaint, "bad-document", record=record["_id"])
    return not complaints


def _line(record: Mapping[str, Any]) -> bytes:
    kept = {"_id": document_file(record["_id"]), "title": record.get("title") or "", "text": record["text"]}
    return json.dumps(kept, ensure_ascii=False).encode() + b"\n"


def _missing(relevant: Mapping[str, Wanted], known: Mapping[str, Any], corpus: str, findings: Findings) -> None:
    for document, wanted in sorted(relevant.items(), key=lambda item: (item[1].file, item[1].line or 0, item[0])):
        if document not in known:
            message = f"the relevant document {document!r} is not in {corpus}; add it, or remove the judgment"
            findings.add(wanted.file, wanted.line, message, "unknown-document", record=wanted.record)
