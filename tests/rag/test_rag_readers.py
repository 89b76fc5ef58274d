"""Readers of code, notebooks, canvases and collections: awkward files are read another way or listed, never lost."""

from __future__ import annotations

import base64
import json
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chunking import chunk
from rag.errors import ReaderMissingError
from rag.loaders import reader_for
from rag.loaders.canvas import read_canvas
from rag.loaders.code import read_python
from rag.loaders.collection import read_collection
from rag.loaders.notebook import read_notebook
from rag.options import Chunking
from rag.records import Document


def text_of(document):
    return "\n".join(block for passage in document.passages for block in passage.blocks)


def kinds(document):
    return [finding.kind for finding in document.findings]


# -- Python ------------------------------------------------------------------------------------------------------------

CODE_FILES = {
    "python2": (b'print "spamword"\n', "spamword", ["fallback"]),
    "latin1": ("# -*- coding: latin-1 -*-\ncaf\u00e9word = 1\n".encode("latin-1"), "caf\u00e9word", []),
    "undeclared-latin1": ("\u00e9colword = 1\n".encode("latin-1"), "\u00e9colword", ["fallback"]),
    "bom": (b"\xef\xbb\xbfbomword = 1\n", "bomword", []),
    "crlf": (b"def crlfword():\r\n    return 1\r\n", "crlfword", []),
    "long-line": (b"longword = '" + b"x" * 200_000 + b"'\n", "longword", []),
    "null": (b"nullword = 1\x00\n", "nullword", []),
}


@pytest.mark.parametrize("name", CODE_FILES)
def test_chk_08_code_that_does_not_parse_is_still_searchable_and_counted(name, write, pipeline):
    data, word, expected = CODE_FILES[name]
    (document,) = read_python("x.py", data)
    assert word in text_of(document)
    assert kinds(document) == expected
    write({"x.py": data, "other.py": b"unrelated = 0\n"})
    search = pipeline()
    assert [chunk.file for chunk in search.search(word, dense=False).chunks] == ["x.py"]
    assert search.describe()["findings"].get("fallback", 0) == len(expected)


def test_chk_08_an_empty_code_file_gives_no_chunk_and_no_complaint():
    (document,) = read_python("x.py", b"")
    assert document.passages == document.findings == ()


def test_a_200_kb_line_becomes_chunks_within_the_limit():
    (document,) = read_python("x.py", CODE_FILES["long-line"][0])
    chunks = chunk(document, Chunking(max_chars=700))
    assert max(len(item.text) for item in chunks) <= 700
    assert sum(item.text.count("x") for item in chunks) == 200_000


def test_definitions_keep_decorators_and_the_comment_above_and_count_lines_not_bytes():
    source = (
        '"""Doc \u00e9."""\nimport os\n\nX = "\u00e9\u00e9"; Y = 2\n\n# why f\n@deco\ndef f():\n    return "\u00e9"\n\n\nclass A:\n'
        "    z = 1\n\n    # why g\n    def g(self):\n        pass\n\nTAIL = 3\n"
    )
    (document,) = read_python("dir/x.py", source.encode())
    blocks = [passage.blocks for passage in document.passages]
    assert blocks == [
        ('"""Doc \u00e9."""\nimport os', 'X = "\u00e9\u00e9"; Y = 2'),
        ('# why f\n@deco\ndef f():\n    return "\u00e9"',),
        ("class A:\n    z = 1", "    # why g\n    def g(self):\n        pass"),
        ("TAIL = 3",),
    ]
    assert {passage.heading for passage in document.passages} == {("x.py",)}


def test_an_invalid_escape_in_code_raises_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (document,) = read_python("x.py", b"pattern = '\\d'\n")
    assert "pattern" in text_of(document)


@given(st.text(max_size=300))
def test_no_word_of_a_python_file_is_lost(source):
    (document,) = read_python("x.py", source.encode("utf-8", "surrogatepass"))
    if not document.findings:
        have, want = text_of(document).split(), source.replace("\x00", "").split()
        assert "".join(have) == "".join(want)


# -- notebooks ---------------------------------------------------------------------------------------------------------

CELLS = [
    {"cell_type": "markdown", "source": ["# Runge phenomenon\n", "at the edges"]},
    {"cell_type": "code", "source": ["import numpy\n", "nodes = 11"], "outputs": []},
]
V4_STRING = [dict(cell, source="".join(cell["source"])) for cell in CELLS]
V3 = [
    {"cell_type": "heading", "level": 1, "source": ["Runge phenomenon\n", "at the edges"]},
    {"cell_type": "code", "input": ["import numpy\n", "nodes = 11"], "outputs": []},
]


def notebook(**fields):
    return json.dumps(fields).encode()


