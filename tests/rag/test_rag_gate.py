"""The relevance gate: what it keeps, what it says of the rest, and which thresholds it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ragbench.configurations.loading import load_catalogue
from rag.errors import OptionError
from rag.gate import judge
from rag.options import Options
from rag.records import Chunk, Scored

ROOT = Path(__file__).resolve().parents[2]
FINAL = (Scored(4, 0.03), Scored(2, 0.02), Scored(7, 0.01))
NOTES = {
    "a.md": "alpha beta gamma",
    "b.md": "alpha beta",
    "c.md": "beta gamma delta epsilon",
    "d.md": "alpha zeta",
}
GATED = {"rerank": "late-interaction", "gate": "rerank-score", "gate_scorer": "late-interaction"}


def test_what_reaches_the_threshold_stays_in_its_order_with_the_lists_own_scores():
    judged = judge(FINAL, {4: 0.2, 2: 0.9, 7: 0.5}, 0.5)
    assert judged.kept == FINAL[1:]
    assert judged.removed == ((4, 0.2),)
    assert judged.confidence == 0.9


@pytest.mark.parametrize(("short", "passes"), [(0.0, True), (9e-10, True), (2e-9, False)])
def test_one_tolerance_stands_at_the_threshold(short, passes):
    assert bool(judge(FINAL[:1], {4: 0.5 - short}, 0.5).kept) is passes


def test_a_chunk_that_was_never_judged_does_not_pass():
    judged = judge(FINAL, {4: -3.0}, -5.0)
    assert judged.kept == FINAL[:1]
    assert judged.removed == ((2, None), (7, None))
    assert judged.confidence == -3.0


def test_of_an_empty_ranking_nothing_is_said():
    judged = judge((), {4: 1.0}, 0.5)
    assert (judged.kept, judged.removed, judged.confidence) == ((), (), None)
    assert judge(FINAL, {}, 0.5).confidence is None


def test_the_row_is_told_the_scorer_the_threshold_and_the_removed_chunks_with_the_judged_score():
    chunks = [Chunk(str(number), "a.md", "text") for number in range(8)]
    options = Options.model_validate(GATED | {"gate_threshold": 0.5})
    told = judge(FINAL, {4: 0.2, 2: 0.9}, 0.5).told(chunks, options)
    assert (told["scorer"], told["threshold"], told["confidence"]) == ("late-interaction", 0.5, 0.9)
    assert [(chunk.id, chunk.score) for chunk in told["removed"]] == [("4", 0.2), ("7", None)]


def test_the_gate_judges_the_rerankers_own_scores_not_the_fused_ones(write, pipeline):
    write(NOTES)
    search = pipeline(search={"rerank": "late-interaction"})
    plain = search.search("gamma delta", fuse_rerank=False)
    own = {chunk.file: chunk.score for chunk in plain.chunks}
    threshold = own["a.md"]
    gated = search.search("gamma delta", **GATED, gate_threshold=threshold)
    assert [chunk.file for chunk in gated.chunks] == ["c.md", "a.md"]
    assert gated.chunks[0].score == pytest.approx(2 / 61)
    assert gated.stages["gate"] == gated.chunks
    assert gated.gate["confidence"] == pytest.approx(own["c.md"])
    assert {chunk.file: chunk.score for chunk in gated.gate["removed"]} == pytest.approx(
        {file: own[file] for file in ("b.md", "d.md")}
    )
    assert "gate" in gated.timings


def test_what_lies_behind_the_rerank_pool_is_not_let_through(write, pipeline):
    write(NOTES)
    search = pipeline(search={"rerank": "late-interaction"})
    gated = search.search("alpha beta", **GATED, gate_threshold=-1.0, rerank_pool=2)
    assert len(gated.chunks) == 2
    assert [chunk.score for chunk in gated.gate["removed"]] == [None, None]


def test_a_gate_may_leave_nothing_and_takes_nothing_as_it_is(write, pipeline):
    write(NOTES)
    search = pipeline(search={"rerank": "late-interaction"})
    abstained = search.search("alpha", **GATED, gate_threshold=1.1)
    assert abstained.chunks == ()
    assert len(abstained.gate["removed"]) == 4
    empty = search.search("unknownword", **GATED, gate_threshold=0.5, dense=False)
    assert (empty.chunks, empty.gate["confidence"], empty.gate["removed"]) == ((), None, ())


def test_without_a_gate_there_is_no_word_of_one(write, pipeline):
    write(NOTES)
    result = pipeline(search={"rerank": "late-interaction"}).search("alpha")
    assert result.gate is None
    assert not {"gate"} & {*result.stages, *result.timings}


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"gate_threshold": 0.5}, "set for no scorer but judges late-interaction"),
        ({"gate_threshold": 0.5, "gate_scorer": "cross-encoder"}, "set for cross-encoder but judges late-interaction"),
        ({"gate_scorer": "late-interaction"}, "needs gate_threshold"),
        ({"gate_threshold": float("nan"), "gate_scorer": "late-interaction"}, "finite"),
        ({"gate_threshold": 0.5, "gate_scorer": "late-interaction", "rerank": "none"}, "set rerank"),
        ({"gate": "laya", "gate_threshold": 0.5, "gate_scorer": "late-interaction"}, "but judges laya"),
    ],
)
def test_rnk_02_a_threshold_is_refused_unless_it_is_tied_to_the_scorer_it_was_set_for(overrides, says, write, pipeline):
    """On logits from -10 to 10, a threshold meant for 0 to 1 would let half of them through unseen."""
    write(NOTES)
    search = pipeline(search={"rerank": "late-interaction"})
    arguments = {"gate": "rerank-score"} | overrides
    with pytest.raises(OptionError, match=says):
        search.check_overrides(**arguments)
    with pytest.raises(OptionError, match=says):
        search.search("alpha", **arguments)


def test_the_arms_of_the_shipped_sweep_differ_in_the_threshold_alone():
    catalogue = load_catalogue(ROOT / "golden" / "configs.yaml")
    off, *sweep = (catalogue.configurations[name] for name in catalogue.experiments["gate"].arms)
    assert off.overrides["gate"] == "none"
    assert {**off.overrides, "dense_search": "auto"} == catalogue.configurations["default-k10"].overrides
    gated = {"gate": "rerank-score", "gate_scorer": "late-interaction"}
    for arm in sweep:
        threshold = int(arm.name.removeprefix("gate-late-")) / 100
        assert arm.overrides == {**off.overrides, **gated, "gate_threshold": threshold}
        assert arm.pairs == (off.name,)
