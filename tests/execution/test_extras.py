"""What a pipeline reports beside its ranking, as it stands in the row: stages, gate, walk and route."""

import hashlib
import math
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench import canonical
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.contract import Chunk
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import chunk_name
from pytest_ragbench.records.rowline import row_line


def question(*files, optional=(), **fields):
    gold = [GoldSource(Locator(file)) for file in files]
    gold += [GoldSource(Locator(file), required=False) for file in optional]
    return Question("gph-0001", "what?", "canvas", "T3", "dev", gold=tuple(gold), **fields)


def run(asked, k=10, **result):
    return measure(lambda _: result, asked, Configuration("c", "c"), k=k)


def name(file):
    return chunk_name(Chunk(file))


def added(*files, **fields):
    return [{"chunk": file, "edge": "drawn", "hop": 1, "from": "x", "generated": False, **fields} for file in files]


# --- stages -------------------------------------------------------------------------------------------------------------


def test_a_stage_keeps_its_place_its_length_and_the_first_rank_of_each_gold_source_and_none_of_its_chunks():
    asked = question("a.md", "b.md", optional=["c.md"])
    stages = {"sparse": ["x.md", "b.md", "b.md", "c.md"], "fusion": ["b.md", "a.md"], "none": []}
    measured = run(asked, chunks=["a.md"], stages=stages)
    assert measured.row["stages"] == {
        "sparse": {"step": 1, "layer": "lane", "length": 4, "found": ((1, 2), (2, 4))},
        "fusion": {"step": 2, "layer": "fusion", "length": 2, "found": ((0, 2), (1, 1))},
        "none": {"step": 3, "layer": "fusion", "length": 0, "found": ()},
    }
    assert [chunk.file for chunk in measured.chunks] == ["a.md"]


def test_a_stage_is_held_against_the_place_and_not_the_file_alone():
    asked = Question("b-0001", "?", "books", "T1", gold=(GoldSource(Locator("a.pdf", pages=(3, 4))),))
    ranking = [{"file": "a.pdf", "pages": [1, 2]}, {"file": "a.pdf", "pages": [4, 5]}]
    assert run(asked, chunks=[], stages={"dense": ranking}).row["stages"]["dense"]["found"] == ((0, 2),)


# --- gate ---------------------------------------------------------------------------------------------------------------


def test_what_a_gate_removed_is_held_against_the_gold_and_its_chunks_travel():
    asked = Question("b-0001", "?", "books", "T1", gold=(GoldSource(Locator("a.pdf", pages=(3, 4))),))
    removed = [{"file": "a.pdf", "pages": [4, 4], "score": 0.2}, {"file": "a.pdf", "id": 7, "score": 0.1}]
    gate = {"scorer": "late", "threshold": 0.5, "confidence": 0.9, "removed": removed}
    measured = run(asked, chunks=["b.md"], gate=gate)
    kept = measured.row["gate"]
    assert (kept["scorer"], kept["threshold"], kept["confidence"]) == ("late", 0.5, 0.9)
    assert [(entry["id"], entry["score"], entry["matches"], entry["doc_matches"]) for entry in kept["removed"]] == [
        (chunk_name(Chunk("a.pdf", (4, 4))), 0.2, (0,), (0,)),
        ("7", 0.1, (), (0,)),
    ]
    assert [chunk.file for chunk in measured.chunks] == ["b.md", "a.pdf", "a.pdf"]


def test_rnk_01_an_empty_pool_is_a_row_of_zeros_without_a_confidence_and_no_error():
    gate = {"scorer": "late", "threshold": 0.5, "confidence": None, "removed": []}
    row = run(question("a.md"), chunks=[], stages={"rerank": []}, gate=gate).row
    assert (row["error"], row["ranking"], row["metrics"]["recall@10"]) == (None, [], 0.0)
    assert row["gate"] == gate


# --- walk ---------------------------------------------------------------------------------------------------------------


def test_chk_07_the_walk_is_credited_with_b_alone_where_the_search_returns_a_and_c():
    walk = {"search": ["A.md", "C.md"], "added": added("B.md", "A.md", "C.md", "B.md"), "query_seeds": 0}
    row = run(question("C.md", "B.md"), chunks=["A.md", "C.md", "B.md"], walk=walk).row
    assert [(step["file"], step["kept"], step["matches"]) for step in row["walk"]["added"]] == [("B.md", True, (1,))]
    assert row["walk"]["found"] == [1]


