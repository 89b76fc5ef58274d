"""Which names a question mentions. A word that may be a name and may be a mere word needs something that proves it.

A wrong place costs more than none: what is not proved is not mentioned.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from rag.routing.lexicon import BOOKS, Lexicon, Name, Pattern
from rag.routing.words import JOINING, forms, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RARE = 0.02
"""A word that at most this share of the other files uses is a name even where it stands alone."""
RARE_PHRASE = 0.05
"""The same for an area's name of several words, which is often a topic too."""
COMMON = 0.25
"""A word that more than this share of the other files uses is, alone, neither a name nor a kind."""
ENOUGH = 50
"""Other files from which on such a share says something."""

COURSE_CUES = frozenset(
    ("course", "lecture", "lab", "exam", "tutorial", "seminar", "homework", "assignment", "note", *BOOKS)
)
"""What follows the name of a course: `the Control exam`."""
COURSE_OPENINGS = frozenset(("course", "lecture", "exam", "tutorial", "seminar"))
"""What only courses have, and what stands before a name with a joining word too: `the exam in Databases`."""
AREA_CUES = frozenset(("area", "project", "topic"))
"""What follows the name of an area: `the concurrency topic`."""

_BETWEEN = re.compile(r"[\s-]*")
_SENTENCE_END = re.compile(r"[.?!\n]")
_GLUE = frozenset("-_./\\:@#")


class Mention(NamedTuple):
    """A name in a question.

    Attributes:
        first: Index of its first word.
        last: Index of its last word.
        pattern: What stands for it.
    """

    first: int
    last: int
    pattern: Pattern

    @property
    def name(self) -> Name:
        """The name."""
        return self.pattern.name


def find(query: str, lexicon: Lexicon) -> list[Mention]:
    """The names that a question mentions, in its order; of those that overlap, the longest."""
    question = _Question(unicodedata.normalize("NFKC", query), lexicon)
    proved = [mention for mention in question.candidates() if question.proves(mention)]
    places = _outermost([mention for mention in proved if mention.name.field != "kind"])
    taken = _Taken(places)
    kinds = _outermost([mention for mention in proved if question.tells_kind(mention, taken)])
    return sorted([*places, *question.leading(kinds)])


class _Taken:
    """Which words the names of places take.

    Args:
        places: The names.
    """

    def __init__(self, places: Sequence[Mention]) -> None:
        self.firsts = {place.first for place in places}
        self.lasts = {place.last for place in places}
        self._reach: dict[int, int] = {}  # a word to the end of the longest name around it
        for place in places:
            for index in range(place.first, place.last + 1):
                self._reach[index] = max(place.last, self._reach.get(index, -1))

    def holds(self, mention: Mention) -> bool:
        """Whether a mention lies within the name of one place."""
        return self._reach.get(mention.first, -1) >= mention.last


