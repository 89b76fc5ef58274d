"""Question sets from files: every problem of every file, or the questions.

Positions and YAML rules come from `strict_yaml`, the schema from `schema`; this module knows files, records and ids.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pytest_ragbench import canonical
from pytest_ragbench.errors import InputError, Problem, UsageError
from pytest_ragbench.questions.border import Place, flaw_problems, line_of, schema_problems
from pytest_ragbench.questions.scalars import kind_of
from pytest_ragbench.questions.schema import QuestionRecord, rule_breaks, to_question
from pytest_ragbench.questions.serial import questions_digest
from pytest_ragbench.questions.strict_yaml import Flaw, YamlList, YamlMapping, decode, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.questions.strict_yaml import Path as FieldPath

SUFFIXES = (".yaml", ".yml", ".jsonl")
_SHOWN_PATH = 200


@dataclass(frozen=True, slots=True)
class Record:
    """A question and where it stands.

    Attributes:
        question: The question.
        file: Its file as shown.
        path: Where that file lies; None for a text that was not read from one.
        line: 1-based line of its first key.
        raw: The mapping as read, with the lines of its fields where the format has them.
    """

    question: Question
    file: str
    path: Path | None
    line: int
    raw: Mapping[str, Any]

    def problem(self, path: FieldPath, message: str, code: str) -> Problem:
        """A finding at a path within the record, at the line of what stands there."""
        place = Place(self.file, self.question.id, self.line)
        return place.problem(line_of(self.raw, path), path, message, code)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Every question below a folder.

    Attributes:
        questions: Sorted by id.
        files: Id to its file as shown.
        warnings: What is odd and no error: a file without questions.
        digest: sha256 over the questions sorted by id, whatever files they lie in.
    """

    questions: tuple[Question, ...]
    files: Mapping[str, str]
    warnings: tuple[Problem, ...]
    digest: str


