"""Claims about the declared measures."""

from __future__ import annotations

import pytest

from pytest_ragbench.metrics.catalogue import headline, is_binary, measures, metric_names


def test_the_names_at_depth_ten():
    assert " ".join(metric_names(10)) == (
        "hit@1 hit@5 hit@10 recall@10 complete@10 mrr@10 ndcg@10 p@5 "
        "doc_hit@1 doc_hit@5 doc_hit@10 doc_recall@10 doc_complete@10 doc_mrr@10 doc_ndcg@10 doc_p@5 "
        "citation_precision@10 faithfulness"
    )


@pytest.mark.parametrize(
    ("k", "hits", "precision"),
    [
        (1, ["hit@1"], "p@1"),
        (3, ["hit@1", "hit@3"], "p@3"),
        (5, ["hit@1", "hit@5"], "p@5"),
        (20, ["hit@1", "hit@5", "hit@20"], "p@5"),
    ],
)
def test_no_cut_off_is_deeper_than_the_ranking_and_no_name_stands_twice(k, hits, precision):
    names = metric_names(k)
    assert [name for name in names if name.startswith("hit")] == hits
    assert precision in names
    assert len(set(names)) == len(names)


def test_hits_and_completeness_are_binary_the_rest_is_graded():
    binary = {name for name in metric_names() if is_binary(name)}
    assert binary == {
        "hit@1", "hit@5", "hit@10", "complete@10", "doc_hit@1", "doc_hit@5", "doc_hit@10", "doc_complete@10",
    }  # fmt: skip
    assert not is_binary("unheard-of@3")


def test_every_measure_says_what_it_is_and_where_it_comes_from():
    for measure in measures():
        assert measure.definition
        assert measure.citation
        assert (measure.low, measure.high) == (0.0, 1.0)
        assert is_binary(measure.name) is (measure.kind == "binary")


@pytest.mark.parametrize("k", [1, 3, 10, 50])
def test_the_headline_is_led_by_ndcg_and_is_part_of_every_set_of_measures(k):
    assert headline(k) == (f"ndcg@{k}", f"recall@{k}", "hit@1", f"mrr@{k}", f"complete@{k}", f"doc_recall@{k}")
    assert len(set(headline(k))) == len(headline(k))
    assert {*headline(k)} <= {*metric_names(k)}