def test_chk_05_three_notebook_shapes_give_the_same_text():
    shapes = [
        notebook(nbformat=4, cells=CELLS),
        notebook(nbformat=4, cells=V4_STRING),
        notebook(nbformat=3, worksheets=[{"cells": V3}]),
    ]
    documents = [read_notebook("n/runge.ipynb", data)[0] for data in shapes]
    assert {text_of(document) for document in documents} == {
        "# Runge phenomenon\nat the edges\nimport numpy\nnodes = 11"
    }
    assert {passage.heading for document in documents for passage in document.passages} == {("runge.ipynb",)}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (notebook(nbformat=4), "failed"),
        (notebook(nbformat=4, cells=[]), "empty"),
        (b"[]", "failed"),
        (b"{", "failed"),
        (b"\xff\xfe", "failed"),
        (notebook(cells=[1, {"source": 3}, {"source": None}, {}], nbformat=4), None),
    ],
)
def test_chk_05_unreadable_and_empty_notebooks_are_reported(data, kind):
    (document,) = read_notebook("x.ipynb", data)
    assert kinds(document) == ([kind] if kind else [])


def test_chk_05_through_the_index_each_shape_is_found_by_a_phrase_and_the_others_are_listed(write, pipeline):
    picture = base64.b64encode(bytes(range(256)) * 4096).decode()
    plot = {"output_type": "display_data", "data": {"image/png": picture}}
    write(
        {
            "list.ipynb": notebook(nbformat=4, cells=CELLS),
            "string.ipynb": notebook(nbformat=4, cells=V4_STRING),
            "sheets.ipynb": notebook(nbformat=3, worksheets=[{"cells": V3}]),
            "none.ipynb": notebook(nbformat=4),
            "zero.ipynb": b"",
            "plot.ipynb": notebook(nbformat=4, cells=[{"cell_type": "code", "source": "plot()", "outputs": [plot]}]),
        }
    )
    search = pipeline()
    found = search.search("runge phenomenon at the edges", dense=False).chunks
    assert {chunk.file for chunk in found} == {"list.ipynb", "string.ipynb", "sheets.ipynb"}
    assert {chunk.heading for chunk in found} == {(name,) for name in ("list.ipynb", "string.ipynb", "sheets.ipynb")}
    assert [chunk.text for chunk in search.search("plot()", dense=False).chunks] == ["plot()"]
    assert search.search(picture[:60], dense=False).chunks == ()
    assert search.describe()["findings"] == {"empty": 1, "failed": 1}


def test_chk_05_no_chunk_holds_base64_from_outputs_attachments_or_data_uris():
    picture = base64.b64encode(bytes(range(256)) * 4096).decode()
    cells = [
        {
            "cell_type": "code",
            "source": "plot()",
            "outputs": [{"output_type": "display_data", "data": {"image/png": picture}}],
        },
        {
            "cell_type": "markdown",
            "source": f"see ![p](data:image/png;base64,{picture}) here",
            "attachments": {"p.png": {"image/png": picture}},
        },
    ]
    (document,) = read_notebook("x.ipynb", notebook(nbformat=4, cells=cells))
    assert picture[:40] not in text_of(document)
    assert "here" in text_of(document)
    assert len(text_of(document)) < 100


# -- canvases ----------------------------------------------------------------------------------------------------------


def canvas(nodes=None, edges=None):
    board = {key: value for key, value in (("nodes", nodes), ("edges", edges)) if value is not None}
    return json.dumps(board).encode()


def node(name, kind="text", **fields):
    return {"id": name, "type": kind, "x": 0, "y": 0, "width": 10, "height": 10} | fields


@pytest.mark.parametrize("data", [b"", b"{}", canvas([]), canvas(edges=[]), b'{"nodes": null}'])
def test_chk_06_new_and_empty_canvases_give_no_chunk_and_no_error(data):
    (document,) = read_canvas("x.canvas", data)
    assert document.passages == document.findings == ()


def test_chk_06_each_text_node_is_a_passage_even_without_edges():
    (document,) = read_canvas("d/x.canvas", canvas([node("a", text="alpha"), node("b", text="beta")]))
    assert [(passage.blocks, passage.heading) for passage in document.passages] == [
        (("alpha",), ("x.canvas",)),
        (("beta",), ("x.canvas",)),
    ]


def test_chk_06_an_edge_to_a_missing_node_is_ignored_and_counted():
    edges = [{"id": "e", "fromNode": "a", "toNode": "gone", "label": "why"}]
    (document,) = read_canvas("x.canvas", canvas([node("a", text="alpha")], edges))
    assert kinds(document) == ["dangling-edge"]
    assert "1 of 1" in document.findings[0].detail
    assert text_of(document) == "alpha"


