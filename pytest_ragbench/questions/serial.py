"""Questions to plain mappings in the file schema, and back; pure, for records, digests and writers of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.canonical import digest
from pytest_ragbench.questions.locators import split_heading, write_heading
from pytest_ragbench.questions.model import GoldSource, Locator, Provenance, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OPTIONAL = ("expect_course", "domain", "notes", "strategy", "difficulty", "answer", "source_id")


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


def _locator(mapping: Mapping[str, Any]) -> Locator:
    pages = mapping.get("pages")
    return Locator(
        file=mapping["file"],
        pages=None if pages is None else (pages[0], pages[-1]),
        heading=split_heading(mapping.get("heading") or ()),
    )


def from_mapping(mapping: Mapping[str, Any]) -> Question:
    """The question that `to_mapping` wrote.

    For records of this package: the values are trusted. A set that people edit goes through `loading`.

    Raises:
        KeyError: A required key is missing.
    """
    gold = tuple(
        GoldSource(
            locator=_locator(source),
            required=source.get("required", True),
            hop=source.get("hop"),
            alternatives=tuple(_locator(other) for other in source.get("alternatives", ())),
        )
        for source in mapping.get("gold", ())
    )
    raw = mapping.get("provenance", {})
    provenance = Provenance(
        author=raw.get("author", "owner"),
        status=raw.get("status", "draft"),
        reviewed_at=raw.get("reviewed_at"),
        drafted_by=raw.get("drafted_by"),
        seed_chunks=tuple(raw.get("seed_chunks", ())),
    )
    return Question(
        id=mapping["id"],
        text=mapping["question"],
        suite=mapping["suite"],
        tier=mapping["tier"],
        split=mapping.get("split"),
        answerable=mapping.get("answerable", True),
        gold=gold,
        nuggets=tuple(mapping.get("nuggets", ())),
        provenance=provenance,
        **{name: mapping.get(name) for name in _OPTIONAL},
    )


def questions_digest(questions: Iterable[Question]) -> str:
    """sha256 (hex) of the questions sorted by id, whatever files they lie in."""
    return digest([to_mapping(question) for question in sorted(questions, key=lambda question: question.id)])