@pytest.mark.parametrize(
    ("case", "final", "search", "walked", "found"),
    [
        ("cut off below k, it is no find", ["x.md", "y.md", "a.md"], ["x.md", "y.md"], ["a.md"], []),
        ("below the search's own k it is one", ["x.md", "a.md"], ["x.md", "y.md", "a.md"], ["a.md"], [0]),
        ("another chunk of the file was there before", ["x.md", "a.md"], ["A.md", "x.md"], ["a.md"], []),
        ("optional gold is none", ["o.md", "x.md"], ["x.md"], ["o.md"], []),
    ],
)
def test_a_find_is_required_gold_in_the_final_ranking_that_the_search_alone_has_not(case, final, search, walked, found):
    walk = {"search": search, "added": added(*walked)}
    row = run(question("a.md", optional=["o.md"]), k=2, chunks=final, walk=walk).row
    assert row["walk"]["found"] == found, case


def test_what_a_walk_added_keeps_its_way_and_whether_it_survived():
    walk = {"search": [], "added": added("a.md", "b.md", hop=2, generated=True), "query_seeds": 3, "edges": "e1e4"}
    measured = run(question("b.md"), chunks=["b.md"], walk=walk)
    assert measured.row["walk"] == {
        "edges": "e1e4", "query_seeds": 3, "found": [0],
        "added": [
            {"id": name("a.md"), "file": "a.md", "edge": "drawn", "hop": 2, "from": "x", "generated": True,
             "matches": (), "kept": False},
            {"id": name("b.md"), "file": "b.md", "edge": "drawn", "hop": 2, "from": "x", "generated": True,
             "matches": (0,), "kept": True},
        ],
    }  # fmt: skip
    assert [chunk.file for chunk in measured.chunks] == ["b.md", "a.md"]


def test_a_walked_chunk_is_kept_whatever_text_the_ranking_returns_of_it():
    wide, bare = ({"file": "a.md", "id": "1", "text": text} for text in ("before, passage, after", "passage"))
    measured = run(question("a.md"), chunks=[wide], walk={"search": [], "added": [{"chunk": bare}]})
    assert [step["kept"] for step in measured.row["walk"]["added"]] == [True]
    assert [chunk.text for chunk in measured.chunks] == ["before, passage, after", "passage"]


def test_without_the_search_alone_no_find_can_be_told():
    assert run(question("a.md"), chunks=["a.md"], walk={"added": added("a.md")}).row["walk"]["found"] is None


# --- route --------------------------------------------------------------------------------------------------------------


def test_a_route_keeps_what_was_reported_and_what_the_question_expects():
    asked = question("a.md", expect_course="Databases")
    route = {"course": "Databases", "area": None, "scope": "course:Databases", "router_hits": 4, "new": 0}
    assert run(asked, chunks=[], route=route).row["route"] == {**route, "expected": "Databases"}
    assert run(asked, chunks=[], route={}).row["route"] == {"expected": "Databases"}


# --- all of them --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        ({"gate": 1}, "gate must be a mapping with scorer, threshold, confidence, removed, found a int: 1"),
        ({"gate": {"threshold": "high"}}, "gate.threshold must be a number, found a str: 'high'"),
        ({"gate": {"removed": [3]}}, "gate.removed[0] is a int: 3"),
        ({"gate": {"removed": {"a.md"}}}, "gate.removed is a set, which has no order"),
        ({"walk": ["a.md"]}, "walk must be a mapping with search, added, query_seeds"),
        ({"walk": {"added": {"chunk": "a.md"}}}, "walk.added must be a list of mappings with `chunk` and `edge`"),
        ({"walk": {"added": [{"edge": "drawn"}]}}, "walk.added[0] has no `chunk`"),
        ({"walk": {"added": [{"chunk": "a.md", "hop": 0.5}]}}, "walk.added[0].hop must be a whole number"),
        ({"walk": {"query_seeds": -1}}, "walk.query_seeds must be 0 or more, found -1"),
        ({"route": {"new": "many"}}, "route.new must be a whole number, found a str: 'many'"),
        ({"route": {"new": 2**50}}, "route.new is a count of 1,125,899,906,842,624, which no search has"),
    ],
)
def test_a_report_of_another_shape_is_an_error_that_names_the_field(reported, said):
    assert run(question("a.md"), chunks=[], **reported).row["error"].startswith(f"PipelineError: {said}")


