"""The names that a corpus carries as labels, by every spelling that may stand for one, and how its texts use them.

All of it is learnt from the corpus; whether a question means a name by a spelling, `mentions` decides.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag.routing.words import JOINING, content, forms, key, spellings
from rag.text import unicode_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag.records import Chunk, Labels

Field = Literal["course", "area", "kind"]
Proof = Literal["words", "word", "part", "acronym"]
FIELDS: tuple[Field, ...] = ("course", "area", "kind")

BOOKS = ("textbook", "handbook")
"""Sorts of books, for corpora that have a kind `book`."""

_LONGEST = 100  # characters; a longer label is a sentence, by which nobody calls anything
_ACRONYM = re.compile(r"(?<!\w)[A-Z]{2,6}(?!\w)")


class Name(NamedTuple):
    """A label, however it is spelt.

    Attributes:
        field: What it is the label of.
        key: Its words.
    """

    field: Field
    key: str


class Pattern(NamedTuple):
    """Some words that may stand for a name.

    Attributes:
        name: The name.
        proof: What they are of it: all its `words` or several, its one `word`, one `part` that no other course has, or
            an `acronym`.
        words: Their first spelling, for all of them.
    """

    name: Name
    proof: Proof
    words: str


def names_of(labels: Labels) -> Iterator[tuple[Name, str]]:
    """Each label's name, and the label as it is written."""
    for field in FIELDS:
        label: str = getattr(labels, field)
        if label and (words := key(label)):
            yield Name(field, words), label


class Lexicon:
    """The names of a corpus.

    Args:
        chunks: The corpus.

    Attributes:
        labels: Each name as most of its chunks write it.
    """

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        written: dict[Name, Counter[str]] = defaultdict(Counter)
        self._files: dict[Name, set[str]] = defaultdict(set)
        for chunk in chunks:
            for name, label in names_of(chunk.labels):
                written[name][label] += 1
                self._files[name].add(chunk.file)
        self.labels = {name: min(found, key=lambda label: (-found[label], label)) for name, found in written.items()}
        self._patterns: dict[str, dict[Pattern, None]] = {}
        self._acronyms: dict[str, dict[Pattern, None]] = defaultdict(dict)
        for name in sorted(self.labels):
            self._learn(name)
        self._learn_parts()
        self._patterns = {known: _wholes_first(patterns) for known, patterns in self._patterns.items()}
        self._beginnings = {known[:length] for known in self._patterns for length in range(1, len(known) + 1)}
        self._total = len({chunk.file for chunk in chunks})
        self._uses = self._usage(chunks) if self.labels else {}

    def patterns(self, spelling: str) -> Iterable[Pattern]:
        """What some words, written as one, may stand for."""
        return self._patterns.get(spelling, ())

    def acronyms(self, raw: str) -> Iterable[Pattern]:
        """What a word all in capitals, or in none, may stand for, unless it is a word of some name itself."""
        found = self._acronyms.get(raw, ())
        return () if found and raw.casefold() in self._patterns else found

    def runs(self, words: Sequence[str]) -> Iterator[tuple[int, int, Pattern]]:
        """Every run of words that may stand for a name: the indexes of its first and last, and how."""
        for first, word in enumerate(words):
            if self._beginnings.isdisjoint(forms(word)):  # nearly all words of a text
                continue
            begun = {"": None}
            for last in range(first, len(words)):
                longer = (before + form for before in begun for form in forms(words[last]))
                begun = {joined: None for joined in longer if joined in self._beginnings}
                if not begun:
                    break
                yield from ((first, last, pattern) for joined in begun for pattern in self.patterns(joined))

    def shares(self, name: Name, other: Name) -> bool:
        """Whether some file carries both."""
        return not self._files[name].isdisjoint(self._files[other])

    def elsewhere(self, pattern: Pattern) -> tuple[int, int]:
        """How many files without the label use the words in their text, and of how many."""
        own = self._files[pattern.name]
        return len(self._uses.get(pattern, set()) - own), self._total - len(own)

    def _learn(self, name: Name) -> None:
        words = content(name.key)
        if len(name.key) > _LONGEST or not any(character.isalpha() for character in name.key):
            return
        for span in [words] if name.field == "kind" else _spans(words):
            # A course's number (CS101) stands for it as firmly as several words do.
            coded = name.field == "course" and any(character.isdigit() for character in span[0])
            self._know(Pattern(name, "words" if len(span) > 1 or coded else "word", "".join(span)), span)
        if name == ("kind", "book"):
            for book in BOOKS:
                self._know(Pattern(name, "word", book), [book])
        if name.field == "course" and len(words) > 1:
            for parts in (words, name.key.split()):
                initials = "".join(word[0] for word in parts)
                for written in (initials.upper(), initials) if initials.upper() != initials else ():
                    self._acronyms[written][Pattern(name, "acronym", written)] = None

    def _learn_parts(self) -> None:
        owners: dict[str, dict[Name, str]] = defaultdict(dict)
        for name in self.labels:
            if name.field == "course" and len(name.key) <= _LONGEST:
                for word in content(name.key):
                    for form in forms(word):
                        owners[form][name] = word
        for names in owners.values():
            (name, word), *others = names.items()
            if not others and len(word) > 2 and len(content(name.key)) > 1:
                self._know(Pattern(name, "part", word), [word])

    def _know(self, pattern: Pattern, words: Sequence[str]) -> None:
        for spelling in spellings(words):
            self._patterns.setdefault(spelling, {})[pattern] = None

    def _usage(self, chunks: Iterable[Chunk]) -> Mapping[Pattern, set[str]]:
        """Pattern -> the files whose text holds its words."""
        uses: dict[Pattern, set[str]] = defaultdict(set)
        for chunk in chunks:
            tokens = [token for token in unicode_tokens(chunk.text.replace("_", " ")) if token not in JOINING]
            for _, _, pattern in self.runs(tokens):
                uses[pattern].add(chunk.file)
            for found in (*_ACRONYM.findall(chunk.text), *tokens):
                for pattern in self._acronyms.get(found, ()):
                    uses[pattern].add(chunk.file)
        return uses


def _wholes_first(patterns: dict[Pattern, None]) -> dict[Pattern, None]:
    """Without the parts of longer names where the words are the whole of one: Control Systems, with a Lab beside."""
    wholes = {pattern.name.field for pattern in patterns if pattern.words == "".join(content(pattern.name.key))}
    return {
        pattern: None
        for pattern in patterns
        if pattern.name.field not in wholes or pattern.words == "".join(content(pattern.name.key))
    }


def _spans(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The words, and of three and more each run of at least two."""
    yield words
    for length in range(2, len(words)):
        for start in range(len(words) - length + 1):
            yield words[start : start + length]
