"""The sparse lane against rank_bm25: equal scores to the last bit, equal rankings, and nothing for nothing."""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import NothingToIndexError
from rag.sparse import Bm25
from rag.text import simple_tokens

rank_bm25 = pytest.importorskip("rank_bm25")

DOCUMENTS = [
    "bisection halves the bracket at each step",
    "newton needs the derivative and a good start",
    "the secant method replaces the derivative by a difference",
    "regula falsi keeps the bracket and may stall at one end",
    "brent switches between bisection and the secant step",
    "fixed point iteration converges for a contraction",
    "aitken acceleration speeds a linear sequence",
    "steffensen applies aitken to fixed point iteration",
    "muller fits a parabola through three points",
    "laguerre finds the roots of polynomials",
]


def files(result):
    return [chunk.file for chunk in result.chunks]


tokens = st.lists(st.sampled_from("abcdefg"), max_size=8)


@given(st.lists(tokens, min_size=1, max_size=12).filter(any), tokens)
def test_scores_are_those_of_rank_bm25_to_the_last_bit(chunks, query):
    ours, theirs = Bm25.build(chunks).scores(query), rank_bm25.BM25Okapi(chunks).get_scores(query)
    assert ours.tolist() == theirs.tolist()


@given(st.lists(tokens, min_size=1, max_size=12).filter(any), tokens, st.integers(1, 15))
def test_the_lane_returns_the_best_of_the_chunks_that_hold_a_term_ties_in_index_order(chunks, query, k):
    scores = rank_bm25.BM25Okapi(chunks).get_scores(query)
    held = [position for position, chunk in enumerate(chunks) if set(chunk) & set(query)]
    expected = sorted(held, key=lambda position: (-round(scores[position], 8), position))[:k]
    assert [position for position, _ in Bm25.build(chunks).search(query, k)] == expected


def test_a_score_by_hand():
    # N = 3, df = 1: idf = ln(2.5 / 1.5); tf = 2, length 3, mean 2: 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 3 / 2)).
    index = Bm25.build([["a", "a", "b"], ["b"], ["c", "d"]])
    expected = math.log(2.5 / 1.5) * 5 / (2 + 1.5 * (0.25 + 0.75 * 1.5))
    assert index.search(["a"], 5) == ((0, pytest.approx(expected, abs=1e-12)),)


@pytest.mark.parametrize("query", ["", "   ", "\U0001f642\U0001f642", "zzzunknown", "what else"])
def test_bm2_02_a_query_without_an_indexed_term_finds_nothing(query, write, pipeline):
    write({f"{number}.md": text for number, text in enumerate(DOCUMENTS)})
    result = pipeline().search(query, dense=False)
    assert result.chunks == ()


def test_bm2_02_stop_words_are_words():
    index = Bm25.build([simple_tokens(text) for text in DOCUMENTS])
    assert 0 < len(index.search(["the", "of", "and"], 10)) < 10


@pytest.mark.parametrize("corpus", [{}, {"a.md": "", "b.md": "  "}, {"corpus.jsonl": '{"_id": "1", "text": "!? ..."}'}])
def test_bm2_03_an_empty_corpus_says_nothing_to_index(corpus, write, pipeline):
    write({"picture.png": b"", **corpus})
    with pytest.raises(NothingToIndexError, match="nothing to index"):
        pipeline().search("anything", dense=False)


def test_bm2_03_an_empty_document_is_never_returned(write, pipeline):
    write({"1.md": "a b c", "2.md": "", "3.md": "d"})
    search = pipeline()
    assert files(search.search("d", dense=False)) == ["3.md"]
    assert files(search.search("a b c d", dense=False)) == ["1.md", "3.md"]
    index = Bm25.build([["a", "b", "c"], [], ["d"]])
    assert sorted(position for position, _ in index.search(["a", "d"], 10)) == [0, 2]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("\u56fd\u969b\u6a19\u6e96\u5316\u306b\u95a2\u3059\u308b\u52d5\u5411", "\u56fd\u969b\u6a19\u6e96\u5316"),
        ("\ucd08\uacfc\uadfc\ubb34 \uc2b9\uc778 \uaddc\uce59", "\uc2b9\uc778"),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u0935\u094d\u092f\u093e\u0915\u0930\u0923",
            "\u0935\u094d\u092f\u093e\u0915\u0930\u0923",
        ),
        ("caf\u00e9 na\u00efve", "cafe\u0301"),
    ],
)
def test_bm2_04_every_script_is_found_by_its_own_words(text, query, write, pipeline):
    mixed = {f"{number}.md": content for number, content in enumerate(DOCUMENTS)}
    write(mixed | {"target.md": text, "cafe.md": "cafe naive", "kana.md": "\u0939 \u0928 \u0926 \u304b\u306a"})
    assert files(pipeline().search(query, dense=False)) == ["target.md"]


