"""The project that an import writes: a set, perhaps a corpus and runs, and the few files that make pytest run them.

What a user may have edited (conftest.py, the test, configurations, ini files, questions) is kept as it stands.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.authoring.files import sets_lock
from pytest_ragbench.authoring.importing.numbering import Labels, Merged, merge
from pytest_ragbench.authoring.importing.runs import check_names, configs_text, declared_runs, run_lines
from pytest_ragbench.authoring.importing.staging import staged
from pytest_ragbench.authoring.project import own_ini_file
from pytest_ragbench.errors import UsageError
from pytest_ragbench.execution.source_lines import Findings
from pytest_ragbench.execution.trec_files import read_run
from pytest_ragbench.execution.trec_run import join, run_files
from pytest_ragbench.questions.loading import load_questions
from pytest_ragbench.questions.serial import to_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from pytest_ragbench.authoring.importing.judgments import Judged
    from pytest_ragbench.execution.trec_files import Run
    from pytest_ragbench.questions.model import Question

SETS = "golden/sets"
CONFIGS = "golden/configs.yaml"
CORPUS = "corpus/corpus.jsonl"
RUNS = "runs"

CONFTEST = '''\
"""The pipeline that is measured: the rankings in runs/, one configuration a file."""

from pathlib import Path

import pytest

from pytest_ragbench.execution.trec_run import TrecRun

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def rag_pipeline():
    return TrecRun.from_folder(HERE / "runs", HERE / "golden" / "sets")
'''

TEST = """\
def test_question(rag_row):
    rag_row.check()
"""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        set_file: The set below the target folder.
        added: Number of new questions.
        kept: Number of questions that were there already.
        documents: Number of documents of the corpus, or None where none was imported.
        runs: Names of every run of the project, the first being the one that others are compared with.
        notes: Sentences for the user: what was left out, kept, or differs from trec_eval.
    """

    set_file: str
    added: int
    kept: int
    documents: int | None
    runs: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A collection, read and checked.

    Attributes:
        judged: Its queries with relevant documents.
        runs: Name to run, in the order typed.
        notes: What the readers have to say.
        write_corpus: Writes the corpus into a file and returns the number of documents, which must include those of the
            given questions; None without a corpus.
    """

    judged: Sequence[Judged]
    runs: Mapping[str, Run]
    notes: Sequence[str]
    write_corpus: Callable[[Path, Sequence[Question]], int] | None = None


def write_project(source: Source, target: Path, labels: Labels) -> Imported:
    """Write or extend the project in `target`; on any error `target` is as it was.

    Raises:
        InputError: The corpus, or a set or run that is already there, has problems.
        UsageError: A name is taken, two queries cannot be told apart, or the folder cannot be written.
    """
    sets = target / SETS
    with sets_lock(sets) if sets.is_dir() else nullcontext():
        existing = load_questions(sets).questions if sets.is_dir() else ()
        merged = merge(source.judged, existing, labels)
        set_file = f"{SETS}/{labels.suite}.jsonl"
        runs, names, notes = _runs(source, target, existing, merged, labels)
        with staged(target) as folder:
            documents = _write_corpus(source, folder, existing)
            if merged.added:
                _write_set(folder / set_file, target / set_file, merged.added)
            for name in source.runs:
                _write(folder / RUNS / f"{name}.trec", run_lines(runs[name], name))
            notes += _write_files(folder, target, names, has_corpus=documents is not None)
    all_notes = (*source.notes, *_merge_notes(merged), *notes)
    return Imported(set_file, len(merged.added), len(merged.kept), documents, names, all_notes)


def _runs(
    source: Source, target: Path, existing: Sequence[Question], merged: Merged, labels: Labels
) -> tuple[dict[str, Run], tuple[str, ...], list[str]]:
    """Every run of the project by name, their order, and what to say of them."""
    findings = Findings()
    files = _present_runs(target / RUNS, source.runs)
    known = {name: read_run(path, findings) for name, path in files.items() if name not in source.runs}
    findings.raise_any()
    declared = [name for name in declared_runs(target / CONFIGS) if name in known or name in source.runs]
    names = tuple(dict.fromkeys([*declared, *known, *source.runs]))
    runs = known | dict(source.runs)
    questions = [*existing, *merged.added]
    check_names(names, {question.suite for question in questions} | {labels.suite})
    pairs = [(q.source_id, q.text) for q in questions if q.source_id is not None and not q.rejected]
    if runs:
        join(pairs, runs)
    return runs, names, _run_notes(runs, [source_id for source_id, _ in pairs])


def _present_runs(folder: Path, replaced: Collection[str]) -> dict[str, Path]:
    """The run files of an earlier import; one that is to be replaced must have the name that is written."""
    files = run_files(folder) if folder.is_dir() and any(folder.iterdir()) else {}
    for name, path in files.items():
        if name in replaced and path.name != f"{name}.trec":
            raise UsageError(
                f"--run {name}: {path.as_posix()} has that name already; remove it, or choose another name"
            )
    return files


def _run_notes(runs: Mapping[str, Run], asked: Sequence[str]) -> list[str]:
    notes = []
    for name, run in runs.items():
        missing = sum(source_id not in run.rankings for source_id in asked)
        if asked and missing == len(asked):
            raise UsageError(
                f"the run {name!r} answers none of the {len(asked)} questions (its first query is "
                f"{min(run.rankings, default='')!r}, theirs is {min(asked)!r}); give the run of this collection"
            )
        if missing:
            notes.append(f"the run {name!r} does not answer {missing} of {len(asked)} questions; they score 0 in it")
        if run.contradicted:
            notes.append(
                f"the rank column of the run {name!r} contradicts its scores in {run.contradicted} queries; the scores "
                "count, as in trec_eval"
            )
    return notes


def _write_corpus(source: Source, folder: Path, existing: Sequence[Question]) -> int | None:
    if source.write_corpus is None:
        return None
    path = folder / CORPUS
    path.parent.mkdir(parents=True)
    return source.write_corpus(path, [question for question in existing if question.source_id is not None])


def _write_set(staged_file: Path, present: Path, added: Sequence[Question]) -> None:
    """The set with the new questions behind what is there, byte for byte; read back before it counts."""
    before = present.read_bytes() if present.is_file() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    lines = "".join(json.dumps(to_mapping(question), ensure_ascii=False) + "\n" for question in added)
    staged_file.parent.mkdir(parents=True)
    staged_file.write_bytes(before + lines.encode())
    load_questions(staged_file, shown_as=present.as_posix())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_files(folder: Path, target: Path, names: Sequence[str], *, has_corpus: bool) -> list[str]:
    """Write what is missing beside the set; a note for each file that is the user's own by now."""
    notes: list[str] = []
    _keep_or_write(folder, target, "golden/test_golden.py", TEST, notes)
    corpus = has_corpus or (target / CORPUS).is_file()
    ini = _ini_text(has_corpus=corpus, has_runs=bool(names))
    earlier = {_ini_text(has_corpus=c, has_runs=r) for c in (False, True) for r in (False, True)}
    found = own_ini_file(target)
    if found is None or found[0].read_bytes() in {text.encode() for text in earlier}:
        _keep_or_write(folder, target, "pytest.ini", ini, notes, earlier=earlier)
    else:
        notes += _missing_settings(*found, ini)
    if names:
        _keep_or_write(folder, target, "conftest.py", CONFTEST, notes)
        declared = declared_runs(target / CONFIGS)
        _keep_or_write(
            folder, target, CONFIGS, configs_text(names), notes, earlier={configs_text(declared)} if declared else ()
        )
    return notes