class _Question:
    """A question's words, and what they prove.

    Args:
        text: The question under NFKC.
        lexicon: The names.
    """

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self._text = text
        self._words = split(text)
        self._lexicon = lexicon
        longer = [word for word in self._words if len(word.raw) > 1]
        self._longer, self._capitals = len(longer), sum(word.raw[0].isupper() for word in longer)

    def candidates(self) -> Iterator[Mention]:
        """Every name that some words may stand for."""
        content = [index for index, word in enumerate(self._words) if word.text not in JOINING]
        for index in content:
            for pattern in self._lexicon.acronyms(self._words[index].raw):
                yield Mention(index, index, pattern)
        for first, last, pattern in self._lexicon.runs([self._words[index].text for index in content]):
            yield Mention(content[first], content[last], pattern)

    def proves(self, mention: Mention) -> bool:
        """Whether the words mean the name."""
        field, proof = mention.name.field, mention.pattern.proof
        if field == "kind":
            return not self._is_glued(mention)
        if proof == "words":
            return field == "course" or self._is_rare(mention, RARE_PHRASE, unknown=True)
        if self._has_cue(mention):  # "the lab or exam" does not mean Operations Research
            return not self._is_small_acronym(mention) or self._is_rare(mention, COMMON, unknown=False)
        return proof != "part" and not self._is_glued(mention) and self._stands_alone(mention)

    def tells_kind(self, mention: Mention, taken: _Taken) -> bool:
        """Whether a kind is meant: not by a part of a place's name, nor by everybody's word unless beside a place."""
        if mention.name.field != "kind" or taken.holds(mention):
            return False
        before, after = mention.first - 1, mention.last + 1
        beside = (before in taken.lasts and self._touch_at(mention.first)) or (
            after in taken.firsts and self._touch_at(after)
        )
        return beside or self._is_rare(mention, COMMON, unknown=True)

    def leading(self, kinds: Sequence[Mention]) -> list[Mention]:
        """Of neighbouring kinds the first: a lecture note is a lecture."""
        ends = {kind.last for kind in kinds}
        return [kind for kind in kinds if not (kind.first - 1 in ends and self._touch_at(kind.first))]

    # -- what proves a word ----------------------------------------------------------------------------------------

    def _stands_alone(self, mention: Mention) -> bool:
        """Whether an acronym or a single word needs no other beside it to be the name."""
        if self._is_small_acronym(mention):
            return False
        if mention.pattern.proof == "acronym":
            return self._is_rare(mention, RARE, unknown=self._lexicon.elsewhere(mention.pattern)[0] == 0)
        if self._is_cue(mention):
            return False
        return self._is_rare(mention, RARE, unknown=False) or self._is_written_as_name(mention)

    @staticmethod
    def _is_small_acronym(mention: Mention) -> bool:
        return mention.pattern.proof == "acronym" and mention.pattern.words.islower()

    def _is_rare(self, mention: Mention, share: float, *, unknown: bool) -> bool:
        """Whether few other files use the word; `unknown` where there are too few to say."""
        using, files = self._lexicon.elsewhere(mention.pattern)
        return using <= share * files if files >= ENOUGH else unknown

    def _has_cue(self, mention: Mention) -> bool:
        """Whether a word for something that courses (or areas) have stands beside."""
        after, before, opening = mention.last + 1, mention.first - 1, mention.first - 2
        if mention.name.field == "area":
            return self._touch_at(after) and self._is_one_of(after, AREA_CUES)
        if self._touch_at(after) and self._is_one_of(after, COURSE_OPENINGS):
            return True
        if self._is_cue(mention):  # lab notes and code lines are of no course
            return False
        if self._touch_at(after) and (self._is_one_of(after, COURSE_CUES) or self._is_kind_of(after, mention.name)):
            return True
        joined = opening >= 0 and self._words[before].text in JOINING and self._touch_at(before)
        return joined and self._touch_at(mention.first) and self._is_one_of(opening, COURSE_OPENINGS)

    def _is_kind_of(self, index: int, course: Name) -> bool:
        """Whether the word is a kind of which the course has documents."""
        kinds = (pattern.name for form in forms(self._words[index].text) for pattern in self._lexicon.patterns(form))
        return any(name.field == "kind" and self._lexicon.shares(course, name) for name in kinds)

    def _is_cue(self, mention: Mention) -> bool:
        """Whether the word is itself one for sorts of documents: not each piece of code means a course `Code`."""
        patterns = self._lexicon.patterns(mention.pattern.words)
        kinds = any(pattern.name.field == "kind" for pattern in patterns)
        return kinds or self._is_one_of(mention.first, COURSE_CUES | AREA_CUES)

    def _is_written_as_name(self, mention: Mention) -> bool:
        """Whether the word has a capital, as the label has, for no other reason than that it is a name."""
        word, label = self._words[mention.first], self._lexicon.labels[mention.name]
        if not (word.raw[0].isupper() and label[0].isupper() and word.text == mention.name.key):
            return False
        if not self._is_rare(mention, COMMON, unknown=True):
            return False
        if self._begins_sentence(mention.first) and self._text[word.end : word.end + 1] not in (":", ","):
            return False
        own = len(word.raw) > 1
        return 2 * (self._capitals - own) <= self._longer - own  # else it is a Title Or A Shout

    def _is_one_of(self, index: int, words: frozenset[str]) -> bool:
        return not words.isdisjoint(forms(self._words[index].text))

    def _is_glued(self, mention: Mention) -> bool:
        """Whether it is a piece of an identifier, a path or a compound."""
        start, end, text = self._words[mention.first].start, self._words[mention.last].end, self._text
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        return (len(before) == 2 and before[1] in _GLUE and before[0].isalnum()) or (
            len(after) == 2 and after[0] in _GLUE and after[1].isalnum()
        )

    def _begins_sentence(self, index: int) -> bool:
        return index == 0 or _SENTENCE_END.search(self._gap(index)) is not None

    def _touch_at(self, index: int) -> bool:
        """Whether nothing but a space or a hyphen stands before the word, and there is one."""
        return 0 < index < len(self._words) and _BETWEEN.fullmatch(self._gap(index)) is not None

    def _gap(self, index: int) -> str:
        return self._text[self._words[index - 1].end : self._words[index].start]


def _outermost(mentions: Sequence[Mention]) -> list[Mention]:
    """Without those that lie within a longer one, in the order of the words."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda mention: (mention.first, -mention.last)):
        # Whatever began before reaches no further than the last that was kept.
        if not kept or mention.last > kept[-1].last or _span(mention) == _span(kept[-1]):
            kept.append(mention)
    return kept


def _span(mention: Mention) -> tuple[int, int]:
    return mention.first, mention.last
