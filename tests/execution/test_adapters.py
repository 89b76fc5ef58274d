"""What a search may return, and what each shape of it means."""

import dataclasses
import math
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench import canonical
from pytest_ragbench.contract import Chunk, SearchResult
from pytest_ragbench.errors import PipelineError
from pytest_ragbench.execution.adapters import as_result
from pytest_ragbench.execution.extras import Gate, Walk
from pytest_ragbench.execution.fields import plain


class LangChainDocument:
    def __init__(self, page_content, metadata, name=None):
        self.page_content, self.metadata, self.id, self.type = page_content, metadata, name, "Document"


class HaystackDocument:
    def __init__(self, content, meta, score=None, name="h1"):
        self.content, self.meta, self.score, self.id = content, meta, score, name


class TextNode:
    def __init__(self, text, metadata, node_id="n1"):
        self._text, self.metadata, self.node_id = text, metadata, node_id

    def get_content(self):
        return self._text


def only(obj):
    (chunk,) = as_result(obj).chunks
    return chunk


def test_a_plain_list_of_chunks_is_taken_as_it_is():
    chunk = Chunk("a.md", (1, 2), ("Ch 4", "Bisection"), "c1", 0.5, "text")
    assert only([chunk]) == chunk


def test_a_mapping_and_an_object_with_the_same_fields_are_the_same_chunk():
    fields = {
        "file": "a.md",
        "pages": [3],
        "heading": "Ch 4 > Bisection",
        "id": 7,
        "score": np.float32(0.5),
        "text": "t",
    }
    expected = Chunk("a.md", (3, 3), ("Ch 4", "Bisection"), "7", 0.5, "t")
    assert only([fields]) == only([SimpleNamespace(**fields)]) == expected


def test_a_heading_list_is_taken_as_it_is_and_text_is_split():
    assert only([{"file": "a", "heading": ["A > B", "C"]}]).heading == ("A > B", "C")
    assert only([{"file": "a", "heading": "A > B"}]).heading == ("A", "B")


def test_file_names_and_pairs_are_chunks():
    assert only(["notes/a.md"]) == Chunk("notes/a.md")
    assert only([("notes/a.md", Decimal("0.25"))]) == Chunk("notes/a.md", score=0.25)
    assert only([[Path("notes/a.md"), None]]).file == "notes/a.md"


def test_a_generator_is_read_in_order_and_duplicates_are_kept():
    result = as_result(name for name in ["b.md", "a.md", "b.md"])
    assert [chunk.file for chunk in result.chunks] == ["b.md", "a.md", "b.md"]


def test_langchain_pages_count_from_zero_and_its_printed_label_is_ignored():
    document = LangChainDocument("text", {"source": "book.pdf", "page": 0, "page_label": "iv"}, name="x")
    assert only([document]) == Chunk("book.pdf", (1, 1), (), "x", None, "text")
    assert only([(document, 0.5)]).score == 0.5


@pytest.mark.parametrize("key", ["source", "file", "path", "file_path"])
def test_langchain_names_its_file_in_any_of_the_usual_keys(key):
    assert only([LangChainDocument("t", {key: "a.md"})]).file == "a.md"


@pytest.mark.parametrize(
    ("above", "text", "path"),
    [
        ("/", "# Linear systems\n\nWhat they are.", ("Linear systems",)),
        ("/Linear systems/", "## Errors ##\nA singular matrix", ("Linear systems", "Errors")),
        ("/Linear systems/", "\n\n## C#\n", ("Linear systems", "C#")),
        ("/Linear systems/Errors/", "## Errors\ntold again", ("Linear systems", "Errors")),
        ("/Linear systems/", "#hashtag, no heading", ("Linear systems",)),
        ("/Linear systems/", "## Errors  \r\nof a file with CRLF", ("Linear systems", "Errors")),
        ("/", "# a" + " " * 64_000 + "x", ("a" + " " * 64_000 + "x",)),
        ("/Linear systems/", "a part\n# of a code block", ("Linear systems",)),
        ("/", "no heading", ()),
    ],
)
def test_the_own_heading_of_a_llamaindex_node_is_the_first_line_of_its_text(above, text, path):
    assert only([LangChainDocument(text, {"source": "a.md", "header_path": above})]).heading == path


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"header": "Errors", "parent_headers": ["Linear systems"]}, ("Linear systems", "Errors")),
        ({"header": "Linear systems", "parent_headers": []}, ("Linear systems",)),
        ({"header": "Linear systems"}, ("Linear systems",)),
        ({"header": {"alg": "none"}}, ()),
        ({"header": "Errors", "parent_headers": [1, "Linear systems"]}, ("Linear systems", "Errors")),
    ],
)
def test_the_header_of_a_haystack_document_stands_below_its_parents(metadata, path):
    assert only([LangChainDocument("text", {"source": "a.md", **metadata})]).heading == path


def test_langchain_headers_of_the_markdown_splitter_are_a_heading_path():
    document = LangChainDocument("t", {"source": "a.md", "Header 1": "Ch 4", "Header 3": "Proof"})
    assert only([document]).heading == ("Ch 4", "Proof")


def test_haystack_pages_count_from_one():
    assert only([HaystackDocument("t", {"file_path": "b.pdf", "page_number": 3}, score=0.9)]) == Chunk(
        "b.pdf", (3, 3), (), "h1", 0.9, "t"
    )


@pytest.mark.parametrize(("label", "pages"), [("12", (12, 12)), ("iv", None), ("", None), ("0", None)])
def test_a_llamaindex_node_gives_its_score_text_and_numeric_page_label(label, pages):
    node = SimpleNamespace(node=TextNode("body", {"file_path": "b.pdf", "page_label": label}), score=0.7)
    assert only([node]) == Chunk("b.pdf", pages, (), "n1", 0.7, "body")