def _ini_text(*, has_corpus: bool, has_runs: bool) -> str:
    lines = ["[pytest]", f"rag_sets = {SETS}"]
    lines += ["rag_corpus = corpus"] if has_corpus else []
    lines += ["rag_configs = runs"] if has_runs else []
    return "\n".join(lines) + "\n"


def _missing_settings(own: Path, known: Mapping[str, str], ini: str) -> list[str]:
    """A note that names the settings which an ini file of the user's own lacks, or none."""
    missing = [line for line in ini.splitlines()[1:] if line.split(" = ")[0] not in known]
    return [f"{own.name} is yours and was kept; add to its pytest settings: {', '.join(missing)}"] if missing else []


def _keep_or_write(
    folder: Path,
    target: Path,
    name: str,
    text: str,
    notes: list[str],
    *,
    earlier: Sequence[str] | set[str] = (),
) -> None:
    """Write a file unless the user has another there; what an earlier import wrote is no edit."""
    present = target / name
    found = present.read_bytes() if present.is_file() else None
    if found is None or found in {known.encode() for known in earlier}:
        if found != text.encode():
            _write(folder / name, text)
    elif found != text.encode():
        notes.append(f"{name} is yours and was kept; the import would have written:\n{text.rstrip()}")


def _merge_notes(merged: Merged) -> list[str]:
    notes = []
    for names, what in (
        (merged.changed, "differ from the source by now"),
        (merged.gone, "are no longer in the source"),
    ):
        if names:
            shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            notes.append(f"{len(names)} questions {what} and were kept as they stand: {shown}")
    return notes
