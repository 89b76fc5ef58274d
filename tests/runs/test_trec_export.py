"""TREC files of a run: other tools compute our document-level numbers from them, and keep our order."""

import json
import random
import unicodedata
from itertools import pairwise
from urllib.parse import unquote

import pytest
import pytrec_eval

from pytest_ragbench.canonical import fold_path
from pytest_ragbench.cli import main
from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.execution.source_lines import Findings
from pytest_ragbench.execution.trec_files import read_run
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.runs.trec import document_id, write_trec

FILES = [f"Notes/File {number}.md" for number in range(12)]


def random_questions(count, seed=1):
    """One to three required sources in different files, spelt otherwise than the chunks will be."""
    chance = random.Random(seed)
    found = []
    for number in range(1, count + 1):
        files = chance.sample(FILES, chance.choice([1, 1, 2, 3]))
        gold = tuple(GoldSource(Locator(file.upper().replace("/", "\\"), pages=(1, 2))) for file in files)
        optional = GoldSource(Locator("optional.md"), required=False)
        found.append(
            Question(f"lex-{number:04d}", f"question {number}", "lexical", "T1", "dev", gold=(*gold, optional))
        )
    return found


def random_lists(questions, seed):
    """Rankings with repeated files, optional ones, tied and rising scores, and some that are empty."""
    chance = random.Random(seed)
    lists = {}
    for question in questions:
        files = chance.choices([*FILES, "optional.md"], k=chance.choice([0, 3, 10, 15]))
        lists[question.id] = [
            {"file": file, "pages": [page, page], "score": chance.choice([None, 1.0, float(rank)]), "id": str(rank)}
            for rank, (file, page) in enumerate((file, chance.randint(1, 5)) for file in files)
        ]
    return lists


def read_qrels(path):
    qrels = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    return qrels


def read_lines(path):
    run = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    return run


MEASURES = {"doc_ndcg@10": "ndcg_cut_10", "doc_recall@10": "recall_10", "doc_mrr@10": "recip_rank"}
MEASURES |= {"doc_hit@1": "success_1", "doc_hit@5": "success_5", "doc_hit@10": "success_10"}


def test_pytrec_eval_gives_our_document_level_metrics_from_the_exported_files(run_of, tmp_path):
    questions = random_questions(120)
    record = run_of(questions, {"one": random_lists(questions, 2), "F:two": random_lists(questions, 3)})
    write_trec(record, tmp_path / "out")
    rows = {(row["question"], row["configuration"]): row for row in record.rows()}
    evaluator = pytrec_eval.RelevanceEvaluator(
        read_qrels(tmp_path / "out" / "qrels.txt"), {"ndcg_cut.10", "recall.10", "recip_rank", "success.1,5,10"}
    )
    for name, file in (("one", "one.run"), ("F:two", "F.two.run")):
        theirs = evaluator.evaluate(read_lines(tmp_path / "out" / file))
        assert len(theirs) == 120  # the empty rankings too: a zero, not a question less
        for query, values in theirs.items():
            ours = rows[query, name]["metrics"]
            assert {metric: values[name_] for metric, name_ in MEASURES.items()} == pytest.approx(
                {metric: ours[metric] for metric in MEASURES}, abs=1e-9
            )
    assert any(row["ranking"] == [] for row in rows.values())


def test_scores_fall_strictly_and_the_reader_of_runs_keeps_the_order(run_of, tmp_path):
    questions = random_questions(40)
    record = run_of(questions, {"one": random_lists(questions, 4)})
    write_trec(record, tmp_path / "out")
    findings = Findings()
    run = read_run(tmp_path / "out" / "one.run", findings)
    assert not findings
    assert run.contradicted == 0
    lines = [line.split() for line in (tmp_path / "out" / "one.run").read_text(encoding="utf-8").splitlines()]
    assert [line[0] for line in lines] == sorted(line[0] for line in lines)
    for row in record.rows():
        mine = [(line[2], int(line[3]), float(line[4])) for line in lines if line[0] == row["question"]]
        assert [document for document, _, _ in mine] == [document for document, _ in run.rankings[row["question"]]]
        assert [rank for _, rank, _ in mine] == list(range(1, len(mine) + 1))
        assert all(above[2] > below[2] for above, below in pairwise(mine))
        files = [fold_path(ranked["file"]) for ranked in row["ranking"]]
        assert [unquote(document.partition("#")[0]) for document, _, _ in mine] == (files or [""])


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ("Notes\\A b.md", "notes/a%20b.md"),
        ("./x//C#.md", "x/c%23.md"),
        ("100%.md", "100%25.md"),
        ("tab\tand\u00a0nbsp\u2003em\u3000wide.md", "tab%09and%C2%A0nbsp%E2%80%83em%E3%80%80wide.md"),
        (unicodedata.normalize("NFD", "Über.md"), "über.md"),
    ],
)
def test_a_document_is_the_folded_path_with_what_splits_a_line_encoded(file, document):
    assert document_id(file) == document
    assert len(document.split()) == 1
    assert unquote(document) == fold_path(file)


