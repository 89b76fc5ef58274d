"""Rankings of other tools as a pipeline: trec_eval's order and trec_eval's numbers."""

from __future__ import annotations

import csv
import json
import math

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.errors import InputError, PipelineError, UsageError
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.execution.document_ids import document_file
from pytest_ragbench.execution.trec_run import TrecRun
from pytest_ragbench.questions.model import GoldSource, Locator, Question

COLLECTIONS = ("scifact", "xquad-en", "hotpotqa-100", "musique-100")
RUNS = ("rank_bm25", "bm25s", "minilm")


def questions_of(folder):
    """The judged queries, read here without the package's readers."""
    texts = {}
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        texts[record["_id"]] = record["text"]
    gold = {}
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                gold.setdefault(row["query-id"], []).append(row["corpus-id"])
    return [
        Question(
            id=f"q-{number:04d}",
            text=texts[query],
            suite="imported",
            tier="T2",
            gold=tuple(GoldSource(Locator(document_file(document))) for document in gold[query]),
            source_id=query,
        )
        for number, query in enumerate(sorted(gold), start=1)
    ]


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_rows_from_run_files_give_the_means_of_pytrec_eval(collections_dir, collection):
    folder = collections_dir / collection
    reference = json.loads((collections_dir / "reference.json").read_text(encoding="utf-8"))[collection]
    questions = questions_of(folder)
    pipeline = TrecRun({run: folder / "runs" / f"{run}.trec.gz" for run in RUNS}, folder / "queries.jsonl")
    for run in RUNS:
        configuration = Configuration(run, run, {"run": run})
        rows = [measure(pipeline, question, configuration, k=10).row for question in questions]
        assert [row["error"] for row in rows] == [None] * reference[run]["nq"]
        for ours, theirs in (("ndcg@10", "ndcg10"), ("recall@10", "recall10"), ("mrr@10", "mrr10")):
            mean = math.fsum(row["metrics"][ours] for row in rows) / len(rows)
            assert mean == pytest.approx(reference[run][theirs], abs=1e-9), (run, ours)


# Scores that are equal in single precision and not in double, that differ there, and that overflow it.
scores = st.sampled_from(
    [1.0, 1.0 + 1e-9, 1.0 + 2e-7, 0.1, 0.1 + 1e-12, -3.0, 0.0, -0.0, 16777217.0, 16777216.0, 1e39, 1e40]
)


