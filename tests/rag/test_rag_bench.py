"""The reference pipeline behind the bench's own doors: import, pytest, records. Real processes, as a user starts them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CALM = ("-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:cacheprovider")
HEAVY = ("torch", "transformers", "sentence_transformers", "hnswlib")


def run(arguments, folder, status=0):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "GIT_CEILING_DIRECTORIES": "/"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows_of(folder):
    (record,) = (path for path in (folder / ".ragbench" / "runs").iterdir() if path.is_dir())
    rows = [json.loads(line) for line in (record / "per_query.jsonl").read_text(encoding="utf-8").splitlines()]
    return json.loads((record / "summary.json").read_text(encoding="utf-8"))["results"], rows


# -- what a selection loads --------------------------------------------------------------------------------------------

LOADED = f"""
def pytest_unconfigure():
    import pathlib, sys
    pathlib.Path("loaded.txt").write_text(" ".join(name for name in {HEAVY!r} if name in sys.modules))
"""
TEST = "def test_question(rag_row):\n    rag_row.check()\n"


@pytest.fixture
def vault(tmp_path):
    """A project with this repository's conftest and configurations, over two notes of its own."""
    texts = {"a.md": "# Locks\n\na mutex guards a bracket of code", "b.md": "# Roots\n\nbisection halves the bracket"}
    questions = [
        {
            "id": "lex-0001",
            "question": "which code does a mutex guard",
            "suite": "lexical",
            "tier": "T1",
            "split": "dev",
            "answerable": True,
            "gold": [{"file": "a.md", "heading": "Locks"}],
            "provenance": {"author": "draft", "status": "verified"},
        },
        {
            "id": "lex-0002",
            "question": "zzzunknown",
            "suite": "lexical",
            "tier": "T1",
            "split": "dev",
            "answerable": True,
            "gold": [{"file": "b.md"}],
            "provenance": {"author": "draft", "status": "verified"},
        },
    ]
    for name, text in texts.items():
        (tmp_path / "corpus").mkdir(exist_ok=True)
        (tmp_path / "corpus" / name).write_text(text)
    (tmp_path / "golden" / "sets").mkdir(parents=True)
    (tmp_path / "golden" / "sets" / "lexical.yaml").write_text(yaml.safe_dump(questions, sort_keys=False))
    (tmp_path / "golden" / "configs.yaml").write_bytes((ROOT / "golden" / "configs.yaml").read_bytes())
    (tmp_path / "golden" / "test_golden.py").write_text(TEST)
    (tmp_path / "rag").mkdir()
    (tmp_path / "rag" / "config.yaml").write_text("corpus: corpus\n")
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text() + LOADED)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_a_lexical_run_of_bm25_loads_no_model_library(vault):
    run(["-m", "pytest", *CALM, "--rag-suites=lexical", "--rag-configs=R0-bm25"], vault)
    assert (vault / "loaded.txt").read_text() == ""
    assert not (vault / ".ragbench" / "cache").exists()
    _, rows = rows_of(vault)
    assert [row["metrics"]["hit@1"] for row in rows] == [1.0, 0.0]


def test_the_probe_of_loaded_libraries_sees_them_when_a_lane_needs_them(vault):
    run(["-m", "pytest", *CALM, "--rag-suites=lexical", "--rag-configs=R1-dense"], vault)
    assert set((vault / "loaded.txt").read_text().split()) >= {"torch", "transformers", "sentence_transformers"}


def test_bm2_02_and_rnk_01_a_question_without_a_term_is_a_row_of_zeros_even_where_its_empty_pool_is_reranked(vault):
    catalogue = yaml.safe_load((vault / "golden" / "configs.yaml").read_text())
    catalogue["configurations"]["sparse-rerank"] = {"factors": ["sparse", "rerank"]}
    (vault / "golden" / "configs.yaml").write_text(yaml.safe_dump(catalogue, sort_keys=False))
    run(["-m", "pytest", *CALM, "--rag-suites=lexical", "--rag-configs=R0-bm25,sparse-rerank", "-k", "lex-0002"], vault)
    _, rows = rows_of(vault)
    assert [row["configuration"] for row in rows] == ["R0-bm25", "sparse-rerank"]
    for row in rows:
        assert (row["error"], row["ranking"]) == (None, [])
        assert {name: value for name, value in row["metrics"].items() if value} == {}


