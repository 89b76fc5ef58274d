"""The real document classes of LangChain, Haystack and LlamaIndex, in the environment that has them (tox -e interop)."""

import pytest

from pytest_ragbench.contract import Chunk
from pytest_ragbench.execution.adapters import as_result


def test_langchain_documents_with_and_without_scores():
    documents = pytest.importorskip("langchain_core.documents")
    document = documents.Document("text", metadata={"source": "book.pdf", "page": 4, "page_label": "v"}, id="d1")
    plain = Chunk("book.pdf", (5, 5), (), "d1", None, "text")
    scored = Chunk("book.pdf", (5, 5), (), "d1", 0.25, "text")
    assert as_result([document, (document, 0.25)]).chunks == (plain, scored)


def test_haystack_documents_and_the_mapping_that_its_components_return():
    haystack = pytest.importorskip("haystack")
    document = haystack.Document(id="d1", content="text", meta={"file_path": "book.pdf", "page_number": 5}, score=0.25)
    expected = (Chunk("book.pdf", (5, 5), (), "d1", 0.25, "text"),)
    assert as_result([document]).chunks == as_result({"documents": [document]}).chunks == expected


def test_llamaindex_nodes_with_scores_and_the_response_that_holds_them():
    schema = pytest.importorskip("llama_index.core.schema")
    response = pytest.importorskip("llama_index.core.base.response.schema")
    metadata = {"file_path": "book.pdf", "file_name": "book.pdf", "page_label": "5"}
    node = schema.NodeWithScore(node=schema.TextNode(id_="d1", text="text", metadata=metadata), score=0.25)
    expected = (Chunk("book.pdf", (5, 5), (), "d1", 0.25, "text"),)
    assert as_result([node]).chunks == expected
    assert as_result(response.Response(response="an answer", source_nodes=[node])).chunks == expected


MARKDOWN = """\
# Linear systems

What they are.

## Errors

A singular matrix raises LinAlgError.

### Input and output

Files that cannot be read.
"""
PATHS = [("Linear systems",), ("Linear systems", "Errors"), ("Linear systems", "Errors", "Input and output")]


def test_llamaindex_nodes_of_the_markdown_parser_have_their_own_heading_and_those_above():
    core = pytest.importorskip("llama_index.core")
    parsers = pytest.importorskip("llama_index.core.node_parser")
    document = core.Document(text=MARKDOWN, metadata={"file_path": "notes/linear-systems.md"})
    nodes = parsers.MarkdownNodeParser().get_nodes_from_documents([document])
    chunks = as_result(nodes).chunks
    assert [chunk.heading for chunk in chunks] == PATHS
    assert {chunk.file for chunk in chunks} == {"notes/linear-systems.md"}


def test_haystack_documents_of_the_markdown_splitter_have_their_heading_and_those_above():
    haystack = pytest.importorskip("haystack")
    preprocessors = pytest.importorskip("haystack.components.preprocessors")
    splitter = preprocessors.MarkdownHeaderSplitter()
    warm_up = getattr(splitter, "warm_up", None)
    if warm_up is not None:
        warm_up()
    document = haystack.Document(content=MARKDOWN, meta={"file_path": "notes/linear-systems.md"})
    chunks = as_result(splitter.run(documents=[document])).chunks
    assert [chunk.heading for chunk in chunks] == PATHS


def test_langchain_documents_of_the_markdown_splitter_have_their_heading_and_those_above():
    splitters = pytest.importorskip("langchain_text_splitters")
    levels = [("#", "Header 1"), ("##", "Header 2"), ("###", "Header 3")]
    documents = splitters.MarkdownHeaderTextSplitter(levels).split_text(MARKDOWN)
    for document in documents:
        document.metadata["source"] = "notes/linear-systems.md"
    assert [chunk.heading for chunk in as_result(documents).chunks] == PATHS