def test_a_report_may_be_an_object():
    step = SimpleNamespace(chunk="a.md", edge="link", hop=1, generated=True)
    row = run(question("a.md"), chunks=["a.md"], walk=SimpleNamespace(search=(), added=[step])).row
    assert [(entry["edge"], entry["from"], entry["kept"]) for entry in row["walk"]["added"]] == [("link", None, True)]


def test_an_errored_search_tells_of_nothing():
    row = run(question("a.md"), chunks=[], gate={"scorer": "late"}, walk=3).row
    assert row["error"] is not None
    assert not {"gate", "walk", "route", "stages"} & row.keys()


FILES = st.lists(st.sampled_from(["a.md", "b.md", "c.md", "d.md"]), max_size=6)
SCORES = st.none() | st.floats() | st.just(math.nan)


@given(FILES, FILES, FILES, FILES, SCORES, st.integers(1, 4))
def test_of_any_report_the_row_is_strict_json_and_no_find_was_there_before(final, search, walked, removed, score, k):
    asked = question("a.md", "b.md")
    walk = {"search": search, "added": added(*walked)}
    gate = {"confidence": score, "threshold": score, "removed": removed}
    measured = run(asked, k=k, chunks=final, walk=walk, gate=gate, stages={"fusion": search}, route={"kind": "note"})
    row = canonical.loads(row_line(measured.row))
    found = {("a.md", "b.md")[source] for source in row["walk"]["found"]}
    assert found == ({*final[:k]} & {*walked} & {"a.md", "b.md"}) - {*search[:k]}
    assert len({entry["id"] for entry in row["walk"]["added"]}) == len(row["walk"]["added"])
    travelled = {chunk.id for chunk in measured.chunks}
    assert travelled >= {entry["id"] for entry in (*row["gate"]["removed"], *row["walk"]["added"], *row["ranking"])}


# --- decomposition ------------------------------------------------------------------------------------------------------


def test_den_07_an_empty_sub_query_is_dropped_and_the_row_says_so():
    split = {"parts": ["Who guards?"], "dropped": [{"text": "", "why": "blank"}], "lines": 2}
    row = run(question("a.md"), chunks=["a.md"], decomposed=split).row
    assert row["decomposed"] == {
        "lines": 2,
        "parts": ("Who guards?",),
        "dropped": ({"text": "", "why": "blank"},),
    }
    assert "decomposed" not in run(question("a.md"), chunks=["a.md"]).row


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("Who guards?", "decomposed must be a mapping with parts, dropped"),
        ({"parts": "Who guards?"}, "decomposed.parts must be a list of texts"),
        ({"parts": [1]}, r"decomposed.parts\[0\] must be a text"),
        ({"dropped": ["x"]}, r"decomposed.dropped\[0\] must be a mapping with text, why"),
        ({"dropped": [{"text": "x"}]}, r"decomposed.dropped\[0\].why must be a text"),
    ],
)
def test_a_decomposition_of_another_shape_fails_the_row(value, told):
    error = run(question("a.md"), chunks=["a.md"], decomposed=value).row["error"]
    assert re.match(f"PipelineError: {told}", error), error


# --- texts --------------------------------------------------------------------------------------------------------------


def test_other_text_under_one_id_has_a_line_of_its_own_and_the_ranking_says_which_it_returned():
    near, wide = Chunk("a.md", id="1", text="a guard"), Chunk("a.md", id="1", text="a lock\n\na guard")
    gate = {"scorer": "s", "threshold": 0.5, "confidence": 0.1, "removed": [near]}
    measured = run(question("a.md"), chunks=[wide], gate=gate)
    assert measured.chunks == (wide, near)
    # sha256 of the text, as `printf 'a lock\n\na guard' | sha256sum` prints it
    assert measured.row["ranking"][0]["text_digest"] == hashlib.sha256(b"a lock\n\na guard").hexdigest()[:16]