def test_idx_01_the_fingerprint_of_a_run_is_that_of_a_fresh_index_after_an_edit(vault):
    command = ["-m", "pytest", *CALM, "--rag-suites=lexical", "--rag-configs=R0-bm25"]
    run(command, vault)
    (vault / "corpus" / "b.md").write_text("# Roots\n\nedited")
    run(command, vault)
    records = sorted(path for path in (vault / ".ragbench" / "runs").iterdir() if path.is_dir())
    first, second = (json.loads((path / "run.json").read_text())["index"] for path in records)
    from rag.pipeline import from_config

    (vault / "rag" / "config.yaml").write_text("corpus: corpus\nstate: fresh\n")
    assert first != second
    assert second == from_config(vault / "rag" / "config.yaml", vault, quiet=True).describe()["index"]


@pytest.mark.parametrize("text", ["", "   "])
def test_bm2_02_and_den_07_a_blank_question_is_refused_before_anything_is_searched(text, vault):
    path = vault / "golden" / "sets" / "lexical.yaml"
    questions = yaml.safe_load(path.read_text())
    questions[1]["question"] = text
    path.write_text(yaml.safe_dump(questions, sort_keys=False))
    assert "lex-0002: question: is empty" in run(["-m", "pytest", *CALM, "--rag-configs=R0-bm25"], vault, status=4)
    assert not (vault / ".ragbench").exists()


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_each_part_is_built_once_and_says_so_through_pytests_capture_from_workers_too(workers, vault):
    shown = run(["-m", "pytest", *CALM, "--rag-configs=R0-bm25", *workers], vault)
    for part in ("chunks", "sparse"):
        assert shown.count(f"rag: building the {part} index: there is none yet\n") == 1
    assert "rag: building" not in run(["-m", "pytest", *CALM, "--rag-configs=R0-bm25", *workers], vault)


def test_bm2_03_an_empty_corpus_ends_the_run_with_a_sentence_and_no_traceback(vault):
    for path in (vault / "corpus").iterdir():
        path.write_text("  ")
    shown = run(["-m", "pytest", *CALM, "--rag-configs=R0-bm25"], vault, status=1)
    assert "nothing to index: no file below" in shown
    assert "Traceback" not in shown


# -- a language model --------------------------------------------------------------------------------------------------

MUTEX = "A mutex is held by one thread at a time, so that it guards a critical section."
ROOTS = "Bisection halves the bracket around a root at each step."


def ask(vault, number):
    """Replace the questions of the project by so many that a draft may answer."""
    questions = [
        {
            "id": f"lex-{n:04d}",
            "question": f"what is thing {n} good for?",
            "suite": "lexical",
            "tier": "T1",
            "split": "dev",
            "answerable": True,
            "gold": [{"file": "a.md", "heading": "Locks"}],
            "provenance": {"author": "draft", "status": "verified"},
        }
        for n in range(1, number + 1)
    ]
    (vault / "golden" / "sets" / "lexical.yaml").write_text(yaml.safe_dump(questions, sort_keys=False))


def prompts(system_user, answers, model="m"):
    """Lines of a store: question text to completion."""
    from pytest_ragbench.llm.store import prompt_key

    system, user = system_user
    lines = []
    for question, completion in answers.items():
        asked = user.format(question=question)
        record = {"key": prompt_key(system, asked), "model": model, "completion": completion}
        lines.append(json.dumps({**record, "system": system, "user": asked}) + "\n")
    return "".join(lines)


