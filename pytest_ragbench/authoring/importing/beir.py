"""`ragbench import beir DIR`: `corpus.jsonl`, `queries.jsonl` and `qrels/NAME.tsv`, each plain or gzipped."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.authoring.importing.corpus import Wanted, copy_corpus
from pytest_ragbench.authoring.importing.judgments import judged_queries, read_beir_qrels
from pytest_ragbench.authoring.importing.numbering import labels_of
from pytest_ragbench.authoring.importing.project import Imported, Source, write_project
from pytest_ragbench.errors import UsageError
from pytest_ragbench.execution.document_ids import document_id
from pytest_ragbench.execution.source_lines import Findings
from pytest_ragbench.execution.trec_files import read_queries, read_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.authoring.importing.judgments import Judged, Judgments
    from pytest_ragbench.questions.model import Question, Split, Tier


def import_beir(
    source: Path,
    target: Path,
    *,
    suite: str | None = None,
    qrels: str = "test",
    split: Split | None = "dev",
    tier: Tier = "T2",
    min_grade: int = 1,
    runs: Mapping[str, str] | None = None,
) -> Imported:
    """Write the judged queries of a BEIR folder as a set, and its corpus, into a project.

    Args:
        source: The BEIR folder.
        target: The project's folder; one from an earlier import keeps its ids and gets what is new.
        suite: Suite of the questions; the folder's name by default.
        qrels: Which judgments: the name of a file in `qrels/` without `.tsv`.
        split: Split of new questions.
        tier: Tier of new questions.
        min_grade: The least grade that is relevant, 1 or more.
        runs: Name to TREC run file.

    Raises:
        InputError: A file is not of its format, or two contradict each other; with every problem.
        UsageError: A file or folder is missing or cannot be written, or a name is taken.
    """
    labels = labels_of(suite or _suite_of(source), tier, split, min_grade)
    corpus, queries_file = _file(source, "corpus.jsonl"), _file(source, "queries.jsonl")
    qrels_file = _qrels_file(source, qrels)
    findings = Findings()
    queries = read_queries(queries_file, findings)
    judgments = read_beir_qrels(qrels_file, findings)
    rankings = {name: read_run(Path(file), findings, progress=True) for name, file in (runs or {}).items()}
    findings.raise_any()
    judged, notes = judged_queries(judgments, queries, queries_file.as_posix(), min_grade=min_grade, findings=findings)
    if not judged:
        findings.raise_any()
    wanted = _wanted(judged, judgments)
    write_corpus = partial(_write_corpus, corpus, wanted, findings)
    return write_project(Source(judged, rankings, notes, write_corpus), target, labels)


def _write_corpus(
    corpus: Path, wanted: Mapping[str, Wanted], findings: Findings, path: Path, existing: Sequence[Question]
) -> int:
    """Copy the corpus; raises what it and the readers before it found."""
    kept = {
        document_id(gold.locator.file): Wanted(f"question {question.id}", question.source_id or "", None)
        for question in existing
        for gold in question.gold
    }
    count = copy_corpus(corpus, path, {**kept, **wanted}, findings)
    findings.raise_any()
    return count


def _wanted(judged: Sequence[Judged], judgments: Judgments) -> dict[str, Wanted]:
    wanted: dict[str, Wanted] = {}
    for query in judged:
        for document in query.documents:
            line = judgments.by_query[query.source_id][document].line
            wanted.setdefault(document, Wanted(judgments.file, query.source_id, line))
    return wanted


def _suite_of(source: Path) -> str:
    """The folder's name as a suite: characters that no marker has become `-`."""
    return re.sub(r"[^A-Za-z0-9_.+-]+", "-", source.resolve().name).strip("-_.+")


def _file(source: Path, name: str) -> Path:
    if not source.is_dir():
        raise UsageError(f"{source.as_posix()} is no folder; name the one that holds corpus.jsonl and queries.jsonl")
    for path in (source / name, source / f"{name}.gz"):
        if path.is_file():
            return path
    raise UsageError(
        f"{source.as_posix()} has no {name} (nor {name}.gz); a BEIR folder holds corpus.jsonl, queries.jsonl and "
        "qrels/test.tsv"
    )


def _qrels_file(source: Path, name: str) -> Path:
    folder = source / "qrels"
    found = {path.name.removesuffix(".gz").removesuffix(".tsv"): path for path in sorted(folder.glob("*.tsv*"))}
    if name not in found:
        known = f"it has {', '.join(found)}; name one with --qrels" if found else "it has none"
        raise UsageError(f"{folder.as_posix()} has no judgments {name!r}: {known}")
    plain = folder / f"{name}.tsv"
    return plain if plain.is_file() else found[name]