def shown_path(path: Path) -> str:
    """A path with `/`, readable even where the locale cannot spell it."""
    text = path.as_posix()
    try:
        return os.fsencode(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # not a name from the file system: its characters are already what they are
        return text


def find_set_files(root: Path) -> tuple[Path, ...]:
    """Every `*.yaml`, `*.yml` and `*.jsonl` below `root`, sorted by posix path; hidden files and folders are left out.

    A file stands for itself. Links to folders are followed, each folder once.

    Raises:
        UsageError: There is no such folder, or something below it cannot be looked into: no set is left out unseen.
    """
    try:
        if root.is_file():
            return (root,)
        if not root.is_dir():
            text = f"no question sets: there is no folder or file {shown_path(root)}"
            raise UsageError(f"{text}; name the right one, or set the ini key rag_sets")
        found = sorted(_walk(root), key=Path.as_posix)
        lost = next((path for path in found if not path.is_file()), None)
    except OSError as error:
        place = shown_path(Path(error.filename or root))[-_SHOWN_PATH:]
        raise UsageError(f"no question sets: {place} cannot be read: {error.strerror or error}") from None
    if lost is not None:
        raise UsageError(f"{shown_path(lost)} is a link to nothing, or no plain file; mend or remove it")
    return tuple(found)


def _walk(root: Path) -> Iterator[Path]:
    """Files named as sets below a folder; raises OSError for a folder that cannot be listed."""
    seen = {root.resolve()}
    for folder, subfolders, names in os.walk(root, onerror=_raise, followlinks=True):
        for name in sorted(subfolders):
            real = Path(folder, name).resolve()
            if name.startswith(".") or real in seen:
                subfolders.remove(name)
            seen.add(real)
        yield from (Path(folder, name) for name in names if name.lower().endswith(SUFFIXES) and name[0] != ".")


def _raise(error: OSError) -> None:
    raise error


def load_questions(root: Path, *, shown_as: str | None = None) -> QuestionSet:
    """Load every set below `root`, or the one set that `root` is.

    Args:
        root: A folder of sets, or one set.
        shown_as: What messages and `files` write for `root`.

    Raises:
        InputError: With all problems of all files.
        UsageError: There is no such folder, or a file cannot be read.
    """
    records, warnings = load_records(root, shown_as=shown_as)
    questions = tuple(record.question for record in records)
    files = {record.question.id: record.file for record in records}
    return QuestionSet(questions, files, tuple(warnings), questions_digest(questions))


def load_records(root: Path, *, shown_as: str | None = None) -> tuple[list[Record], list[Problem]]:
    """The questions below `root` sorted by id, with their places, and the warnings; raises as `load_questions`."""
    problems: list[Problem] = []
    warnings: list[Problem] = []
    records: list[Record] = []
    places: dict[str, list[tuple[str, int]]] = {}
    for path in find_set_files(root):
        reading = _Reading(_shown(path, root, shown_as), path)
        reading.read(path)
        problems += reading.problems
        warnings += reading.warnings
        records += reading.records
        for name, line in reading.ids:
            places.setdefault(name, []).append((reading.file, line))
    problems += _duplicates(places)
    if problems:
        raise InputError(problems)
    return sorted(records, key=lambda record: record.question.id), warnings


def read_set(text: str, shown: str) -> list[Question]:
    """The questions of one set in the order of the file; `shown` is its name, whose suffix says how it is read.

    Raises:
        InputError: With all problems of the text.
    """
    reading = _Reading(shown)
    reading.take(text, jsonl=shown.lower().endswith(".jsonl"))
    if reading.problems:
        raise InputError(reading.problems)
    return [record.question for record in reading.records]


def _shown(path: Path, root: Path, shown_as: str | None) -> str:
    if shown_as is None:
        return shown_path(path)
    return shown_as if path == root else f"{shown_as.rstrip('/')}/{shown_path(path.relative_to(root))}"


def _duplicates(places: Mapping[str, Sequence[tuple[str, int]]]) -> Iterator[Problem]:
    for name, found in places.items():
        for file, line in found[1:]:
            first = f"{found[0][0]}:{found[0][1]}"
            message = f"the id stands already in {first}; ids are unique over all files and never reused"
            yield Problem(file, line, name, "id", message, "duplicate-id")


class _Reading:
    """One file: its records, the ids it uses, its problems and warnings."""

    def __init__(self, file: str, path: Path | None = None) -> None:
        self.file = file
        self.path = path
        self.records: list[Record] = []
        self.ids: list[tuple[str, int]] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def read(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{self.file}: cannot be read: {error.strerror or error}") from None
        text, flaw = decode(data)
        if flaw is not None:
            self.problems += flaw_problems([flaw], Place(self.file, None, None))
        else:
            self.take(text, jsonl=path.suffix.lower() == ".jsonl")

    def take(self, text: str, *, jsonl: bool) -> None:
        if jsonl:
            self._jsonl(text)
        else:
            self._yaml(text)
        if not self.records and not self.problems:
            message = "the file holds no questions (0 read)"
            self.warnings.append(Problem(self.file, None, None, None, message, "no-questions"))

    def _yaml(self, text: str) -> None:
        document = parse(text)
        whole = Place(self.file, None, None)
        root = document.root
        if not isinstance(root, YamlList):
            self.problems += flaw_problems(document.flaws, whole)
            if not document.flaws and root is not None:
                line = getattr(root, "line", 1)
                message = (
                    f"a question set is a list of records, each beginning with `- id:`, but this is {kind_of(root)}"
                )
                self.problems.append(Problem(self.file, line, None, None, message, "no-list"))
            return
        by_record: dict[int, list[Flaw]] = {}
        for flaw in document.flaws:
            if flaw.path and isinstance(flaw.path[0], int):
                by_record.setdefault(flaw.path[0], []).append(flaw)
            else:
                self.problems += flaw_problems([flaw], whole)
        for index, value in enumerate(root):
            line = value.line if isinstance(value, YamlMapping) else root.lines[index]
            self._record(value, line, index, by_record.pop(index, ()))
        # A record that was cut off by an error leaves nothing but its flaws.
        for index, flaws in by_record.items():
            self.problems += flaw_problems(flaws, Place(self.file, f"record {index + 1}", None), 1)

    def _jsonl(self, text: str) -> None:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        for index, (number, line) in enumerate(lines):
            try:
                value = canonical.loads(line)
            except ValueError as error:
                message = f"the line is no JSON object: {error}"
                self.problems.append(Problem(self.file, number, None, None, message, "json-syntax"))
                continue
            self._record(value, number, index, ())

    def _record(self, value: Any, line: int, index: int, flaws: Sequence[Flaw]) -> None:
        found = value.get("id") if isinstance(value, dict) else None
        named = isinstance(found, str) and 0 < len(found) <= 60 and found.isprintable()
        label = str(found) if named else f"record {index + 1}"
        place = Place(self.file, label, line)
        if not isinstance(value, dict):
            if not flaws:
                message = f"a record is a mapping that begins with `id:`, but this is {kind_of(value)}"
                self.problems.append(place.problem(line, (), message, "no-mapping"))
            self.problems += flaw_problems(flaws, place, 1)
            return
        if isinstance(found, str):
            self.ids.append((found, line))
        problems = flaw_problems(flaws, place, 1)
        problems += [
            place.problem(getattr(value, "lines", {}).get(field), (field,), message, code)
            for field, message, code in rule_breaks(value)
        ]
        try:
            question = to_question(QuestionRecord.model_validate(value))
        except ValidationError as error:
            problems += schema_problems(error, value, QuestionRecord, place, [flaw.path[1:] for flaw in flaws])
        else:
            self.records.append(Record(question, self.file, self.path, line, value))
        self.problems += sorted(problems, key=lambda problem: problem.line or 0)