def records(vault):
    runs = (path for path in (vault / ".ragbench" / "runs").iterdir() if path.is_dir())
    return sorted(runs, key=lambda folder: folder.stat().st_mtime_ns)


def rows_in(record):
    rows = [json.loads(line) for line in (record / "per_query.jsonl").read_text(encoding="utf-8").splitlines()]
    return {(row["question"], row["configuration"]): row for row in rows}


def test_r6_hyde_recorded_filled_and_replayed_gives_the_same_bytes_twice_and_one_draft_less_is_one_errored_row(vault):
    ask(vault, 4)
    bench = ["-m", "pytest", *CALM, "--rag-configs=R6-hyde"]
    run([*bench, "--rag-llm=record:drafts.jsonl"], vault, status=1)
    assert {row["error"].split(":")[0] for row in rows_in(records(vault)[-1]).values()} == {"NoCompletionError"}

    pending = vault / "drafts.pending.jsonl"
    waiting = [json.loads(line) for line in pending.read_text(encoding="utf-8").splitlines()]
    assert len(waiting) == 4
    for number, record in enumerate(waiting):
        record["completion"] = None if number == 2 else (MUTEX, ROOTS)[number % 2]
    pending.write_text("".join(json.dumps(record) + "\n" for record in waiting), encoding="utf-8")
    fill = ["-m", "pytest_ragbench.cli", "fill", "drafts.jsonl", "--model", "hand"]
    assert "3 added, 0 known already, 1 prompt left" in run(fill, vault, status=1)

    shown = run([*bench, "--rag-llm=replay:drafts.jsonl"], vault, status=1)
    assert "1 failed, 3 passed" in shown
    rows = rows_in(records(vault)[-1])
    (failed,) = (row for row in rows.values() if row["error"])
    assert waiting[2]["key"] in failed["error"]
    assert (failed["ranking"], failed["hyde_cache"]) == ([], None)
    measured = [row for row in rows.values() if not row["error"]]
    assert all(row["ranking"] and row["hyde_cache"] for row in measured)
    summary = json.loads((records(vault)[-1] / "summary.json").read_text(encoding="utf-8"))
    assert summary["results"]["R6-hyde"]["rows"] == {"scored": 3, "errored": 1, "not_run": 0}

    (left,) = (json.loads(line) for line in pending.read_text(encoding="utf-8").splitlines())
    pending.write_text(json.dumps({**left, "completion": MUTEX}) + "\n", encoding="utf-8")
    assert "1 added, 0 known already, 0 prompts left" in run(fill, vault)
    for _ in range(2):
        run([*bench, "--rag-llm=replay:drafts.jsonl"], vault)
    once, again = records(vault)[-2:]
    results = [json.loads((record / "summary.json").read_text(encoding="utf-8"))["results"] for record in (once, again)]
    assert json.dumps(results[0]) == json.dumps(results[1])
    assert (once / "chunks.jsonl").read_bytes() == (again / "chunks.jsonl").read_bytes()
    # Another store, other keys: only the warm-up has asked for the first one's draft by then.
    assert [row["hyde_cache"] for row in rows_in(once).values()].count("miss") == 3
    assert [row["hyde_cache"] for row in rows_in(again).values()] == ["hit"] * 4


def test_a_store_with_two_labels_is_refused_before_the_first_row_whatever_part_would_ask_it(vault):
    from rag.hyde import SYSTEM, USER

    lines = prompts((SYSTEM, USER), {"x": MUTEX}, "one") + prompts((SYSTEM, USER), {"y": MUTEX}, "two")
    (vault / "drafts.jsonl").write_text(lines)
    shown = run(["-m", "pytest", *CALM, "--rag-configs=R6-hyde", "--rag-llm=replay:drafts.jsonl"], vault, status=4)
    assert "'one' (line 1), 'two' (line 2)" in shown
    assert not (vault / ".ragbench").exists()


