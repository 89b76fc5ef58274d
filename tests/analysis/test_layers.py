"""Claims about whom a lost source is charged to, stage by stage, for pipelines of several shapes and spellings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.analysis.layers import (
    ANSWER,
    CUT_OFF,
    FUSION,
    GATE,
    LANE,
    LAYERS,
    NO_LANE,
    NOT_INDEXED,
    RERANK,
    STAGE_LAYERS,
    Stage,
    charge,
    pool_ranks,
    stage_layers,
)

K = 10


def layer(*stages, final=False, k=K):
    """The layer to which source 0 is charged; a stage is (layer, length, rank or None, judged)."""
    held = [Stage(what, length, {} if rank is None else {0: rank}, *judged) for what, length, rank, *judged in stages]
    return charge(held, {0}, {0} if final else set(), k).get(0)


# --- what a stage is ----------------------------------------------------------------------------------------------------


def test_stages_named_as_lanes_are_lanes_and_the_others_are_told_by_their_names():
    names = ["sparse", "dense", "scope-dense", "fusion", "boost", "walk", "rerank", "cut", "gate"]
    found = stage_layers(names, {"sparse", "dense", "scope-dense"})
    assert list(found.items()) == [
        ("sparse", LANE), ("dense", LANE), ("scope-dense", LANE), ("fusion", FUSION), ("boost", FUSION),
        ("walk", FUSION), ("rerank", RERANK), ("cut", CUT_OFF), ("gate", GATE),
    ]  # fmt: skip


def test_without_names_of_lanes_they_are_the_stages_before_the_first_that_is_something_else():
    assert stage_layers(["bm25", "vectors", "rrf", "cross_encoder", "final"], ()) == {
        "bm25": LANE, "vectors": LANE, "rrf": FUSION, "cross_encoder": RERANK, "final": CUT_OFF,
    }  # fmt: skip


def test_a_name_that_says_nothing_is_fusion_before_the_rerank_and_a_cut_off_behind_it():
    found = stage_layers(["dense", "stage2", "Reranked", "stage4", "answer"], ["dense"])
    assert [found[name] for name in ("stage2", "Reranked", "stage4", "answer")] == [FUSION, RERANK, CUT_OFF, ANSWER]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("aggregate", FUSION), ("ensemble", FUSION), ("score-propagation", LANE), ("propagate", LANE), ("execute", LANE),
        ("gate", GATE), ("relevance_gate", GATE), ("RelevanceGate", GATE), ("gated", GATE),
        ("cut", CUT_OFF), ("top_k", CUT_OFF), ("top_k_chunks", CUT_OFF), ("top-10", CUT_OFF), ("topic", LANE),
        ("score_ranking", LANE), ("core_rank", LANE), ("scorerank", LANE), ("before_rerank", LANE), ("pre-rerank", LANE),
        ("prererank", LANE), ("pre_cross_encoder", LANE), ("translate_interaction", LANE), ("across_encoders", LANE),
        ("delegate", LANE), ("gateway", LANE), ("subthreshold", LANE),
        ("dense_limited", LANE), ("unlimited", LANE), ("shortcut", LANE), ("stop_k", LANE), ("super_file", LANE),
        ("semifinal", LANE), ("excited", LANE), ("unanswered", LANE), ("diffusion", LANE), ("refused", LANE),
        ("emerged", LANE), ("spool", LANE), ("sidewalk", LANE),
        ("rerank", RERANK), ("re-rank", RERANK), ("re rank", RERANK), ("ReRank", RERANK), ("bge.reranker", RERANK),
        ("rerank2", RERANK), ("LLMRerank", RERANK), ("RERANKED", RERANK), ("crossencoder", RERANK),
        ("cross_encoder", RERANK), ("CrossEncoder", RERANK), ("cross-encoding", RERANK), ("lateInteraction", RERANK),
        ("late_interaction", RERANK), ("dense_rerank", RERANK), ("after_rerank", RERANK), ("post-rerank", RERANK),
        ("after_rerank_cut", CUT_OFF), ("post_re_rank_mmr", CUT_OFF), ("fusion_before_rerank", FUSION),
        ("pre_rerank_cut", CUT_OFF), ("before_re_rank_top_k", CUT_OFF),
        ("limit", CUT_OFF), ("limited", CUT_OFF), ("cutoff", CUT_OFF), ("cut-off", CUT_OFF), ("topK", CUT_OFF),
        ("topk", CUT_OFF), ("top10", CUT_OFF), ("per_file", CUT_OFF), ("perFile", CUT_OFF), ("de-dup", CUT_OFF),
        ("deduplicated", CUT_OFF), ("truncate", CUT_OFF), ("MMR", CUT_OFF), ("diversity", CUT_OFF), ("final", CUT_OFF),
        ("thresholded", GATE), ("llm_abstains", GATE), ("answers", ANSWER), ("cited", ANSWER), ("citations", ANSWER),
        ("fused", FUSION), ("RRFusion", FUSION), ("rrf60", FUSION), ("QueryFusionRetriever", FUSION), ("pooled", FUSION),
        ("metadata boost", FUSION), ("graph.walk", FUSION), ("interleaved", FUSION), ("merge", FUSION),
    ],
)  # fmt: skip
def test_a_name_is_told_by_its_words_and_not_by_letters_within_others(name, what):
    assert stage_layers(["bm25", name], ()) == {"bm25": LANE, name: what}


def test_what_stood_before_a_step_is_as_any_stage_whose_name_says_nothing():
    found = stage_layers(["dense", "before_rerank", "rerank", "pre_gate", "gate"], ["dense"])
    assert list(found.values()) == [LANE, FUSION, RERANK, CUT_OFF, GATE]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("dense_exact", LANE), ("DenseExact", LANE), ("Dense", LANE), ("dense2", LANE), ("dense_limited", LANE),
        ("dense-top-100", LANE), ("dense_before_fusion", LANE), ("bm25_okapi", LANE), ("scope dense exact", LANE),
        ("dense_rerank", RERANK), ("dense_boost", FUSION), ("dense_gate", GATE), ("sparse_dense", FUSION),
        ("dense_sparse", FUSION), ("sparse_dense_fusion", FUSION), ("condense", FUSION), ("densely", FUSION),
        ("exact_dense", FUSION), ("bm", FUSION), ("scope", FUSION),
    ],
)  # fmt: skip
def test_a_name_that_begins_with_a_lane_that_ran_is_that_lane_unless_it_names_a_step_or_another_lane(name, what):
    lanes = ("sparse", "dense", "bm25", "scope-dense", "#")
    assert stage_layers([*lanes, name, "fusion"], lanes)[name] == what


def test_a_variant_of_a_lane_ends_no_search_for_lanes():
    found = stage_layers(["dense_limited", "vectors", "rrf", "dense_exact"], ["dense"])
    assert list(found.values()) == [LANE, LANE, FUSION, LANE]


def test_a_lane_may_have_any_name():
    assert stage_layers(["rerank-lane", "rerank"], ["rerank-lane"]) == {"rerank-lane": LANE, "rerank": RERANK}


# --- whom a loss is charged to ------------------------------------------------------------------------------------------

LANES = ((LANE, 100, None), (LANE, 100, 5))

CASES = {
    "no stage had it": (((LANE, 100, None), (FUSION, 180, None), (CUT_OFF, 10, None)), NO_LANE),
    "there is no stage at all": ((), NO_LANE),
    "a lane had it and fusion dropped it": ((*LANES, (FUSION, 50, None), (CUT_OFF, 10, None)), FUSION),
    "a lane had it within k and fusion put it below": ((*LANES, (FUSION, 180, 14), (CUT_OFF, 10, None)), FUSION),
    "no lane had it within k and nothing lifted it": (
        ((LANE, 100, 40), (LANE, 100, 33), (FUSION, 180, 38), (CUT_OFF, 10, None)),
        CUT_OFF,
    ),
    "one lane, cut at k": (((LANE, 100, 40), (CUT_OFF, 10, None)), CUT_OFF),
    "a lane is all that is reported": (((LANE, 100, 40),), CUT_OFF),
    "the rerank put it below k": ((*LANES, (FUSION, 180, 3), (RERANK, 180, 12, 30), (CUT_OFF, 10, None)), RERANK),
    "the rerank did not lift it": ((*LANES, (FUSION, 180, 25), (RERANK, 180, 21, 30), (CUT_OFF, 10, None)), RERANK),
    "of the rerank is not known how far it judged": (
        (*LANES, (FUSION, 180, 90), (RERANK, 180, 90), (CUT_OFF, 10, None)),
        RERANK,
    ),
    "the rerank never saw it, for fusion had put it below the pool": (
        (*LANES, (FUSION, 180, 44), (RERANK, 180, 44, 30), (CUT_OFF, 10, None)),
        FUSION,
    ),
    "the rerank never saw it, and no lane had it as high as the pool": (
        ((LANE, 100, 70), (FUSION, 180, 90), (RERANK, 180, 90, 30), (CUT_OFF, 10, None)),
        CUT_OFF,
    ),
    "the rerank reports its pool alone, and the source stood below": (
        (*LANES, (FUSION, 180, 44), (RERANK, 30, None), (CUT_OFF, 10, None)),
        FUSION,
    ),
    "the rerank dropped what stood in its pool": ((*LANES, (FUSION, 180, 4), (RERANK, 30, None)), RERANK),
    "a second rerank put it below k": (
        (*LANES, (FUSION, 180, 4), (RERANK, 180, 8, 100), (RERANK, 180, 13, 30), (CUT_OFF, 10, None)),
        RERANK,
    ),
    "the second rerank never saw it, since the first had put it below the second's pool": (
        (*LANES, (FUSION, 180, 4), (RERANK, 180, 40, 100), (RERANK, 180, 40, 30), (CUT_OFF, 10, None)),
        RERANK,
    ),
    "among the first k and cut by another rule": ((*LANES, (FUSION, 180, 4), (CUT_OFF, 8, None)), CUT_OFF),
    "the gate took it from the final list": (
        (*LANES, (FUSION, 180, 4), (RERANK, 180, 2, 30), (CUT_OFF, 10, 2), (GATE, 3, None)),
        GATE,
    ),
    "the gate comes before the cut": ((*LANES, (RERANK, 180, 50, 99), (GATE, 20, None), (CUT_OFF, 10, None)), GATE),
    "a walk brought it and the rerank put it below k": (
        ((LANE, 100, None), (FUSION, 180, None), (FUSION, 190, 12), (RERANK, 190, 15, 40), (CUT_OFF, 10, None)),
        RERANK,
    ),
    "a fusion of later stages has it again, and the cut loses it": (
        (*LANES, (FUSION, 50, None), (FUSION, 60, 20), (CUT_OFF, 10, None)),
        FUSION,
    ),
    "at k itself it was among those that are kept": ((*LANES, (FUSION, 180, 10), (CUT_OFF, 8, None)), CUT_OFF),
    "one rank below k fusion had put it too low": ((*LANES, (FUSION, 180, 11), (CUT_OFF, 10, None)), FUSION),
    "a lane had it at k itself": (((LANE, 100, 10), (FUSION, 180, 14), (CUT_OFF, 10, None)), FUSION),
    "a lane had it one rank below k": (((LANE, 100, 11), (FUSION, 180, 14), (CUT_OFF, 10, None)), CUT_OFF),
    "the last that the rerank judged": ((*LANES, (FUSION, 180, 30), (RERANK, 180, 30, 30), (CUT_OFF, 10, None)), RERANK),
    "the first that it did not": ((*LANES, (FUSION, 180, 31), (RERANK, 180, 31, 30), (CUT_OFF, 10, None)), FUSION),
    "the last of a pool that the rerank reports": ((*LANES, (FUSION, 180, 30), (RERANK, 30, None)), RERANK),
    "the first outside it": ((*LANES, (FUSION, 180, 31), (RERANK, 30, None)), FUSION),
    "the rerank judged fewer than k, and k is what was to be reached": (
        ((LANE, 100, 8), (FUSION, 180, 12), (RERANK, 180, 12, 5), (CUT_OFF, 10, None)),
        FUSION,
    ),
    "a walk brought it below k, and no lane had it": (
        ((LANE, 100, None), (FUSION, 180, None), (FUSION, 190, 14), (CUT_OFF, 10, None)),
        CUT_OFF,
    ),
    "no lane had it within k, fusion lifted it and a boost put it below again": (
        ((LANE, 100, 40), (FUSION, 180, 5), (FUSION, 180, 14), (CUT_OFF, 10, None)),
        FUSION,
    ),
    "a limit by file moved down what fusion had within k": ((*LANES, (FUSION, 180, 4), (CUT_OFF, 180, 14)), CUT_OFF),
    "a limit by file moved further down what fusion had put below k": (
        (*LANES, (FUSION, 180, 14), (CUT_OFF, 180, 20)),
        FUSION,
    ),
    "every stage had it within k and the list does not": ((*LANES, (FUSION, 180, 4), (CUT_OFF, 10, 4)), CUT_OFF),
    "the answer's own stage is no reason for a loss before it": ((*LANES, (FUSION, 9, None), (ANSWER, 3, None)), FUSION),
}  # fmt: skip


@pytest.mark.parametrize(("stages", "charged"), CASES.values(), ids=CASES)
def test_a_lost_source_is_charged_to_one_layer(stages, charged):
    assert layer(*stages) == charged


def test_what_the_final_ranking_has_is_not_lost_whatever_the_stages_say():
    assert layer((LANE, 100, None), (CUT_OFF, 10, None), final=True) is None


def test_what_the_answer_does_not_cite_is_charged_to_the_answer():
    assert layer((LANE, 9, 2), (CUT_OFF, 9, 2), (ANSWER, 2, None), final=True) == ANSWER
    assert layer((LANE, 9, 2), (CUT_OFF, 9, 2), (ANSWER, 2, 1), final=True) is None


RANKS = st.none() | st.integers(1, 200)
STAGES = st.lists(st.tuples(st.sampled_from(STAGE_LAYERS), st.integers(0, 200), RANKS, RANKS), max_size=8)


@given(STAGES, st.booleans(), st.integers(1, 20))
def test_every_lost_source_is_charged_to_exactly_one_layer_and_only_the_index_could_say_not_indexed(stages, final, k):
    charged = layer(*stages, final=final, k=k)
    if final:
        assert charged in {None, ANSWER}
    else:
        assert charged in set(LAYERS) - {NOT_INDEXED, ANSWER}
        had = any(what != ANSWER and rank is not None for what, _, rank, _ in stages)
        assert (charged == NO_LANE) == (not had)


# --- the pool -----------------------------------------------------------------------------------------------------------


def stage(step, what, **ranks):
    return {"step": step, "layer": what, "length": 9, "found": [[int(s[1:]), rank] for s, rank in ranks.items()]}


def test_the_pool_is_the_last_fusion_before_the_rerank():
    stages = {
        "a": stage(1, LANE, _0=1), "f": stage(2, FUSION, _0=7, _1=9), "w": stage(3, FUSION, _0=8, _2=4),
        "r": stage(4, RERANK, _0=1), "boost again": stage(5, FUSION, _0=2),
    }  # fmt: skip
    assert pool_ranks(dict(sorted(stages.items(), reverse=True))) == {0: 8, 2: 4}


def test_without_fusion_the_pool_is_the_best_rank_of_the_lanes():
    stages = {"a": stage(1, LANE, _0=9, _1=3), "b": stage(2, LANE, _0=5), "c": stage(3, CUT_OFF, _1=3)}
    assert pool_ranks(stages) == {0: 5, 1: 3}


def test_stages_that_found_nothing_make_an_empty_pool():
    assert pool_ranks({}) == pool_ranks({"a": stage(1, LANE)}) == {}
