"""The file schema of a question, strict, and its mapping to the value in `model`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from pytest_ragbench.questions import model
from pytest_ragbench.questions.border import STRICT, refusal
from pytest_ragbench.questions.locators import check_file, check_pages, split_heading
from pytest_ragbench.questions.scalars import Ambiguous, kind_of
from pytest_ragbench.questions.suites import check_suite

_ID = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*-[0-9]{4,}")
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?)?"
)


def _not_blank(text: str) -> str:
    if not text or text.isspace():
        raise refusal("empty_text", "is empty; write the text, or leave the key out where it is optional")
    return _characters(text)


def _characters(text: str) -> str:
    """JSON can escape half of a surrogate pair, which no file and no report can be written with."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "holds half of a surrogate pair, which is no character; write the character itself"
        raise refusal("bad_text", message) from None
    return text


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise refusal(
            "bad_id", f"{text[:60]!r} is no id; write a lowercase prefix, `-` and four digits or more: lex-0001"
        )
    return text


def _suite(text: str) -> str:
    complaint = check_suite(text)
    if complaint:
        raise refusal("bad_suite", f"{text[:60]!r}: {complaint}")
    return text


def _file(text: str) -> str:
    complaint = check_file(text)
    if complaint:
        raise refusal("bad_file", f"{text[:60]!r} {complaint}")
    return _characters(text)


def _pages(value: Any) -> tuple[int, int]:
    complaint = check_pages(value)
    if complaint:
        raise refusal("bad_pages", complaint)
    return value[0], value[-1]


def _heading(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str | list):
        # The error for plain text names what YAML made of it and says to quote.
        raise PydanticCustomError("string_type", "must be text")
    for number, part in enumerate(value if isinstance(value, list) else (), 1):
        if not isinstance(part, str):
            raise refusal("bad_heading", f'component {number} is {kind_of(part)}; quote it to make it text, as "3.10"')
    path = split_heading(value)
    if not path or any(not part or part.isspace() for part in path):
        raise refusal("bad_heading", "has an empty component; write `Ch 4 > Bisection` or a list of headings")
    return tuple(map(_characters, path))


def _date(value: Any) -> Any:
    """An unquoted date is what this field wants; it stays the text that was written."""
    return value.text if isinstance(value, Ambiguous) and value.kind == "date" else value


def _iso(text: str) -> str:
    try:
        valid = _ISO.fullmatch(text) and datetime.fromisoformat(text.upper())
    except ValueError:
        valid = None
    if not valid:
        raise refusal("bad_date", f"{text[:60]!r} is no date; write it as 2026-01-05")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]


class _Strict(BaseModel):
    # Defaults come from factories: pydantic deep-copies a list or a record that stands there itself, for each question.
    model_config = STRICT


class LocatorRecord(_Strict):
    """A place in the corpus."""

    file: Annotated[str, AfterValidator(_file)]
    pages: Annotated[tuple[int, int] | None, BeforeValidator(_pages)] = None
    heading: Annotated[tuple[str, ...], BeforeValidator(_heading)] = ()

    def locator(self) -> model.Locator:
        """The locator as a value."""
        return model.Locator(self.file, self.pages, self.heading)


class SourceRecord(LocatorRecord):
    """An entry of `gold`."""

    required: bool = True
    hop: Annotated[int, Field(ge=1)] | None = None
    alternatives: list[LocatorRecord] = Field(default_factory=list)


class ProvenanceRecord(_Strict):
    """Who wrote a question and who looked at it."""

    author: Literal["draft", "owner"] = "owner"
    status: Literal["draft", "verified", "edited", "rejected"] = "draft"
    reviewed_at: Annotated[str, BeforeValidator(_date), AfterValidator(_iso)] | None = None
    drafted_by: Text | None = None
    seed_chunks: list[Text] = Field(default_factory=list)


class QuestionRecord(_Strict):
    """A question as files hold it."""

    id: Annotated[str, AfterValidator(_id)]
    question: Text
    suite: Annotated[str, AfterValidator(_suite)]
    tier: Literal["T1", "T2", "T3", "T4"]
    split: Literal["dev", "test"] | None = None
    answerable: bool = True
    gold: list[SourceRecord] = Field(default_factory=list)
    nuggets: list[Text] = Field(default_factory=list)
    expect_course: Text | None = None
    domain: Text | None = None
    provenance: ProvenanceRecord = Field(default_factory=ProvenanceRecord)
    notes: Text | None = None
    strategy: Literal["fact", "explain", "prerequisites", "compare", "synthesis", "procedure", "history"] | None = None
    difficulty: Text | None = None
    answer: Text | None = None
    source_id: Text | None = None


def rule_breaks(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Rules between fields, checked on what was written: (field, message, code)."""
    answerable, gold = record.get("answerable", True), record.get("gold", [])
    if not isinstance(gold, list):
        return
    if answerable is False and gold:
        yield "gold", "an unanswerable question has empty gold; drop one of the two", "gold-of-unanswerable"
    if answerable is True and not any(_may_be_required(source) for source in gold):
        message = "an answerable question needs at least one required source; add it, or write `answerable: false`"
        yield "gold", message, "no-required-gold"
    for index, source in enumerate(gold):
        if isinstance(source, Mapping) and (first := gold.index(source)) < index:
            message = f"this is gold[{first}] again: one chunk would have to be found twice; drop one of the two"
            yield f"gold[{index}]", message, "repeated-gold"


def _may_be_required(source: Any) -> bool:
    return not isinstance(source, Mapping) or source.get("required", True) is not False


def to_question(record: QuestionRecord) -> model.Question:
    """The value of a valid record."""
    gold = tuple(
        model.GoldSource(
            source.locator(), source.required, source.hop, tuple(other.locator() for other in source.alternatives)
        )
        for source in record.gold
    )
    origin = record.provenance
    return model.Question(
        id=record.id,
        text=record.question,
        suite=record.suite,
        tier=record.tier,
        split=record.split,
        answerable=record.answerable,
        gold=gold,
        nuggets=tuple(record.nuggets),
        expect_course=record.expect_course,
        domain=record.domain,
        provenance=model.Provenance(
            origin.author, origin.status, origin.reviewed_at, origin.drafted_by, tuple(origin.seed_chunks)
        ),
        notes=record.notes,
        strategy=record.strategy,
        difficulty=record.difficulty,
        answer=record.answer,
        source_id=record.source_id,
    )