def test_chk_06_a_group_names_its_members_and_links_and_labelled_edges_are_searchable():
    nodes = [
        node("g", "group", label="Week 1", width=100, height=100),
        node("outer", "group", label="Term", x=-10, y=-10, width=500, height=500),
        node("a", text="# Plan\nread"),
        node("f", "file", file="Notes/a.md", subpath="#Bisection", x=300),
        node("u", "link", url="https://example.org/x", x=300),
    ]
    edges = [
        {"id": "1", "fromNode": "a", "toNode": "f", "label": "needs"},
        {"id": "2", "fromNode": "a", "toNode": "u"},
    ]
    (document,) = read_canvas("x.canvas", canvas(nodes, edges))
    assert [(passage.heading, passage.blocks) for passage in document.passages] == [
        (("x.canvas", "Term", "Week 1"), ("# Plan\nread",)),
        (
            ("x.canvas",),
            ("Notes/a.md#Bisection", "https://example.org/x", "Plan -- needs -> Notes/a.md#Bisection"),
        ),
    ]


@pytest.mark.parametrize("data", [b"[]", b"{", b'{"nodes": 3}', b"\xff"])
def test_a_canvas_that_is_none_is_listed(data):
    (document,) = read_canvas("x.canvas", data)
    assert kinds(document) == ["failed"]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["id", "type", "x", "width", "text", "label", "fromNode", "toNode"]),
            st.one_of(st.none(), st.text(max_size=5), st.integers(), st.sampled_from(["text", "group", "file"])),
        ),
        max_size=6,
    )
)
def test_no_canvas_raises(items):
    (document,) = read_canvas("x.canvas", canvas(items, items))
    assert all(block.strip() for passage in document.passages for block in passage.blocks)


# -- collections -------------------------------------------------------------------------------------------------------


def test_a_record_is_title_space_text_under_its_id_and_bad_lines_are_listed():
    lines = [
        b'{"_id": "4", "title": "T", "text": "body", "metadata": {}}',
        b'{"_id": "9", "text": "only text"}',
        b"not json",
        b'{"_id": 3, "text": "x"}',
        b'{"_id": "4", "text": "again"}',
        b'{"_id": "7", "title": "", "text": ""}',
    ]
    *documents, listing = read_collection("corpus.jsonl", b"\n".join(lines))
    assert [(item.file, text_of(item)) for item in documents] == [("4", "T body"), ("9", " only text"), ("7", "")]
    assert [finding.detail.split(":")[0] for finding in listing.findings] == ["line 3", "line 4", "line 5"]


HOSTILE = [
    ("deep.ipynb", b"[" * 100_000),
    ("deep.canvas", b"[" * 100_000),
    ("deep.py", b"(" * 100_000),
    ("huge.canvas", b'{"nodes": [{"id": "a", "type": "text", "text": "t", "x": 1' + b"0" * 400 + b"},"
     b'{"id": "g", "type": "group", "label": "G"}]}'),
    ("nan.canvas", b'{"nodes": [{"id": "a", "type": "text", "text": "t", "x": NaN, "width": Infinity}]}'),
    ("corpus.jsonl", b'{"_id": ' + b"[" * 100_000),
    ("page.pdf", b"%PDF-1.7\n" + b"[" * 100_000),
    ("deep.md", b">" * 20_000 + b" text"),
    ("list.md", b"- " * 5_000 + b"text"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data"), HOSTILE, ids=[name for name, _ in HOSTILE])
def test_no_content_stops_the_index(name, data, write, pipeline):
    write({name: data, "good.md": "cotangent"})
    search = pipeline()
    assert [chunk.file for chunk in search.search("cotangent", dense=False).chunks] == ["good.md"]


def test_a_reader_that_is_not_installed_stops_the_index_and_names_the_package(write, pipeline, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    write({"book.pdf": b"%PDF-1.7\n...", "good.md": "cotangent"})
    with pytest.raises(ReaderMissingError, match=r"book\.pdf needs a package .*pip install pypdf"):
        pipeline().search("cotangent", dense=False)


@pytest.mark.parametrize("name", ["x.canvas", "x.ipynb", "x.md", "x.pdf", "x.py", "corpus.jsonl"])
@given(data=st.binary(max_size=200))
def test_no_bytes_make_a_reader_raise(name, data):
    reader = reader_for(name)
    assert all(isinstance(document, Document) for document in reader(name, data))


def test_readers_are_chosen_by_suffix_whatever_its_case():
    assert reader_for("A/B.PDF") is reader_for("c.pdf")
    assert reader_for("x/corpus.jsonl") is read_collection
    assert reader_for("queries.jsonl") is None
    assert reader_for("picture.png") is None
