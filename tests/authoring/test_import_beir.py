"""BEIR folders as projects: the set and the corpus that are written, and every problem with its place and remedy."""

from __future__ import annotations

import gzip
import json

import pytest

from pytest_ragbench.authoring.importing.beir import import_beir
from pytest_ragbench.errors import InputError, UsageError
from pytest_ragbench.questions.loading import load_questions

DOCUMENTS = {"d1": "first", "d2": "second", "../d3": "third"}
QUERIES = {"10": "what is ten?", "2": "what is two?", "x": "never judged"}
QRELS = ["query-id\tcorpus-id\tscore", "2\td1\t1", "2\t../d3\t1", "10\td2\t1"]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "small-set"
    (folder / "qrels").mkdir(parents=True)
    corpus = [json.dumps({"_id": name, "title": "T", "text": text}) for name, text in DOCUMENTS.items()]
    queries = [json.dumps({"_id": name, "text": text, "metadata": {}}) for name, text in QUERIES.items()]
    for name, lines in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels/test.tsv", QRELS)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def append(path, *lines):
    path.write_text(path.read_text(encoding="utf-8") + "".join(line + "\n" for line in lines), encoding="utf-8")


def problems_of(source, target, **options):
    with pytest.raises(InputError) as caught:
        import_beir(source, target, **options)
    assert not target.exists()
    assert sorted(path.name for path in target.parent.iterdir()) == [source.name]
    return caught.value.problems


def test_each_judged_query_is_a_question_by_sorted_source_id(source, tmp_path):
    imported = import_beir(source, tmp_path / "out")
    questions = load_questions(tmp_path / "out" / "golden" / "sets").questions
    assert [(q.id, q.source_id, q.text) for q in questions] == [
        ("small-set-0001", "10", "what is ten?"),
        ("small-set-0002", "2", "what is two?"),
    ]
    assert [[gold.locator.file for gold in q.gold] for q in questions] == [["d2"], ["%2E%2E%2Fd3", "d1"]]
    assert all(gold.required for q in questions for gold in q.gold)
    assert {(q.suite, q.tier, q.split, q.provenance.author, q.provenance.status) for q in questions} == {
        ("small-set", "T2", "dev", "owner", "verified")
    }
    assert (imported.added, imported.kept, imported.documents, imported.notes) == (2, 0, 3, ())


def test_the_corpus_is_written_sorted_under_the_names_that_the_gold_uses(source, tmp_path):
    import_beir(source, tmp_path / "out")
    lines = (tmp_path / "out" / "corpus" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"_id": "%2E%2E%2Fd3", "title": "T", "text": "third"},
        {"_id": "d1", "title": "T", "text": "first"},
        {"_id": "d2", "title": "T", "text": "second"},
    ]


def test_suite_split_tier_and_judgments_are_chosen(source, tmp_path):
    (source / "qrels" / "train.tsv").write_text("x\td1\t1\n", encoding="utf-8")
    import_beir(source, tmp_path / "out", suite="My.Suite", split=None, tier="T3", qrels="train")
    (question,) = load_questions(tmp_path / "out" / "golden" / "sets").questions
    assert (question.id, question.suite, question.tier, question.split) == ("my-suite-0001", "My.Suite", "T3", None)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_each_file_may_be_gzipped(source, tmp_path, name):
    plain = tmp_path / "plain"
    import_beir(source, plain)
    (source / f"{name}.gz").write_bytes(gzip.compress((source / name).read_bytes()))
    (source / name).unlink()
    import_beir(source, tmp_path / "zipped")
    for path in sorted(plain.rglob("*.jsonl")):
        assert (tmp_path / "zipped" / path.relative_to(plain)).read_bytes() == path.read_bytes()


def test_line_ends_of_windows_a_byte_order_mark_and_a_missing_header_change_nothing(source, tmp_path):
    import_beir(source, tmp_path / "plain")
    (source / "qrels" / "test.tsv").write_bytes("\r\n".join([*QRELS[1:], "", ""]).encode())
    queries = (source / "queries.jsonl").read_bytes()
    (source / "queries.jsonl").write_bytes(b"\xef\xbb\xbf" + queries.replace(b"\n", b"\r\n"))
    import_beir(source, tmp_path / "odd")
    for path in sorted((tmp_path / "plain").rglob("*.jsonl")):
        assert (tmp_path / "odd" / path.relative_to(tmp_path / "plain")).read_bytes() == path.read_bytes()


def test_grades_above_the_least_are_relevant_and_the_note_says_that_gains_are_binary(source, tmp_path):
    append(source / "qrels" / "test.tsv", "x\td1\t2", "x\td2\t0", "x\t../d3\t-1")
    imported = import_beir(source, tmp_path / "out")
    graded = next(q for q in load_questions(tmp_path / "out" / "golden" / "sets").questions if q.source_id == "x")
    assert [gold.locator.file for gold in graded.gold] == ["d1"]
    (note,) = imported.notes
    assert "is graded (-1, 0, 1, 2)" in note
    assert "gains are binary" in note


def test_judged_queries_without_a_relevant_document_are_left_out_and_counted(source, tmp_path):
    append(source / "qrels" / "test.tsv", "x\td1\t2")
    imported = import_beir(source, tmp_path / "out", min_grade=2)
    assert imported.added == 1
    assert imported.notes[0].startswith("2 judged queries have no document of grade 2 or more and are left out")


