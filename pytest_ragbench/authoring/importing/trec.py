"""`ragbench import trec`: judgments in TREC's qrels format, queries, and run files as configurations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.authoring.importing.corpus import Documents, clash_message
from pytest_ragbench.authoring.importing.judgments import judged_queries, read_trec_qrels
from pytest_ragbench.authoring.importing.numbering import labels_of
from pytest_ragbench.authoring.importing.project import Imported, Source, write_project
from pytest_ragbench.execution.source_lines import Findings
from pytest_ragbench.execution.trec_files import read_queries, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_ragbench.authoring.importing.judgments import Judged, Judgments
    from pytest_ragbench.execution.trec_files import Run
    from pytest_ragbench.questions.model import Split, Tier


def import_trec(
    qrels: Path,
    queries: Path,
    target: Path,
    *,
    suite: str = "trec",
    split: Split | None = "dev",
    tier: Tier = "T2",
    min_grade: int = 1,
    runs: Mapping[str, str] | None = None,
) -> Imported:
    """Write judged queries as a set, and run files as configurations, into a project; there is no corpus.

    Args:
        qrels: Judgments, `query 0 document grade` a line.
        queries: BEIR's `queries.jsonl`, or `id<TAB>text` a line.
        target: The project's folder; one from an earlier import keeps its ids and gets what is new.
        suite: Suite of the questions.
        split: Split of new questions.
        tier: Tier of new questions.
        min_grade: The least grade that is relevant, 1 or more.
        runs: Name to TREC run file; the others are compared with the first.

    Raises:
        InputError: A file is not of its format, or two contradict each other; with every problem.
        UsageError: A name is taken, a run answers nothing, or the folder cannot be written.
    """
    labels = labels_of(suite, tier, split, min_grade)
    findings = Findings()
    texts = read_queries(queries, findings)
    judgments = read_trec_qrels(qrels, findings)
    rankings = {name: read_run(Path(file), findings, progress=True) for name, file in (runs or {}).items()}
    findings.raise_any()
    judged, notes = judged_queries(judgments, texts, queries.as_posix(), min_grade=min_grade, findings=findings)
    _check_documents(judged, judgments, rankings, findings)
    findings.raise_any()
    return write_project(Source(judged, rankings, notes), target, labels)


def _check_documents(
    judged: Iterable[Judged], judgments: Judgments, runs: Mapping[str, Run], findings: Findings
) -> None:
    """Refuse documents of the judgments or runs that a relevant one cannot be told apart from."""
    documents = Documents(document for query in judged for document in query.documents)
    sources = [(judgments.file, {document for found in judgments.by_query.values() for document in found})]
    for name, run in runs.items():
        sources.append((f"run {name}", {r.document for ranking in run.rankings.values() for r in ranking}))
    reported: set[str] = set()
    for file, found in sources:
        for document in sorted(found - reported):
            if (other := documents.clash(document)) is not None:
                findings.add(file, None, clash_message(document, other), "document-ambiguous")
                reported.add(document)
