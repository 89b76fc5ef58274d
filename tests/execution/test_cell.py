"""One cell: the row of a search, of an error, of an unanswerable question, of an arm without a lane."""

import asyncio
import json
import math
import os
import warnings

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.contract import Chunk
from pytest_ragbench.execution.cell import ERROR_CHARACTERS, error_row, measure
from pytest_ragbench.execution.paths import below, forget
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.chunks import chunk_line, chunk_name
from pytest_ragbench.records.rowline import row_line

CONFIGURATION = Configuration("R0", "R0", {"sparse": True, "pool": {"size": 3}})
GOLD = (GoldSource(Locator("a.md", heading=("Ch 1",))), GoldSource(Locator("b.md")))
QUESTION = Question("lex-0001", "what?", "lexical", "T1", "dev", gold=GOLD, nuggets=("alpha beta",), domain="os")
KEYS = {
    "question", "configuration", "suite", "tier", "domain", "split", "strategy", "author", "ranking", "metrics", "timings",
    "lanes_run", "cold", "cached", "hyde_cache", "difficulty", "losses", "error",
}  # fmt: skip


class Scripted:
    def __init__(self, result):
        self.result = result
        self.calls = []

    def search(self, query, **overrides):
        self.calls.append((query, overrides))
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


class Mute(Exception):  # noqa: N818
    def __str__(self):
        raise RuntimeError


def run(result, question=QUESTION, configuration=CONFIGURATION, k=10, **options):
    return measure(Scripted(result), question, configuration, k=k, **options)


def test_the_row_has_every_key_and_ranks_with_matches():
    chunks = [
        {"file": "x.md", "id": "1", "text": "alpha"},
        {"file": "a.md", "id": "2", "heading": "Ch 1 > Proof", "score": 0.5},
        {"file": "a.md", "id": "3", "heading": "Ch 2"},
    ]
    row = run({"chunks": chunks, "lanes_run": ["sparse"]}).row
    assert row.keys() == KEYS
    assert row["ranking"][1] == {
        "rank": 2, "id": "2", "file": "a.md", "pages": None, "heading": ("Ch 1", "Proof"), "score": 0.5,
        "text_digest": "e3b0c44298fc1c14",  # sha256 of nothing
        "matches": (0,), "doc_matches": (0,),
    }  # fmt: skip
    assert row["ranking"][2]["matches"] == ()
    assert row["ranking"][2]["doc_matches"] == (0,)
    # One of two required sources, first at rank 2; "alpha" covers one of the nugget's two words.
    assert (row["metrics"]["recall@10"], row["metrics"]["mrr@10"], row["metrics"]["faithfulness"]) == (0.5, 0.5, 0.5)
    assert row["error"] is None
    line = row_line(row)
    assert line == canonical.dumps(row)
    assert canonical.dumps(json.loads(line)) == line


def test_the_ranking_is_cut_at_k_and_a_duplicate_is_kept_but_travels_once():
    measured = run(["b.md", "b.md", "a.md"], k=2)
    assert [entry["file"] for entry in measured.row["ranking"]] == ["b.md", "b.md"]
    assert measured.chunks == (Chunk("b.md", id=chunk_name(Chunk("b.md"))),)
    assert set(measured.row["metrics"]) == set(metric_names(2))


def test_a_chunk_without_an_id_is_named_by_its_place_and_text():
    one, other = Chunk("a.md", (1, 1), text="t"), Chunk("a.md", (1, 2), text="t")
    assert chunk_name(one) == chunk_name(Chunk("a.md", (1, 1), score=0.3, text="t")) != chunk_name(other)
    assert json.loads(chunk_line(one)) == {
        "id": chunk_name(one),
        "file": "a.md",
        "pages": [1, 1],
        "heading": [],
        "text": "t",
    }


def test_two_files_may_count_their_chunks_alike_and_both_travel():
    mine, theirs = ({"file": file, "id": 1, "text": f"of {file}"} for file in ("a.md", "b.md"))
    for result in ([mine, theirs], {"chunks": [mine], "gate": {"removed": [mine, theirs]}}):
        assert [(chunk.id, chunk.file) for chunk in run(result).chunks] == [("1", "a.md"), ("1", "b.md")]


@pytest.mark.parametrize("name", ["", math.nan, None])
def test_an_id_that_names_nothing_is_none(name):
    entries = run([{"file": "a.md", "id": name}, {"file": "b.md", "id": name}]).row["ranking"]
    assert [entry["id"] for entry in entries] == [chunk_name(Chunk("a.md")), chunk_name(Chunk("b.md"))]


