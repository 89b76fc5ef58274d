"""Self-tests of the bench on the reference pipeline: damage it, and the damaged one is called worse.

Forty-eight notes, two questions each. One names the note's code, which the encoder cannot tell from any other code; the other
uses a synonym that stands in no note, which only the encoder knows. So each lane finds half of what there is to find.
"""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ragbench.analysis.plan import Plan
from pytest_ragbench.analysis.summary import summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from rag.options import Settings
from rag.pipeline import RagPipeline

NOTES = 48


@pytest.fixture
def knowing(encoder):
    """The encoder of arithmetic, taught synonyms and made blind to codes."""
    word = encoder.word
    encoder.word = lambda token: word("code" if token.startswith("code") else token.replace("synonym", "topic"))
    return encoder


@pytest.fixture
def permuted(knowing):
    """The same, handing every text of a batch the vector of another."""

    class Permuted:
        limit, counts, dimension = knowing.limit, knowing.counts, knowing.dimension
        lengths, question, token_vectors = knowing.lengths, knowing.question, knowing.token_vectors

        def embed(self, texts):
            return np.roll(knowing.embed(texts), 1, axis=0)

        def embed_with_tokens(self, texts):
            return self.embed(texts), self.token_vectors(texts)

    return Permuted()


def notes():
    return {f"n{n:02d}.md": f"# topic{n:02d}\n\ntopic{n:02d} has code{n:02d}, see page{n % 7}" for n in range(NOTES)}


def questions():
    asked = [("what is code{n:02d}", "codes"), ("tell of synonym{n:02d}", "synonyms")]
    return tuple(
        Question(f"{suite}-{n:04d}", text.format(n=n), suite, "T1", gold=(GoldSource(Locator(f"n{n:02d}.md")),))
        for n in range(NOTES)
        for text, suite in asked
    )


@pytest.fixture
def found(write, tmp_path, knowing, permuted):
    """`results` of the whole pipeline and of each damaged one, compared with it."""
    write(notes())

    def make(encoder, state):
        settings = Settings.model_validate({"search": {"rerank": "none"}, "state": state})
        return RagPipeline(settings, tmp_path, quiet=True, encoder=lambda _: encoder)

    whole, broken = make(knowing, ".whole"), make(permuted, ".permuted")

    def swapped(query):
        chunks = whole.search(query).chunks
        return [*chunks[3:6], *chunks[:3], *chunks[6:]]

    searches = {
        "whole": whole.search,
        "again": whole.search,
        "no-sparse": lambda query: whole.search(query, sparse=False),
        "no-dense": lambda query: whole.search(query, dense=False),
        "permuted": broken.search,
        "swapped": swapped,
    }
    arms = tuple(Configuration(name, name, pairs=() if name == "whole" else ("whole",)) for name in searches)
    rows = RowTable(metric_names())
    for arm in arms:
        for question in questions():
            row = measure(searches[arm.name], question, arm, k=10).row
            assert row["error"] is None
            rows.add(row)
    return summarise(rows, Plan(questions(), arms, resamples=1000), complete=True)["results"]


def test_damage_is_called_worse_and_none_is_called_none(found):
    for name in ("no-sparse", "no-dense", "permuted", "swapped"):
        for metric in ("hit@1", "mrr@10", "ndcg@10"):
            pair = found[name]["paired"]["whole"][metric]
            assert (pair["n"], pair["verdict"]) == (2 * NOTES, "real"), (name, metric)
            assert pair["high"] < -0.25, (name, metric)
    again = found["again"]["paired"]["whole"]
    assert {pair["verdict"] for pair in again.values() if pair["n"]} == {"no difference"}
    assert found["again"]["inert"] == ["whole"]


def test_the_suites_say_what_was_damaged(found):
    shares = {
        name: [found[name]["by_suite"][suite]["hit@10"]["mean"] for suite in ("codes", "synonyms")] for name in found
    }
    assert shares["whole"] == shares["swapped"] == [1.0, 1.0]
    assert found["swapped"]["paired"]["whole"]["hit@10"]["verdict"] == "no difference"
    assert shares["no-dense"] == [1.0, 0.0]  # no note holds the synonym
    assert shares["no-sparse"] == pytest.approx(
        [10 / NOTES, 1.0]
    )  # every code has the same vector: ten notes, whichever is asked for
    # Vectors of other notes: by chance ten in forty-eight, give or take three standard errors.
    codes, synonyms = shares["permuted"]
    assert codes == 1.0
    assert synonyms <= 10 / NOTES + 3 * (10 / NOTES * (1 - 10 / NOTES) / NOTES) ** 0.5
