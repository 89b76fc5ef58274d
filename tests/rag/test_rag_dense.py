"""The dense lane: exact and approximate search, what is too long to be read, and nothing for a blank question."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest

from rag.cache import Lazy, Memo, Meter
from rag.dense import Dense, approximate, exact
from rag.embedding import QuestionVectors
from rag.errors import ModelMissingError
from rag.hnsw import Hnsw
from rag.options import Options, Settings
from rag.pipeline import RagPipeline
from rag.ranking import top
from rag.stages import Request

hnswlib = pytest.importorskip("hnswlib")


def unit(count, dimension=16, seed=1):
    vectors = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def positions(ranking):
    return [position for position, _ in ranking]


@pytest.mark.parametrize("k", [5, 6, 10])
def test_den_01_more_neighbours_than_exist_gives_what_exists(k):
    vectors, query = unit(5), unit(1, seed=2)[0]
    graph = Hnsw.build(vectors)
    assert len(exact(vectors, query, k)) == 5
    assert positions(approximate(vectors, graph, query, k)) == positions(exact(vectors, query, k))


def test_den_01_a_filter_that_two_chunks_pass_gives_two():
    vectors, query = unit(200), unit(1, seed=2)[0]
    allowed = np.array([7, 190])
    ranking = exact(vectors, query, 10, among=allowed)
    assert set(positions(ranking)) == {7, 190}
    assert [score for _, score in ranking] == pytest.approx(sorted((vectors[allowed] @ query).tolist(), reverse=True))


def test_den_01_an_empty_index_gives_nothing():
    assert exact(np.empty((0, 16), np.float32), unit(1)[0], 10) == ()
    assert exact(unit(5), unit(1)[0], 10, among=np.empty(0, np.intp)) == ()


def test_den_01_through_the_pipeline_on_a_five_chunk_corpus(write, pipeline):
    write({f"{number}.md": f"note {number}" for number in range(5)})
    search = pipeline()
    for mode in ("exact", "hnsw"):
        for k in (5, 6, 10):
            found = search.search("note", sparse=False, dense_search=mode, top_k=k)
            assert [chunk.file for chunk in found.chunks] == [
                chunk.file for chunk in search.search("note", sparse=False, top_k=k).chunks
            ]
            assert len(found.chunks) == 5


def test_den_01_a_graph_that_cannot_reach_k_gives_what_it_reaches():
    class Torn:
        def __init__(self):
            self.asked = []

        def get_current_count(self):
            return 100

        def set_ef(self, ef):
            self.ef = ef

        def knn_query(self, _vector, k, **_):
            self.asked.append((k, self.ef))
            if k > 6:
                raise RuntimeError("Cannot return the results in a contiguous 2D array. Probably ef or M is too small")
            return np.arange(k).reshape(1, -1), np.zeros((1, k))

    torn = Torn()
    assert len(Hnsw(torn).nearest(unit(1)[0], 24)) == 6
    assert torn.asked == [(24, 200), (12, 200), (6, 200)]


def test_hnsw_walks_with_ef_of_at_least_200_and_twice_k():
    graph = Hnsw.build(unit(2000))
    seen = []

    class Spy:
        def __getattr__(self, name):
            return getattr(graph._index, name)

        def set_ef(self, ef):
            seen.append(ef)
            graph._index.set_ef(ef)

    spied = Hnsw(Spy())
    for k in (10, 100, 300):
        spied.nearest(unit(1)[0], k)
    assert seen == [200, 200, 600]


def test_two_builds_of_a_graph_are_the_same_bytes(tmp_path):
    for name in "ab":
        Hnsw.build(unit(500)).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    vectors, query = unit(500), unit(1, seed=3)[0]
    loaded = Hnsw.load(tmp_path / "a", 16)
    assert positions(approximate(vectors, loaded, query, 10)) == positions(exact(vectors, query, 10))


def test_recall_against_exact_search_is_recorded(write, pipeline):
    write({f"{number}.md": f"word{number} and word{number + 1}" for number in range(30)})
    search = pipeline()
    search.search("word7", dense_search="hnsw")
    assert search.stats()["hnsw"] == {"recall@10": 1.0}


def test_den_05_ties_within_a_millionth_are_broken_by_index_order_not_by_last_digits():
    scores = np.array([0.5, 0.9, 0.9 + 4e-7, 0.9 - 4e-7, 0.8], np.float64)
    assert positions(top(scores, 3, 1e-6)) == [1, 2, 3]
    assert positions(top(scores, 2, 1e-6)) == [1, 2]
    shaken = scores + np.array([1, -1, 1, -1, 1]) * 1e-7
    assert positions(top(shaken, 3, 1e-6)) == [1, 2, 3]
    assert positions(top(scores, 9, 1e-6)) == [1, 2, 3, 4, 0]


def test_den_05_batch_sizes_change_last_digits_and_no_ranking(sentence_encoder):
    texts = [
        "Bisection halves the bracket.",
        "Newton's method needs the derivative of the function and a good starting point.",
        "A mutex is released by the thread that holds it.",
    ]
    together, alone = sentence_encoder.embed(texts), np.concatenate([sentence_encoder.embed([text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    query, _ = sentence_encoder.question("root finding with derivatives")
    assert positions(exact(together, query, 3)) == positions(exact(alone, query, 3))


def test_den_06_chunks_longer_than_the_encoder_reads_are_counted(write, pipeline):
    write({"long.md": "word " * 15, "fits.md": "word " * 13, "short.md": "word"})  # 16 pieces with two marks, title 1
    search = pipeline()
    search.search("word")
    assert search.stats()["vectors"]["truncated"] == 1
    assert search.stats()["vectors"]["limit"] == 16


def test_den_06_building_the_index_says_how_many_chunks_are_too_long(write, pipeline, capsys):
    write({"long.md": "word " * 15, "short.md": "word"})
    search = pipeline()
    search._parts.indexer._progress._quiet = False
    search.search("word")
    assert (
        "rag: 1 of 2 chunks are longer than the 16 word pieces that all-MiniLM-L6-v2 reads: the dense lane cannot find"
        " what only their ends hold\n" in capsys.readouterr().err
    )


def test_den_06_the_real_encoder_does_not_see_the_end_of_a_long_chunk(sentence_encoder):
    body = "The pump was serviced in spring and again in autumn. " * 50
    long, other, cut = sentence_encoder.embed([f"{body}Bisection halves the bracket.", f"{body}Zebras graze.", body])
    assert np.abs(long - other).max() < 1e-6
    assert np.abs(long - cut).max() < 1e-6


def test_den_05_an_index_built_one_by_one_ranks_as_one_built_in_batches(write, tmp_path, sentence_encoder):
    write(
        {f"{number:02}.md": f"Note {number}: " + "the secant method converges. " * (number % 7) for number in range(40)}
    )
    ranked = []
    for size in (1, 32):
        settings = Settings(state=f"state{size}", batch_size=size, search=Options(rerank="late-interaction"))
        search = RagPipeline(settings, tmp_path, quiet=True, encoder=lambda _: sentence_encoder)
        found = [search.search(text, top_k=40).chunks for text in ("secant", "note 7 converges", "which method")]
        ranked.append([[chunk.id for chunk in chunks] for chunks in found])
    assert ranked[0] == ranked[1]


def test_den_06_the_real_encoder_counts_counts_beyond_its_limit(sentence_encoder):
    assert sentence_encoder.limit == 256
    assert sentence_encoder.lengths(["one two three", "word " * 540]) == [5, 542]


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_den_07_a_blank_question_is_never_searched(query, write, pipeline, encoder):
    write({"a.md": "text"})
    result = pipeline().search(query)
    assert result.chunks == ()
    assert result.lanes_run == ()
    assert not encoder.counts


def test_auto_beyond_the_threshold_refuses_by_name_where_hnswlib_is_absent(write, pipeline, monkeypatch):
    import importlib.util

    write({"a.md": "text"})
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "hnswlib" else find(name))
    with pytest.raises(ModelMissingError, match="pip install hnswlib"):
        pipeline(hnsw_from=1).search("text", dense_search="auto")


def test_auto_means_hnsw_from_the_threshold_on(encoder):
    vectors = unit(10, dimension=64)
    opened = []

    def graph():
        opened.append(True)
        return Hnsw.build(vectors)

    for threshold, expected in ((11, 0), (10, 1)):
        lane = Dense(
            Lazy(lambda: vectors),
            Lazy(graph),
            QuestionVectors(Lazy(lambda: encoder), "m"),
            ("index", f"m{threshold}"),
            threshold,
        )
        lane.search(Request("word", 10, Options(dense_search="auto")), Meter(Memo(10)))
        assert len(opened) == expected


def test_scifact_exact_scores_06451_and_hnsw_comes_within_2_thousandths(scifact):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    stored = np.load(scifact / "minilm.npz")
    names, documents = stored["doc_ids"].tolist(), stored["docs"]
    qrels = defaultdict(dict)
    for line in (scifact / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, name, grade = line.split("\t")
        qrels[query][name] = int(grade)
    graph = Hnsw.build(documents)
    runs = {"exact": {}, "hnsw": {}}
    for query, vector in zip(stored["query_ids"].tolist(), stored["queries"], strict=True):
        if query in qrels:
            found = {"exact": exact(documents, vector, 100), "hnsw": approximate(documents, graph, vector, 100)}
            for name, ranking in found.items():
                runs[name][query] = {names[position]: score for position, score in ranking}
    scored = {}
    for name, run in runs.items():
        rows = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)
        scored[name] = float(np.mean([row["ndcg_cut_10"] for row in rows.values()]))
    assert scored["exact"] == pytest.approx(0.6451, abs=5e-5)
    assert scored["hnsw"] == pytest.approx(scored["exact"], abs=0.002)
    assert graph.recall(documents) > 0.99


def test_scifact_vectors_are_those_of_the_bundled_model(scifact, sentence_encoder):
    stored = np.load(scifact / "minilm.npz")
    records = []
    with (scifact / "corpus.jsonl").open(encoding="utf-8") as lines:
        for _, line in zip(range(6), lines, strict=False):
            records.append(json.loads(line))
    assert [record["_id"] for record in records] == stored["doc_ids"][:6].tolist()
    vectors = sentence_encoder.embed([f"{record['title']} {record['text']}" for record in records])
    assert np.abs(vectors - stored["docs"][:6]).max() < 1e-5
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
