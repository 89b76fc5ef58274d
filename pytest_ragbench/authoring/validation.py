"""`ragbench validate`: everything that can be told about question sets without running a pipeline.

Errors make a set unusable or a score meaningless; warnings are for a reader to judge. Codes are stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from pytest_ragbench.authoring.corpus import open_corpus
from pytest_ragbench.authoring.locating import Locating
from pytest_ragbench.authoring.passages import groups_by_gold
from pytest_ragbench.authoring.quotas import Quota, quotas
from pytest_ragbench.authoring.wording import copied_run, near_duplicates
from pytest_ragbench.configurations.loading import load_catalogue, missing_off_values
from pytest_ragbench.errors import InputError, Problem
from pytest_ragbench.metrics.faithfulness import content_words
from pytest_ragbench.questions.loading import Record, load_records
from pytest_ragbench.questions.strict_yaml import YamlList, YamlMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pytest_ragbench.authoring.encoder_limit import EncoderLimit
    from pytest_ragbench.questions.strict_yaml import Path as FieldPath

SUPPORT = 0.6
"""Share of a nugget's content words that its gold passages must hold together; every number of it must stand there."""

ERRORS = ("gold-file-missing", "gold-file-outside", "locator-empty", "locator-ambiguous")
"""Codes of errors that only a corpus shows; a set or configurations that do not load bring those of their loaders."""

WARNINGS = (
    *(
        "nugget-unsupported",
        "nugget-beyond-limit",
        "copied-phrasing",
        "near-duplicate",
        "shared-gold",
        "cut-by-comment",
    ),
    *("repeated-heading", "wide-pages", "not-checked", "no-questions", "no-off-value"),
)
"""Codes of warnings."""

_PROSE = frozenset({"question", "answer", "notes", "nuggets", "heading"})
_SHOWN_IDS = 8
_OTHER_SIDE: dict[str | None, str] = {"dev": "test", "test": "dev"}


@dataclass(slots=True)
class Validation:
    """What was found.

    Attributes:
        errors: In the order of files and lines.
        warnings: Likewise.
        quotas: One entry a suite; empty where a set could not be loaded.
        questions: How many questions were read.
        checked: Whether a corpus was held against them.
    """

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    quotas: list[Quota] = field(default_factory=list)
    questions: int = 0
    checked: bool = False


def validate(
    sets: Path,
    *,
    corpus: Path | None = None,
    configurations: Path | None = None,
    limit: EncoderLimit | None = None,
    shown_as: str | None = None,
    configurations_shown_as: str | None = None,
) -> Validation:
    """Check question sets, against a corpus where one is given, and a file of configurations where one is given.

    Args:
        sets: A folder of sets, or one set.
        corpus: The folder of documents that gold sources name.
        configurations: A `configs.yaml`.
        limit: The pipeline's chunks, and how much of each its encoder reads.
        shown_as: What messages write for `sets`.
        configurations_shown_as: What messages write for `configurations`.

    Raises:
        UsageError: A folder or file does not exist. What is wrong inside a set is a finding.
    """
    result = Validation()
    try:
        records, result.warnings = load_records(sets, shown_as=shown_as)
    except InputError as error:
        result.errors, records = error.problems, []
    if configurations is not None:
        _check_configurations(
            result, configurations, {record.question.suite for record in records}, shown_as=configurations_shown_as
        )
    result.questions = len(records)
    result.quotas = quotas(record.question for record in records) if records else []
    alive = [record for record in records if not record.question.rejected]
    for record in alive:
        result.warnings += _cut_by_comment(record)
        result.warnings += _beyond_limit(record, limit) if limit is not None else ()
    result.warnings += _near_duplicates(alive)
    result.warnings += _shared_gold(alive)
    if corpus is not None:
        opened = open_corpus(corpus)
        result.checked = True
        unread: list[Problem] = []
        for record in alive:
            found = Locating(record, opened)
            result.errors += found.errors
            result.warnings += [*found.warnings, *_wording(record, found)]
            unread += found.unread
        result.warnings += _by_reason(unread)
    result.errors.sort(key=_position)
    result.warnings.sort(key=_position)
    return result


def _check_configurations(result: Validation, path: Path, suites: set[str], *, shown_as: str | None) -> None:
    try:
        load_catalogue(path, reserved=suites, shown_as=shown_as)
    except InputError as error:
        result.errors += error.problems
    result.warnings += missing_off_values(path, shown_as=shown_as)


def _position(problem: Problem) -> tuple[str, int, str, str]:
    return problem.file, problem.line or 0, problem.code, problem.message


def _by_reason(unread: Sequence[Problem]) -> Iterator[Problem]:
    """One finding a reason, at the first source it keeps from being checked: an absent PDF reader is said once."""
    sources: dict[str, list[Problem]] = {}
    for problem in unread:
        sources.setdefault(problem.message, []).append(problem)
    for message, problems in sources.items():
        more = f" (so are {len(problems) - 1} more sources)" if len(problems) > 1 else ""
        yield replace(problems[0], message=message + more)


