"""Edges: what is drawn, shared, named and linked, which place each of it means, and what leads nowhere."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.chunking import chunk
from rag.errors import RagError, StaleIndexError
from rag.graph.edges import LINKING, build
from rag.graph.links import Names, links_in, part_of
from rag.graph.model import Graph
from rag.loaders import read
from rag.loaders.markdown import prose
from rag.options import Chunking
from rag.records import Chunk


def board(*nodes, edges=()):
    lines = [
        {"id": f"e{number}", "fromNode": ends[0], "toNode": ends[1], "label": "".join(ends[2:])}
        for number, ends in enumerate(edges)
    ]
    return json.dumps({"nodes": list(nodes), "edges": lines})


def text(name, words, **fields):
    return {"id": name, "type": "text", "text": words, "x": 0, "y": 0, "width": 10, "height": 10} | fields


def shows(name, file, subpath=None, **fields):
    return text(name, None, **fields) | {"type": "file", "file": file} | ({"subpath": subpath} if subpath else {})


def group(name, label, **fields):
    return text(name, None, **fields) | {"type": "group", "label": label}


def graph_of(files, **chunking):
    chunks = sorted(
        (
            piece
            for name, content in files.items()
            for document in read(name, content.encode())
            for piece in chunk(document, Chunking(**chunking))
        ),
        key=lambda piece: piece.file,
    )
    texts = sorted((name, content.encode()) for name, content in files.items() if name.endswith(LINKING))
    return build(texts, files, chunks), chunks


def called(place):
    where = f"{place.canvas}:{place.node}" if place.canvas else place.file
    return f"{where}#{place.part}" if place.part and not place.part.startswith("[") else where


def edges(graph, *sorts):
    """(sort, from, to); a line has no direction."""
    found = [(sort, called(one), called(other)) for sort, one, other in graph.edges() if sort in sorts]
    return sorted((sort, *sorted(ends)) if sort == "E1" else (sort, *ends) for sort, *ends in found)


def texts_at(graph, chunks, name):
    (place,) = [place for place in graph.places if called(place) == name]
    return [chunks[position].text for position in place.positions]


# -- canvases ----------------------------------------------------------------------------------------------------------


def test_a_drawn_edge_joins_the_very_chunks_of_its_text_nodes():
    long = "word " * 300
    graph, chunks = graph_of(
        {"x.canvas": board(text("a", "same"), text("b", "same"), text("c", long), edges=[("b", "c")])}
    )
    assert edges(graph, "E1") == [("E1", "x.canvas:b", "x.canvas:c")]
    (b,) = [place for place in graph.places if place.node == "b"]
    assert [chunks[position].anchor for position in b.positions] == ["b"]  # and not the node with the same text
    assert " ".join(texts_at(graph, chunks, "x.canvas:c")).split() == long.split()


def test_a_file_node_is_its_note_and_a_subpath_narrows_it():
    files = {
        "n.md": "# N\n\nintro\n\n## Clock (second chance)\n\nhand\n\n### Detail\n\nbit\n\n## Other\n\nrest",
        "x.canvas": board(
            text("a", "card"),
            shows("whole", "n.md"),
            shows("part", "n.md", "#Clock (second chance)"),
            shows("gone", "n.md", "#Nothing"),
            edges=[("a", "whole"), ("a", "part"), ("a", "gone")],
        ),
    }
    graph, chunks = graph_of(files)
    assert texts_at(graph, chunks, "x.canvas:part#Clock (second chance)") == ["hand", "bit"]
    assert texts_at(graph, chunks, "x.canvas:whole") == ["intro", "hand", "bit", "rest"]
    assert texts_at(graph, chunks, "x.canvas:gone") == ["intro", "hand", "bit", "rest"]
    assert graph.counts["parts_unresolved"] == 1


def test_a_page_of_a_book_and_a_marked_block_are_parts_too():
    pages = [(number, Chunk(str(number), "b.pdf", "t", pages=(number, number))) for number in range(5)]
    assert part_of(pages, "page=3") == (3,)
    assert part_of(pages, "page=9") is None
    blocks = list(enumerate([Chunk("0", "n.md", "a line ^one\n\nmore"), Chunk("1", "n.md", "last ^two")]))
    assert part_of(blocks, "^two") == (1,)
    assert part_of(blocks, "^one") == (0,)
    assert part_of(blocks, "^on") is None


def test_a_group_means_its_members_and_a_link_node_the_chunk_that_lists_it():
    files = {
        "n.md": "note",
        "x.canvas": board(
            group("g", "Week", width=100, height=100),
            text("in", "inside"),
            shows("f", "n.md"),
            text("out", "outside", x=500),
            {"id": "u", "type": "link", "url": "https://example.org", "x": 500},
            edges=[("out", "g"), ("out", "u", "source")],
        ),
    }
    graph, chunks = graph_of(files)
    assert sorted(texts_at(graph, chunks, "x.canvas:g")) == ["inside", "note"]
    (listed,) = texts_at(graph, chunks, "x.canvas:u")
    assert "outside -- source -> https://example.org" in listed
    assert edges(graph, "E1") == [("E1", "x.canvas:g", "x.canvas:out"), ("E1", "x.canvas:out", "x.canvas:u")]


@pytest.mark.parametrize("content", ["", "{}", board(text("a", "x")), board(edges=[]), "{", "[]", '{"nodes": 3}'])
def test_chk_06_a_canvas_without_edges_or_no_canvas_at_all_gives_none_and_no_error(content):
    graph, _ = graph_of({"x.canvas": content})
    assert list(graph.edges()) == []


def test_chk_06_an_edge_to_a_missing_node_is_ignored_and_counted():
    graph, _ = graph_of({"x.canvas": board(text("a", "x"), text("b", "y"), edges=[("a", "gone"), ("b", "a")])})
    assert edges(graph, "E1") == [("E1", "x.canvas:a", "x.canvas:b")]
    assert graph.counts["dangling"] == 1


def test_chk_07_self_edges_are_none_repeated_ones_are_one_and_shared_ids_mean_every_bearer():
    nodes = [text("a", "one"), text("a", "two"), text("b", "three")]
    graph, chunks = graph_of({"x.canvas": board(*nodes, edges=[("a", "b"), ("b", "a"), ("a", "a"), ("a", "b")])})
    assert edges(graph, "E1") == [("E1", "x.canvas:a", "x.canvas:b")]
    assert graph.counts["self_edges"] == 1
    assert texts_at(graph, chunks, "x.canvas:a") == ["one", "two"]


def test_documents_that_are_not_cut_are_one_chunk_for_all_their_nodes():
    graph, chunks = graph_of(
        {"n.md": "# H\n\nx", "x.canvas": board(text("a", "one"), shows("f", "n.md", "#H"), edges=[("a", "f")])},
        mode="whole",
    )
    assert texts_at(graph, chunks, "x.canvas:a") == ["one\n\nn.md#H"]
    assert texts_at(graph, chunks, "x.canvas:f") == ["x"]


def test_a_node_that_shows_what_is_not_read_is_still_passed_through():
    graph, _ = graph_of(
        {
            "x.canvas": board(
                text("a", "one"), shows("i", "img/p.png"), text("b", "two"), edges=[("a", "i"), ("i", "b")]
            ),
            "y.canvas": board(shows("gone", "no/such.md")),
        }
    )
    assert graph.counts["attachments"] == graph.counts["unresolved"] == 1
    (a,) = [number for number, place in enumerate(graph.places) if place.node == "a"]
    (image,) = graph.steps(a, graph.places[a].positions, every=False)
    assert graph.places[image.place].positions == ()
    assert {graph.places[step.place].node for step in graph.steps(image.place, (), every=False)} == {"a", "b"}


# -- from canvas to canvas ---------------------------------------------------------------------------------------------

SHARED = {
    "n.md": "# N\n\n## A\n\nalpha\n\n## B\n\nbeta",
    "x.canvas": board(text("x1", "first"), shows("xn", "n.md", "#A"), edges=[("x1", "xn")]),
    "y.canvas": board(text("y1", "second"), shows("yn", "n.md", "#B"), text("y2", "third"), edges=[("yn", "y1")]),
}


def onward(graph, name, *, every=True):
    """(sort, place) of every step from a place on all of its chunks."""
    (at,) = [number for number, place in enumerate(graph.places) if called(place) == name]
    steps = graph.steps(at, graph.places[at].positions, every=every)
    return sorted({(step.sort, called(graph.places[step.place])) for step in steps})


def test_a_bridge_leads_from_a_note_on_one_canvas_to_its_neighbours_on_another():
    graph, _ = graph_of(SHARED)
    assert edges(graph, "E2") == [("E2", "x.canvas:xn#A", "y.canvas:y1"), ("E2", "y.canvas:yn#B", "x.canvas:x1")]
    assert ("E2", "y.canvas:y1") in onward(graph, "x.canvas:xn#A")
    assert onward(graph, "x.canvas:xn#A", every=False) == [("E1", "x.canvas:x1")]


def test_a_hop_leads_from_beside_a_shared_note_to_beside_it_elsewhere():
    graph, _ = graph_of(SHARED)
    assert edges(graph, "E3") == [("E3", "x.canvas:x1", "y.canvas:y1")]
    assert ("E3", "y.canvas:y1") in onward(graph, "x.canvas:x1")
    assert ("E3", "x.canvas:x1") in onward(graph, "y.canvas:y1")


def test_a_shared_note_without_a_line_lies_beside_the_members_of_its_smallest_group():
    files = SHARED | {
        "y.canvas": board(
            group("all", "All", width=900, height=900),
            group("g", "Mine", width=50, height=50),
            shows("yn", "n.md"),
            text("y1", "in the group"),
            text("y2", "only in the large one", x=500),
        )
    }
    graph, _ = graph_of(files)
    assert edges(graph, "E2") == [("E2", "x.canvas:xn#A", "y.canvas:y1"), ("E2", "y.canvas:yn", "x.canvas:x1")]
    assert edges(graph, "E3") == [("E3", "x.canvas:x1", "y.canvas:y1")]
    alone, _ = graph_of({name: content for name, content in files.items() if name != "x.canvas"})
    assert list(alone.edges()) == []


@pytest.mark.parametrize("link", ["[[y.canvas]]", "see ![[sub/y.canvas|the other board]]"])
def test_a_text_node_that_links_to_a_canvas_hops_there(link):
    graph, _ = graph_of({"x.canvas": board(text("a", link)), "sub/y.canvas": board(text("b", "card"))})
    assert edges(graph, "E1", "E2", "E3", "E4") == [("E3", "x.canvas:a", "sub/y.canvas")]
    assert onward(graph, "sub/y.canvas") == [("E3", "x.canvas:a")]


def test_a_canvas_that_shows_another_hops_there_from_the_nodes_drawn_to_it_and_from_where_it_lists_it():
    files = {
        "x.canvas": board(
            text("a", "card"), shows("c", "y.canvas"), shows("me", "x.canvas"), edges=[("c", "a"), ("a", "me")]
        ),
        "y.canvas": board(text("b", "other")),
    }
    graph, chunks = graph_of(files)
    assert edges(graph, "E3") == [("E3", "x.canvas", "y.canvas"), ("E3", "x.canvas:a", "y.canvas")]
    (listing,) = [place for place in graph.places if place.part == "[c]"]
    assert "y.canvas" in chunks[listing.positions[0]].text
    assert texts_at(graph, chunks, "y.canvas") == ["other"]
    assert texts_at(graph, chunks, "x.canvas:me") == []  # a canvas that shows itself shows nothing new


# -- wikilinks ---------------------------------------------------------------------------------------------------------


def test_chk_09_heading_alias_embed_and_a_pipe_in_a_table_mean_the_note():
    files = {
        "n.md": "# Top\n\nintro\n\n## H\n\nbody",
        "s1.md": "See [[n#H|alias]].",
        "s2.md": "![[n]]",
        "s3.md": "| a |\n|---|\n| [[n\\|alias]] |",
        "s4.md": "[[N.md]] and [[ n #h]]",
    }
    graph, chunks = graph_of(files)
    assert edges(graph, "E4") == [
        ("E4", "s1.md", "n.md#H"),
        ("E4", "s2.md", "n.md"),
        ("E4", "s3.md", "n.md"),
        ("E4", "s4.md", "n.md"),
        ("E4", "s4.md", "n.md#h"),
    ]
    assert texts_at(graph, chunks, "n.md#H") == ["body"]
    assert graph.counts["unresolved"] == graph.counts["parts_unresolved"] == 0


def test_chk_09_a_name_with_a_pipe_or_a_hash_counts_where_such_a_note_exists():
    names = Names(["a.md", "a|b.md", "C#.md", "n.md"])
    assert names.resolve("a|b", "s.md") == ("a|b.md", "")
    assert names.resolve("a\\|b", "s.md") == ("a|b.md", "")
    assert names.resolve("a|b|shown", "s.md") == ("a|b.md", "")
    assert names.resolve("a|b#H|shown", "s.md") == ("a|b.md", "H")
    assert names.resolve("a|c", "s.md") == ("a.md", "")
    assert names.resolve("C#", "s.md") == ("C#.md", "")
    assert names.resolve("C##Loops|loops", "s.md") == ("C#.md", "Loops")
    assert names.resolve("n|see a#b", "s.md") == ("n.md", "")
    assert names.resolve("#H", "s.md") == ("s.md", "H")


def test_chk_09_one_base_name_means_the_same_folder_then_the_shortest_path_then_the_first():
    names = Names(["b/dup.md", "a/dup.md", "deep/er/dup.md", "deep/er/other.md"])
    assert names.find("dup", "top.md") == "a/dup.md"
    assert names.find("dup", "b/x.md") == "b/dup.md"
    assert names.find("dup", "deep/er/x.md") == "deep/er/dup.md"
    assert names.find("dup", "deep/x.md") == "a/dup.md"
    assert names.find("b/dup", "a/x.md") == "b/dup.md"
    assert names.find("er/dup", "a/x.md") == "deep/er/dup.md"
    assert names.find("../b/dup", "a/x.md") == "b/dup.md"
    assert names.find("./dup", "b/x.md") == "b/dup.md"
    assert names.find("/dup", "b/x.md") is None
    assert Names(["dup.md", "a/dup.md"]).find("dup", "b/x.md") == "dup.md"
    assert Names(["a/Dup.md", "b/dup.md"]).find("dup", "x.md") == "b/dup.md"


@given(
    st.permutations(["a/dup.md", "b/dup.md", "c/d/dup.md", "DUP.md", "dup.canvas"]), st.sampled_from(["x.md", "b/x.md"])
)
def test_chk_09_which_file_is_meant_does_not_hang_on_the_order_of_files(files, source):
    assert Names(files).find("dup", source) == {"x.md": "DUP.md", "b/x.md": "b/dup.md"}[source]


def test_chk_09_ghosts_are_counted_once_a_note_and_pictures_are_no_ghosts():
    graph, _ = graph_of({"a.md": "[[ghost]] [[ghost]] [[ghost|g]] ![[plot.png|300]]", "b.md": "[[ghost]] [[b#x]]"})
    assert list(graph.edges()) == []
    counts = {name: number for name, number in graph.counts.items() if number}
    assert counts == {"unresolved": 3, "attachments": 1, "self_edges": 1}


def test_links_in_code_and_formulas_are_none_and_those_in_front_matter_are():
    note = (
        "---\nup: '[[top]]'\n---\n# T `[[no]]`\n\n``a ` [[no]]`` `open [[yes]]\n\n```\n[[no]]\n```\n\n    [[no]]\n\n"
        "- x\n\n  ~~~py\n  [[no]]\n  ~~~\n\n$$\n[[no]]\n$$\n\\[[no]] [[A, B], [0, 0]] [[last]]"
    )
    assert links_in(prose(note.encode())) == ["top", "yes", "last"]
    graph, _ = graph_of({"top.md": "x", "yes.md": "x", "last.md": "x", "s.md": note})
    (front,) = [link for link in graph.links if graph.places[link.target].file == "top.md"]
    assert graph.places[front.source].part == ""


def test_a_link_stands_in_the_chunks_that_hold_it():
    graph, chunks = graph_of({"n.md": "x", "s.md": "# A\n\nfirst\n\n## B\n\nsee [[n]]\n\n## C\n\nlast"})
    (link,) = graph.links
    assert [chunks[position].text for position in graph.places[link.source].positions] == ["see [[n]]"]


def test_unicode_forms_and_case_of_names_and_headings_do_not_count():
    names = Names(["Caf\u00e9.md"])
    assert names.find("cafe\u0301", "x.md") == "Caf\u00e9.md"
    chunks = [(0, Chunk("0", "n.md", "t", heading=("Top", "A `b`: c"))), (1, Chunk("1", "n.md", "t", heading=("Top",)))]
    assert part_of(chunks, "a b c") == (0,)
    assert part_of(chunks, "Top#A b c") == (0,)
    assert part_of(chunks, "A b c#Top") is None
    assert part_of(chunks, "Top") == (0, 1)


@given(st.text(alphabet="[]|#\\ab.`$\n-", max_size=60))
@settings(max_examples=300)
def test_no_text_breaks_the_links(note):
    graph, _ = graph_of({"a.md": note, "b.md": "[[a]]", "x.canvas": board(text("t", note))})
    assert all(place.file in ("a.md", "b.md", "x.canvas") for place in graph.places)


# -- the part of the index ---------------------------------------------------------------------------------------------

VAULT = SHARED | {"s.md": "[[n#B]] [[ghost]]"}


def open_graph(pipeline, **settings):
    parts = pipeline(**settings)._parts
    return parts.indexer.graph(parts.indexer.chunks())


def test_the_graph_is_kept_and_read_again_as_it_was(write, pipeline, capsys):
    write(VAULT)
    built = open_graph(pipeline)
    assert built == open_graph(pipeline)
    assert isinstance(built, Graph)
    assert edges(built, "E1", "E2", "E3", "E4") == edges(graph_of(VAULT)[0], "E1", "E2", "E3", "E4")
    search = pipeline(search={"rerank": "late-interaction", "walk": "e1e4"})
    search.search("alpha")
    assert search.stats()["graph"] == built.counts
    assert {"E1": 2, "E2": 2, "E3": 1, "E4": 1, "unresolved": 1}.items() <= built.counts.items()


@pytest.mark.parametrize(
    "change", [{"s.md": "[[n#A]]"}, {"ghost.md": "here"}, {"x.canvas": board(text("x1", "first"))}]
)
def test_a_changed_link_a_new_file_and_a_changed_canvas_are_noticed(write, pipeline, change):
    write(VAULT)
    before = open_graph(pipeline)
    write(change)
    with pytest.raises(StaleIndexError, match="index is out of date"):
        open_graph(pipeline, stale="refuse")
    assert edges(open_graph(pipeline), "E1", "E4") != edges(before, "E1", "E4")


def test_a_file_that_changes_between_chunks_and_graph_stops_the_build(write, pipeline):
    write(VAULT)
    indexer = pipeline()._parts.indexer
    corpus = indexer.chunks()
    write({"s.md": "[[x]]"})
    with pytest.raises(RagError, match=r"s\.md changed while it was read"):
        indexer.graph(corpus)
    assert not list(indexer._store._root.glob("graph-*"))


def test_chk_06_canvas_shapes_are_indexed_and_walked(write, pipeline):
    write(
        {
            "n.md": "# N\n\n## Root\n\nbisection of a bracket\n\n## Else\n\nother words",
            "empty.canvas": "",
            "object.canvas": "{}",
            "nodes.canvas": board(text("lone", "a lone card on roots")),
            "dangling.canvas": board(text("d", "a card with a loose end"), edges=[("d", "gone", "why")]),
            "full.canvas": board(
                group("g", "Exam week", width=400, height=400),
                text("t", "plan for the exam"),
                shows("f", "n.md", "#Root"),
                {"id": "u", "type": "link", "url": "https://example.org/x", "x": 900, "y": 900},
                edges=[("t", "f", "needs"), ("t", "u", "source"), ("u", "g")],
            ),
        }
    )
    search = pipeline(search={"rerank": "late-interaction", "rerank_pool": 1, "walk": "drawn", "walk_seeds": 1})
    result = search.search("plan for the exam week")
    assert search.describe()["findings"] == {"dangling-edge": 1}
    assert result.chunks[0].heading == ("full.canvas", "Exam week")
    assert {(item["chunk"].file, item["edge"]) for item in result.walk["added"]} <= {
        ("n.md", "E1"),
        ("full.canvas", "E1"),
    }
    walked = {chunk.text for chunk in result.stages["walk"][:3]}
    assert "bisection of a bracket" in walked
