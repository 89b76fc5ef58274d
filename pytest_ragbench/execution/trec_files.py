"""Readers of what retrieval tools exchange: rankings in TREC's run format, and queries as JSONL or tab-separated text.

Strict: a line that is not of its format is a problem with its number and a remedy, never skipped.
"""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ragbench import canonical
from pytest_ragbench.execution.document_ids import check_id, check_text
from pytest_ragbench.execution.source_lines import Findings, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_BLANKS = " \t\v\f\r"
_GAP = re.compile(r"[ \t\v\f\r]+")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")  # Python reads no number of more than 4,300 digits
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_QUERY_HEADER = re.compile(r"_?(?:id|qid|query[-_ ]?id|topic)\t(?:text|query|question|title)", re.IGNORECASE)
_RUN_FORMAT = "`query Q0 document rank score tag`, six columns with spaces or tabs between them"


class Ranked(NamedTuple):
    """One line of a ranking: a document id and its score."""

    document: str
    score: float


@dataclass(frozen=True, slots=True)
class Run:
    """The rankings of one run file.

    Attributes:
        rankings: Query id to its ranking, best first, in trec_eval's order.
        contradicted: How many queries have a rank column that says another order than the scores.
    """

    rankings: Mapping[str, tuple[Ranked, ...]]
    contradicted: int


def columns_of(line: str) -> list[str]:
    """The columns of a TREC line: split at ASCII white space, as trec_eval does."""
    return _GAP.split(line.strip(_BLANKS))


def is_integer(text: str) -> bool:
    """Whether a column is a whole number, with or without a sign."""
    return _INTEGER.fullmatch(text) is not None


def single(score: float) -> float:
    """A score in single precision: trec_eval stores scores so, and what is equal then is a tie to it."""
    return ctypes.c_float(score).value


def read_run(path: Path, findings: Findings, *, progress: bool = False) -> Run:
    """Read a run file, plain or gzipped; problems go to `findings`.

    The order is trec_eval's (`form_res_rels.c`): score descending in single precision, ties by document id descending.
    The rank column must be a whole number and decides nothing.
    """
    shown = path.as_posix()
    lines: dict[str, dict[str, tuple[float, float, int]]] = {}
    count = 0
    for number, line in numbered_lines(path, findings, progress=progress):
        count += 1
        columns = columns_of(line)
        complaint = _run_complaint(columns)
        if complaint is not None:
            findings.add(shown, number, complaint, "bad-run-line")
            continue
        query, _, document, rank, score, _ = columns
        document = sys.intern(document)  # the same few documents are ranked for many queries
        found = lines.setdefault(query, {})
        if document in found:
            message = f"the document {document!r} is ranked twice for this query; keep one of the lines"
            findings.add(shown, number, message, "duplicate-document", record=query)
            continue
        value = float(score)
        found[document] = (single(value), value, int(rank))
    if not count and not findings:
        findings.add(shown, None, f"the run is empty; a run has lines {_RUN_FORMAT}", "empty-file")
    rankings: dict[str, tuple[Ranked, ...]] = {}
    contradicted = 0
    for query, found in lines.items():
        order = sorted(found, key=lambda document: (found[document][0], document), reverse=True)
        rankings[query] = tuple(Ranked(document, found[document][1]) for document in order)
        contradicted += _contradicts([(found[document][0], found[document][2]) for document in order])
    return Run(rankings, contradicted)


def _run_complaint(columns: Sequence[str]) -> str | None:
    if len(columns) != 6:
        return f"{len(columns)} columns; a line of a run is {_RUN_FORMAT}"
    rank, score = columns[3], columns[4]
    if not is_integer(rank):
        return f"the rank (fourth column) is {rank[:40]!r}, no whole number; a line of a run is {_RUN_FORMAT}"
    if not _NUMBER.fullmatch(score) or abs(float(score)) == float("inf"):
        return f"the score (fifth column) is {score[:40]!r}, no finite number; a line of a run is {_RUN_FORMAT}"
    return None


def _contradicts(order: Sequence[tuple[float, int]]) -> bool:
    """Whether a document of a higher score has a larger rank number than one of a lower score; (score, rank) pairs."""
    highest_above, highest, previous = -(10**18), -(10**18), None
    for score, rank in order:
        if score != previous:
            highest_above, previous = highest, score
        if rank < highest_above:
            return True
        highest = max(highest, rank)
    return False


def read_queries(path: Path, findings: Findings) -> dict[str, str]:
    """Query id to text, in the order of the file; problems go to `findings`.

    A file named `*.jsonl` (or `*.jsonl.gz`) has BEIR's objects with `_id` and `text`; any other has lines
    `id<TAB>text`, with or without a header.
    """
    shown = path.as_posix()
    of_json = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".json"))
    queries: dict[str, str] = {}
    for number, line in numbered_lines(path, findings):
        if of_json:
            pair = _json_query(line, shown, number, findings)
        elif line.lstrip().lower().startswith(("<top", "<?xml")):
            message = "TREC topics in markup are not read; write one `id<TAB>text` a line"
            findings.add(shown, number, message, "bad-query")
            break
        elif not queries and _QUERY_HEADER.fullmatch(line.strip()):
            continue
        else:
            pair = _tab_query(line, shown, number, findings)
        if pair is None:
            continue
        query, text = pair
        if query in queries:
            findings.add(shown, number, "the id stands twice; ids of queries are unique", "duplicate-id", record=query)
        else:
            queries[query] = text
    if not queries and not findings:
        findings.add(shown, None, "the file holds no query", "empty-file")
    return queries


def json_record(line: str, shown: str, number: int, findings: Findings) -> dict[str, Any] | None:
    """A line of BEIR's JSONL: an object with a text `_id`, or None with the problem noted."""
    try:
        record = canonical.loads(line)
    except ValueError as error:
        findings.add(shown, number, f"the line is no JSON object: {error}", "bad-json")
        return None
    if not isinstance(record, dict):
        findings.add(shown, number, 'the line is no JSON object; write {"_id": ..., "text": ...}', "bad-json")
        return None
    if "_id" not in record:
        known = ", ".join(map(repr, list(record)[:8])) or "nothing"
        findings.add(shown, number, f"the object has no `_id` (found: {known})", "bad-id")
        return None
    complaint = check_id(record["_id"])
    if complaint is not None:
        findings.add(shown, number, f"`_id` {complaint}", "bad-id")
        return None
    return record


def _json_query(line: str, shown: str, number: int, findings: Findings) -> tuple[str, str] | None:
    record = json_record(line, shown, number, findings)
    if record is None:
        return None
    text = record.get("text")
    complaint = "is missing" if "text" not in record else check_text(text)
    if complaint is None and (not text or str(text).isspace()):
        complaint = "is empty; a query without words cannot be asked, remove it and its judgments"
    if complaint is not None:
        findings.add(shown, number, f"`text` {complaint}", "bad-query", record=record["_id"])
        return None
    return record["_id"], str(text)


def _tab_query(line: str, shown: str, number: int, findings: Findings) -> tuple[str, str] | None:
    query, tab, text = line.partition("\t")
    if not tab:
        message = "no tab; write one `id<TAB>text` a line (spaces do not separate the id from the text)"
    elif not query.strip() or not text.strip():
        message = "the id or the text is empty; write one `id<TAB>text` a line"
    elif "\t" in text:
        message = "more than one tab; write one `id<TAB>text` a line, without further columns"
    else:
        return query.strip(), text.strip()
    findings.add(shown, number, message, "bad-query")
    return None
