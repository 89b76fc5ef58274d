"""Rankings that another tool wrote, as a pipeline: each run file is one configuration, nothing is searched.

The bench asks by text, run files answer by query id; the queries, or an imported question set, join the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import digest, loads
from pytest_ragbench.contract import Chunk
from pytest_ragbench.errors import PipelineError, UsageError
from pytest_ragbench.execution.document_ids import document_file
from pytest_ragbench.execution.source_lines import Findings, numbered_lines
from pytest_ragbench.execution.trec_files import Run, read_queries, read_run
from pytest_ragbench.questions.loading import QuestionSet, load_questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ragbench.questions.model import Question

SUFFIXES = (".trec", ".run", ".trec.gz", ".run.gz")
"""What `TrecRun.from_folder` takes for a run file."""

_SHOWN = 60


class TrecRun:
    """A pipeline whose answers stand in TREC run files.

    A ranking is in trec_eval's order: score descending in single precision, ties by document id descending; the rank
    column decides nothing. A query that a run does not answer has an empty ranking there, which scores 0.

    Args:
        runs: Name to run file, plain or gzipped.
        queries: BEIR's `queries.jsonl` or a file of `id<TAB>text` lines; or an imported question set (a file, a folder
            of sets, or loaded), whose questions are joined by `source_id` and may have been edited since.

    Raises:
        InputError: A file is not of its format; with every problem.
        UsageError: No run, no query, or two queries of one text that the runs answer differently.
    """

    def __init__(self, runs: Mapping[str, Path | str], queries: Path | str | QuestionSet | Iterable[Question]) -> None:
        if not runs:
            raise UsageError("no run file was given; name at least one, as {'bm25': 'runs/bm25.trec'}")
        findings = Findings()
        self._runs = {name: read_run(Path(path), findings) for name, path in runs.items()}
        pairs = _pairs_of(queries, findings)
        findings.raise_any()
        self._queries = join(pairs, self._runs)

    @classmethod
    def from_folder(cls, folder: Path | str, queries: Path | str | QuestionSet | Iterable[Question]) -> TrecRun:
        """Every run file of a folder (`*.trec`, `*.run`, also `.gz`), named by its file name without the suffix.

        Raises:
            InputError: A file is not of its format.
            UsageError: There is no run file, or two have one name.
        """
        return cls(run_files(Path(folder)), queries)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the runs, in the order given."""
        return tuple(self._runs)

    def search(self, query: str, /, *, run: str | None = None) -> list[Chunk]:
        """The ranking of a query, best first, each document as a chunk of its own file.

        Args:
            query: The text of a query, exactly.
            run: Name of the run; may be left out where there is one.

        Raises:
            PipelineError: No query has this text, or there is no such run.
        """
        rankings = self._run(run).rankings
        if query not in self._queries:
            raise PipelineError(
                f"no query has the text {query[:_SHOWN]!r}; run files answer only the queries they were made for, so "
                "keep the texts of imported questions, or hand TrecRun the edited set"
            )
        return [
            Chunk(document_file(ranked.document), id=ranked.document, score=ranked.score)
            for ranked in rankings.get(self._queries[query], ())
        ]

    def check_overrides(self, **overrides: Any) -> None:
        """Refuse overrides that name no run.

        Raises:
            ValueError: An override is not `run`, or names no run.
        """
        others = sorted(overrides.keys() - {"run"})
        if others:
            raise ValueError(f"a run file knows no override {others[0]!r}; the only one is `run`")
        try:
            self._run(overrides.get("run"))
        except PipelineError as error:
            raise ValueError(str(error)) from None

    def describe(self) -> dict[str, str]:
        """What the run record keeps: a digest of every ranking."""
        rankings = {
            name: {query: [[r.document, r.score] for r in ranking] for query, ranking in run.rankings.items()}
            for name, run in self._runs.items()
        }
        return {"config_digest": digest(sorted(self._runs)), "index": f"trec:{digest(rankings)}"}

    def _run(self, name: str | None) -> Run:
        if name is None and len(self._runs) == 1:
            return next(iter(self._runs.values()))
        found = self._runs.get(name) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(self._runs)
            what = "no run was named" if name is None else f"there is no run {name!r}"
            raise PipelineError(f"{what}; set the override `run` to one of: {known}")
        return found


