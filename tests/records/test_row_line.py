"""The line of a row is what the canonical encoder writes, whatever stands in the row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench import canonical
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.contract import Chunk, SearchResult
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.rowline import row_line

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
FILES = st.sampled_from(["a.md", "b/é.md", 'q"uote.md', "tab\t.md"])
PAGES = st.none() | st.tuples(st.integers(1, 9), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
SCORES = st.none() | st.floats(allow_nan=False, allow_infinity=False)
CHUNKS = st.builds(Chunk, FILES, PAGES, st.lists(TEXT, max_size=3).map(tuple), st.none() | TEXT, SCORES, TEXT)
EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "timings": st.dictionaries(TEXT, st.floats(0, 1e9)),
        "lanes_run": st.lists(TEXT, max_size=3),
        "cold": st.booleans(),
        "cached": st.lists(TEXT, max_size=2),
        "hyde_cache": TEXT,
        "answer": TEXT,
        "gate": st.dictionaries(TEXT, st.integers() | st.none()),
        "stages": st.dictionaries(TEXT, st.lists(CHUNKS, max_size=2)),
    },
)
QUESTIONS = st.builds(
    lambda domain, gold, nuggets: Question(
        id="lex-0001",
        text="where?",
        suite="lexical",
        tier="T1",
        split="dev",
        answerable=True,
        gold=tuple(GoldSource(Locator(file)) for file in gold),
        nuggets=nuggets,
        domain=domain,
    ),
    st.none() | TEXT,
    st.lists(FILES, min_size=1, max_size=3, unique=True),
    st.lists(TEXT, max_size=2).map(tuple),
)


@given(QUESTIONS, st.lists(CHUNKS, max_size=4), EXTRAS, TEXT)
def test_the_line_of_any_row_is_that_of_the_canonical_encoder(question, chunks, extras, name):
    result = SearchResult(chunks, **extras)
    row = measure(lambda _: result, question, Configuration(name, "c"), k=10).row
    assert row_line(row) == canonical.dumps(row)


def test_the_line_of_a_failed_row_is_that_of_the_canonical_encoder():
    question = Question("lex-0001", "where?", "lexical", "T1", gold=(GoldSource(Locator("a.md")),))
    row = measure(lambda _: 1 / 0, question, Configuration("c", "c"), k=10).row
    assert row["error"] == "ZeroDivisionError: division by zero"
    assert row_line(row) == canonical.dumps(row)
