"""What one search leaves to another: nothing runs twice for one input, a second process asks no model, off is off."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import rag.dense
import rag.flow
from pytest_ragbench.configurations.loading import load_catalogue
from rag.assembly import RERANKERS
from rag.cache import DiskCache, Lazy, Memo, Meter, PairScores
from rag.cross_encoder import CrossEncoderRerank
from rag.embedding import QuestionVectors
from rag.errors import RagError
from rag.ranking import Same
from rag.records import Scored
from rag.routing import Router
from rag.sparse import Bm25

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ["bisection halves", "newton steps", "secant lines", "euler rule", "runge kutta", "simpson rule"]
VAULT = (
    {
        f"Courses/Numerical-Methods/{number}.md": f"# Roots {number}\n\nthe {topic} of a bracket with find_root"
        for number, topic in enumerate(TOPICS)
    }
    | {
        f"Courses/Operating-Systems/{number}.md": f"# Locks {number}\n\na mutex guards the {topic} of a bracket"
        for number, topic in enumerate(TOPICS)
    }
    | {
        f"Courses/Numerical-Methods/code/{name}.py": f"def find_root(bracket):\n    return {name}(bracket)\n"
        for name in ("bisect", "newton")
    }
)
LABELS = [
    {"path": "Courses/(?P<course>[^/]+)/code/", "kind": "code"},
    {"path": "Courses/(?P<course>[^/]+)/", "kind": "note"},
]
QUESTIONS = ["In Numerical Methods, what does find_root() do with a bracket?", "which mutex guards the secant lines"]
POOL = 5


class Drafts:
    """A language model that drafts from the question alone."""

    model, source = "scripted", "drafts"

    def __init__(self):
        self.asked = []

    def complete(self, _system, user):
        self.asked.append(user)
        return f"A mutex guards every bracket. {user[10:40]}"


class Words:
    """A cross-encoder of arithmetic: how many words two texts share. It counts the pairs that it is given."""

    def __init__(self):
        self.pairs = Counter()

    def predict(self, query, texts):
        self.pairs.update((query, text) for text in texts)
        return [float(len(set(query.split()) & set(text.split()))) + len(text) / 1e4 for text in texts]


@pytest.fixture(scope="module")
def arms():
    """The overrides of the 64 arms of the factorial that this repository ships; None where an arm has no lane."""
    catalogue = load_catalogue(ROOT / "golden" / "configs.yaml")
    found = [catalogue.configurations[name] for name in catalogue.experiments["factorial"].arms]
    assert len(found) == 64
    return {arm.name: dict(arm.overrides) for arm in found if arm.searches}


@pytest.fixture
def bench(write, pipeline, encoder):
    """Makes the same pipeline over and over on one state folder, always over the same scripted models."""

    class Bench:
        def __init__(self):
            self.encoder, self.llm, self.words = encoder, Drafts(), Words()

        def pipeline(self, **settings):
            def scripted(parts):
                return CrossEncoderRerank(Lazy(lambda: self.words), "words", parts.pairs)

            return pipeline(labels=LABELS, llm=self.llm, rerankers={**RERANKERS, "cross-encoder": scripted}, **settings)

        def clear(self):
            self.llm.asked.clear()
            self.words.pairs.clear()
            encoder.counts.clear()

    write(VAULT)
    return Bench()


def run(search, arms, reranker):
    """Every arm of a question, then of the next, as the bench hands them out."""
    return {
        (query, name): search.search(query, **overrides | _reranked(overrides, reranker))
        for query in QUESTIONS
        for name, overrides in arms.items()
    }


def _reranked(overrides, reranker):
    return {
        "rerank_pool": POOL,
        "rerank": overrides["rerank"] and (reranker if overrides["rerank"] != "none" else "none"),
    }


def pool(result):
    """The chunks that a search gave its reranker: the head of what stood before it."""
    stages = list(result.stages)
    before = result.stages[stages[stages.index("rerank") - 1]]
    return {chunk.indexed_text for chunk in before[:POOL]}


@pytest.fixture
def ran(monkeypatch):
    """Stage -> how often each input was computed."""
    seen = {name: Counter() for name in ("bm25", "dense", "fusion", "boost", "route", "scope")}

    def spy(owner, name, stage, key):
        original = getattr(owner, name)

        def counted(*args, **kwargs):
            seen[stage][key(*args, **kwargs)] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, staticmethod(counted) if name == "boost" else counted)

    def places(among):
        return None if among is None else among.tobytes()

    spy(Bm25, "search", "bm25", lambda index, tokens, k, among=None: (id(index), tuple(tokens), k, places(among)))
    spy(rag.dense, "exact", "dense", lambda _, vector, k, among=None: (vector.tobytes(), k, places(among)))
    spy(rag.flow, "fuse", "fusion", lambda rankings, k: (tuple(rankings), k))
    spy(Router, "route", "route", lambda _, query: query)
    spy(Router, "scope", "scope", lambda _, route, everywhere: (route, everywhere))
    spy(Router, "boost", "boost", lambda ranking, route, _chunks, weight: (ranking, route, weight))
    return seen


@pytest.mark.parametrize("reranker", ["late-interaction", "cross-encoder"])
def test_in_a_factorial_every_stage_runs_once_an_input_and_every_pair_of_the_pools_once(
    reranker, bench, arms, ran, monkeypatch
):
    scored, keep = Counter(), PairScores._keep
    monkeypatch.setattr(PairScores, "_keep", lambda self, pairs: scored.update(pairs.keys()) or keep(self, pairs))
    results = run(bench.pipeline(), arms, reranker)
    unions = [
        set().union(*(pool(result) for (of, _), result in results.items() if of == query and "rerank" in result.stages))
        for query in QUESTIONS
    ]
    assert all(len(union) > POOL for union in unions)  # the arms' pools differ
    assert sum(scored.values()) == len(scored) == sum(map(len, unions))
    if reranker == "cross-encoder":
        assert bench.words.pairs == Counter(
            {(q, t): 1 for q, union in zip(QUESTIONS, unions, strict=True) for t in union}
        )
    assert {name: max(inputs.values()) for name, inputs in ran.items()} == dict.fromkeys(ran, 1)
    # Of each question: BM25 everywhere, in code where it looks like code, and in the scope where it names a course.
    assert len(ran["bm25"]) == 3 + 1
    # The question and its draft, everywhere and in the scope.
    assert len(ran["dense"]) == 4 + 2
    assert len(ran["route"]) == 2
    assert bench.encoder.counts["question"] == 4
    assert sorted(bench.llm.asked) == sorted(f"Question: {query}" for query in QUESTIONS)


@pytest.mark.parametrize("reranker", ["late-interaction", "cross-encoder"])
def test_a_second_process_asks_no_model_and_finds_the_same_at_the_first_price(reranker, bench, arms):
    first = run(bench.pipeline(), arms, reranker)
    bench.clear()
    second = run(bench.pipeline(), arms, reranker)
    assert (bench.encoder.counts, bench.words.pairs, bench.llm.asked) == (Counter(), Counter(), [])
    warm = [key for key, result in second.items() if not result.cold]
    assert len(warm) > len(second) - 10
    for key, result in second.items():
        assert result.chunks == first[key].chunks
        assert result.stages == first[key].stages
        for stage in {"embed", "rerank", "hyde"} & {*result.timings}:
            assert stage in result.cached
            assert result.timings[stage] == pytest.approx(first[key].timings[stage])


def test_cells_that_share_nothing_but_the_process_are_cold_once_and_say_so(bench, arms):
    search = bench.pipeline()
    cold = [name for (_, name), result in run(search, arms, "cross-encoder").items() if result.cold]
    assert cold[0] == next(iter(arms))
    assert len(cold) < 10
    assert not any(result.cold for result in run(search, arms, "cross-encoder").values())


def test_caches_that_are_off_keep_nothing_and_change_no_result(bench, arms, tmp_path):
    kept = run(bench.pipeline(), arms, "cross-encoder")
    bench.clear()
    for file in (tmp_path / ".ragbench" / "cache").glob("*.sqlite"):
        if file.name not in ("embeddings.sqlite", "tokens.sqlite"):  # of the index
            file.unlink()
    results = run(bench.pipeline(caches=False), arms, "cross-encoder")
    assert {key: result.stages for key, result in results.items()} == {
        key: result.stages for key, result in kept.items()
    }
    assert not any(result.cached for result in results.values())
    assert (
        sorted(file.name for file in (tmp_path / ".ragbench" / "cache").iterdir())
        == [
            "embeddings.sqlite",
            "tokens.sqlite",
        ]
        or not (tmp_path / ".ragbench" / "cache" / "pairs.sqlite").exists()
    )
    reranked = [result for result in results.values() if "rerank" in result.stages]
    assert sum(bench.words.pairs.values()) == sum(len(pool(result)) for result in reranked)
    drafted = sum("hyde" in result.timings for result in results.values())
    assert len(bench.llm.asked) == drafted


def test_with_caches_off_the_stages_of_one_search_still_share_the_questions_vectors(bench):
    search = bench.pipeline(caches=False)
    for expected in (1, 2):
        result = search.search(QUESTIONS[1], rerank="late-interaction")
        assert bench.encoder.counts["question"] == expected
        assert result.cached == ()


def test_with_caches_off_passages_beyond_the_index_are_encoded_by_each_search(bench, tmp_path):
    search = bench.pipeline(caches=False, token_index_to=3)
    search.search(QUESTIONS[1], rerank="late-interaction")
    once = bench.encoder.counts["tokens"]
    search.search(QUESTIONS[1], rerank="late-interaction")
    assert bench.encoder.counts["tokens"] == 2 * once
    assert not (tmp_path / ".ragbench" / "cache" / "tokens.sqlite").exists()


def test_a_second_process_does_not_load_the_model_for_what_is_known(bench, monkeypatch):
    options = {"rerank": "late-interaction"}
    bench.pipeline().search(QUESTIONS[0], **options)
    again = bench.pipeline()
    assert again.search(QUESTIONS[0], **options).chunks
    assert again._parts.encoder.loaded is None
    later = again.search("a question never asked before", **options)
    assert later.cold  # it loaded the model
    assert "embed" not in later.cached


# -- question vectors on disk ------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "questions.sqlite"


def vectors(path, encoder, model="model"):
    return QuestionVectors(Lazy(lambda: encoder), model, DiskCache(path))


def test_a_questions_vectors_come_back_to_the_last_bit_with_their_first_time(path, encoder):
    first, again = Meter(Memo(10)), Meter(Memo(10))
    whole, pieces = vectors(path, encoder).get("alpha beta gamma", first)
    kept, kept_pieces = vectors(path, encoder).get("alpha beta gamma", again)
    assert np.array_equal(kept, whole)
    assert np.array_equal(kept_pieces, pieces)
    assert kept.dtype == kept_pieces.dtype == np.float32
    assert encoder.counts == {"question": 1}
    assert again.timings == {"embed": first.timings["embed"]}
    assert (first.cached, again.cached) == ([], ["embed"])
    assert not again.cold


def test_another_models_vectors_and_a_passages_are_not_taken_for_a_questions(path, encoder):
    vectors(path, encoder).get("alpha", Meter(Memo(10)))
    vectors(path, encoder, "another").get("alpha", Meter(Memo(10)))
    vectors(path, encoder).get("alpha ", Meter(Memo(10)))
    assert encoder.counts == {"question": 3}


def test_a_broken_models_vectors_are_an_error_and_not_kept(path, encoder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(encoder, "question", lambda _: (np.full(4, np.nan, np.float32), np.ones((1, 4), np.float32)))
        for _ in range(2):
            with pytest.raises(RagError, match="model is broken"):
                vectors(path, encoder).get("alpha", Meter(Memo(10)))
    meter = Meter(Memo(10))
    vectors(path, encoder).get("alpha", meter)
    assert meter.cached == []


# -- the bill ----------------------------------------------------------------------------------------------------


def test_a_memo_of_nothing_still_lets_the_stages_of_one_search_share():
    memo, calls = Memo(0), []
    for _ in range(2):
        meter = Meter(memo)
        for _ in range(2):
            meter.stage("embed", ("q",), lambda: calls.append(1) or "vector")
        assert meter.cached == []
    assert len(calls) == 2


def test_a_bill_aside_shares_what_its_search_knows_and_charges_it_nothing():
    meter = Meter(Memo(0))
    meter.stage("embed", ("q",), lambda: "vector")
    aside = meter.aside()
    assert aside.stage("embed", ("q",), lambda: "never") == "vector"
    aside.charge("rerank", 5.0)
    assert (aside.timings, set(meter.timings)) == ({"rerank": 5.0}, {"embed"})


def test_a_scorer_that_serves_another_stage_is_billed_to_it():
    meter = Meter(Memo(10))
    meter.charge("rerank", 1.0)
    with meter.billed_as("rerank", "gate") as part:
        part.charge("rerank", 2.0, cached=True)
        with part.loading():
            pass
    assert {**meter.timings, "load": 0} == {"rerank": 1.0, "gate": 2.0, "load": 0}
    assert meter.cached == ["gate"]
    assert meter.cold


def test_rankings_are_the_same_by_value():
    ranking = tuple(Scored(number, 1.0 / (number + 1)) for number in range(5))
    copy = tuple(Scored(*scored) for scored in ranking)
    middle = (*ranking[:2], Scored(9, 0.3), *ranking[3:])
    assert Same(ranking) == Same(copy)
    assert hash(Same(ranking)) == hash(Same(copy))
    assert Same(ranking) != Same(middle)
    assert Same(()) == Same(())
    assert Same(ranking) != ranking


# -- several processes -------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from rag.cache import DiskCache, Memo, Meter, PairScores
number = int(sys.argv[2])
pairs = PairScores(DiskCache(Path(sys.argv[1])))
for question in range(40):
    texts = [f"own {number} {n}" for n in range(5)] + [f"shared {n}" for n in range(5)]
    found = pairs.scores(("s",), str(question), texts, lambda ts: [(float(len(t)), 1.0) for t in ts], Meter(Memo(1)))
    assert found == [float(len(text)) for text in texts]
"""


def test_processes_that_write_at_once_lose_nothing_and_keep_their_scorers_apart(tmp_path):
    path = tmp_path / "deep" / "pairs.sqlite"
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)], cwd=ROOT) for number in range(4)
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0, 0]

    def never(texts):
        raise AssertionError(texts)

    pairs = PairScores(DiskCache(path))
    for question in range(40):
        texts = [f"own {number} {n}" for number in range(4) for n in range(5)] + [f"shared {n}" for n in range(5)]
        assert pairs.scores(("s",), str(question), texts, never, Meter(Memo(1))) == [float(len(text)) for text in texts]
    with pytest.raises(AssertionError):
        pairs.scores(("another",), "0", ["shared 0"], never, Meter(Memo(1)))