def test_equal_scores_keep_the_order_of_the_files(write, pipeline):
    write({f"{name}.md": "same words" for name in "dbca"} | {"x.md": "other"})
    assert files(pipeline().search("words", dense=False)) == ["a.md", "b.md", "c.md", "d.md"]


def test_a_saved_index_answers_as_the_built_one(tmp_path):
    built = Bm25.build([simple_tokens(text) for text in DOCUMENTS])
    built.save(tmp_path)
    query = simple_tokens("the derivative of the secant")
    assert Bm25.load(tmp_path).scores(query).tolist() == built.scores(query).tolist()
    assert Bm25.load(tmp_path).search(query, 4) == built.search(query, 4)


@pytest.fixture(scope="module")
def scifact_texts(scifact):
    records = [json.loads(line) for line in (scifact / "corpus.jsonl").open(encoding="utf-8")]
    queries = (json.loads(line) for line in (scifact / "queries.jsonl").open(encoding="utf-8"))
    return (
        [record["_id"] for record in records],
        [simple_tokens(f"{record['title']} {record['text']}") for record in records],
        {query["_id"]: query["text"] for query in queries},
    )


def test_scifact_ranks_as_rank_bm25_and_scores_06519(scifact, scifact_texts):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    names, chunks, queries = scifact_texts
    reference = defaultdict(list)
    for line in gzip.decompress((scifact / "runs" / "rank_bm25.trec.gz").read_bytes()).decode().splitlines():
        query, _, name, _, score, _ = line.split()
        reference[query].append((name, float(score)))
    qrels = defaultdict(dict)
    for line in (scifact / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, name, grade = line.split("\t")
        qrels[query][name] = int(grade)
    index = Bm25.build(chunks)
    run = {}
    for query, listed in reference.items():
        found = [(names[position], score) for position, score in index.search(simple_tokens(queries[query]), 100)]
        run[query] = dict(found)
        scores = [score for _, score in found]
        # The file holds nine digits.
        assert scores == pytest.approx([score for _, score in listed], rel=1e-8)
        # The order is the same wherever scores differ; the last score of the list may tie with what was cut.
        ours = {name: score for name, score in found if score > scores[-1] + 1e-6}
        theirs = {name: score for name, score in listed if score > scores[-1] + 1e-6}
        assert ours == pytest.approx(theirs, rel=1e-8)
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)
    assert np.mean([row["ndcg_cut_10"] for row in measured.values()]) == pytest.approx(0.6519, abs=5e-5)


def test_scifact_scores_equal_rank_bm25_in_the_same_process(scifact_texts):
    _, chunks, queries = scifact_texts
    ours, theirs = Bm25.build(chunks), rank_bm25.BM25Okapi(chunks)
    for text in list(queries.values())[:10]:
        query = simple_tokens(text)
        assert ours.scores(query).tolist() == theirs.get_scores(query).tolist()


def test_scifact_through_the_door_of_every_corpus(scifact, tmp_path, pipeline, scifact_texts):
    names, chunks, queries = scifact_texts
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "corpus.jsonl").write_bytes((scifact / "corpus.jsonl").read_bytes())
    search = pipeline(tokenizer="simple", chunking={"mode": "whole"})
    theirs = rank_bm25.BM25Okapi(chunks)
    for text in list(queries.values())[:3]:
        scores = dict(zip(names, theirs.get_scores(simple_tokens(text)), strict=True))
        found = search.search(text, dense=False).chunks
        assert [chunk.score for chunk in found] == pytest.approx(sorted(scores.values(), reverse=True)[:10], abs=1e-9)
        assert all(chunk.score == pytest.approx(scores[chunk.file], abs=1e-9) for chunk in found)
