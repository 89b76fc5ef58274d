"""What a test sees of its cell: the row's fields, and `check()`; and the rules of `--rag-require`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ragbench.canonical import TOLERANCE
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ragbench.questions.model import Question

_RULE = re.compile(r"(?P<metric>[a-z_]+(?:@\d+)?)\s*(?:>=\s*(?P<least>\d+(?:\.\d+)?))?")


class RagRow:
    """One measured cell. Every field of the row is an attribute of the same name.

    Attributes:
        golden: The golden question behind it.
        error: `TypeName: message` when the search failed, else None.
    """

    __slots__ = ("_fields", "_text", "error", "golden")

    def __init__(self, text: str, golden: Question, error: str | None) -> None:
        self._text = text
        self._fields: dict[str, Any] | None = None
        self.golden = golden
        self.error = error

    @property
    def fields(self) -> Mapping[str, Any]:
        """The row as `per_query.jsonl` keeps it: a copy, read when a test first asks for it."""
        if self._fields is None:
            self._fields = json.loads(self._text)
        return self._fields

    def __getattr__(self, name: str) -> Any:
        """A field of the row; one that the row does not have is an AttributeError that names those it has."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.fields[name]
        except KeyError:
            known = ", ".join(sorted(self.fields))
            raise AttributeError(f"the row of {self.question} has no field {name!r}; it has {known}") from None

    @property
    def question(self) -> str:
        """Id of the question."""
        return self.golden.id

    @property
    def configuration(self) -> str:
        """Name of the configuration."""
        return str(self.fields["configuration"])

    @property
    def metrics(self) -> Mapping[str, float | None]:
        """Metric name to value; None where nothing was measured."""
        metrics: Mapping[str, float | None] = self.fields["metrics"]
        return metrics

    @property
    def ranking(self) -> Sequence[Mapping[str, Any]]:
        """The ranked chunks, best first."""
        ranking: Sequence[Mapping[str, Any]] = self.fields["ranking"]
        return ranking

    def check(self) -> None:
        """Fail the test when the search failed. A low score is data and fails nothing."""
        __tracebackhide__ = True
        if self.error is not None:
            pytest.fail(describe_error(self.fields), pytrace=False)

    def __repr__(self) -> str:
        state = self.error or ", ".join(f"{name}={value}" for name, value in self.metrics.items() if value is not None)
        return f"<RagRow {self.question} under {self.configuration}: {state}>"


def describe_error(fields: Mapping[str, Any]) -> str:
    """The sentence a failed item shows."""
    return f"{fields['question']} under {fields['configuration']}: the search failed: {fields['error']}"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One rule of `--rag-require`: a metric and the least value that passes."""

    metric: str
    least: float

    def complaint(self, fields: Mapping[str, Any]) -> str | None:
        """Why the row fails the rule, or None. A row without a value (no gold) has nothing to require."""
        value = fields["metrics"].get(self.metric)
        if value is None or value >= self.least - TOLERANCE:
            return None
        who = f"{fields['question']} under {fields['configuration']}"
        return f"{who}: {self.metric} is {value:g}, and --rag-require asks for {self.least:g}"


def parse_requirements(text: str, known: Sequence[str]) -> tuple[Requirement, ...]:
    """`hit@10,ndcg@10>=0.5` as rules; a metric alone asks for 1.

    Raises:
        UsageError: A rule is no rule, or names a metric that the run does not have.
    """
    rules = []
    for part in (piece.strip() for piece in text.split(",")):
        if not part:
            continue
        match = _RULE.fullmatch(part)
        if match is None:
            raise UsageError(f"--rag-require={text}: {part!r} is no rule; write hit@10 or ndcg@10>=0.5")
        if match["metric"] not in known:
            raise UsageError(f"--rag-require={text}: no metric {match['metric']!r}; known: {', '.join(known)}")
        rules.append(Requirement(match["metric"], float(match["least"] or 1.0)))
    return tuple(rules)
