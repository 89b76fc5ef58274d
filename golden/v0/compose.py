"""From tables to files: how sentences become passages and how questions get their gold and answers. Pure.

Several forms of title and of text take turns, so that three hundred documents do not read as one mould. Which form a
document has depends on its place in its table and on the table's place alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from golden.v0.tables import ASPECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from golden.v0.tables import Ask, Aspect, Concept, Difficulty, Domain, Source

TITLES: Mapping[Aspect, tuple[str, ...]] = {
    "works": ("{title}", "About {title}", "{title} in outline", "The idea behind {title}", "{title} explained"),
    "limits": (
        "Limits of {title}",
        "Pitfalls of {title}",
        "{title} and what can go wrong",
        "Trouble with {title}",
        "Caveats of {title}",
    ),
    "practice": (
        "{title} in practice",
        "Working with {title}",
        "Notes on operating {title}",
        "A checklist for {title}",
        "{title} from day to day",
    ),
}
"""Aspect -> titles that take turns; `{title}` is the concept's."""

LEADS: Mapping[Aspect, tuple[str, ...]] = {
    "works": ("In short:", "The main points:", "What there is to know first:"),
    "limits": ("Known weaknesses:", "Cases that have cost time before:", "Before relying on it:"),
    "practice": ("What has proved itself:", "Settings and habits:", "Rules of thumb:"),
}
"""Aspect -> words before a list."""

SUITES: Mapping[Difficulty, str] = {"easy": "lexical", "medium": "paraphrase", "hard": "situation"}
"""Difficulty -> suite of a question with one source."""

TIERS: Mapping[str, str] = {"lexical": "T1", "paraphrase": "T2", "situation": "T2", "multihop": "T3"}
"""Suite -> tier."""


def compose(domains: Sequence[Domain]) -> dict[str, str]:
    """Path below `golden/v0` -> content: a document for each aspect of each concept, a set for each domain."""
    by_slug = {concept.slug: concept for domain in domains for concept in domain.concepts}
    files: dict[str, str] = {}
    for start, domain in enumerate(domains):
        for turn, concept in enumerate(domain.concepts, start):
            for place, aspect in enumerate(ASPECTS):
                files[f"corpus/{document(concept, aspect)}"] = _text(concept, aspect, turn + place)
        asks = [ask for concept in domain.concepts for ask in concept.asks]
        records = (
            _record(f"{domain.prefix}-{number:04}", domain.name, ask, by_slug)
            for number, ask in enumerate(asks, start=1)
        )
        files[f"sets/{domain.name}.jsonl"] = "".join(json.dumps(record) + "\n" for record in records)
    return files


def document(concept: Concept, aspect: Aspect) -> str:
    """The path of a document below the corpus."""
    return f"{concept.domain}/{concept.slug}-{aspect}.md"


def sentences(concept: Concept, wanted: Sequence[str]) -> list[str]:
    """Sentences that follow each other: the concept by its name where it is first meant, then by a pronoun."""
    shown: list[str] = []
    subject = capitalised(concept.name)
    for sentence in wanted:
        shown.append(sentence.replace("$It", subject))
        if "$It" in sentence:
            subject = "They" if concept.plural else "It"
    return shown


def capitalised(text: str) -> str:
    """A text with its first letter raised and no other touched."""
    return text[:1].upper() + text[1:]


def _text(concept: Concept, aspect: Aspect, turn: int) -> str:
    titles, leads = TITLES[aspect], LEADS[aspect]
    title = capitalised(titles[turn % len(titles)].format(title=concept.title))
    layout = LAYOUTS[turn % len(LAYOUTS)]
    body = layout(sentences(concept, concept.sentences[aspect]), leads[turn % len(leads)])
    return f"---\ntitle: {title}\n---\n\n{body}\n"


def _prose(shown: Sequence[str], _: str) -> str:
    return " ".join(shown)


def _paragraphs(shown: Sequence[str], _: str) -> str:
    half = len(shown) // 2
    return f"{' '.join(shown[:half])}\n\n{' '.join(shown[half:])}"


def _listed(shown: Sequence[str], lead: str) -> str:
    return f"{lead}\n\n" + "\n".join(f"- {sentence}" for sentence in shown)


def _opened(shown: Sequence[str], _: str) -> str:
    return f"{shown[0]}\n\n" + "\n".join(f"- {sentence}" for sentence in shown[1:])


LAYOUTS: tuple[Callable[[Sequence[str], str], str], ...] = (_prose, _listed, _paragraphs, _opened)
"""Forms of a passage that take turns: sentences and the words before a list -> Markdown."""


def _record(name: str, domain: str, ask: Ask, by_slug: Mapping[str, Concept]) -> dict[str, Any]:
    """A golden record; the gold is each document that holds a source, the answer is the sources in their own words."""
    places = dict.fromkeys((source.concept, source.aspect) for source in ask.sources)
    suite = SUITES[ask.difficulty] if len(places) == 1 else "multihop"
    gold = [{"file": document(by_slug[slug], aspect)} for slug, aspect in places]
    return {
        "id": name,
        "question": ask.text,
        "suite": suite,
        "tier": TIERS[suite],
        "split": "dev",
        "gold": gold,
        "domain": domain,
        "difficulty": ask.difficulty,
        "answer": " ".join(_answer(ask.sources, by_slug)),
        "provenance": {"author": "draft"},
    }


def _answer(sources: Sequence[Source], by_slug: Mapping[str, Concept]) -> Iterator[str]:
    for slug in dict.fromkeys(source.concept for source in sources):
        concept = by_slug[slug]
        own = [concept.sentences[source.aspect][source.number - 1] for source in sources if source.concept == slug]
        yield from sentences(concept, own)
