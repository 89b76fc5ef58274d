"""Walks: where they start, how far they go, what they add and never add, and how that meets the search's own hits."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.cache import Lazy, Memo, Meter
from rag.fusion import fuse
from rag.graph.edges import build
from rag.graph.joining import told, with_walk
from rag.graph.model import Graph, Link, Place
from rag.graph.seeding import NameIndex, Weights
from rag.graph.walking import A_PLACE, Step, Walk, Walked
from rag.options import Options
from rag.records import Chunk, Labels, Scored
from rag.stages import Request, Scope


def card(name, words=None):
    return {"id": name, "type": "text", "text": words or name, "x": 0, "y": 0, "width": 1, "height": 1}


def canvas(cards, edges):
    lines = [{"id": str(number), "fromNode": one, "toNode": other} for number, (one, other) in enumerate(edges)]
    return json.dumps(
        {"nodes": [card(*item) if isinstance(item, tuple) else card(item) for item in cards], "edges": lines}
    )


def drawn(lines, size, chunks=None):
    """A graph of one canvas whose node `n` is the chunk at `n`."""
    pieces = chunks or [
        Chunk(f"c{at}", "x.canvas", f"word{at}", heading=("x.canvas",), anchor=str(at)) for at in range(size)
    ]
    return build([("x.canvas", canvas([str(at) for at in range(size)], lines).encode())], ["x.canvas"], pieces), pieces


def walked(graph, chunks, hits, question="nothing", edges="e1e4", within=None, **options):
    given = Options(**({"walk": edges, "rerank_pool": max(1, len(hits)), "walk_query_seeds": 0} | options))
    scope = None if within is None else Scope("some", np.array(sorted(within), dtype=np.intp))
    ranking = tuple(Scored(position, 1.0 / (rank + 1)) for rank, position in enumerate(hits))
    walk = Walk(Lazy(lambda: graph), edges, chunks)
    return walk.walk(ranking, Request(question, given.rerank_pool, given), scope, Meter(Memo(100)))


def added(result):
    return [(step.position, step.edge, step.hop, step.origin) for step in result.steps]


# -- what is added -----------------------------------------------------------------------------------------------------


def test_chk_07_cycles_end_and_only_what_the_search_has_not_is_added():
    graph, chunks = drawn([("0", "1"), ("1", "0"), ("0", "0"), ("1", "2")], 3)
    result = walked(graph, chunks, hits=[0, 2], walk_hops=4)
    assert added(result) == [(1, "E1", 1, 0)]  # B, credited to the walk; C was found by the search
    assert [position for position, _ in result.ranking] == [1]


def test_chk_07_the_final_list_has_no_duplicates_and_the_row_credits_the_walk_with_its_own_finds_alone(write, pipeline):
    # A -> B, B -> A, A -> A, B -> C: the pool of the search is A and C, the gold is C and B.
    cards = [("A", "alpha words of the question"), ("B", "beta unlike it"), ("C", "gamma words of the question")]
    write({"x.canvas": canvas(cards, [("A", "B"), ("B", "A"), ("A", "A"), ("B", "C")]), "z.md": "filler"})
    search = pipeline(search={"rerank": "late-interaction", "rerank_pool": 2, "top_k": 10, "walk_query_seeds": 0})
    question = "alpha gamma words of the question"
    plain = search.search(question)
    result = search.search(question, walk="drawn")
    assert [chunk.text for chunk in plain.stages["fusion"][:2]] == [cards[0][1], cards[2][1]]
    assert result.walk["search"] == plain.chunks
    assert len({chunk.id for chunk in result.chunks}) == len(result.chunks) <= 10
    assert [chunk.text for chunk in result.stages["walk"][:3]].count("beta unlike it") == 1
    # top_k 10 returns B without the walk too, so that a smaller list shows the credit.
    short = search.search(question, walk="drawn", top_k=2)
    assert [item["chunk"].text for item in short.walk["added"]] == ["beta unlike it"]
    assert short.walk["added"][0]["edge"] == "E1"
    assert short.walk["added"][0]["hop"] == 1
    assert short.walk["added"][0]["from"] in {chunk.id for chunk in plain.chunks[:2]}
    assert result.walk["added"] == []


@st.composite
def graphs(draw):
    """A canvas of cards with any lines, notes that link at random, and a shared file now and then."""
    size = draw(st.integers(1, 8))
    ids = st.integers(0, size - 1).map(str)
    lines = draw(st.lists(st.tuples(ids, ids), max_size=16))
    notes = draw(st.integers(0, 4))
    links = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8))
    shown = draw(st.lists(st.tuples(st.sampled_from("xy"), ids, st.integers(0, 3)), max_size=6))
    boards = {name: json.loads(canvas(map(str, range(size)), lines)) for name in ("x.canvas", "y.canvas")}
    for number, (name, end, note) in enumerate(shown):
        board = boards[f"{name}.canvas"]
        board["nodes"].append({"id": f"f{number}", "type": "file", "file": f"n{note}.md"})
        board["edges"].append({"id": f"l{number}", "fromNode": end, "toNode": f"f{number}"})
    chunks = [
        Chunk(f"{name}{at}", name, f"card {at}", heading=(name,), anchor=str(at))
        for name in boards
        for at in range(size)
    ]
    chunks += [Chunk(f"n{note}-{at}", f"n{note}.md", f"note {at}") for note in range(notes) for at in range(5)]
    texts = [(name, json.dumps(board).encode()) for name, board in boards.items()]
    for note in range(notes):
        body = " ".join(f"[[n{other}]]" for source, other in links if source == note)
        texts.append((f"n{note}.md", body.encode()))
    return build(texts, [name for name, _ in texts], chunks), chunks


@given(graphs(), st.data())
@settings(max_examples=150, deadline=None)
def test_walks_end_add_nothing_twice_nothing_found_and_no_more_than_they_may(made, data):
    graph, chunks = made
    everything = st.integers(0, len(chunks) - 1)
    hits = data.draw(st.lists(everything, max_size=6, unique=True))
    within = data.draw(st.none() | st.sets(everything))
    options = {
        "walk_hops": data.draw(st.integers(1, 4)),
        "walk_pool": data.draw(st.integers(1, 12)),
        "walk_seeds": data.draw(st.integers(0, 6)),
        "walk_query_seeds": data.draw(st.integers(0, 3)),
    }
    for edges in ("drawn", "e1e4"):
        result = walked(graph, chunks, hits, "card 3 note n1", edges, within, **options)
        positions = [position for position, _ in result.ranking]
        assert positions == [step.position for step in result.steps]
        assert len(set(positions)) == len(positions) <= options["walk_pool"]
        assert not set(positions) & set(hits)
        assert within is None or set(positions) <= within
        assert len(result.query_seeds) <= options["walk_query_seeds"]
        assert {step.origin for step in result.steps} <= {*hits[: options["walk_seeds"]], *result.query_seeds}
        assert all(1 <= step.hop <= options["walk_hops"] for step in result.steps)
        scores = [score for _, score in result.ranking]
        assert scores == sorted(scores, reverse=True)
        assert result == walked(graph, chunks, hits, "card 3 note n1", edges, within, **options)


@given(graphs())
@settings(max_examples=60, deadline=None)
def test_every_line_and_link_is_walked_both_ways(made):
    graph, chunks = made
    for one in range(len(chunks)):
        for other, edge, _, _ in added(walked(graph, chunks, [one], walk_hops=1, walk_pool=1000)):
            back = added(walked(graph, chunks, [other], walk_hops=1, walk_pool=1000))
            files = {chunks[position].file for position, _, _, _ in back}
            # Of a note with many chunks the walk chooses some, so that the way back ends in the file, not in the chunk.
            assert chunks[one].file in files, (one, other, edge)


def test_a_line_is_walked_against_its_arrow():
    graph, chunks = drawn([("0", "1")], 2)
    assert added(walked(graph, chunks, [1])) == [(0, "E1", 1, 1)]
    assert added(walked(graph, chunks, [0])) == [(1, "E1", 1, 0)]


# -- scores ------------------------------------------------------------------------------------------------------------


def test_a_score_falls_with_every_hop_and_with_the_seeds_rank():
    graph, chunks = drawn([("0", "1"), ("1", "2"), ("3", "4")], 5)
    result = walked(graph, chunks, [0, 3], walk_hops=2)
    # The first seed weighs 6/6, the second 6/7; each hop halves; no chunk has a word of the question.
    assert result.ranking == (Scored(1, 0.5), Scored(4, round(6 / 7 / 2, 12)), Scored(2, 0.25))
    assert added(walked(graph, chunks, [0, 3], walk_hops=1)) == [(1, "E1", 1, 0), (4, "E1", 1, 3)]


def test_equal_scores_are_ordered_by_position_and_the_first_are_kept():
    graph, chunks = drawn([("0", str(at)) for at in (4, 2, 3, 1)], 5)
    assert [position for position, _ in walked(graph, chunks, [0], walk_pool=3).ranking] == [1, 2, 3]


def test_what_shares_words_with_the_question_comes_first():
    words = ["seed", "other", "rare words", "other"]
    chunks = [Chunk(f"c{at}", "x.canvas", text, anchor=str(at)) for at, text in enumerate(words)]
    graph, _ = drawn([("0", "1"), ("0", "2"), ("0", "3")], 4, chunks)
    result = walked(graph, chunks, [0], "rare words unheard")
    assert result.ranking == (Scored(2, 1.0), Scored(1, 0.5), Scored(3, 0.5))  # all that any chunk has of it: doubled


def note_graph(links, sections=6):
    """Notes n0 and n1 of one chunk a section, and links as (source file, source chunk, target part)."""
    chunks = [
        Chunk(f"{file}{at}", f"{file}.md", f"{file} text {at}", heading=(file, f"S{at}"))
        for file in ("n0", "n1")
        for at in range(sections)
    ]
    for at, target in links:
        chunks[at] = replace(chunks[at], text=f"{chunks[at].text} [[{target}]]")
    texts = [
        (f"{file}.md", "\n".join(chunk.text for chunk in chunks if chunk.file == f"{file}.md").encode())
        for file in ("n0", "n1")
    ]
    return build(texts, ["n0.md", "n1.md"], chunks), chunks


def test_of_a_long_note_the_chunks_that_fit_the_question_come_and_the_first_of_a_linked_heading():
    graph, chunks = note_graph([(0, "n1")])
    positions = [position for position, _ in walked(graph, chunks, [0], "text 4").ranking]
    assert positions == [10, 6, 7]  # n1's chunk 4, then those next in order: the k-th of a place weighs 1/k
    assert len(positions) == A_PLACE
    part = [Chunk(f"p{at}", "n1.md", f"part {at}", heading=("n1", "S")) for at in range(6)]
    chunks = [*chunks[:6], *part]
    graph = build([("n0.md", b"[[n1#S]]")], ["n0.md", "n1.md"], chunks)
    assert [position for position, _ in walked(graph, chunks, [0], "part 5").ranking][:2] == [6, 11]


def test_a_link_that_stands_elsewhere_in_the_note_weighs_half():
    graph, chunks = note_graph([(3, "n1#S0")])
    assert walked(graph, chunks, [3]).ranking == (Scored(6, 0.5),)
    assert walked(graph, chunks, [0]).ranking == (Scored(6, 0.25),)
    assert walked(graph, chunks, [6]).ranking == (Scored(3, 0.5),)
    assert walked(graph, chunks, [7]).ranking == (Scored(3, 0.25),)


def test_a_chunk_takes_its_best_way_and_a_walk_never_comes_back_to_its_own_note():
    graph, chunks = note_graph([(0, "n1"), (7, "n0#S5")])
    result = walked(graph, chunks, [0], walk_hops=4)
    assert {chunks[position].file for position, _ in result.ranking} == {"n1.md"}
    assert {step.hop for step in result.steps} == {1}


def test_only_canvas_edges_count_in_the_drawn_mode():
    graph, chunks = note_graph([(0, "n1")])
    assert added(walked(graph, chunks, [0], edges="drawn")) == []


def test_a_walk_passes_through_what_has_no_text_but_not_through_what_is_kept_out():
    places = [
        Place("x.canvas", "x.canvas", str(at), positions=at_chunks) for at, at_chunks in enumerate([(0,), (), (1,)])
    ]
    chunks = [Chunk("a", "x.canvas", "a"), Chunk("b", "x.canvas", "b"), Chunk("c", "x.canvas", "c")]
    files = ["x.canvas"] * 3
    graph = Graph(places, [(0, 1), (1, 2)], [], {}, [], {}, {}, files)
    assert added(walked(graph, chunks, [0])) == [(1, "E1", 2, 0)]
    kept = [*places[:1], Place("x.canvas", "x.canvas", "1", positions=(2,)), places[2]]
    graph = Graph(kept, [(0, 1), (1, 2)], [], {}, [], {}, {}, files)
    assert added(walked(graph, chunks, [0])) == [(2, "E1", 1, 0), (1, "E1", 2, 0)]
    assert added(walked(graph, chunks, [0], within={0, 1})) == []
    assert added(walked(graph, chunks, [2], within={0, 1})) == []


def test_a_walk_stays_on_the_board_it_came_by_unless_bridges_count():
    chunks = [Chunk("a", "x.canvas", "a"), Chunk("n", "n.md", "n"), Chunk("b", "y.canvas", "b")]
    places = [
        Place("x.canvas", "x.canvas", "a", positions=(0,)),
        Place("n.md", "x.canvas", "n", positions=(1,)),
        Place("n.md", "y.canvas", "n", positions=(1,)),
        Place("y.canvas", "y.canvas", "b", positions=(2,)),
    ]
    graph = Graph(places, [(0, 1), (2, 3)], [], {}, [], {}, {}, [chunk.file for chunk in chunks])
    assert added(walked(graph, chunks, [0], edges="drawn")) == [(1, "E1", 1, 0)]
    assert added(walked(graph, chunks, [1], edges="drawn")) == [(0, "E1", 1, 1), (2, "E1", 1, 1)]
    assert added(walked(graph, chunks, [0])) == [(1, "E1", 1, 0), (2, "E3", 1, 0)]
    assert walked(graph, chunks, [0]).ranking[1].score == 0.25  # over the note, at the price of two edges


# -- the walk's own seeds ----------------------------------------------------------------------------------------------


def names(graph, chunks, question, most=3):
    return [tuple(found) for found in NameIndex(graph).said(Weights(graph.frequencies, len(chunks), question), most)]


def named_graph():
    titles = [
        "Jacobi iteration",
        "Power iteration",
        *["Course overview"] * 4,
        "The index sheet",
        "Traps",
        "Traps",
        "Belady",
    ]
    chunks = [
        Chunk(f"c{at}", f"f{at}.md", f"is about the words number{at}", title=title) for at, title in enumerate(titles)
    ]
    links = [Link("E4", at, (at + 1) % len(titles), False) for at in range(len(titles) - 1)]
    places = [Place(f"f{at}.md", positions=(at,)) for at in range(len(titles))]
    graph = build([], [chunk.file for chunk in chunks], chunks)
    return replace(graph, places=places, links=links), chunks


def test_a_name_is_meant_where_a_stretch_of_the_question_is_nearly_all_of_it():
    graph, chunks = named_graph()
    assert names(graph, chunks, "How fast is the Jacobi iteration?") == [(0,)]
    assert names(graph, chunks, "Is the iteration the words of Jacobi?") == []
    assert names(graph, chunks, "what goes on the index sheet?") == [(6,)]
    assert names(graph, chunks, "the iteration of something") == []
    assert names(graph, chunks, "is the") == []
    assert names(graph, chunks, "zzz") == []


def test_a_name_that_many_files_bear_means_none_of_them():
    graph, chunks = named_graph()
    assert names(graph, chunks, "the course overview") == []
    assert names(graph, chunks, "the course overview", most=4) == [(2,), (3,), (4,), (5,)]


def test_a_single_word_is_a_name_where_one_file_bears_it():
    graph, chunks = named_graph()
    assert names(graph, chunks, "where are the traps?") == []
    assert names(graph, chunks, "who was Belady?") == [(9,)]


def test_the_walk_starts_from_what_the_question_names_beside_the_hits():
    graph, chunks = named_graph()
    result = walked(graph, chunks, [3], "the Jacobi iteration", walk_query_seeds=2, walk_hops=1)
    assert result.query_seeds == (0,)
    assert (1, "E4", 1, 0) in added(result)
    again = walked(graph, chunks, [0], "the Jacobi iteration", walk_query_seeds=2, walk_hops=1)
    assert again.query_seeds == ()  # it is a seed already
    assert walked(graph, chunks, [3], "the Jacobi iteration", edges="drawn", walk_query_seeds=2).query_seeds == ()
    assert walked(graph, chunks, [3], "the Jacobi iteration", walk_query_seeds=2, within={3}).query_seeds == ()


def test_a_seed_of_the_question_is_no_addition_by_itself():
    graph, chunks = named_graph()
    result = walked(graph, chunks, [3], "the Jacobi iteration", walk_query_seeds=2, walk_seeds=0, walk_hops=4)
    assert 0 not in [position for position, _ in result.ranking]


# -- before the reranker -----------------------------------------------------------------------------------------------


def walk_of(*positions):
    steps = tuple(Step(position, "E1", 1, 0) for position in positions)
    return Walked(tuple(Scored(position, 0.5) for position in positions), steps, (7,))


def test_the_walk_is_one_more_lane_of_the_fusion():
    lanes = [tuple(Scored(at, 1.0) for at in order) for order in ([0, 1, 2, 3], [0, 2, 1, 5])]
    options = Options(rerank_pool=3, walk="drawn")
    search = fuse(lanes)
    walk = walk_of(9, 5)
    joined = with_walk(search, walk, options, fused=True)
    three = fuse([*lanes, walk.ranking])
    assert [position for position, _ in joined[:5]] == [0, 1, 2, 5, 9]
    assert [position for position, _ in three][:5] == [0, 1, 2, 5, 9]  # the same order as with three lanes
    assert dict(joined[:5])[5] == pytest.approx(dict(three)[5])
    assert [position for position, _ in joined[5:]] == [3]


def test_beside_a_single_lane_the_walk_weighs_as_much_as_that_lane():
    search = tuple(Scored(at, 50.0 - at) for at in range(4))
    joined = with_walk(search, walk_of(8, 9), Options(rerank_pool=3, walk="drawn"), fused=False)
    assert [position for position, _ in joined] == [0, 8, 1, 9, 2, 3]


def test_joining_keeps_the_pools_own_order_and_every_chunk_once():
    search = (
        Scored(4, 0.01),
        Scored(0, 0.5),
        Scored(2, 0.02),
        Scored(3, 0.01),
        Scored(1, 0.005),
    )  # as a probe may set it
    joined = with_walk(search, walk_of(1, 6), Options(rerank_pool=4, walk="drawn"), fused=True)
    positions = [position for position, _ in joined]
    assert sorted(positions) == [0, 1, 2, 3, 4, 6]
    assert [position for position in positions if position in (4, 0, 2, 3)] == [4, 0, 2, 3]
    assert with_walk(search, walk_of(), Options(rerank_pool=4), fused=True) == search


def test_a_row_says_what_came_by_which_edge_and_what_the_search_would_have_returned():
    chunks = [Chunk(f"c{at}", "f.md", "t", labels=Labels(generated=at == 2)) for at in range(4)]
    report = told(walk_of(2, 3), (Scored(1, 0.75), Scored(3, 0.5)), chunks)
    assert report == {
        "search": (replace(chunks[1], score=0.75), replace(chunks[3], score=0.5)),
        "added": [{"chunk": replace(chunks[2], score=0.5), "edge": "E1", "hop": 1, "from": "c0", "generated": True}],
        "query_seeds": 1,
    }


# -- in a search -------------------------------------------------------------------------------------------------------

VAULT = {
    "a.md": "# Alpha\n\nalpha question words [[b]]",
    "b.md": "# Beta\n\nnothing alike",
    "c.md": "# Gamma\n\nquestion of another sort",
    "g.md": "---\ngenerated: true\n---\n# Machine\n\n[[a]] summary",
}


def test_a_walk_wins_by_no_more_slots_and_its_pairs_alone_are_paid_in_addition(write, pipeline):
    write(VAULT)
    search = pipeline(search={"rerank": "late-interaction", "rerank_pool": 1, "top_k": 2, "walk_query_seeds": 0})
    search.search("alpha question", walk="e1e4")
    plain, result = search.search("alpha question"), search.search("alpha question", walk="e1e4")
    assert len(plain.chunks) == len(result.chunks) == 2
    assert list(result.stages) == ["sparse", "dense", "fusion", "walk", "rerank", "cut"]
    assert result.walk["search"] == plain.chunks
    assert {"walk", "rerank"} <= result.timings.keys()
    assert not result.cold
    assert {"b.md", "g.md"} >= {item["chunk"].file for item in result.walk["added"]}


def test_generated_notes_are_neither_added_nor_passed_through_where_they_are_kept_out(write, pipeline):
    write(VAULT)
    search = pipeline(search={"rerank": "late-interaction", "rerank_pool": 1, "top_k": 1, "walk": "e1e4"})
    compete = search.search("alpha question")
    assert [item["generated"] for item in compete.walk["added"] if item["chunk"].file == "g.md"] == [True]
    dropped = search.search("alpha question", generated_mode="drop")
    assert {item["chunk"].file for item in dropped.walk["added"]} == {"b.md"}


def test_a_walk_that_was_made_is_not_made_again(write, pipeline):
    write(VAULT)
    search = pipeline(search={"rerank": "late-interaction", "walk": "e1e4"})
    search.search("alpha question")
    again = search.search("alpha question", top_k=1)
    assert "walk" in again.cached


def test_nothing_of_the_graph_is_built_or_imported_for_a_search_without_a_walk(write, pipeline):
    write(VAULT)
    search = pipeline(search={"rerank": "late-interaction"})
    result = search.search("alpha question")
    assert result.walk is None
    assert "graph" not in search.stats()
    assert search._parts.graph.loaded is None