def test_rep_05_of_ten_drafts_three_lack_and_one_is_empty_four_rows_fail_and_a_refusal_is_a_draft(vault):
    from rag.hyde import SYSTEM, USER

    ask(vault, 10)
    answers = {f"what is thing {n} good for?": MUTEX for n in range(4, 11)}
    answers |= {"what is thing 4 good for?": "", "what is thing 5 good for?": "I cannot help"}
    (vault / "drafts.jsonl").write_text(prompts((SYSTEM, USER), answers))
    run(["-m", "pytest", *CALM, "--rag-configs=H-off,H-on", "--rag-llm=replay:drafts.jsonl"], vault, status=1)
    rows = rows_in(records(vault)[-1])
    errors = {key: row["error"].split(":")[0] for key, row in rows.items() if row["error"]}
    lacking = {(f"lex-{n:04d}", "H-on"): "NoCompletionError" for n in (1, 2, 3)}
    assert errors == lacking | {("lex-0004", "H-on"): "EmptyCompletionError"}
    assert all(rows[key]["ranking"] == [] for key in errors)
    assert {key[0] for key, row in rows.items() if row["hyde_cache"]} == {f"lex-{n:04d}" for n in range(5, 11)}
    refused = rows["lex-0005", "H-on"]["stages"]["dense"], rows["lex-0005", "H-off"]["stages"]["dense"]
    assert rows["lex-0005", "H-on"]["lanes_run"] == rows["lex-0005", "H-off"]["lanes_run"]
    assert refused[0]["length"] == refused[1]["length"] > 0