def run_files(folder: Path) -> dict[str, Path]:
    """The run files of a folder by name, sorted by name.

    Raises:
        UsageError: There is none, or two have one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        suffix = next((s for s in sorted(SUFFIXES, key=len, reverse=True) if path.name.endswith(s)), None)
        if suffix is None or path.name.startswith("."):
            continue
        name = path.name.removesuffix(suffix)
        if name in found:
            raise UsageError(f"{found[name].as_posix()} and {path.as_posix()} are both named {name!r}; remove one")
        found[name] = path
    if not found:
        raise UsageError(f"{folder.as_posix()} holds no run file ({', '.join('*' + suffix for suffix in SUFFIXES)})")
    return dict(sorted(found.items()))


def join(pairs: Iterable[tuple[str, str]], runs: Mapping[str, Run]) -> dict[str, str]:
    """Query text to query id.

    Of several ids with one text, those that no run answers are passed over (a file of queries holds other splits too).

    Args:
        pairs: (query id, text).
        runs: The runs that are asked by text.

    Raises:
        UsageError: One id has two texts, or one text has two ids whose rankings differ in a run.
    """
    texts: dict[str, str] = {}
    by_text: dict[str, list[str]] = {}
    for query, text in pairs:
        if texts.setdefault(query, text) != text:
            raise UsageError(
                f"the query {query!r} has two texts, {texts[query][:_SHOWN]!r} and {text[:_SHOWN]!r}; name the set of "
                "one collection alone, or give each question its own source_id"
            )
        by_text.setdefault(text, []).append(query)
    if not by_text:
        raise UsageError("no query to answer: no question has a `source_id`; name the queries' file or an imported set")
    return {text: _one_of(queries, text, runs) for text, queries in by_text.items()}


def _one_of(queries: Sequence[str], text: str, runs: Mapping[str, Run]) -> str:
    """The id that stands for a text."""
    answered = [query for query in queries if any(query in run.rankings for run in runs.values())]
    first = (answered or queries)[0]
    for other in answered[1:]:
        differing = next((name for name, run in runs.items() if _documents(run, first) != _documents(run, other)), None)
        if differing is not None:
            raise UsageError(
                f"the queries {first!r} and {other!r} have one text, {text[:_SHOWN]!r}, but the run {differing!r} "
                "ranks them differently, and a pipeline is asked by text; drop one of the two"
            )
    return first


def _documents(run: Run, query: str) -> list[str]:
    return [ranked.document for ranked in run.rankings.get(query, ())]


def _pairs_of(queries: Path | str | QuestionSet | Iterable[Question], findings: Findings) -> list[tuple[str, str]]:
    """(query id, text), in the order of the file or of the questions' ids."""
    if isinstance(queries, Path | str):
        path = Path(queries)
        if not _is_set(path):
            return list(read_queries(path, findings).items())
        queries = load_questions(path)
    questions = queries.questions if isinstance(queries, QuestionSet) else queries
    return [(q.source_id, q.text) for q in questions if q.source_id is not None and not q.rejected]


def _is_set(path: Path) -> bool:
    """Whether a path is a question set rather than a file of queries; both may be JSONL, only a query has `_id`."""
    if path.is_dir() or path.suffix.lower() in (".yaml", ".yml"):
        return True
    if path.suffix.lower() != ".jsonl" or not path.is_file():
        return False
    _, line = next(numbered_lines(path, Findings()), (0, ""))
    try:
        record = loads(line)
    except ValueError:
        return False
    return isinstance(record, dict) and "_id" not in record and "id" in record