def test_a_repeated_judgment_is_dropped_and_counted(source, tmp_path):
    append(source / "qrels" / "test.tsv", "2\td1\t1")
    imported = import_beir(source, tmp_path / "out")
    assert "1 lines of" in imported.notes[0]
    assert "repeat an earlier judgment" in imported.notes[0]


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("2 d2 1", "no tab between the columns"),
        ("2\tQ0\td2\t1", "four columns, as TREC has them"),
        ("2 0 d2 1", "four columns, as TREC has them"),
        ("2\td2", "2 tab-separated columns"),
        ("\td2\t1", "an id is empty"),
        ("2\td2\t1.5", "the grade of 'd2' is '1.5'"),
        ("2\td2\tyes", "the grade of 'd2' is 'yes'"),
        ("2\td2\t12345678901", "the grade of 'd2' is '12345678901'"),
        ("2\td1\t2", "has the grade 1 in line 2 and 2 here"),
        ("query-id\tcorpus-id\tscore", "the grade of 'corpus-id' is 'score'"),
        ("nobody\td1\t1", "the query is judged, but"),
        ("2\tnothing\t1", "the relevant document 'nothing' is not in"),
    ],
)
def test_a_bad_judgment_is_named_by_file_and_line_and_nothing_is_written(source, tmp_path, line, finding):
    append(source / "qrels" / "test.tsv", line)
    (problem,) = problems_of(source, tmp_path / "out")
    assert (problem.file, problem.line) == ((source / "qrels" / "test.tsv").as_posix(), 5)
    assert finding in problem.message


def test_a_document_judged_not_relevant_may_be_missing(source, tmp_path):
    append(source / "qrels" / "test.tsv", "2\tnothing\t0")
    assert import_beir(source, tmp_path / "out").added == 2


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("{", "no JSON object"),
        ('{"_id": 5, "text": "x"}', 'write "5"'),
        ('{"_id": "", "text": "x"}', "is empty"),
        ('{"_id": "d9"}', "has no `text` (found: '_id')"),
        ('{"_id": "d9", "text": null}', "`text` must be text"),
        ('{"_id": "d9", "text": "x", "title": 3}', "`title` must be text"),
        ('{"_id": "d9", "text": "\\udc00"}', "surrogate"),
        ('{"_id": "d9", "text": NaN}', "NaN is not JSON"),
        ('{"_id": "d1", "text": "again"}', "stands twice"),
        ('{"_id": "D1", "text": "case"}', "'D1' and 'd1' are one file to a locator"),
        ('{"_id": "./d1", "text": "dot"}', "'./d1' and 'd1' are one file to a locator"),
    ],
)
def test_a_bad_document_is_named_by_file_and_line_and_nothing_is_written(source, tmp_path, line, finding):
    append(source / "corpus.jsonl", line)
    (problem,) = problems_of(source, tmp_path / "out")
    assert (problem.file, problem.line) == ((source / "corpus.jsonl").as_posix(), 4)
    assert finding in problem.message


def test_documents_that_fold_to_one_file_are_fine_while_none_is_relevant(source, tmp_path):
    append(source / "corpus.jsonl", '{"_id": "aside", "text": "x"}', '{"_id": "Aside", "text": "y"}')
    assert import_beir(source, tmp_path / "out").documents == 5


def test_an_empty_text_and_no_title_are_a_document(source, tmp_path):
    append(source / "corpus.jsonl", '{"_id": "bare", "text": ""}', '{"_id": "null", "text": "", "title": null}')
    assert import_beir(source, tmp_path / "out").documents == 5


def test_problems_of_all_files_are_told_at_once(source, tmp_path):
    append(source / "queries.jsonl", "{")
    append(source / "qrels" / "test.tsv", "bad")
    assert [problem.code for problem in problems_of(source, tmp_path / "out")] == ["bad-json", "bad-qrels-line"]


def test_unknown_queries_and_bad_documents_are_told_at_once(source, tmp_path):
    append(source / "qrels" / "test.tsv", "nobody\td1\t1", "2\tnothing\t1")
    codes = [problem.code for problem in problems_of(source, tmp_path / "out")]
    assert codes == ["unknown-query", "unknown-document"]


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_an_empty_file_says_so(source, tmp_path, name):
    (source / name).write_text("", encoding="utf-8")
    assert "empty-file" in {problem.code for problem in problems_of(source, tmp_path / "out")}


def test_nothing_relevant_is_refused_with_the_grades_found(source, tmp_path):
    (problem,) = problems_of(source, tmp_path / "out", min_grade=3)
    assert "no judgment has a grade of 3 or more (found: 1)" in problem.message


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ({"suite": "T2"}, "name it with --suite"),
        ({"suite": "a b"}, "name it with --suite"),
        ({"min_grade": 0}, "--min-grade 0"),
        ({"qrels": "train"}, "no judgments 'train': it has test"),
        ({"qrels": "../../elsewhere"}, "no judgments '../../elsewhere'"),
    ],
)
def test_a_mistake_in_the_command_says_what_to_do(source, tmp_path, options, finding):
    with pytest.raises(UsageError, match=finding.replace(".", r"\.")):
        import_beir(source, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl"])
def test_a_missing_file_names_the_layout(source, tmp_path, name):
    (source / name).unlink()
    with pytest.raises(UsageError, match=f"has no {name}"):
        import_beir(source, tmp_path / "out")
    with pytest.raises(UsageError, match="is no folder"):
        import_beir(source / "nowhere", tmp_path / "out")


def test_a_target_that_is_a_file_or_cannot_be_written_is_refused(source, tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is no folder; name another with --to"):
        import_beir(source, tmp_path / "file")
    with pytest.raises(UsageError, match="cannot be written"):
        import_beir(source, tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_real_collections_are_imported_whole(collections_dir, tmp_path):
    for name, queries, documents in (("scifact", 300, 5183), ("musique-100", 100, 1890)):
        imported = import_beir(collections_dir / name, tmp_path / name)
        assert (imported.added, imported.documents, imported.notes) == (queries, documents, ())