def test_den_07_an_empty_sub_query_is_dropped_and_stands_in_the_row(vault):
    from rag.decompose import SYSTEM, USER

    catalogue = yaml.safe_load((vault / "golden" / "configs.yaml").read_text())
    catalogue["configurations"]["split"] = {"factors": ["sparse"], "overrides": {"decompose": True}}
    (vault / "golden" / "configs.yaml").write_text(yaml.safe_dump(catalogue, sort_keys=False))
    answers = {"which code does a mutex guard": "1. which code\n2.\n\n3. a mutex guard", "zzzunknown": " "}
    (vault / "drafts.jsonl").write_text(prompts((SYSTEM, USER), answers))
    run(["-m", "pytest", *CALM, "--rag-configs=split", "--rag-llm=replay:drafts.jsonl"], vault, status=1)
    rows = rows_in(records(vault)[-1])
    assert rows["lex-0002", "split"]["error"].startswith("EmptyCompletionError: decompose")
    row = rows["lex-0001", "split"]
    assert row["lanes_run"] == ["sparse", "sparse#1", "sparse#2"]
    blank = {"text": "", "why": "blank"}
    assert row["decomposed"] == {"parts": ["which code", "a mutex guard"], "dropped": [blank, blank]}


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_text_that_context_widened_is_kept_beside_the_chunks_own(workers, vault):
    catalogue = yaml.safe_load((vault / "golden" / "configs.yaml").read_text())
    for name, overrides in {"plain": {}, "wide": {"neighbor_context": True}}.items():
        catalogue["configurations"][name] = {"factors": ["sparse"], "overrides": overrides}
    (vault / "golden" / "configs.yaml").write_text(yaml.safe_dump(catalogue, sort_keys=False))
    (vault / "rag" / "config.yaml").write_text("corpus: corpus\nchunking: {max_chars: 100}\n")
    parts = [f"paragraph {n} of a mutex " + "word " * 15 for n in range(3)]
    (vault / "corpus" / "a.md").write_text("# Locks\n\n" + "\n\n".join(parts))
    run(["-m", "pytest", *CALM, "--rag-configs=plain,wide", "-k", "lex-0001", *workers], vault)
    (record,) = records(vault)
    lines = (record / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {}
    for chunk in map(json.loads, lines):
        texts[chunk["id"], hashlib.sha256(chunk["text"].encode()).hexdigest()[:16]] = chunk["text"].split("\n\n")
    returned = {
        arm: [texts[entry["id"], entry["text_digest"]] for entry in rows_in(record)["lex-0001", arm]["ranking"]]
        for arm in ("plain", "wide")
    }
    own = [part.strip() for part in parts]
    assert sorted(returned["plain"]) == [[text] for text in own]
    assert sorted(returned["wide"]) == sorted([own[:2], own, own[1:]])
    assert len(lines) == 6


# -- SciFact, through the import -----------------------------------------------------------------------------------------

SCIFACT_CONFTEST = """
import sys
from pathlib import Path

import numpy as np
import pytest

from rag.options import Chunking, Options, Settings
from rag.pipeline import RagPipeline

HERE = Path(__file__).parent
STORED = np.load({vectors!r})
TEXTS = {{}}


class Stored:
    '''The vectors of all-MiniLM-L6-v2 that come with the collection, by text.'''

    limit = 256

    def lengths(self, texts):
        return [len(text.split()) for text in texts]

    def question(self, query):
        vector = TEXTS[query]
        return vector, vector.reshape(1, -1)

    def embed(self, texts):
        return np.stack([TEXTS[text] for text in texts])


def stored(model):
    import json
    documents = dict(zip(STORED["doc_ids"].tolist(), STORED["docs"]))
    queries = dict(zip(STORED["query_ids"].tolist(), STORED["queries"]))
    for line in (HERE / "corpus" / "corpus.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        TEXTS[(record["title"] + " " + record["text"]).strip()] = documents[record["_id"]]
    for line in (HERE / "golden" / "sets" / "scifact.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        TEXTS[record["question"]] = queries[record["source_id"]]
    return Stored()


@pytest.fixture(scope="session")
def rag_pipeline():
    settings = Settings(
        tokenizer="simple", chunking=Chunking(mode="whole"), search=Options(rerank="none"), token_index_to=0
    )
    return RagPipeline(settings, HERE, quiet=True, encoder=stored)
"""
SCIFACT_CONFIGS = """
defaults: {sparse: false, dense: false, dense_search: exact, top_k: 100}
configurations:
  bm25: {overrides: {sparse: true}}
  exact: {overrides: {dense: true}}
  hnsw: {overrides: {dense: true, dense_search: hnsw}, paired: exact}
"""


def test_scifact_from_import_to_summary_scores_what_pytrec_eval_says_of_independent_tools(scifact, tmp_path):
    """nDCG@10 over all 300 queries: 0.6519 by rank_bm25, 0.6451 by exact cosine, and hnswlib within 0.002 of that."""
    run(["-m", "pytest_ragbench.cli", "import", "beir", str(scifact), "--to", str(tmp_path)], tmp_path)
    (tmp_path / "conftest.py").write_text(SCIFACT_CONFTEST.format(vectors=str(scifact / "minilm.npz")))
    (tmp_path / "golden" / "configs.yaml").write_text(SCIFACT_CONFIGS)
    run(["-m", "pytest", *CALM, "-q", "--rag-configs=bm25,exact,hnsw"], tmp_path)
    results, rows = rows_of(tmp_path)
    assert {name: result["rows"] for name, result in results.items()} == {
        key: {"scored": 300, "errored": 0, "not_run": 0} for key in ("bm25", "exact", "hnsw")
    }
    scored = {name: result["overall"]["ndcg@10"]["mean"] for name, result in results.items()}
    assert scored["bm25"] == pytest.approx(0.6519, abs=5e-5)
    assert scored["exact"] == pytest.approx(0.6451, abs=5e-5)
    assert scored["hnsw"] == pytest.approx(scored["exact"], abs=0.002)
    by_row = defaultdict(list)
    for row in rows:
        by_row[row["configuration"]].append(row["metrics"]["ndcg@10"])
    assert np.mean(by_row["bm25"]) == pytest.approx(scored["bm25"], abs=1e-9)
