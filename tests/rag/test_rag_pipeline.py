"""The composed pipeline: what a search reports, what it caches, and what it does not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag.assembly import LANES
from rag.cutoff import cut
from rag.fusion import fuse
from rag.models import torch_threads
from rag.records import Chunk, Scored

ROOT = Path(__file__).resolve().parents[2]
NOTES = {
    "a.md": "# Root finding\n\nbisection halves the bracket",
    "b.md": "# Locks\n\na mutex guards a bracket of code",
    "c.md": "# Locks\n\na spinlock spins",
    "d.md": "# Pools\n\nswimming is healthy",
}


def files(chunks):
    return [chunk.file for chunk in chunks]


def test_a_search_reports_each_stage_with_its_ranking_and_its_time(write, pipeline):
    write(NOTES)
    search = pipeline(search={"rerank": "late-interaction", "top_k": 2})
    search.search("warm up")
    result = search.search("mutex bracket")
    assert list(result.stages) == ["sparse", "dense", "fusion", "rerank", "cut"]
    assert result.lanes_run == ("sparse", "dense")
    assert files(result.stages["sparse"]) == ["b.md", "a.md"]
    assert len(result.stages["dense"]) == len(result.stages["fusion"]) == 4
    assert result.chunks == result.stages["cut"]
    assert len(result.chunks) == 2
    assert set(result.timings) == {"sparse", "embed", "dense", "fusion", "rerank", "cut", "search"}
    parts = sum(ms for stage, ms in result.timings.items() if stage != "search")
    assert result.timings["search"] == pytest.approx(parts)
    assert not result.cold
    assert result.chunks[0].heading == ("Locks",)
    assert result.chunks[0].text == "a mutex guards a bracket of code"


def test_one_lane_is_not_fused_and_what_is_off_does_not_run(write, pipeline, encoder):
    write(NOTES)
    result = pipeline().search("mutex", dense=False)
    assert list(result.stages) == ["sparse", "cut"]
    assert result.lanes_run == ("sparse",)
    assert not encoder.counts


def test_the_first_search_is_cold_and_says_what_loading_took(write, pipeline):
    write(NOTES)
    search = pipeline()
    cold = search.search("mutex")
    assert cold.cold
    assert cold.timings["load"] > max(cold.timings["sparse"], cold.timings["dense"])
    assert not search.search("spinlock").cold
    assert pipeline().search("mutex").cold  # another process loads again


def test_a_question_that_comes_again_is_embedded_once_and_charged_as_the_first_time(write, pipeline, encoder):
    write(NOTES)
    search = pipeline()
    search.warm()
    first = search.search("mutex")
    assert encoder.counts["question"] == 2
    again = search.search("mutex", top_k=1)
    assert again.cached == ("sparse", "embed", "dense", "fusion")
    for stage in ("sparse", "embed", "dense"):
        assert again.timings[stage] == first.timings[stage]
    other = search.search("mutex", dense_pool=50)
    assert other.cached == ("sparse", "embed", "fusion")  # four chunks: the longer pool found the same ranking
    assert encoder.counts["question"] == 2


def test_switching_a_lane_on_in_another_arm_changes_no_lane_that_was_on(write, pipeline):
    write(NOTES)
    search = pipeline()
    alone = search.search("mutex bracket", dense=False)
    both = search.search("mutex bracket")
    assert both.stages["sparse"] == alone.stages["sparse"]


def test_a_lane_and_a_reranker_of_ones_own_take_the_place_of_ours(write, pipeline, encoder):
    class Newest:
        def search(self, request, meter):
            return meter.stage("sparse", (request.text,), lambda: (Scored(3, 2.0), Scored(0, 1.0)))

    class Reversed:
        fuses = False

        def scores(self, _query, texts, meter):
            meter.charge("rerank", 1.5)
            return [float(rank) for rank, _ in enumerate(texts)]

    write(NOTES)
    search = pipeline(
        lanes={**LANES, "sparse": lambda _: Newest()}, rerankers={"late-interaction": lambda _: Reversed()}
    )
    result = search.search("mutex", dense=False, rerank="late-interaction")
    assert files(result.stages["sparse"]) == ["d.md", "a.md"]
    assert files(result.chunks) == ["a.md", "d.md"]
    assert result.timings["rerank"] == 1.5
    assert not encoder.counts
    assert files(search.search("mutex").stages["fusion"])[0] in ("a.md", "d.md")


def test_a_failed_search_leaves_nothing_behind(write, pipeline, encoder, monkeypatch):
    write(NOTES)
    search = pipeline()
    search.warm()

    def broken(texts):
        raise RuntimeError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "question", broken)
        with pytest.raises(RuntimeError):
            search.search("mutex")
    assert files(search.search("mutex").chunks)[0] == "b.md"
    assert "dense" not in search.search("spinlock").cached


def test_warm_builds_what_the_overrides_need_and_no_more(write, pipeline, encoder):
    write(NOTES)
    search = pipeline()
    search.warm(dense=False)
    assert not encoder.counts
    search.warm()
    assert not search.search("mutex").cold


def test_describe_is_strict_json_and_loads_no_model(write, pipeline, encoder):
    write(NOTES)
    described = pipeline().describe()
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    assert described["chunks"] == described["files"] == 4
    assert described["failed"] == 0
    assert described["k"] == 10
    assert described["model"] == "all-MiniLM-L6-v2"
    assert not encoder.counts
    assert pipeline(search={"top_k": 3}).describe()["config_digest"] != described["config_digest"]
    assert pipeline(threads=1).describe()["config_digest"] == described["config_digest"]


def test_what_the_index_holds_of_a_file_can_be_asked_for_under_any_spelling_of_its_name(write, pipeline):
    write({"Notes/Über.md": "# One\n\nmutex\n\n# Two\n\nlock\n", "other.md": "# Three\n\nqueue\n"})
    search = pipeline()
    held = search.indexed_chunks("notes/u\u0308ber.md")
    assert [chunk.heading for chunk in held] == [("One",), ("Two",)]
    assert search.indexed_chunks("absent.md") == ()


def test_an_absent_embedding_model_is_refused_by_name_where_it_is_needed(write, pipeline):
    write(NOTES)
    search = pipeline(model="nobody/no-such-model")
    assert search.search("mutex", dense=False).chunks
    assert search.describe()["model_digest"] is None
    with pytest.raises(ValueError, match="nobody/no-such-model"):
        search.check_overrides(dense=True)
    search.check_overrides(dense=False)


def test_a_missing_library_is_refused_by_name(write, pipeline, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "hnswlib" else find(name))
    with pytest.raises(ValueError, match="pip install hnswlib"):
        pipeline().check_overrides(dense_search="hnsw")
    pipeline().check_overrides(dense_search="exact")


PROBE = """
import json, sys
from pathlib import Path
from rag.options import Settings
from rag.pipeline import RagPipeline
root = Path(sys.argv[1])
search = RagPipeline(Settings(search={"rerank": "none"}), root, quiet=True)
search.check_overrides(sparse=True, dense=False)
search.describe()
result = search.search("mutex", dense=False)
heavy = [name for name in ("torch", "transformers", "sentence_transformers", "hnswlib") if name in sys.modules]
print(json.dumps({"files": [chunk.file for chunk in result.chunks], "heavy": heavy}))
"""


def test_a_sparse_only_search_imports_no_torch_and_builds_no_embeddings(write, tmp_path):
    write(NOTES)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"files": ["b.md"], "heavy": []}
    assert not (tmp_path / ".ragbench" / "cache").exists()


def test_importing_the_package_imports_nothing_heavy():
    probe = "import sys, rag; print([n for n in ('numpy', 'pydantic', 'yaml', 'torch') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_real_model_finds_what_shares_no_word(write, tmp_path, sentence_encoder):
    from rag.options import Settings
    from rag.pipeline import RagPipeline

    write(NOTES)
    search = RagPipeline(Settings(), tmp_path, quiet=True, encoder=lambda _: sentence_encoder)
    result = search.search("narrowing the interval that encloses a zero of a function")
    assert result.chunks[0].file == "a.md"
    assert files(search.search("threads wait in a busy loop", sparse=False).chunks[:2]) in (
        ["c.md", "b.md"],
        ["b.md", "c.md"],
    )


# -- fusion and cut ----------------------------------------------------------------------------------------------------


def ranking(*positions):
    return tuple(Scored(position, 1.0) for position in positions)


def test_fusion_sums_reciprocal_ranks():
    # Position 2: 1/61 + 1/62; position 1: 1/62 + 1/63; 0 and 3 stand once, at ranks 3 and 1 of 60 + r.
    fused = fuse([ranking(2, 1, 0), ranking(3, 2, 1)], k=60)
    assert [position for position, _ in fused] == [2, 1, 3, 0]
    assert [score for _, score in fused] == pytest.approx([1 / 61 + 1 / 62, 1 / 62 + 1 / 63, 1 / 61, 1 / 63])


def test_equal_sums_keep_the_order_of_the_index():
    assert [position for position, _ in fuse([ranking(5, 4), ranking(4, 5)])] == [4, 5]
    assert fuse([(), ()]) == ()


def test_a_file_gives_at_most_so_many_chunks():
    chunks = [Chunk(str(number), file, "") for number, file in enumerate("aaabbc")]
    assert [p for p, _ in cut(ranking(0, 1, 2, 3, 4, 5), chunks, 4, 1)] == [0, 3, 5]
    assert [p for p, _ in cut(ranking(0, 1, 2, 3, 4, 5), chunks, 3, 2)] == [0, 1, 3]
    assert [p for p, _ in cut(ranking(0, 1, 2, 3, 4, 5), chunks, 3, None)] == [0, 1, 2]


def test_max_per_file_through_the_pipeline(write, pipeline):
    write({"a.md": "# A\n\nbracket\n\n# B\n\nbracket", "b.md": "bracket"})
    search = pipeline()
    assert files(search.search("bracket", dense=False, max_per_file=1).chunks) == ["a.md", "b.md"]
    assert len(search.search("bracket", dense=False).chunks) == 3


# -- threads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "environment", "expected"),
    [
        (3, {"OMP_NUM_THREADS": "1"}, 3),
        (None, {"RAG_THREADS": "5", "OMP_NUM_THREADS": "1"}, 5),
        (None, {"OMP_NUM_THREADS": "2"}, 2),
        (None, {"PYTEST_XDIST_WORKER_COUNT": "4"}, 2),
        (None, {"PYTEST_XDIST_WORKER_COUNT": "3"}, 2),
        (None, {"PYTEST_XDIST_WORKER_COUNT": "16"}, 1),
        (None, {"RAG_THREADS": "many"}, 8),
        (None, {}, 8),
    ],
)
def test_torch_threads_are_as_asked_else_cores_by_workers(asked, environment, expected, monkeypatch):
    import os

    for name in ("RAG_THREADS", "OMP_NUM_THREADS", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert torch_threads(asked) == expected
