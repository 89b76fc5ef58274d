"""Real objects of LangChain, Haystack and LlamaIndex, measured as they are by a stranger's five lines."""

from __future__ import annotations

import json
import textwrap

import pytest

pytest.importorskip("langchain_core", reason="needs the extra `interop` (tox run -e interop)")
pytest.importorskip("haystack", reason="needs the extra `interop` (tox run -e interop)")
pytest.importorskip("llama_index.core", reason="needs the extra `interop` (tox run -e interop)")

SETS = """
- id: lex-0001
  question: Where is the pump curve?
  suite: lexical
  tier: T1
  split: dev
  answerable: true
  gold:
  - file: manuals/pump.pdf
    pages: [3, 3]
- id: lex-0002
  question: How is the filter cleaned?
  suite: lexical
  tier: T1
  split: dev
  answerable: true
  gold:
  - file: manuals/filter.md
- id: lex-0003
  question: What does error E7 mean?
  suite: lexical
  tier: T2
  split: dev
  answerable: true
  gold:
  - file: manuals/errors.md
"""

# The gold of the first question is physical page 3: LangChain's loaders count from 0, Haystack and LlamaIndex from 1.
LANGCHAIN = """
from langchain_core.documents import Document

def search(query, **overrides):
    return [
        Document("the curve", metadata={"source": "manuals/pump.pdf", "page": 2}),
        Document("rinse it", metadata={"source": "manuals/filter.md"}),
    ]
"""

LANGCHAIN_RETRIEVER = """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

class Manuals(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [
            Document("the curve", metadata={"source": "manuals/pump.pdf", "page": 2}),
            Document("rinse it", metadata={"source": "manuals/filter.md"}),
        ]

retriever = Manuals()

def search(query, **overrides):
    return retriever.invoke(query)
"""

HAYSTACK = """
from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

store = InMemoryDocumentStore()
store.write_documents([
    Document(content="the pump curve is here", meta={"file_path": "manuals/pump.pdf", "page_number": 3}),
    Document(content="the filter is cleaned with water", meta={"file_path": "manuals/filter.md"}),
])
retriever = InMemoryBM25Retriever(store)

def search(query, **overrides):
    return retriever.run(query=query, top_k=2)
"""

LLAMA_INDEX = """
from llama_index.core.schema import NodeWithScore, TextNode

def search(query, **overrides):
    return [
        NodeWithScore(
            node=TextNode(text="the curve", metadata={"file_path": "manuals/pump.pdf", "page_label": "3"}), score=0.9
        ),
        NodeWithScore(node=TextNode(text="rinse it", metadata={"file_path": "manuals/filter.md"}), score=0.4),
    ]
"""

LIST = """
def search(query, **overrides):
    return [{"file": "manuals/pump.pdf", "pages": [3, 3], "text": "the curve"}, "manuals/filter.md"]
"""

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def rag_pipeline():
    return search
"""


@pytest.mark.parametrize(
    "source",
    [LIST, LANGCHAIN, LANGCHAIN_RETRIEVER, HAYSTACK, LLAMA_INDEX],
    ids=["list", "langchain", "langchain-retriever", "haystack", "llama-index"],
)
def test_a_strangers_five_lines_measure_documents_as_they_are(pytester, source):
    pytester.makeconftest(source + CONFTEST)
    pytester.makepyfile(test_golden="def test_question(rag_row):\n    rag_row.check()\n")
    (pytester.path / "golden" / "sets").mkdir(parents=True)
    (pytester.path / "golden" / "sets" / "first.yaml").write_text(textwrap.dedent(SETS), encoding="utf-8")
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*ndcg@10*"])
    (folder,) = (pytester.path / ".ragbench" / "runs").glob("*-*")
    results = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["results"]
    overall = next(iter(results.values()))["overall"]
    # Found: the pump's page and the filter; the third question's file is in no ranking.
    assert overall["recall@10"]["mean"] == pytest.approx(2 / 3)
    rows = [json.loads(line) for line in (folder / "per_query.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[0]["metrics"]["hit@10"] == 1.0
    assert {entry["file"] for row in rows for entry in row["ranking"]} == {"manuals/pump.pdf", "manuals/filter.md"}
    pump = next(entry for entry in rows[0]["ranking"] if entry["file"] == "manuals/pump.pdf")
    assert pump["pages"] == [3, 3]
