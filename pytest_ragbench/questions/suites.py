"""The suites that ship with a target, and what any suite may be called.

The table only informs quotas and reports. A project uses a suite of its own by writing its name in a question: every
name that can be a marker is accepted, and a suite without an entry here simply has no target.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TIERS = {
    "T1": "one chunk, close to the source's wording",
    "T2": "paraphrased, or the right source among similar ones",
    "T3": "two or more sources or sections",
    "T4": "needs a follow-up search",
}
"""Tier to what makes a question that hard."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A built-in suite.

    Attributes:
        name: Its name in sets and as a marker.
        capability: What of a pipeline it stresses.
        target: How many questions a set should hold of it.
    """

    name: str
    capability: str
    target: int


BUILT_IN = {
    suite.name: suite
    for suite in (
        Suite("lexical", "BM25: identifiers, formula names, error strings, acronyms", 80),
        Suite("paraphrase", "dense lane and HyDE: wording unlike the source", 80),
        Suite("code", "code lanes and the code preset", 60),
        Suite("scoped", "routing and boost: the question names a course or an area", 50),
        Suite("books", "PDF lane: page-level precision, OCR'd scans", 60),
        Suite("multihop", "fusion breadth and synthesis: more than one source", 60),
        Suite("canvas", "canvas chunks and the graph lane", 30),
        Suite("personal", "daily notes, strategies, own projects", 40),
        Suite("unanswerable", "abstention: topics next to, but absent from, the corpus", 40),
    )
}
"""The nine built-in suites in the order reports use; the targets add up to 500."""

WHOLE_FILE = frozenset({"code", "canvas"})
"""Suites whose heading locators, in files that are no Markdown, match the whole file: they measure finding the file."""

MARKER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
"""What `-m` can say, matched whole; also a file name."""

RESERVED_MARKERS = frozenset(
    {
        *TIERS,
        *("sealed", "ragbench", "and", "or", "not"),
        *("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast"),
    }
)
"""Markers that mean something else already, and the words of `-m`: no suite and no configuration is named so."""


def check_suite(name: str) -> str | None:
    """A complaint about a suite's name, or None. A suite is a marker, so it keeps to what `-m` can say."""
    if not MARKER.fullmatch(name):
        return "a suite is a marker: ASCII letters, digits, `_`, `.`, `+` and `-`, the first a letter or a digit"
    if name in RESERVED_MARKERS:
        return "this name is taken by a tier, a marker of pytest or of the bench, or a word of `-m`"
    return None