def test_a_repeated_file_keeps_its_rank_under_an_id_without_judgment(run_of, question_of, tmp_path):
    record = run_of([question_of(1, files=["a.md", "b.md"])], {"one": {"lex-0001": ["a.md", "A.md", "b.md"]}})
    write_trec(record, tmp_path / "out")
    assert (tmp_path / "out" / "one.run").read_text() == (
        "lex-0001 Q0 a.md 1 3 one\nlex-0001 Q0 a.md#2 2 2 one\nlex-0001 Q0 b.md 3 1 one\n"
    )
    assert (tmp_path / "out" / "qrels.txt").read_text() == "lex-0001 0 a.md 1\nlex-0001 0 b.md 1\n"


def test_an_empty_ranking_is_a_line_and_an_error_is_none(run_of, question_of, tmp_path):
    record = run_of([question_of(1), question_of(2)], {"one": {"lex-0001": [], "lex-0002": RuntimeError("x")}})
    write_trec(record, tmp_path / "out")
    assert (tmp_path / "out" / "one.run").read_text() == "lex-0001 Q0 #none 1 1 one\n"


def test_sealed_questions_stand_in_files_that_say_so(run_of, question_of, tmp_path, monkeypatch, capsys):
    questions = [question_of(1), question_of(2, split="test")]
    run_of(questions, {"one": {question.id: ["g2.md"] for question in questions}}, split="all")
    monkeypatch.chdir(tmp_path)
    assert main(["export", "last", "--runs-dir", "runs", "--trec", "out"]) == 0
    assert "1 of them of the sealed test split, in files *.sealed.*" in capsys.readouterr().out
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert sorted(texts) == ["one.run", "one.sealed.run", "qrels.sealed.txt", "qrels.txt"]
    for name, text in texts.items():
        assert ("lex-0002" in text) is ("sealed" in name)
        assert ("lex-0001" in text) is ("sealed" not in name)


def test_a_folder_that_holds_something_is_refused(run_of, question_of, tmp_path):
    record = run_of([question_of(1)], {"one": {}})
    write_trec(record, tmp_path / "out")
    with pytest.raises(UsageError, match="it is not empty; name a new folder"):
        write_trec(record, tmp_path / "out")


def test_the_same_record_gives_the_same_bytes(run_of, tmp_path):
    questions = random_questions(20)
    record = run_of(questions, {"one": random_lists(questions, 5)})
    for name in ("a", "b"):
        write_trec(record, tmp_path / name)
    for file in ("one.run", "qrels.txt"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.parametrize("marker", ["../evil", "a/b", "", ".hidden"])
def test_a_marker_that_would_lead_out_of_the_folder_is_refused(run_of, question_of, tmp_path, marker):
    arms = [Configuration("one", marker or " ", {"name": "one"})]
    record = run_of([question_of(1)], {"one": {}}, arms=arms)
    with pytest.raises(RecordError, match=r"run.json: configuration 'one', marker .*: bad name"):
        write_trec(record, tmp_path / "deep" / "out")
    assert not (tmp_path / "deep").exists()


def test_two_configurations_never_share_a_file(run_of, question_of, tmp_path):
    record = run_of([question_of(1)], {"a": {}, "a.sealed": {}})
    with pytest.raises(UsageError, match=r"two configurations would be written to a\.sealed\.run; rename one"):
        write_trec(record, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_two_configurations_that_differ_in_capitals_alone_share_a_file_on_many_disks(run_of, question_of, tmp_path):
    record = run_of([question_of(1)], {"Solo": {}, "solo": {}})
    said = r"two configurations would be written to Solo\.run and .*solo\.run.*, one file on many disks; rename one"
    with pytest.raises(UsageError, match=said):
        write_trec(record, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("key", "value"), [("configuration", "zz"), ("question", "lex-0009")])
def test_rec_02_a_row_that_was_not_planned_is_told_by_its_cell(run_of, question_of, tmp_path, key, value):
    record = run_of([question_of(1)], {"one": {}})
    path = record.folder / "per_query.jsonl"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}) + "\n")
    with pytest.raises(RecordError, match=f"has a row of .*{value}.*, which was not planned; the record was edited"):
        write_trec(record, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_row_stands_where_its_question_is_sealed_whatever_it_says_of_itself(run_of, question_of, tmp_path):
    record = run_of([question_of(1, split="test")], {"one": {}}, split="test")
    path = record.folder / "per_query.jsonl"
    path.write_text(path.read_text().replace('"split":"test"', '"split":"dev"'))
    write_trec(record, tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["one.sealed.run", "qrels.sealed.txt"]