def test_extras_stand_in_the_row_only_when_they_are_reported():
    row = run({"chunks": [], "route": {"course": "os"}, "answer": "yes"}).row
    assert (row["route"], row["answer"]) == ({"course": "os", "expected": None}, "yes")
    assert not {"gate", "walk", "stages"} & row.keys()


def test_met_09_an_empty_ranking_scores_zero_and_stays_a_row():
    row = run([]).row
    assert row["ranking"] == []
    assert {row["metrics"][name] for name in metric_names(10)} == {0.0}


def test_met_10_an_unanswerable_question_has_null_for_every_metric():
    question = Question("una-0001", "what?", "unanswerable", "T1", "dev", answerable=False)
    assert set(run(["a.md"], question).row["metrics"].values()) == {None}


def test_faithfulness_is_null_without_nuggets_and_answer():
    question = Question("lex-0002", "what?", "lexical", "T1", "dev", gold=GOLD)
    assert run(["a.md"], question).row["metrics"]["faithfulness"] is None


def test_met_15_what_a_search_raises_is_an_error_row():
    measured = run(ValueError("no index"))
    assert measured.chunks == ()
    assert measured.row["error"] == "ValueError: no index"
    assert measured.row["ranking"] == []
    assert set(measured.row["metrics"].values()) == {None}
    assert measured.row.keys() == KEYS
    assert measured.row["timings"]["search"] >= 0


def test_a_result_that_is_no_ranking_is_an_error_row():
    assert run(None).row["error"].startswith("PipelineError: search returned None")


def test_an_error_that_cannot_be_shown_or_is_endless_still_gives_a_row():
    assert run(Mute()).row["error"] == "Mute: (its message could not be shown)"
    assert len(run(ValueError("x" * 10_000)).row["error"]) == ERROR_CHARACTERS
    canonical.dumps(run(ValueError("\ud800")).row).encode("utf-8")


def test_a_group_tells_the_errors_in_it_and_not_only_their_number():
    inner = ExceptionGroup("lanes", [OSError("no index"), Mute()])
    group = ExceptionGroup("unhandled errors in a TaskGroup", [ConnectionError("refused"), inner])
    assert run(group).row["error"] == (
        "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions) [ConnectionError: refused; "
        "ExceptionGroup: lanes (2 sub-exceptions) [OSError: no index; Mute: (its message could not be shown)]]"
    )
    deep = OSError("x" * 10_000)
    for _ in range(200):
        deep = ExceptionGroup("g", [deep] * 20)
    assert len(run(deep).row["error"]) <= ERROR_CHARACTERS


def endless(query):
    return endless(query)


def warns(_query):
    warnings.warn("old", DeprecationWarning, stacklevel=1)
    return []


def breaks_off(_query):
    yield "a.md"
    raise LookupError("shard 2 is gone")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("pipeline", "said"),
    [
        (endless, "RecursionError: maximum recursion depth exceeded"),
        (warns, "DeprecationWarning: old"),
        (breaks_off, "LookupError: shard 2 is gone"),
        (lambda _: (_ for _ in ()).throw(StopIteration("done")), "RuntimeError: generator raised StopIteration"),
        (lambda _: {"chunks": [], "gate": {"n": 10**5_000}}, "PipelineError: gate.n is a whole number of 16,610 bits"),
        (lambda _: [{"file": "a.md", "pages": [1, 10**5_000]}], "PipelineError: chunks[0].pages is a whole number"),
        (lambda _: [{"file": "a.md", "pages": ["9" * 5_000]}], "PipelineError: chunks[0].pages must be a whole number"),
    ],
)
def test_whatever_goes_wrong_in_a_search_is_a_row_that_can_be_written(pipeline, said):
    row = measure(pipeline, QUESTION, Configuration("R0", "R0"), k=10).row
    assert row["error"].startswith(said)
    line = row_line(row)
    assert canonical.dumps(canonical.loads(line)) == line


def test_a_pipeline_that_exits_or_was_cancelled_has_failed():
    assert run(SystemExit(3)).row["error"] == "SystemExit: 3"
    assert run(asyncio.CancelledError("timeout")).row["error"] == "CancelledError: timeout"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(
    ("child", "status"), [(SystemExit(7), 7), (SystemExit("bye"), 1), (SystemExit(), 0), (OSError(), 1), ([], 0)]
)
def test_a_child_that_the_pipeline_forked_never_leaves_the_search(child, status):
    parent = os.getpid()

    def search(query, **overrides):
        if (process := os.fork()) == 0:
            return Scripted(child).search(query)
        return [f"{os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])}.md"]

    row = measure(search, QUESTION, CONFIGURATION, k=10).row
    if os.getpid() != parent:
        os._exit(99)  # or this child would run all later tests again
    assert [entry["file"] for entry in row["ranking"]] == [f"{status}.md"]


