"""Relevance judgments (qrels) of BEIR and TREC, and the queries that they make questions of.

Grades decide what is relevant and nothing more: gains of this bench are binary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ragbench.execution.source_lines import Findings, numbered_lines
from pytest_ragbench.execution.trec_files import columns_of, is_integer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BEIR_FORMAT = "`query-id<TAB>corpus-id<TAB>score`, three columns with one tab between them"
TREC_FORMAT = "`query 0 document grade`, four columns with spaces or tabs between them"

_HEADER = re.compile(r"(?:query|q)[-_ ]?id\t(?:corpus|doc|document)[-_ ]?id\t(?:score|relevance|rel|grade|label)")
_DIGITS = 9
"""Longest grade, in characters; more is a score or a document in the wrong column."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """One line of a qrels file: the grade, and where it stands."""

    grade: int
    line: int


@dataclass(slots=True)
class Judgments:
    """A qrels file.

    Attributes:
        file: As shown in messages.
        by_query: Query id to document id to judgment.
        repeated: How many lines say again what an earlier one said.
    """

    file: str
    by_query: dict[str, dict[str, Judgment]] = field(default_factory=dict)
    repeated: int = 0

    @property
    def grades(self) -> list[int]:
        """The distinct grades, ascending."""
        return sorted({judgment.grade for found in self.by_query.values() for judgment in found.values()})


@dataclass(frozen=True, slots=True)
class Judged:
    """A query that has a relevant document.

    Attributes:
        source_id: The query's own id.
        text: The query.
        documents: Ids of its relevant documents, sorted.
    """

    source_id: str
    text: str
    documents: tuple[str, ...]


def read_beir_qrels(path: Path, findings: Findings) -> Judgments:
    """Read a BEIR qrels file: three tab-separated columns, with or without the header line."""
    judgments = Judgments(path.as_posix())
    first = True
    for number, line in numbered_lines(path, findings):
        header, first = first and _HEADER.fullmatch(line.strip().lower()) is not None, False
        if header:
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            findings.add(judgments.file, number, _beir_complaint(line, columns), "bad-qrels-line")
            continue
        query, document, grade = columns
        if not query.strip() or not document.strip():
            message = f"an id is empty; a line is {BEIR_FORMAT}"
            findings.add(judgments.file, number, message, "bad-qrels-line")
            continue
        _add(judgments, number, (query, document, grade.strip()), findings)
    return _not_empty(judgments, findings, BEIR_FORMAT)


def _beir_complaint(line: str, columns: list[str]) -> str:
    if len(columns) == 1 and len(columns_of(line)) == 3:
        return f"no tab between the columns; a line is {BEIR_FORMAT}"
    if len(columns_of(line)) == 4:
        return f"four columns, as TREC has them; a line is {BEIR_FORMAT}, or use `ragbench import trec`"
    return f"{len(columns)} tab-separated columns; a line is {BEIR_FORMAT}"


def read_trec_qrels(path: Path, findings: Findings) -> Judgments:
    """Read a TREC qrels file: four columns separated by white space, no header."""
    judgments = Judgments(path.as_posix())
    for number, line in numbered_lines(path, findings):
        columns = columns_of(line)
        if len(columns) != 4:
            hint = ", or use `ragbench import beir`" if len(columns) == 3 else ""
            message = f"{len(columns)} columns; a line is {TREC_FORMAT}{hint}"
            findings.add(judgments.file, number, message, "bad-qrels-line")
            continue
        query, _, document, grade = columns
        _add(judgments, number, (query, document, grade), findings)
    return _not_empty(judgments, findings, TREC_FORMAT)


def _add(judgments: Judgments, number: int, columns: tuple[str, str, str], findings: Findings) -> None:
    query, document, grade = columns
    if not is_integer(grade) or len(grade) > _DIGITS:
        message = f"the grade of {document!r} is {grade[:40]!r}; write a whole number, 0 or less for not relevant"
        findings.add(judgments.file, number, message, "bad-grade", record=query)
        return
    found = judgments.by_query.setdefault(query, {})
    earlier = found.setdefault(document, Judgment(int(grade), number))
    if earlier.line == number:
        return
    if earlier.grade == int(grade):
        judgments.repeated += 1
    else:
        message = f"{document!r} has the grade {earlier.grade} in line {earlier.line} and {grade} here; keep one"
        findings.add(judgments.file, number, message, "two-grades", record=query)


def _not_empty(judgments: Judgments, findings: Findings, form: str) -> Judgments:
    if not judgments.by_query and not findings:
        findings.add(judgments.file, None, f"the file holds no judgment; a line is {form}", "empty-file")
    return judgments


def judged_queries(
    judgments: Judgments, queries: Mapping[str, str], queries_file: str, *, min_grade: int, findings: Findings
) -> tuple[list[Judged], list[str]]:
    """The queries with a relevant document, sorted by their ids, and notes for the user.

    A judged query without a relevant document cannot be scored and is left out; trec_eval counts it as 0.
    """
    for query, found in judgments.by_query.items():
        if query not in queries:
            line = min(judgment.line for judgment in found.values())
            message = f"the query is judged, but {queries_file} does not hold it; add it, or remove its judgments"
            findings.add(judgments.file, line, message, "unknown-query", record=query)
    judged = []
    for query in sorted(judgments.by_query.keys() & queries.keys()):
        found = judgments.by_query[query]
        relevant = tuple(sorted(document for document, judgment in found.items() if judgment.grade >= min_grade))
        if relevant:
            judged.append(Judged(query, queries[query], relevant))
    if not judged and not findings:
        message = (
            f"no judgment has a grade of {min_grade} or more (found: {_listed(judgments.grades)}); lower --min-grade"
        )
        findings.add(judgments.file, None, message, "nothing-relevant")
    return judged, _notes(judgments, min_grade, len(judgments.by_query) - len(judged))


def _notes(judgments: Judgments, min_grade: int, left_out: int) -> list[str]:
    notes = []
    grades = judgments.grades
    if len([grade for grade in grades if grade >= min_grade]) > 1:
        notes.append(
            f"{judgments.file} is graded ({_listed(grades)}): {min_grade} and more are relevant, and gains are binary, "
            "so nDCG differs from trec_eval's graded nDCG"
        )
    if left_out:
        notes.append(
            f"{left_out} judged queries have no document of grade {min_grade} or more and are left out; trec_eval "
            "counts each as 0"
        )
    if judgments.repeated:
        notes.append(f"{judgments.repeated} lines of {judgments.file} repeat an earlier judgment and were dropped")
    return notes


def _listed(grades: list[int]) -> str:
    shown = [str(grade) for grade in grades]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], "…", *shown[-3:]])
