"""TREC judgments, queries and runs as a project that pytest measures at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from pytest_ragbench.authoring.importing.runs import parse_runs
from pytest_ragbench.authoring.importing.trec import import_trec
from pytest_ragbench.cli import main
from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.errors import InputError, UsageError
from pytest_ragbench.questions.loading import load_questions

QRELS = "1 0 a 1\n1 0 b 0\n2\t0\tc\t2\n3 0 a -1\n"
QUERIES = "1\tfirst query\n2\tsecond query\n3\tthird query\n"
GOOD = "1 Q0 a 1 2.0 good\n1 Q0 b 2 1.0 good\n2 Q0 c 1 1.0 good\n"
POOR = "1 Q0 b 1 2.0 poor\n1 Q0 a 2 1.0 poor\n2 Q0 a 1 1.0 poor\n"


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    for name, text in (("qrels.txt", QRELS), ("queries.tsv", QUERIES), ("good.run", GOOD), ("poor.run", POOR)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def run_import(files, target, *names, **options):
    runs = {name: str(files / f"{name}.run") for name in names}
    return import_trec(files / "qrels.txt", files / "queries.tsv", target, runs=runs, **options)


def test_a_query_with_a_relevant_document_is_a_question(files, tmp_path):
    imported = run_import(files, tmp_path / "out")
    questions = load_questions(tmp_path / "out" / "golden" / "sets").questions
    assert [(q.id, q.source_id, [g.locator.file for g in q.gold]) for q in questions] == [
        ("trec-0001", "1", ["a"]),
        ("trec-0002", "2", ["c"]),
    ]
    assert imported.documents is None
    assert ["is graded" in imported.notes[0], imported.notes[1][:16]] == [True, "1 judged queries"]
    assert not (tmp_path / "out" / "corpus").exists()


def test_each_run_is_a_configuration_and_the_first_is_the_pair_of_the_others(files, tmp_path):
    run_import(files, tmp_path / "out", "poor", "good")
    catalogue = load_catalogue(tmp_path / "out" / "golden" / "configs.yaml", reserved={"trec", "T2"})
    found = {name: (dict(c.overrides), c.pairs) for name, c in catalogue.configurations.items()}
    assert found == {"poor": ({"run": "poor"}, ()), "good": ({"run": "good"}, ("poor",))}
    assert catalogue.experiments["runs"].arms == ("poor", "good")


def test_the_written_project_just_runs_and_names_no_path_of_this_machine(files, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\ntestpaths = ['elsewhere']\n", encoding="utf-8")
    target = tmp_path / "out"
    run_import(files, target, "poor", "good")
    for path in target.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert str(tmp_path) not in text
            assert not re.search(r"[\"' ]/\w", text), path
    command = [sys.executable, "-m", "pytest", "-p", "no:randomly", "--rag-configs=runs"]
    done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
    (summary,) = target.glob(".ragbench/runs/*/summary.json")
    results = json.loads(summary.read_text(encoding="utf-8"))["results"]
    # poor ranks the relevant document of query 1 second and misses that of query 2; good has both first.
    assert results["poor"]["overall"]["mrr@10"]["mean"] == 0.25
    assert results["good"]["overall"]["mrr@10"]["mean"] == 1.0
    assert results["good"]["paired"]["poor"]["mrr@10"]["delta"] == 0.75


def test_a_run_that_leaves_a_question_out_or_contradicts_its_ranks_is_noted(files, tmp_path):
    (files / "good.run").write_text("1 Q0 a 1 1.0 x\n1 Q0 b 2 2.0 x\n", encoding="utf-8")
    notes = run_import(files, tmp_path / "out", "good").notes
    assert any("'good' does not answer 1 of 2 questions; they score 0 in it" in note for note in notes)
    assert any("rank column of the run 'good' contradicts its scores in 1 queries" in note for note in notes)


def test_a_run_of_another_collection_is_refused(files, tmp_path):
    (files / "good.run").write_text("q77 Q0 a 1 1.0 x\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"'good' answers none of the 2 questions .its first query is 'q77'"):
        run_import(files, tmp_path / "out", "good")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("1 a 1", "3 columns; a line is `query 0 document grade`.*ragbench import beir"),
        ("1 0 a b 1", "5 columns"),
        ("1 0 z x", "the grade of 'z' is 'x'"),
        ("query-id\tcorpus-id\tscore", "3 columns"),
        ("1 0 b 1", "has the grade 0 in line 2 and 1 here"),
        ("9 0 a 1", "the query is judged, but"),
    ],
)
def test_a_bad_judgment_is_named_by_file_and_line_and_nothing_is_written(files, tmp_path, line, finding):
    (files / "qrels.txt").write_text(f"{QRELS}{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run_import(files, tmp_path / "out")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ((files / "qrels.txt").as_posix(), 5)
    assert re.search(finding, problem.message)
    assert not (tmp_path / "out").exists()


def test_documents_of_a_run_that_fold_to_a_relevant_one_are_refused(files, tmp_path):
    (files / "good.run").write_text(f"{GOOD}1 Q0 A 3 0.5 good\n", encoding="utf-8")
    with pytest.raises(InputError, match="run good: the documents 'A' and 'a' are one file to a locator"):
        run_import(files, tmp_path / "out", "good")


def test_two_judged_queries_of_one_text_with_two_rankings_are_refused(files, tmp_path):
    (files / "queries.tsv").write_text("1\tsame\n2\tsame\n3\tx\n", encoding="utf-8")
    with pytest.raises(UsageError, match="'1' and '2' have one text, 'same', but the run 'good' ranks them"):
        run_import(files, tmp_path / "out", "good")
    assert run_import(files, tmp_path / "out").added == 2


@pytest.mark.parametrize(
    "name", ["trec", "T1", "runs", "skip", "xfail", "loo", "a/b", "../x", ".hidden", "-x", "a b", "sealed", ""]
)
def test_loc_08_a_run_is_named_by_what_can_be_a_file_and_a_marker(files, tmp_path, name):
    with pytest.raises(UsageError, match="--run"):
        import_trec(files / "qrels.txt", files / "queries.tsv", tmp_path / "out", runs={name: str(files / "good.run")})
    assert not (tmp_path / "out").exists()


def test_names_that_differ_in_case_alone_are_refused(files, tmp_path):
    runs = {"a": str(files / "good.run"), "A": str(files / "poor.run")}
    with pytest.raises(UsageError, match="differs from 'a' in case alone"):
        import_trec(files / "qrels.txt", files / "queries.tsv", tmp_path / "out", runs=runs)


@pytest.mark.parametrize(
    ("typed", "finding"), [(["x"], "write NAME=FILE"), (["=x"], "write NAME=FILE"), (["a=1", "a=2"], "stands twice")]
)
def test_a_mistyped_run_says_how_to_write_it(typed, finding):
    with pytest.raises(UsageError, match=finding):
        parse_runs(typed)


def test_a_file_name_may_hold_an_equals_sign():
    assert parse_runs(["bm25=k1=0.9.trec"]) == {"bm25": "k1=0.9.trec"}


def test_the_command_says_what_was_written_and_what_to_type_next(files, tmp_path, capsys):
    target = tmp_path / "out"
    args = [
        "import",
        "trec",
        "--qrels",
        str(files / "qrels.txt"),
        "--queries",
        str(files / "queries.tsv"),
        "--to",
        str(target),
    ]
    assert main([*args, "--run", f"good={files / 'good.run'}", "--min-grade", "2", "--split", "null"]) == 0
    out = capsys.readouterr().out
    assert "golden/sets/trec.jsonl: 1 questions added, 0 kept" in out
    assert f"cd {target.as_posix()} && pytest --rag-configs=runs" in out
    assert load_questions(target / "golden" / "sets").questions[0].split is None


def test_a_mistake_ends_the_command_with_status_4_and_no_traceback(files, tmp_path, capsys):
    (files / "qrels.txt").write_bytes(b"1 0 \xff 1\n")
    args = ["import", "trec", "--qrels", str(files / "qrels.txt"), "--queries", str(files / "queries.tsv")]
    assert main([*args, "--to", str(tmp_path / "out")]) == 4
    assert "qrels.txt:1: byte 0xff (column 5) is not UTF-8" in capsys.readouterr().err
    assert main(args) == 4
    assert main([*args, "--to", str(tmp_path / "out"), "--split", "all"]) == 4


def test_the_commands_that_are_told_can_be_pasted_whatever_the_folder_is_called(files, tmp_path, capsys):
    arguments = ["--qrels", str(files / "qrels.txt"), "--queries", str(files / "queries.tsv")]
    target = tmp_path / "my bench"
    assert main(["import", "trec", *arguments, "--run", f"good={files / 'good.run'}", "--to", str(target)]) == 0
    assert f"cd '{target.as_posix()}' && pytest --rag-configs=runs" in capsys.readouterr().out
