"""A run in TREC's formats, by document: one run file for each configuration, and the judgments that go with them.

A document is a file. Its id is the folded path (`canonical.fold_path`), as gold and chunks are matched by it; white
space, control characters, `%` and `#` are percent-encoded, since these files are split at white space. A later chunk of
the same file keeps its rank under an id that no judgment has, `<document>#2`; an empty ranking is one line with the
document `#none`, so that tools count it as a zero instead of leaving the question out. Scores fall by one from rank to
rank: tools sort by score, and those of a pipeline may tie, rise or be absent.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_ragbench.canonical import fold_path
from pytest_ragbench.configurations.names import check_name, marker_name
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.records.files import encode, reading, write_atomic, writing
from pytest_ragbench.records.record import row_key
from pytest_ragbench.reports.text import plural
from pytest_ragbench.runs.reading import last_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.records.record import RunRecord

NOTHING = "#none"
SEALED = ".sealed"
"""Before the suffix of a file that holds questions of the test split, and no others."""

_ENCODED = frozenset("%#")
_BLANK = frozenset({"Cc", "Cs", "Zs", "Zl", "Zp"})


def document_id(file: str) -> str:
    """A file as a document of TREC files; `urllib.parse.unquote` gives the folded path back."""
    folded = fold_path(file)
    return "".join(quote(c, safe="", errors="surrogatepass") if _splits(c) else c for c in folded) or "%"


def _splits(character: str) -> bool:
    return character in _ENCODED or unicodedata.category(character) in _BLANK


def check_folder(folder: Path) -> None:
    """Refuse a folder that the files of a run cannot have for themselves.

    Raises:
        UsageError: It is none, or holds something already.
        RecordError: It cannot be read.
    """
    with reading(folder):
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder}: it is no folder; --trec writes several files, name a new folder for them")
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(
                f"{folder}: it is not empty; name a new folder, so that no file of another run stays in it"
            )


def write_trec(record: RunRecord, folder: Path) -> str:
    """Write `qrels.txt` and `<marker>.run`, and for questions of the test split `qrels.sealed.txt` and so on.

    Returns:
        What was written, in a sentence.

    Raises:
        UsageError: The folder holds something already, or two configurations would share a file.
        RecordError: The record is damaged, or a file cannot be written.
    """
    check_folder(folder)
    questions = {question.id: question for question in record.questions()}
    markers = _markers(record)
    parts = [("", [q for q in questions.values() if q.split != "test"])]
    parts.append((SEALED, [q for q in questions.values() if q.split == "test"]))
    files = {folder / f"qrels{suffix}.txt": list(_judgments(part)) for suffix, part in parts if part}
    files |= {folder / f"{marker}{suffix}.run": [] for suffix, part in parts if part for marker in markers.values()}
    for row in last_rows(record):
        question, configuration = row_key(row)
        if question not in questions or configuration not in markers:
            raise RecordError(
                f"{record.folder}: per_query.jsonl has a row of {question} under {configuration}, which was not "
                "planned; the record was edited after the run"
            )
        marker, sealed = markers[configuration], questions[question].split == "test"
        files[folder / f"{marker}{SEALED if sealed else ''}.run"].extend(_ranking(row, marker))
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for path, lines in files.items():
        write_atomic(path, map(encode, lines))
    count = len(parts[1][1])
    note = f"; {count:,} of them of the sealed test split, in files *{SEALED}.*" if count else ""
    return f"{folder}: {plural(len(questions), 'question')}, {plural(len(markers), 'configuration')}{note}"


def _markers(record: RunRecord) -> dict[str, str]:
    """Configuration to the name of its file.

    Raises:
        RecordError: A name that no configuration can have, as one that leads out of the folder.
        UsageError: Two configurations would be written to one file.
    """
    markers = {entry["name"]: entry["marker"] or marker_name(entry["name"]) for entry in record.run["configurations"]}
    for name, marker in markers.items():
        if complaint := check_name(marker):
            raise RecordError(f"{record.folder / 'run.json'}: configuration {name!r}, marker {marker!r}: {complaint}")
    names = [f"{marker}{suffix}.run" for suffix in ("", SEALED) for marker in markers.values()]
    folded = Counter(name.casefold() for name in names)  # many disks take `Solo.run` and `solo.run` for one file
    if shared := sorted({name for name in names if folded[name.casefold()] > 1}):
        files = f"{' and '.join(shared)}, one file on many disks" if len(shared) > 1 else shared[0]
        raise UsageError(f"two configurations would be written to {files}; rename one of them in configs.yaml")
    return markers


def _judgments(questions: Sequence[Question]) -> Iterator[str]:
    """`question 0 document 1` for each file of a required source or of an alternative to it."""
    for question in questions:
        required = (source for source in question.gold if source.required)
        files = {document_id(locator.file) for source in required for locator in source.locators}
        yield from (f"{question.id} 0 {document} 1\n" for document in sorted(files))


def _ranking(row: Mapping[str, Any], tag: str) -> Iterator[str]:
    """`question Q0 document rank score tag`; a row with an error has no line."""
    if row["error"] is not None:
        return
    documents = list(_documents(row["ranking"])) or [NOTHING]
    for rank, document in enumerate(documents, start=1):
        yield f"{row['question']} Q0 {document} {rank} {len(documents) + 1 - rank} {tag}\n"


def _documents(ranking: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    seen: Counter[str] = Counter()
    for ranked in ranking:
        document = document_id(ranked["file"])
        seen[document] += 1
        yield document if seen[document] == 1 else f"{document}#{seen[document]}"
