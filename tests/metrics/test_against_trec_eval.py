"""The measures against pytrec_eval: on random rankings, and on the real collections against its recorded means."""

from __future__ import annotations

import csv
import gzip
import json
from collections import defaultdict

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.contract import Chunk
from pytest_ragbench.metrics.measures import score
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.model import GoldSource, Locator

K = 10
THEIRS = {
    "ndcg@10": "ndcg_cut_10",
    "recall@10": "recall_10",
    "mrr@10": "recip_rank",
    "p@5": "P_5",
    "hit@5": "success_5",
}
documents = st.integers(0, 30).map(lambda number: f"d{number:02d}")


def scored(relevant: list[str], ranking: list[str]) -> dict[str, float]:
    gold = compile_gold([GoldSource(Locator(document)) for document in relevant])
    return score(*match([Chunk(document) for document in ranking], gold), gold, K)


@given(
    st.lists(documents, min_size=1, max_size=15, unique=True), st.lists(documents, min_size=1, max_size=K, unique=True)
)
def test_rankings_without_duplicates_score_as_in_trec_eval(relevant, ranking):
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranking)}}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, set(THEIRS.values()))
    theirs = evaluator.evaluate(run)["q"]
    ours = scored(relevant, ranking)
    for name, their_name in THEIRS.items():
        assert ours[name] == pytest.approx(theirs[their_name], abs=1e-9), name
        assert ours["doc_" + name] == ours[name]


def read_judgements(path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        found = defaultdict(list)
        for row in rows:
            if int(row["score"]) > 0:
                found[row["query-id"]].append(row["corpus-id"])
    return found


def read_run(path) -> dict[str, list[str]]:
    """Rankings in trec_eval's order: by score, then by descending document id."""
    found = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            query, _, document, _, value, _ = line.split()
            found[query].append((float(value), document))
    return {query: [document for _, document in sorted(pairs, reverse=True)] for query, pairs in found.items()}


@pytest.mark.parametrize("tool", ["rank_bm25", "bm25s", "minilm"])
@pytest.mark.parametrize("collection", ["scifact", "xquad-en", "hotpotqa-100", "musique-100"])
def test_real_rankings_reach_the_recorded_means_of_pytrec_eval(collections_dir, collection, tool):
    reference = json.loads((collections_dir / "reference.json").read_text(encoding="utf-8"))[collection][tool]
    judgements = read_judgements(collections_dir / collection / "qrels" / "test.tsv")
    rankings = read_run(collections_dir / collection / "runs" / f"{tool}.trec.gz")
    rows = [scored(relevant, rankings.get(query, [])) for query, relevant in judgements.items()]
    assert len(rows) == reference["nq"]
    for name, recorded in (("ndcg@10", "ndcg10"), ("recall@10", "recall10"), ("mrr@10", "mrr10")):
        assert sum(row[name] for row in rows) / len(rows) == pytest.approx(reference[recorded], abs=1e-9), name
