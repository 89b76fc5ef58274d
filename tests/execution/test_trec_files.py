"""Readers of run files and queries: what is accepted, and the line, the finding and the remedy where something is not."""

from __future__ import annotations

import gzip

import pytest

from pytest_ragbench.errors import InputError
from pytest_ragbench.execution.source_lines import SHOWN, Findings, numbered_lines
from pytest_ragbench.execution.trec_files import read_queries, read_run


def problems_of(read, path):
    findings = Findings()
    read(path, findings)
    with pytest.raises(InputError) as caught:
        findings.raise_any()
    return caught.value.problems


def clean(read, path):
    findings = Findings()
    found = read(path, findings)
    findings.raise_any()
    return found


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("separator", [" ", "\t", "  \t "])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_run_has_columns_between_any_blanks_and_any_line_end(tmp_path, separator, ending):
    text = "".join(
        separator.join(row) + ending for row in (["q", "Q0", "a", "1", "2.5", "t"], ["q", "Q0", "b", "2", "1e-3", "t"])
    )
    run = clean(read_run, write(tmp_path, "x.trec", text))
    assert [tuple(ranked) for ranked in run.rankings["q"]] == [("a", 2.5), ("b", 0.001)]


def test_gzip_is_known_by_its_bytes_whatever_the_name(tmp_path):
    line = b"q Q0 a 1 1 t\n"
    for name, content in (("x.trec", gzip.compress(line)), ("x.trec.gz", line), ("y.trec.gz", gzip.compress(line))):
        assert "q" in clean(read_run, write(tmp_path, name, content)).rankings


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("q Q0 a 1 1", "5 columns"),
        ("q Q0 a doc 1 1 t", "7 columns"),
        ("q,Q0,a,1,1,t", "1 columns"),
        ("q Q0 a first 1 t", "the rank (fourth column) is 'first'"),
        (f"q Q0 a {'9' * 5_000} 1 t", "the rank (fourth column) is '999"),
        ("q Q0 a 1 high t", "the score (fifth column) is 'high'"),
        ("q Q0 a 1 nan t", "no finite number"),
        ("q Q0 a 1 inf t", "no finite number"),
        ("q Q0 a 1 1e999 t", "no finite number"),
        ("q Q0 a 1 1_0 t", "no finite number"),
        ("q Q0 b 2 1 t", "ranked twice"),
    ],
)
def test_a_bad_line_of_a_run_is_named_by_file_and_line(tmp_path, line, finding):
    path = write(tmp_path, "x.trec", f"q Q0 b 1 2 t\n\n{line}\nq Q0 c 3 0 t\n")
    (problem,) = problems_of(read_run, path)
    assert (problem.file, problem.line) == (path.as_posix(), 3)
    assert finding in problem.message


def test_a_rank_column_that_says_another_order_is_counted_and_decides_nothing(tmp_path):
    against = "q Q0 a 1 1.0 t\nq Q0 b 2 2.0 t\n"
    agrees = "r Q0 a 0 1.0 t\nr Q0 b 0 2.0 t\ns Q0 a 1 1.0 t\ns Q0 b 2 1.0 t\n"
    run = clean(read_run, write(tmp_path, "x.trec", against + agrees))
    assert [ranked.document for ranked in run.rankings["q"]] == ["b", "a"]
    assert run.contradicted == 1


def test_queries_come_as_jsonl_or_tab_separated_with_or_without_a_header(tmp_path):
    expected = {"1": "what is it?", "2": "why é"}
    jsonl = '{"_id": "1", "text": "what is it?", "metadata": {}}\n{"_id": "2", "text": "why é"}\n'
    assert clean(read_queries, write(tmp_path, "q.jsonl", jsonl)) == expected
    assert clean(read_queries, write(tmp_path, "q.jsonl.gz", gzip.compress(jsonl.encode()))) == expected
    assert clean(read_queries, write(tmp_path, "q.tsv", "1\twhat is it?\n2\twhy é\n")) == expected
    assert (
        clean(read_queries, write(tmp_path, "h.tsv", "\ufeffquery_id\ttext\n1\twhat is it?\r\n2\twhy é\r\n"))
        == expected
    )


@pytest.mark.parametrize(
    ("name", "line", "finding"),
    [
        ("q.jsonl", '{"_id": "1"', "no JSON object"),
        ("q.jsonl", '["1", "x"]', "no JSON object"),
        ("q.jsonl", '{"_id": "1", "_id": "2", "text": "x"}', "stands twice in one object"),
        ("q.jsonl", '{"id": "1", "text": "x"}', "no `_id` (found: 'id', 'text')"),
        ("q.jsonl", '{"_id": 1, "text": "x"}', 'write "1"'),
        ("q.jsonl", '{"_id": "1"}', "`text` is missing"),
        ("q.jsonl", '{"_id": "1", "text": " "}', "`text` is empty"),
        ("q.jsonl", '{"_id": "1", "text": 5}', "`text` must be text"),
        ("q.jsonl", '{"_id": "1", "text": "\\ud800"}', "surrogate"),
        ("q.jsonl", '{"_id": "0", "text": "again"}', "stands twice"),
        ("q.tsv", "1 what is it?", "no tab"),
        ("q.tsv", "1\twhat\textra", "more than one tab"),
        ("q.tsv", "1\t", "is empty"),
        ("q.tsv", "<top>", "markup"),
        ("q.tsv", "0\tagain", "stands twice"),
    ],
)
def test_a_bad_query_is_named_by_file_and_line(tmp_path, name, line, finding):
    first = '{"_id": "0", "text": "x"}' if name == "q.jsonl" else "0\tx"
    path = write(tmp_path, name, f"{first}\n{line}\n")
    (problem,) = problems_of(read_queries, path)
    assert (problem.file, problem.line) == (path.as_posix(), 2)
    assert finding in problem.message


@pytest.mark.parametrize(
    ("content", "line", "finding"),
    [
        (b"q Q0 a 1 1 t\nq Q0 \xe9 2 0 t\n", 2, "byte 0xe9 (column 6) is not UTF-8"),
        ("q Q0 a 1 1 t\n".encode("utf-16"), 1, "UTF-16"),
        (gzip.compress(b"q Q0 a 1 1 t\n" * 9, mtime=0)[:-12], None, "gzip archive is damaged"),
        (b"", None, "empty"),
    ],
    ids=["latin-1", "utf-16", "cut gzip", "empty"],
)
def test_a_file_that_is_no_utf8_text_says_so(tmp_path, content, line, finding):
    problem = problems_of(read_run, write(tmp_path, "x.trec", content))[0]
    assert problem.line == line
    assert finding in problem.message


def test_a_missing_file_is_a_problem_and_no_traceback(tmp_path):
    (problem,) = problems_of(read_run, tmp_path / "nothing.trec")
    assert "cannot be read: No such file" in problem.message


def test_of_many_problems_of_one_kind_the_first_are_shown_and_the_rest_counted(tmp_path):
    problems = problems_of(read_run, write(tmp_path, "x.trec", "bad\n" * (SHOWN + 5)))
    assert len(problems) == SHOWN + 1
    assert problems[-1].message == "5 more problems of this kind are not shown"


def test_a_long_file_shows_its_progress_on_a_terminal_only(tmp_path, monkeypatch, capsys):
    path = write(tmp_path, "x.txt", "line\n" * 25)
    monkeypatch.setattr("pytest_ragbench.execution.source_lines.ANNOUNCED", 10)
    assert len(list(numbered_lines(path, Findings(), progress=True))) == 25
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert len(list(numbered_lines(path, Findings(), progress=True))) == 25
    assert "20 lines read" in capsys.readouterr().err
