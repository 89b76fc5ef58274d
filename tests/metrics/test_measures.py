"""Claims about what a ranking scores. Expected numbers are closed forms or come from the reported cases."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.contract import Chunk
from pytest_ragbench.metrics.measures import metric_names, score
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.model import GoldSource, Locator


def source(file: str, *, required: bool = True, hop: int | None = None, pages=None, heading=()) -> GoldSource:
    return GoldSource(Locator(file, pages, heading), required, hop)


def chunk(text: str) -> Chunk:
    """`b.pdf p6`, `a.md#1` or `a.md`."""
    file, _, page = text.partition(" p")
    return Chunk(file.partition("#")[0], (int(page), int(page)) if page else None)


def scored(gold: list[GoldSource], ranking: list[str | Chunk], k: int = 10) -> dict[str, float]:
    compiled = compile_gold(gold)
    chunks = [entry if isinstance(entry, Chunk) else chunk(entry) for entry in ranking]
    return score(*match(chunks, compiled), compiled, k)


def names(k: int = 10) -> tuple[str, ...]:
    return ("hit@1", "hit@5", f"hit@{k}", f"recall@{k}", f"complete@{k}", f"mrr@{k}", f"ndcg@{k}")


def assert_scores(found: dict[str, float], *expected: float) -> None:
    assert [found[name] for name in names()] == pytest.approx(expected, abs=1e-6)


TWO_OF_TWO = 1 + 1 / log2(3)
"""Ideal gain of two required sources."""


def test_met_01_near_duplicates_of_one_source_earn_one_gain():
    assert_scores(scored([source("notes/a.md")], ["notes/a.md#1", "notes/a.md#2"]), 1, 1, 1, 1, 1, 1, 1)


def test_met_02_three_chunks_of_the_first_source_do_not_complete_two():
    found = scored([source("a.md"), source("b.md")], ["a.md#1", "a.md#2", "a.md#3"])
    assert_scores(found, 1, 1, 1, 0.5, 0, 1, 0.613147)
    assert found["ndcg@10"] == pytest.approx(1 / TWO_OF_TWO, abs=1e-12)


@pytest.mark.parametrize(
    ("ranking", "ndcg"),
    [(["b.pdf p6"], 0.613147), (["b.pdf p5", "b.pdf p6"], 1.0), (["b.pdf p6", "b.pdf p7"], 0.613147)],
)
def test_met_03_a_chunk_that_satisfies_two_sources_earns_one_gain_of_an_ideal_of_two(ranking, ndcg):
    gold = [source("b.pdf", pages=(5, 6)), source("b.pdf", pages=(6, 7))]
    assert_scores(scored(gold, ranking), 1, 1, 1, 1, 1, 1, ndcg)


def test_met_03_at_document_level_two_places_in_one_file_are_one_gain():
    gold = [source("b.pdf", pages=(5, 6)), source("b.pdf", pages=(6, 7))]
    assert scored(gold, ["b.pdf p90"])["doc_ndcg@10"] == 1.0


def test_met_05_fewer_results_than_k_do_not_shrink_the_ideal():
    found = scored([source(f"{name}.md") for name in "abcde"], ["a.md#1"])
    assert_scores(found, 1, 1, 1, 0.2, 0, 1, 0.33916)
    assert found["ndcg@10"] == pytest.approx(1 / sum(1 / log2(rank + 1) for rank in range(1, 6)), abs=1e-12)


@pytest.mark.parametrize(
    ("position", "ndcg", "mrr", "hit"),
    [(1, 1.0, 1.0, 1), (2, 0.63093, 0.5, 1), (3, 0.5, 1 / 3, 1), (10, 0.289065, 0.1, 1), (11, 0.0, 0.0, 0)],
)
def test_met_07_discount_and_cut_off_by_position(position, ndcg, mrr, hit):
    ranking = [f"x{place}.md" for place in range(1, 12)]
    ranking[position - 1] = "a.md"
    found = scored([source("a.md")], ranking)
    assert (found["ndcg@10"], found["mrr@10"], found["hit@10"]) == pytest.approx((ndcg, mrr, hit), abs=1e-6)


def test_met_08_precision_divides_by_five_however_few_came_back():
    assert scored([source("a.md"), source("b.md")], ["a.md#1", "b.md#1", "x.md#1"])["p@5"] == 0.4


def test_met_08_precision_counts_relevant_chunks_not_gains():
    assert scored([source("a.md")], ["a.md#1", "a.md#2", "x.md"])["p@5"] == 0.4


def test_met_09_an_empty_ranking_scores_zero_everywhere():
    found = scored([source("b.md")], [])
    assert set(found.values()) == {0.0}
    assert tuple(found) == tuple(name for name in metric_names() if name != "faithfulness")


def test_met_10_empty_gold_scores_one_whatever_came_back():
    assert set(scored([], ["a.md"]).values()) == {1.0}
    assert set(scored([], []).values()) == {1.0}


def test_met_16_only_the_second_hop_found():
    gold = [source("a.pdf", pages=(1, 1), hop=1), source("b.md", heading=("Proof",), hop=2)]
    found = scored(gold, ["x.md", "y.md", Chunk("b.md", heading=("Proof",))])
    assert_scores(found, 0, 1, 1, 0.5, 0, 1 / 3, 0.306574)


@pytest.mark.parametrize(
    ("ranking", "expected", "precision", "citation"),
    [
        (["ctx.md#1"], (0, 0, 0, 0, 0, 0, 0), 0.2, 1.0),
        (["ctx.md#1", "a.md#1"], (0, 1, 1, 1, 1, 0.5, 0.63093), 0.4, 1.0),
    ],
)
def test_met_17_optional_gold_counts_in_the_precisions_alone(ranking, expected, precision, citation):
    found = scored([source("a.md"), source("ctx.md", required=False)], ranking)
    assert_scores(found, *expected)
    assert (found["p@5"], found["citation_precision@10"]) == (precision, citation)


def test_met_17_without_a_required_source_nothing_is_missing():
    found = scored([source("ctx.md", required=False)], ["x.md"])
    assert_scores(found, 1, 1, 1, 1, 1, 1, 1)
    assert found["p@5"] == 0.0


def test_citation_precision_divides_by_what_came_back_above_k():
    assert scored([source("a.md")], ["a.md", "x.md", "a.md"])["citation_precision@10"] == pytest.approx(2 / 3)
    assert scored([source("a.md")], ["x.md", "x.md", "a.md"], k=2)["citation_precision@2"] == 0.0


def test_document_level_asks_for_the_file_alone():
    found = scored([source("b.pdf", pages=(5, 6)), source("c.md")], ["x.md", "b.pdf p90"])
    assert (found["hit@10"], found["doc_hit@1"], found["doc_hit@5"], found["doc_recall@10"]) == (0, 0, 1, 0.5)
    assert (found["doc_mrr@10"], found["doc_complete@10"], found["doc_p@5"]) == (0.5, 0, 0.2)
    assert found["doc_ndcg@10"] == pytest.approx(1 / log2(3) / TWO_OF_TWO)


def test_ranks_below_k_are_ignored():
    assert scored([source("a.md")], ["x.md", "y.md", "z.md", "a.md"], k=3)["recall@3"] == 0.0


@pytest.mark.parametrize("k", [0, -1])
@pytest.mark.parametrize("gold", [[], [source("a.md")]])
def test_a_depth_below_one_is_refused_and_cuts_nothing_off(k, gold):
    with pytest.raises(ValueError, match=f"at 1 or deeper, found k = {k}"):
        scored(gold, ["a.md", "b.md"], k=k)


@given(st.sets(st.integers(1, 12), min_size=1))
def test_gains_are_added_with_one_rounding(ranks):
    gold = [source(f"{rank}.md") for rank in ranks]
    ranking = [f"{rank}.md" if rank in ranks else "x.md" for rank in range(1, 13)]
    gain, ideal = (
        float(sum(Fraction(1 / log2(rank + 1)) for rank in counted)) for counted in (ranks, range(1, len(ranks) + 1))
    )
    assert scored(gold, ranking, k=12)["ndcg@12"] == gain / ideal


sources = st.integers(0, 5)
rankings = st.lists(st.lists(sources, max_size=3, unique=True).map(lambda found: tuple(sorted(found))), max_size=15)


@given(rankings, st.integers(1, 12), st.sets(sources))
def test_every_measure_lies_between_zero_and_one(ranking, k, optional):
    gold = compile_gold([source(f"{index}.md", required=index not in optional) for index in range(6)])
    found = score(ranking, ranking, gold, k)
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in found.values())
    assert tuple(found) == tuple(name for name in metric_names(k) if name != "faithfulness")


@given(rankings)
def test_a_repeated_chunk_at_the_end_changes_no_measure_of_gain(ranking):
    ranking = ranking[:9]
    gold = compile_gold([source(f"{index}.md") for index in range(6)])
    before, after = score(ranking, ranking, gold), score(ranking + ranking[:1], ranking + ranking[:1], gold)
    assert [before[name] for name in names()] == [after[name] for name in names()]