def _cut_by_comment(record: Record) -> Iterator[Problem]:
    """Unquoted prose that a ` #` cuts off: YAML takes the rest of the line for a comment."""
    for path in _cut_paths(record.raw, ()):
        if any(part in _PROSE for part in path):
            message = "the text ends at ` #`, where YAML begins a comment; quote the text, or drop the comment"
            yield record.problem(path, message, "cut-by-comment")


def _cut_paths(value: object, path: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, YamlMapping | YamlList):
        for key in value.cut:
            yield (*path, key)
        for key, inner in value.items() if isinstance(value, YamlMapping) else enumerate(value):
            yield from _cut_paths(inner, (*path, key))


def _near_duplicates(records: Sequence[Record]) -> Iterator[Problem]:
    """One finding a question, however many are worded like it: a template in a large set would fill the screen."""
    by_id = {record.question.id: record for record in records}
    texts = {name: record.question.text for name, record in by_id.items()}
    splits = {name: record.question.split for name, record in by_id.items()}
    for name, found in groupby(near_duplicates(texts), key=itemgetter(1)):
        pairs = [(one, share) for one, _, share in found]
        other_side = _OTHER_SIDE.get(splits[name])
        across = [pair for pair in pairs if other_side and splits[pair[0]] == other_side]
        leak = "; they lie across dev and test, so tuning on one tunes on the other" if across else ""
        one, share = (across or pairs)[0]
        more = f", and {len(pairs) - 1} more questions are as near" if len(pairs) > 1 else ""
        message = f"{share:.0%} of the words are those of {one} ({by_id[one].file}){leak}{more}"
        yield by_id[name].problem(("question",), message, "near-duplicate")


def _shared_gold(records: Sequence[Record]) -> Iterator[Problem]:
    """Questions on one passage that lie across dev and test."""
    by_id = {record.question.id: record for record in records}
    for group in groups_by_gold([record.question for record in records]):
        sides = {side: [one.id for one in group if one.split == side] for side in ("dev", "test")}
        if sides["dev"] and sides["test"]:
            said = " and ".join(f"{side} ({_listed(names)})" for side, names in sides.items())
            message = f"a gold passage is shared across {said}; `ragbench split --group-by gold` keeps such together"
            yield by_id[sides["test"][0]].problem(("gold",), message, "shared-gold")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_IDS
    return ", ".join(names[:_SHOWN_IDS]) + (f" and {more} more" if more > 0 else "")


def _wording(record: Record, found: Locating) -> Iterator[Problem]:
    """Nuggets that the passages do not hold, and a question that is worded like one."""
    question = record.question
    if found.complete and found.passages:
        given = frozenset[str]().union(*map(content_words, found.passages))
        for index, nugget in enumerate(question.nuggets):
            missing = _unsupported(content_words(nugget), given)
            if missing:
                message = f"the gold passages do not hold {', '.join(missing[:_SHOWN_IDS])}"
                yield record.problem(("nuggets", index), message, "nugget-unsupported")
    if question.suite != "lexical":
        run = _first(lambda passage: copied_run(question.text, passage), found.passages)
        if run is not None:
            message = f"the words {run!r} stand so in the gold passage; ask it in other words"
            yield record.problem(("question",), message, "copied-phrasing")


def _beyond_limit(record: Record, limit: EncoderLimit) -> Iterator[Problem]:
    """Nuggets that the chunks on the gold hold, but not where an encoder reads."""
    texts = [chunk.text for chunk in limit.on_gold(record.question)]
    whole = frozenset[str]().union(*map(content_words, texts))
    read = frozenset[str]().union(*(content_words(limit.read(text)) for text in texts))
    for index, nugget in enumerate(record.question.nuggets):
        wanted = content_words(nugget)
        unread = _unsupported(wanted, read)
        if unread and not _unsupported(wanted, whole):
            message = (
                f"{', '.join(unread[:_SHOWN_IDS])}: of the chunks on the gold, this stands only beyond the first "
                f"{limit.pieces} word pieces (estimated), which a dense lane cannot find; make shorter chunks"
            )
            yield record.problem(("nuggets", index), message, "nugget-beyond-limit")


def _unsupported(wanted: frozenset[str], given: frozenset[str]) -> list[str]:
    """Words of a nugget that are missing, when they are too many or when a number is among them."""
    missing = sorted(wanted - given)
    too_many = len(missing) > (1 - SUPPORT) * len(wanted)
    return missing if too_many else [word for word in missing if word.isdigit()]


def _first(find: Callable[[str], str | None], passages: Sequence[str]) -> str | None:
    return next((run for passage in passages if (run := find(passage)) is not None), None)