def test_memory_that_ran_out_is_an_error_row():
    assert run(MemoryError()).row["error"] == "MemoryError: "


def test_hostile_and_huge_texts_travel_whole():
    texts = ["\ud800 half", "a\0b\r\n", "\u202e", "ä" * 10_000_000]
    measured = run([{"file": f"{index}.md", "text": text} for index, text in enumerate(texts)])
    lines = [canonical.loads(chunk_line(chunk)) for chunk in measured.chunks]
    assert [line["text"] for line in lines] == ["\\ud800 half", *texts[1:]]
    assert all("\n" not in chunk_line(chunk) for chunk in measured.chunks)


def test_ten_thousand_chunks_are_cut_at_k():
    measured = run([f"{number}.md" for number in range(10_000)])
    assert (len(measured.row["ranking"]), len(measured.chunks)) == (10, 10)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, pytest.skip.Exception, pytest.fail.Exception, pytest.exit.Exception]
)
def test_interrupts_and_pytests_own_outcomes_pass_through(error):
    with pytest.raises(error):
        run(error("stop"))


def test_an_arm_without_a_lane_scores_zero_and_never_searches():
    pipeline = Scripted(["a.md"])
    row = measure(pipeline, QUESTION, Configuration("F:none", "F.none", searches=False), k=10).row
    assert pipeline.calls == []
    assert (row["metrics"]["recall@10"], row["timings"], row["error"]) == (0.0, {"search": 0.0}, None)


def test_a_pipeline_cannot_change_the_overrides_of_the_next_cell():
    def greedy(query, sparse, pool):
        pool["size"] = 99
        return [f"{query}.md"]

    assert measure(greedy, QUESTION, CONFIGURATION, k=10).row["error"] is None
    assert CONFIGURATION.overrides == {"sparse": True, "pool": {"size": 3}}


def test_a_thing_that_cannot_search_is_an_error_that_says_what_to_write():
    row = measure(object(), QUESTION, CONFIGURATION, k=10).row
    assert "search(query, **overrides)" in row["error"]


def test_a_generator_is_timed_to_its_end_and_the_pipelines_own_total_stands():
    def slow():
        import time

        time.sleep(0.02)
        yield "a.md"

    assert run(slow()).row["timings"]["search"] >= 20
    timings = run({"chunks": [], "timings": {"search": 7.5, "sparse": 2}}).row["timings"]
    assert timings == {"search": 7.5, "sparse": 2.0}


def test_sta_13_the_first_search_of_a_process_counts_as_cold_though_the_pipeline_is_silent():
    assert run([], cold=True).row["cold"] is True
    assert run({"chunks": [], "cold": True}).row["cold"] is True
    assert run([]).row["cold"] is False


def test_a_relative_name_is_looked_at_anew_for_another_session_of_the_process(tmp_path, monkeypatch):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.md").write_text("x")
    found = []
    for folder in ("one", "two"):
        forget()
        monkeypatch.chdir(tmp_path / folder)
        found.append(below(Chunk("x.md"), str(tmp_path)).file)
    assert found == ["one/x.md", "two/x.md"]


def test_files_below_the_corpus_are_written_relative_to_it(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("x")
    monkeypatch.chdir(tmp_path)
    root = str(tmp_path / "notes")
    for name in (f"{root}/a.md", "notes/a.md", "a.md", f"{root}/../notes/./a.md"):
        reported = {"gate": {"removed": [name]}, "walk": {"search": [name], "added": [{"chunk": name}]}}
        measured = run({"chunks": [name], "stages": {"fusion": [name]}, **reported}, root=root)
        assert {chunk.file for chunk in measured.chunks} == {"a.md"}, name
        assert measured.row["walk"]["added"] == []  # the search returned it, under whichever name
    for elsewhere in ("/elsewhere/a.md", "missing.md", "notes-old/a.md", "x" * 900, "a\0b"):
        assert run([elsewhere], root=root).row["ranking"][0]["file"] == elsewhere


def test_a_crashed_cell_gets_a_row_of_the_same_shape():
    row = error_row(QUESTION, CONFIGURATION, "WorkerCrash: signal 9", k=10)
    assert row.keys() == KEYS
    assert (row["question"], row["configuration"], row["error"]) == ("lex-0001", "R0", "WorkerCrash: signal 9")