@given(st.dictionaries(st.text("aBé1", min_size=1, max_size=3), scores, min_size=1, max_size=8), st.randoms())
def test_the_order_is_that_of_trec_eval_ties_and_single_precision_included(tmp_path_factory, ranking, random):
    folder = tmp_path_factory.mktemp("run")
    documents = list(ranking)
    random.shuffle(documents)
    lines = [f"q Q0 {document} {random.randint(0, 9)} {ranking[document]!r} t\n" for document in documents]
    (folder / "x.trec").write_text("".join(lines), encoding="utf-8")
    (folder / "q.tsv").write_text("q\tthe query\n", encoding="utf-8")
    order = [chunk.file for chunk in TrecRun({"x": folder / "x.trec"}, folder / "q.tsv").search("the query")]
    for document in documents:
        evaluator = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"})
        expected = evaluator.evaluate({"q": ranking})["q"]["recip_rank"]
        assert 1 / (order.index(document) + 1) == pytest.approx(expected)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one.trec").write_text("1 Q0 a 1 2.0 t\n1 Q0 ../b 2 1.0 t\n2 Q0 c 1 1.0 t\n", encoding="utf-8")
    (tmp_path / "two.trec").write_text("1 Q0 c 1 0.5 t\n", encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("1\tfirst query\n2\tsecond query\n3\tthird query\n", encoding="utf-8")
    return tmp_path


def two_runs(files, queries="queries.tsv"):
    return TrecRun({"one": files / "one.trec", "two": str(files / "two.trec")}, files / queries)


def test_a_ranking_names_documents_as_locators_do_and_keeps_id_and_score(files):
    chunks = two_runs(files).search("first query", run="one")
    assert [(chunk.file, chunk.id, chunk.score) for chunk in chunks] == [("a", "a", 2.0), ("%2E%2E%2Fb", "../b", 1.0)]


def test_a_query_that_a_run_does_not_answer_has_an_empty_ranking(files):
    assert two_runs(files).search("second query", run="two") == []
    assert two_runs(files).search("third query", run="one") == []


def test_an_unknown_text_is_refused_and_the_remedy_named(files):
    with pytest.raises(PipelineError, match=r"no query has the text 'First query'.*keep the texts"):
        two_runs(files).search("First query", run="one")


@pytest.mark.parametrize(
    ("overrides", "finding"), [({}, "no run was named"), ({"run": "three"}, "no run 'three'"), ({"run": 1}, "no run 1")]
)
def test_an_unknown_run_is_refused_with_the_known_ones(files, overrides, finding):
    pipeline = two_runs(files)
    with pytest.raises(PipelineError, match=f"{finding}.*one of: one, two"):
        pipeline.search("first query", **overrides)
    with pytest.raises(ValueError, match=finding):
        pipeline.check_overrides(**overrides)


def test_overrides_are_checked_before_the_first_search(files):
    two_runs(files).check_overrides(run="two")
    with pytest.raises(ValueError, match="no override 'top_k'"):
        two_runs(files).check_overrides(run="two", top_k=5)


def test_a_single_run_needs_no_name(files):
    pipeline = TrecRun({"two": files / "two.trec"}, files / "queries.tsv")
    assert [chunk.file for chunk in pipeline.search("first query")] == ["c"]


def test_two_queries_of_one_text_must_have_one_ranking(files):
    (files / "twins.tsv").write_text("1\tsame\n2\tsame\n", encoding="utf-8")
    with pytest.raises(UsageError, match="'1' and '2' have one text, 'same', but the run 'one' ranks them differently"):
        two_runs(files, "twins.tsv")
    (files / "one.trec").write_text("1 Q0 a 1 2 t\n2 Q0 a 1 9 t\n", encoding="utf-8")
    pipeline = TrecRun({"one": files / "one.trec"}, files / "twins.tsv")
    assert [chunk.file for chunk in pipeline.search("same")] == ["a"]


def test_a_query_that_no_run_answers_gives_way_to_one_of_the_same_text(files):
    (files / "twins.tsv").write_text("9\tsame\n1\tsame\n", encoding="utf-8")
    assert [chunk.file for chunk in two_runs(files, "twins.tsv").search("same", run="two")] == ["c"]


def question(number, text, source_id, **fields):
    return Question(f"q-{number:04d}", text, "s", "T2", gold=(GoldSource(Locator("a")),), source_id=source_id, **fields)


def test_questions_are_joined_by_their_source_id_even_when_their_text_was_edited(files):
    questions = [question(1, "The first query, edited", "1"), question(2, "by hand", None)]
    pipeline = TrecRun({"one": files / "one.trec"}, questions)
    assert pipeline.search("The first query, edited")[0].file == "a"
    with pytest.raises(PipelineError):
        pipeline.search("by hand")


def test_questions_of_two_collections_with_one_source_id_are_refused(files):
    with pytest.raises(UsageError, match="the query '1' has two texts"):
        TrecRun({"one": files / "one.trec"}, [question(1, "x", "1"), question(2, "y", "1")])


def test_questions_without_a_source_id_leave_nothing_to_answer(files):
    with pytest.raises(UsageError, match="no question has a `source_id`"):
        TrecRun({"one": files / "one.trec"}, [question(1, "x", None)])


def test_a_question_set_in_jsonl_is_told_from_beirs_queries(files):
    record = {
        "id": "q-0001",
        "question": "asked",
        "suite": "s",
        "tier": "T2",
        "gold": [{"file": "a"}],
        "source_id": "1",
    }
    (files / "set.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    (files / "queries.jsonl").write_text('{"_id": "1", "text": "asked", "metadata": {"id": 5}}\n', encoding="utf-8")
    for name in ("set.jsonl", "queries.jsonl"):
        assert TrecRun({"two": files / "two.trec"}, files / name).search("asked")[0].file == "c"


def test_every_problem_of_every_file_is_told_at_once(files):
    (files / "one.trec").write_text("bad\n", encoding="utf-8")
    (files / "queries.tsv").write_text("no tab\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        two_runs(files)
    assert [problem.code for problem in caught.value.problems] == ["bad-run-line", "bad-query"]


def test_a_folder_of_runs_is_named_by_its_files(files):
    assert TrecRun.from_folder(files, files / "queries.tsv").names == ("one", "two")
    (files / "one.run").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="both named 'one'"):
        TrecRun.from_folder(files, files / "queries.tsv")
    (files / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no run file"):
        TrecRun.from_folder(files / "empty", files / "queries.tsv")


def test_the_description_changes_with_a_ranking_and_not_with_the_order_of_lines(files):
    before = two_runs(files).describe()
    lines = (files / "one.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    (files / "one.trec").write_text("".join(reversed(lines)), encoding="utf-8")
    assert two_runs(files).describe() == before
    (files / "one.trec").write_text("".join(lines[:2]), encoding="utf-8")
    assert two_runs(files).describe() != before
