"""Collections in BEIR's layout: `corpus.jsonl` with `_id`, `title` and `text`; each record is a document."""

from __future__ import annotations

import json
from typing import Any

from rag.records import Document, Finding, Passage
from rag.text import clean


def read_collection(file: str, data: bytes) -> list[Document]:
    """A document a record, whose file is its `_id` and whose text is `title + " " + text`, as BEIR's baselines read it.

    Lines that are no record are listed under the collection's own name.
    """
    documents: list[Document] = []
    findings: list[Finding] = []
    seen: set[str] = set()
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        record, complaint = _record(line)
        if complaint is None and record["_id"] in seen:
            complaint = f"the _id {record['_id']!r} stands twice"
        if complaint is not None:
            findings.append(Finding(file, "bad-record", f"line {number}: {complaint}"))
            continue
        seen.add(record["_id"])
        text = clean(f"{record.get('title') or ''} {record.get('text') or ''}")
        documents.append(Document(record["_id"], passages=(Passage((text,)),) if text.strip() else ()))
    return [*documents, Document(file, findings=tuple(findings))] if findings else documents


def _record(line: bytes) -> tuple[dict[str, Any], str | None]:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return {}, f"no JSON: {error}"
    if not isinstance(record, dict) or not isinstance(record.get("_id"), str) or not record["_id"]:
        return {}, "expected an object with a text `_id`"
    return record, None
