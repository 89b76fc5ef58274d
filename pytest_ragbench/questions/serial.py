"""Questions to plain mappings in the file schema, and back; pure, for records, digests and writers of sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pytest_ragbench.canonical import digest
from pytest_ragbench.questions.locators import check_pages, split_heading, write_heading
from pytest_ragbench.questions.model import (
    Author,
    GoldSource,
    Locator,
    Provenance,
    Question,
    Split,
    Status,
    Strategy,
    Tier,
)
from pytest_ragbench.questions.scalars import kind_of

_OPTIONAL = ("expect_course", "domain", "notes", "strategy", "difficulty", "answer", "source_id")
_AUTHORS, _STATUSES, _TIERS, _SPLITS, _STRATEGIES = map(get_args, (Author, Status, Tier, Split, Strategy))


def _locator_mapping(locator: Locator) -> dict[str, Any]:
    mapping: dict[str, Any] = {"file": locator.file}
    if locator.pages is not None:
        mapping["pages"] = list(locator.pages)
    if locator.heading:
        mapping["heading"] = write_heading(locator.heading)
    return mapping


def _source_mapping(source: GoldSource) -> dict[str, Any]:
    mapping = _locator_mapping(source.locator)
    if not source.required:
        mapping["required"] = False
    if source.hop is not None:
        mapping["hop"] = source.hop
    if source.alternatives:
        mapping["alternatives"] = [_locator_mapping(locator) for locator in source.alternatives]
    return mapping


def _provenance_mapping(provenance: Provenance) -> dict[str, Any]:
    mapping: dict[str, Any] = {"author": provenance.author, "status": provenance.status}
    if provenance.reviewed_at is not None:
        mapping["reviewed_at"] = provenance.reviewed_at
    if provenance.drafted_by is not None:
        mapping["drafted_by"] = provenance.drafted_by
    if provenance.seed_chunks:
        mapping["seed_chunks"] = list(provenance.seed_chunks)
    return mapping


def to_mapping(question: Question) -> dict[str, Any]:
    """The question in the file schema, keys in the order files use; optional keys only when set."""
    mapping: dict[str, Any] = {
        "id": question.id,
        "question": question.text,
        "suite": question.suite,
        "tier": question.tier,
        "split": question.split,
        "answerable": question.answerable,
        "gold": [_source_mapping(source) for source in question.gold],
    }
    if question.nuggets:
        mapping["nuggets"] = list(question.nuggets)
    for name in _OPTIONAL:
        value = getattr(question, name)
        if value is not None:
            mapping[name] = value
    if question.provenance != Provenance():
        mapping["provenance"] = _provenance_mapping(question.provenance)
    return mapping


def from_mapping(mapping: Mapping[str, Any]) -> Question:
    """The question that `to_mapping` wrote.

    For records of this package: what a value says is trusted, and only that it is of the kind that its field holds is
    looked at, so that a file which was edited is told where it is read. A set that people edit goes through `loading`.

    Raises:
        ValueError: A required key is missing, or a value is of another kind; the message begins with the field.
    """
    raw = _Fields(mapping.get("provenance", {}), "provenance")
    provenance = Provenance(
        author=raw.one_of(_AUTHORS, "author", "owner"),
        status=raw.one_of(_STATUSES, "status", "draft"),
        reviewed_at=raw.text_or_none("reviewed_at"),
        drafted_by=raw.text_or_none("drafted_by"),
        seed_chunks=raw.texts("seed_chunks"),
    )
    given = _Fields(mapping)
    return Question(
        id=given.text("id"),
        text=given.text("question"),
        suite=given.text("suite"),
        tier=given.one_of(_TIERS, "tier"),
        split=given.one_of(_SPLITS, "split", None),
        answerable=given.flag("answerable"),
        gold=tuple(map(_source, given.records("gold"))),
        nuggets=given.texts("nuggets"),
        provenance=provenance,
        strategy=given.one_of(_STRATEGIES, "strategy", None),
        **{name: given.text_or_none(name) for name in _OPTIONAL if name != "strategy"},
    )


def _source(given: _Fields) -> GoldSource:
    hop = given.get("hop")
    if hop is not None and type(hop) is not int:
        raise given.refused("hop", "a whole number")
    alternatives = tuple(map(_locator, given.records("alternatives")))
    return GoldSource(_locator(given), given.flag("required"), hop, alternatives)


def _locator(given: _Fields) -> Locator:
    pages, heading = given.get("pages"), given.get("heading")
    if pages is not None and (complaint := check_pages(pages)):
        raise ValueError(f"{given.place('pages')} {complaint}")
    return Locator(
        file=given.text("file"),
        pages=None if pages is None else (pages[0], pages[-1]),
        heading=split_heading(heading) if isinstance(heading, str) else given.texts("heading"),
    )


_MISSING = object()


def _refusal(place: str, wanted: str, found: object) -> ValueError:
    return ValueError(
        f"{place} is missing" if found is _MISSING else f"{place} must be {wanted}, found {kind_of(found)}"
    )


class _Fields:
    """The fields of one mapping, each refused with its place where it is of another kind than the one asked for."""

    def __init__(self, value: Any, place: str = "") -> None:
        if not isinstance(value, Mapping):
            raise _refusal(place, "a mapping", value)
        self._value = value
        self._place = place

    def place(self, key: str) -> str:
        """Dotted path of a field, as `gold[0].pages`."""
        return f"{self._place}.{key}" if self._place else key

    def refused(self, key: str, wanted: str) -> ValueError:
        """What to raise of a field that is not what is wanted."""
        return _refusal(self.place(key), wanted, self.get(key, _MISSING))

    def get(self, key: str, default: Any = None) -> Any:
        """The value, of whatever kind."""
        return self._value.get(key, default)

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.get(key)
        if not isinstance(value, str):
            raise self.refused(key, "text")
        return value

    def text_or_none(self, key: str) -> str | None:
        """A text, or None."""
        return None if self.get(key) is None else self.text(key)

    def one_of(self, known: tuple[Any, ...], key: str, default: Any = _MISSING) -> Any:
        """One of the known texts, or the default where there is nothing."""
        if (value := self.get(key, default)) is default is not _MISSING:
            return value
        if (text := self.text(key)) not in known:
            raise ValueError(f"{self.place(key)} must be one of {', '.join(known)}, found {text[:60]!r}")
        return text

    def flag(self, key: str) -> bool:
        """True or false; true where there is nothing."""
        value = self.get(key, True)
        if not isinstance(value, bool):
            raise self.refused(key, "true or false")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where there is nothing."""
        value = self.get(key, ())
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            raise self.refused(key, "a list of texts")
        return tuple(value)

    def records(self, key: str) -> tuple[_Fields, ...]:
        """A list of mappings; empty where there is nothing."""
        value = self.get(key, ())
        if not isinstance(value, list | tuple):
            raise self.refused(key, "a list")
        return tuple(_Fields(one, f"{self.place(key)}[{at}]") for at, one in enumerate(value))


def questions_digest(questions: Iterable[Question]) -> str:
    """sha256 (hex) of the questions sorted by id, whatever files they lie in."""
    return digest([to_mapping(question) for question in sorted(questions, key=lambda question: question.id)])