def test_documents_written_as_mappings_are_read_like_the_objects():
    assert only([{"page_content": "t", "metadata": {"source": "a.pdf", "page": 4}}]).pages == (5, 5)
    assert only([{"content": "t", "meta": {"file": "a.pdf", "page_number": 4}}]).pages == (4, 4)


@pytest.mark.parametrize("key", ["chunks", "documents", "nodes", "results", "source_nodes"])
def test_the_whole_may_be_a_mapping_or_an_object_that_holds_the_ranking(key):
    assert only({key: ["a.md"]}).file == "a.md"
    assert only(SimpleNamespace(**{key: ["a.md"]})).file == "a.md"


def test_extras_are_read_and_made_plain():
    class Course(Enum):
        OS = "os"

    result = as_result(
        {
            "chunks": ["a.md"],
            "timings": {"sparse": np.float64(1.5)},
            "lanes_run": ["sparse"],
            "cold": np.bool_(True),
            "cached": ("rerank",),
            "stages": {"fusion": ["b.md", "a.md"]},
            "route": {"course": Course.OS, "new": np.int64(3), "at": Path("x")},
            "gate": SimpleNamespace(scorer="late", threshold=Decimal("0.5"), confidence=math.nan, removed=["c.md"]),
            "walk": dataclasses.make_dataclass("Report", ["query_seeds", "edges"])(query_seeds="2", edges={"a"}),
            "answer": Course.OS,
            "hyde_cache": "hit",
        }
    )
    assert result == SearchResult(
        chunks=(Chunk("a.md"),),
        timings={"sparse": 1.5},
        lanes_run=("sparse",),
        cold=True,
        cached=("rerank",),
        stages={"fusion": (Chunk("b.md"), Chunk("a.md"))},
        gate=Gate("late", 0.5, None, (Chunk("c.md"),)),
        walk=Walk(None, (), 2, {"edges": ["a"]}),
        route={"course": "os", "new": 3, "at": "x"},
        answer="os",
        hyde_cache="hit",
    )


@pytest.mark.parametrize("score", [math.nan, math.inf, np.float32("nan"), Decimal("NaN"), None])
def test_a_score_that_orders_nothing_is_null(score):
    assert only([{"file": "a.md", "score": score}]).score is None


def test_a_lone_surrogate_in_a_file_name_becomes_visible():
    assert only(["caf\udce9.md"]).file == "caf\\udce9.md"


async def asynchronous(query):
    return ["a.md"]


REFUSED = {
    "None": (None, "returned None"),
    "text": ("a.md", "as a list"),
    "coroutine": (lambda: asynchronous("q"), "asyncio.run"),
    "mapping without a ranking": ({"answer": "x"}, r"without a ranking \(found: answer\)"),
    "a set": ({"chunks": {"a.md"}}, "has no order"),
    "a number": (3, "must be a list"),
    "a number inside": (["a.md", 3], r"chunks\[1\] is a int: 3; accepted are"),
    "a passage": (["A sentence.\nAnother."], r"chunks\[0\] .* no file name"),
    "an empty file": ([{"file": "a"}, ""], r"chunks\[1\].file is empty"),
    "a mapping without a file": ([{"text": "t"}], r"chunks\[0\] .* with the keys text"),
    "a document without a file": ([LangChainDocument("t", {"page": 1})], r"names no file \(found: page\)"),
    "an ambiguous page": ([{"file": "a", "page": 3}], r"chunks\[0\] has `page` but no `pages`"),
    "page zero": ([{"file": "a", "pages": [0, 1]}], "counted from 1"),
    "a reversed range": ([{"file": "a", "pages": [5, 4]}], "counted from 1"),
    "three pages": ([{"file": "a", "pages": [1, 2, 3]}], r"\[first, last\]"),
    "a page in words": ([{"file": "a", "pages": ["iv", "v"]}], "whole number"),
    "a score in words": ([{"file": "a", "score": "high"}], r"chunks\[0\].score must be a number"),
    "a vector as score": ([{"file": "a", "score": np.ones(3)}], r"chunks\[0\].score"),
    "negative time": ({"chunks": [], "timings": {"rerank": -1}}, "timings.rerank must be milliseconds"),
    "timings as list": ({"chunks": [], "timings": [1]}, "timings must map"),
    "stages as list": ({"chunks": [], "stages": [1]}, "stages must map"),
    "a stage that is none": ({"chunks": [], "stages": {"fusion": [1]}}, r"stages.fusion\[0\]"),
    "an answer of bytes": ({"chunks": [], "gate": {"raw": b"x"}}, "gate.raw has no JSON form"),
    "lanes as text": ({"chunks": [], "lanes_run": "sparse"}, "lanes_run must be a list"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("error")
def test_what_is_no_ranking_is_refused_by_name_with_what_is_accepted(name):
    value, message = REFUSED[name]
    with pytest.raises(PipelineError, match=message):
        as_result(value() if callable(value) else value)


def test_a_table_is_refused_instead_of_ranking_its_column_names():
    class Frame:
        columns = ("file", "score")

        def keys(self):
            return self.columns

        def __iter__(self):
            return iter(self.columns)

    with pytest.raises(PipelineError, match="Frame without a ranking"):
        as_result(Frame())


def test_an_extra_that_holds_itself_is_refused():
    walk: dict = {}
    walk["next"] = walk
    with pytest.raises(PipelineError, match="holds itself"):
        as_result({"chunks": [], "walk": walk})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=12,
    )
)
def test_whatever_is_made_plain_is_strict_json(value):
    text = canonical.dumps(plain(value, "walk"))
    text.encode("utf-8")
    assert canonical.dumps(canonical.loads(text)) == text
