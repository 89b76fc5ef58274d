"""The concept tables: what a concept is, read strictly from `concepts/*.yaml`. Nothing is composed here.

A table is a domain, with a prefix for the ids of its questions, and its concepts. A concept has a `name` as it stands
in a sentence ("a lockfile"), perhaps another `title` for headings and `plural: true`, and three lists of sentences, one
for each passage: `works`, `limits` and `practice`. `$It` stands for the concept. Its `ask` lists the questions, each
under its difficulty and the sentences that answer it: `medium limits.2` is the second sentence of `limits`,
`flaky-test/practice.3` one of another concept. Sources in two passages make a question that needs both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

Aspect = Literal["works", "limits", "practice"]
Difficulty = Literal["easy", "medium", "hard"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)

_SOURCE = re.compile(r"(?:(?P<concept>[a-z0-9-]+)/)?(?P<aspect>works|limits|practice)\.(?P<number>[1-9])")
_ARTICLE = re.compile(r"(?:a|an|the) ")
_PLACEHOLDER = re.compile(r"\$(?!It\b)")

Sentence = Annotated[str, Field(min_length=20, pattern=r"^[$A-Z_a-z0-9].*\.$")]


class TableError(Exception):
    """A table that cannot be used; the message names the file, the concept and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """One sentence of a concept: its place in the tables."""

    concept: str
    aspect: Aspect
    number: int


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, its difficulty, and the sentences that answer it."""

    text: str
    difficulty: Difficulty
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Concept:
    """What three passages and some questions are made of.

    Attributes:
        domain: The domain's name.
        slug: The name in file names; unique over all domains.
        name: As it stands in a sentence, with its article.
        title: As it stands in a heading.
        plural: Whether a later sentence calls it `They`.
        sentences: Aspect -> its sentences, with `$It` for the concept.
        asks: The questions.
    """

    domain: str
    slug: str
    name: str
    title: str
    plural: bool
    sentences: Mapping[Aspect, tuple[str, ...]]
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """A table: the prefix of its questions' ids, and its concepts."""

    name: str
    prefix: str
    concepts: tuple[Concept, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _ConceptRecord(_Strict):
    name: Annotated[str, Field(min_length=3)]
    title: str | None = None
    plural: bool = False
    works: Annotated[list[Sentence], Field(min_length=3, max_length=9)]
    limits: Annotated[list[Sentence], Field(min_length=3, max_length=9)]
    practice: Annotated[list[Sentence], Field(min_length=3, max_length=9)]
    ask: Annotated[list[dict[str, Annotated[str, Field(pattern=r"\?$")]]], Field(min_length=1)]


class _DomainRecord(_Strict):
    domain: Annotated[str, Field(pattern=r"^[a-z-]+$")]
    prefix: Annotated[str, Field(pattern=r"^[a-z]{3}$")]
    concepts: list[_ConceptRecord]


def read_tables(folder: Path) -> tuple[Domain, ...]:
    """Every table of a folder, in the order of the files' names.

    Raises:
        TableError: A table cannot be read, has another shape, or names a sentence that is not there.
    """
    domains = tuple(_read(path) for path in sorted(folder.glob("*.yaml")))
    if not domains:
        raise TableError(f"{folder}: there is no table (*.yaml)")
    concepts = [concept for domain in domains for concept in domain.concepts]
    by_slug = {concept.slug: concept for concept in concepts}
    for problem in _problems(concepts, by_slug):
        raise TableError(problem)
    return domains


def _read(path: Path) -> Domain:
    try:
        record = _DomainRecord.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise TableError(f"{path.name}: cannot be read as YAML: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise TableError(f"{path.name}: {where}: {first['msg']}; found {first['input']!r}") from None
    concepts = tuple(_concept(path.name, record.domain, concept) for concept in record.concepts)
    return Domain(record.domain, record.prefix, concepts)


def _concept(file: str, domain: str, record: _ConceptRecord) -> Concept:
    plain = _ARTICLE.sub("", record.name, count=1) if _ARTICLE.match(record.name) else record.name
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    return Concept(
        domain=domain,
        slug=slug,
        name=record.name,
        title=record.title or record.name,
        plural=record.plural,
        sentences={"works": tuple(record.works), "limits": tuple(record.limits), "practice": tuple(record.practice)},
        asks=tuple(_ask(f"{file}: {record.name}", slug, entry) for entry in record.ask),
    )


def _ask(place: str, slug: str, entry: Mapping[str, str]) -> Ask:
    if len(entry) != 1:
        raise TableError(f"{place}: a question is one entry, `difficulty source: text`; found {list(entry)}")
    ((key, text),) = entry.items()
    difficulty, *sources = key.split()
    found = [_SOURCE.fullmatch(source) for source in sources]
    known = next((level for level in DIFFICULTIES if level == difficulty), None)
    if known is None or not found or None in found:
        raise TableError(f"{place}: {key!r} is not `difficulty source ...`, as in `hard limits.2 practice.1`")
    return Ask(text, known, tuple(_source(slug, match) for match in found if match is not None))


def _source(slug: str, match: re.Match[str]) -> Source:
    aspect = next(aspect for aspect in ASPECTS if aspect == match["aspect"])
    return Source(match["concept"] or slug, aspect, int(match["number"]))


def _problems(concepts: Sequence[Concept], by_slug: Mapping[str, Concept]) -> Iterator[str]:
    seen: set[str] = set()
    for concept in concepts:
        place = f"{concept.domain}: {concept.name}"
        if concept.slug in seen:
            yield f"{place}: another concept has the file name {concept.slug}; give one of them another name"
        seen.add(concept.slug)
        for aspect, sentences in concept.sentences.items():
            for number, sentence in enumerate(sentences, start=1):
                if _PLACEHOLDER.search(sentence):
                    yield f"{place}: {aspect}.{number} holds a $ that is not $It: {sentence!r}"
        for ask in concept.asks:
            for source in ask.sources:
                other = by_slug.get(source.concept)
                if other is None or source.number > len(other.sentences[source.aspect]):
                    name = f"{source.concept}/{source.aspect}.{source.number}"
                    yield f"{place}: {ask.text!r} is answered by {name}, and there is no such sentence"
