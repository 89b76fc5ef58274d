"""The errors a user can meet. Each message says where, what was found and what to do; none is shown as a traceback."""

from __future__ import annotations

from dataclasses import dataclass


class RagbenchError(Exception):
    """Base of every error that this package raises on purpose."""


class UsageError(RagbenchError):
    """A mistake in the command or in a project's files: the session ends with exit status 4."""


class SealedError(UsageError):
    """The sealed test split was asked for without `--unseal-test`, or its ledger is not what the records anchor."""


class PipelineError(RagbenchError):
    """A search returned something that is no ranking, or refused; the row carries the text."""


class RecordError(RagbenchError):
    """A run record is missing, torn, of an unknown schema, or already taken."""


class StatisticsError(RagbenchError, ValueError):
    """Values that no statistic can be computed from: shapes that differ, NaN, a missing subset."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding about an input file.

    Attributes:
        file: The file as the user would type it.
        line: 1-based line, or None where the format has no lines.
        record: The id of the record, or its position (`record 3`), or None for the whole file.
        field: Dotted path of the field (`gold[0].pages`), or None.
        message: What was found and what to do about it, in one sentence or two.
        code: A short stable name (`duplicate-key`, `gold-file-missing`) for tools and tests.
    """

    file: str
    line: int | None
    record: str | None
    field: str | None
    message: str
    code: str

    def __str__(self) -> str:
        """`file:line: record: field: message [code]`, with absent parts left out."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [place, *(part for part in (self.record, self.field) if part), self.message]
        return ": ".join(parts) + f" [{self.code}]"


class InputError(UsageError):
    """One or more problems in question sets, configurations or thresholds; nothing was loaded."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class BaselineError(RagbenchError):
    """A baseline that can be read and is none: edited by hand, torn in two, or of another schema; a gate refuses it.

    Attributes:
        what: What is wrong with it.
        found: What stands there.
        expected: What should.
    """

    def __init__(self, what: str, found: str, expected: str) -> None:
        self.what = what
        self.found = found
        self.expected = expected
        super().__init__(f"{what}: found {found}, expected {expected}")
