"""Oracle probes: the gold in the pool, a perfect rerank of the real pool, the right scope, the gold as a draft."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import OptionError
from rag.oracle import PER_SOURCE, inject, passage, perfect
from rag.records import Chunk, Scored
from rag.stages import Gold


def chunks(count):
    return [Chunk(str(number), f"{number}.md", f"text {number}") for number in range(count)]


def ranking(*positions):
    return tuple(Scored(position, 1.0 / (61 + rank)) for rank, position in enumerate(positions))


def positions(ranking):
    return [position for position, _ in ranking]


def gold(*sources, course=""):
    """Each source is the chunks (by position) that satisfy it."""

    def satisfied(chunk):
        return frozenset(number for number, source in enumerate(sources) if int(chunk.id) in source)

    return Gold(len(sources), satisfied, course)


# -- the gold as a draft -----------------------------------------------------------------------------------------------


def test_the_draft_is_the_first_passage_of_each_required_source():
    assert passage(gold({2, 3}), chunks(5)) == "text 2"
    assert passage(gold({3}, {1}), chunks(5)) == "text 1\n\ntext 3"
    assert passage(gold({1}, {1, 3}), chunks(5)) == "text 1"


def test_without_gold_there_is_no_draft():
    assert passage(None, chunks(5)) is None
    assert passage(gold(), chunks(5)) is None
    assert passage(gold({9}), chunks(5)) is None


# -- the gold in the pool ----------------------------------------------------------------------------------------------


def test_what_is_missing_leads_the_pool_and_its_end_makes_room():
    injected = inject(ranking(0, 1, 2, 3, 4, 5), gold({9}), chunks(10), pool=3)
    assert positions(injected) == [9, 0, 1, 2, 3, 4, 5]
    assert injected[0].score == injected[1].score  # no lower than the best that stays


def test_a_pool_that_has_every_source_stays_as_it_is():
    before = ranking(0, 1, 2, 3)
    assert inject(before, gold({0}, {2}), chunks(5), pool=3) is before
    assert inject(before, gold(), chunks(5), pool=3) is before


def test_what_lies_behind_the_pool_comes_in_by_its_rank_and_leaves_its_place():
    injected = inject(ranking(0, 1, 2, 7, 5, 4), gold({4, 5}), chunks(8), pool=3)
    assert positions(injected) == [5, 4, 0, 1, 2, 7]


def test_a_source_of_many_chunks_brings_in_a_few():
    injected = inject(ranking(*range(10)), gold(set(range(20, 40))), chunks(40), pool=10)
    assert positions(injected)[:10] == [20, 21, 22, *range(10 - PER_SOURCE)]


def test_no_chunk_that_a_required_source_needs_makes_room():
    injected = inject(ranking(0, 1, 2), gold({2}, {1}, {9}), chunks(10), pool=3)
    assert positions(injected) == [9, 1, 2, 0]


def test_where_room_is_short_each_source_gets_one_before_any_gets_two():
    injected = inject(ranking(0, 1, 2), gold({5, 6, 7}, {8, 9}), chunks(10), pool=3)
    assert positions(injected)[:3] == [5, 8, 6]


def test_a_short_ranking_grows_to_the_pool():
    assert positions(inject(ranking(0), gold({2}), chunks(3), pool=5)) == [2, 0]
    assert positions(inject((), gold({2}), chunks(3), pool=5)) == [2]


def test_gold_that_is_not_indexed_cannot_come_in():
    before = ranking(0, 1)
    assert positions(inject(before, gold({9}), chunks(3), pool=2)) == [0, 1]


SOURCES = st.lists(st.sets(st.integers(0, 14), max_size=6), max_size=4)
RANKS = st.lists(st.integers(0, 14), unique=True, max_size=15)


@given(RANKS, SOURCES, st.integers(1, 12))
def test_injection_loses_no_chunk_and_no_source_that_was_there(ranks, sources, pool):
    before, probe, corpus = ranking(*ranks), gold(*sources), chunks(15)
    after = positions(inject(before, probe, corpus, pool))
    assert len(set(after)) == len(after)
    assert set(after) >= set(ranks)
    assert set(after) - set(ranks) <= set().union(*sources)

    def covered(some):
        return set().union(*(probe.satisfied(corpus[at]) for at in some))

    assert covered(after[:pool]) >= covered(ranks[:pool])
    if pool >= len(sources) * PER_SOURCE + sum(bool(probe.satisfied(corpus[at])) for at in ranks[:pool]):
        assert covered(after[:pool]) == covered(range(15))


# -- the perfect rerank ------------------------------------------------------------------------------------------------


def test_the_perfect_order_brings_a_new_source_at_every_rank_then_the_relevant_then_the_rest():
    probe = gold({3, 5}, {4}, {9})
    assert positions(perfect(ranking(0, 1, 3, 5, 4, 2), probe, chunks(10), pool=6)) == [3, 4, 5, 0, 1, 2]


def test_a_chunk_with_one_source_comes_before_one_with_both():
    # A rank earns one gain: 2 first would bring both sources and leave one gain in all; 0, then 2, earn two.
    assert positions(perfect(ranking(2, 0, 1), gold({0, 2}, {1, 2}), chunks(3), pool=3)) == [0, 2, 1]


def test_what_the_pool_lacks_a_perfect_reranker_cannot_find():
    assert positions(perfect(ranking(0, 1, 5), gold({5}), chunks(6), pool=2)) == [0, 1, 5]
    assert perfect((), gold({1}), chunks(3), pool=5) == ()


@given(RANKS, SOURCES, st.integers(1, 12))
def test_the_perfect_order_is_a_permutation_of_the_pool_and_no_order_covers_more(ranks, sources, pool):
    probe, corpus = gold(*sources), chunks(15)
    after = positions(perfect(ranking(*ranks), probe, corpus, pool))
    assert sorted(after[:pool]) == sorted(ranks[:pool])
    assert after[pool:] == ranks[pool:]
    known: set[int] = set()
    gains = []
    for position in after[:pool]:
        new = probe.satisfied(corpus[position]) - known
        gains.append(bool(new))
        known |= new
    assert gains == sorted(gains, reverse=True)  # every gain stands before every rank without one


# -- through the pipeline ----------------------------------------------------------------------------------------------

NOTES = {f"{number}.md": f"alpha note number {number}" for number in range(8)} | {
    "Courses/Optics/gold.md": "lenses bend light"
}


def known(_query):
    return Gold(1, lambda chunk: frozenset({0}) if chunk.file.endswith("gold.md") else frozenset(), "optics")


class Lengths:
    """A reranker that prefers short texts."""

    fuses = False

    def scores(self, _query, texts, _meter):
        return [-float(len(text)) for text in texts]


@pytest.fixture
def probed(tmp_path, write, encoder):
    """A pipeline that knows the gold, unless told otherwise."""
    from rag.assembly import RERANKERS
    from rag.options import Settings
    from rag.pipeline import RagPipeline

    write(NOTES)
    settings = Settings.model_validate({"labels": [{"path": "Courses/(?P<course>[^/]+)/"}], "search": {"top_k": 3}})
    rerankers = {**RERANKERS, "late-interaction": lambda _: Lengths()}

    def make(oracle=known):
        return RagPipeline(
            settings, tmp_path, quiet=True, encoder=lambda _: encoder, oracle=oracle, rerankers=rerankers
        )

    return make


def files(chunks):
    return [chunk.file for chunk in chunks]


def test_pool_puts_the_gold_where_the_reranker_sees_it(probed):
    result = probed().search("alpha note", dense=False, oracle="pool", rerank_pool=4)
    assert "Courses/Optics/gold.md" not in files(result.stages["sparse"])
    assert files(result.stages["oracle"])[0] == "Courses/Optics/gold.md"
    assert len(result.chunks) == 3
    assert "oracle" in result.timings


class Knowing:
    """A reranker that knows the gold, and whose order is fused with the one it was given."""

    fuses = True

    def scores(self, _query, texts, _meter):
        return [float("lenses" in text) for text in texts]


def test_gold_in_the_pool_can_win_where_the_given_order_counts_as_well(tmp_path, write, encoder):
    """From the end of a pool of 30 no chunk could: 1/90 + 1/61 is less than 1/70 + 1/70, ten of which stand above."""
    from rag.assembly import RERANKERS
    from rag.options import Settings
    from rag.pipeline import RagPipeline

    write(NOTES | {f"more-{number}.md": f"alpha note {number}" for number in range(30)})
    search = RagPipeline(
        Settings(),
        tmp_path,
        quiet=True,
        encoder=lambda _: encoder,
        oracle=known,
        rerankers={**RERANKERS, "late-interaction": lambda _: Knowing()},
    )
    assert "Courses/Optics/gold.md" not in files(search.search("alpha note", dense=False).chunks)
    assert files(search.search("alpha note", dense=False, oracle="pool").chunks)[0] == "Courses/Optics/gold.md"


def test_rerank_orders_the_real_pool(probed):
    search = probed()
    result = search.search("alpha lenses", dense=False, oracle="rerank")
    assert files(result.chunks)[0] == "Courses/Optics/gold.md"
    missed = search.search("alpha note", dense=False, oracle="rerank")
    assert "Courses/Optics/gold.md" not in files(missed.chunks)


def test_scope_is_given_without_a_word_of_the_question(probed, write):
    write({"Courses/Acoustics/sound.md": "light sounds"})
    result = probed().search("light", oracle="scope", dense=False)
    assert len(result.stages["sparse"]) == 2
    assert result.route["course"] == "Optics"
    assert result.route["scope"] == "course:Optics"
    assert files(result.stages["scope-sparse"]) == ["Courses/Optics/gold.md"]


def test_hyde_drafts_with_the_gold_in_the_dense_lane_alone(probed):
    result = probed().search("alpha note", oracle="hyde")
    assert files(result.stages["dense"])[0] == "Courses/Optics/gold.md"
    assert "Courses/Optics/gold.md" not in files(result.stages["sparse"])
    assert result.hyde_cache is None


@pytest.mark.parametrize("probe", ["pool", "rerank", "scope", "hyde"])
def test_a_question_that_is_not_golden_is_searched_as_it_is(probed, probe):
    search = probed(lambda _query: None)
    assert search.search("alpha note", oracle=probe).chunks == search.search("alpha note").chunks


@pytest.mark.parametrize("probe", ["pool", "rerank", "scope", "hyde"])
def test_a_probe_without_an_oracle_is_refused(probed, probe):
    with pytest.raises(OptionError, match="hand RagPipeline an oracle"):
        probed(None).check_overrides(oracle=probe)


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"oracle": "rerank", "walk": "drawn"}, "oracle rerank orders the search's own pool: set walk to none"),
        ({"oracle": "hyde", "dense": False}, "oracle hyde drafts for the dense lane: set dense to true"),
    ],
)
def test_a_probe_of_what_would_not_run_is_refused(probed, overrides, says):
    with pytest.raises(OptionError, match=says):
        probed().check_overrides(**overrides)


def test_a_perfect_order_has_no_scores_for_a_gate(probed):
    gate = {"gate": "rerank-score", "gate_threshold": 0.5, "gate_scorer": "late-interaction"}
    probed().check_overrides(oracle="pool", rerank="late-interaction", **gate)
    with pytest.raises(OptionError, match="orders without scores"):
        probed().check_overrides(oracle="rerank", rerank="late-interaction", **gate)


def test_the_scope_of_a_course_that_no_document_has_fails_the_search(probed):
    search = probed(lambda _query: Gold(1, lambda _chunk: frozenset(), "Optik"))
    with pytest.raises(OptionError, match="'Optik'"):
        search.search("alpha note", oracle="scope")


def test_probes_leave_the_plain_arm_as_it_was(probed):
    search = probed()
    before = search.search("alpha note", dense=False).chunks
    for probe in ("pool", "rerank", "scope"):
        search.search("alpha note", dense=False, oracle=probe)
    assert search.search("alpha note", dense=False).chunks == before
