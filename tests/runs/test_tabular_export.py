"""The rows of a run as CSV and Parquet: every value comes back, and no text is a formula."""

import csv
import importlib.util
import sys

import pytest

from pytest_ragbench.cli import main
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.runs.tabular import Layout, write_csv, write_parquet

FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "+1+1",
    "-x^2 has which root?",
    "@SUM(A1)",
    "\tstarts with a tab",
    "\rstarts with a return",
    "'quoted' already",
    "＝1+1",
]
HARMLESS = ['plain, with "quotes" and a comma', "line1\nline2\r\nline3", "a | b", "Über x², 中文", "0123", "1e5"]


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def hostile(run_of, question_of):
    """Questions of every kind of text; every second one is found."""
    questions = [question_of(number, text=text) for number, text in enumerate([*FORMULAS, *HARMLESS], start=1)]
    found = {question.id: [f"g{number}.md"] for number, question in enumerate(questions, start=1) if number % 2}
    return run_of(questions, {"one": found, "F:two": {}})


def test_rpt_03_text_that_a_spreadsheet_would_run_gets_an_apostrophe_that_can_be_taken_away_again(hostile, tmp_path):
    write_csv(hostile, tmp_path / "rows.csv")
    told = {row["question"]: row["text"] for row in read_csv(tmp_path / "rows.csv")}
    texts = {question.id: question.text for question in hostile.questions()}
    assert len(told) == len(FORMULAS) + len(HARMLESS)
    for name, text in texts.items():
        assert told[name] == (f"'{text}" if text in FORMULAS else text)
        assert not told[name].startswith(tuple("=+-@\t\r\n＝"))
        assert told[name].removeprefix("'") == text


def test_rpt_03_numbers_stay_numbers(run_of, question_of, tmp_path):
    record = run_of([question_of(1)], {"one": {"lex-0001": ["g1.md"]}})
    path = record.folder / "per_query.jsonl"
    path.write_text(path.read_text().replace('"ndcg@10":1.0', '"ndcg@10":-0.028'))
    write_csv(record, tmp_path / "rows.csv")
    (row,) = read_csv(tmp_path / "rows.csv")
    assert row["ndcg@10"] == "-0.028"
    assert ",-0.028," in (tmp_path / "rows.csv").read_text()


def test_a_line_is_a_cell_and_a_column_a_metric_with_its_exact_value(hostile, tmp_path):
    write_csv(hostile, tmp_path / "rows.csv")
    lines = read_csv(tmp_path / "rows.csv")
    rows = list(hostile.rows())
    assert [(line["question"], line["configuration"]) for line in lines] == [
        (row["question"], row["configuration"]) for row in rows
    ]
    for line, row in zip(lines, rows, strict=True):
        for name in metric_names(10):
            value = row["metrics"][name]
            assert line[name] == "" if value is None else float(line[name]) == value
        assert float(line["ms_search"]) == row["timings"]["search"]
        assert (line["run"], line["sealed"], line["ranked"]) == (
            hostile.run["run_id"],
            "false",
            str(len(row["ranking"])),
        )


def test_an_error_is_told_and_guarded_and_its_metrics_are_empty(run_of, question_of, tmp_path):
    record = run_of([question_of(1)], {"one": {"lex-0001": ValueError("x")}})
    path = record.folder / "per_query.jsonl"
    path.write_text(path.read_text().replace("ValueError: x", "=cmd|' /C calc'!A0"))
    write_csv(record, tmp_path / "rows.csv")
    (row,) = read_csv(tmp_path / "rows.csv")
    assert row["error"] == "'=cmd|' /C calc'!A0"
    assert {row[name] for name in metric_names(10)} == {""}


def test_rows_of_the_sealed_split_say_so_in_their_line(run_of, question_of, tmp_path):
    record = run_of([question_of(1), question_of(2, split="test")], {"one": {}}, split="all")
    said = write_csv(record, tmp_path / "rows.csv")
    assert "2 rows; 1 of them of the sealed test split" in said
    assert [(row["split"], row["sealed"]) for row in read_csv(tmp_path / "rows.csv")] == [
        ("dev", "false"),
        ("test", "true"),
    ]


def test_of_a_run_that_goes_on_the_last_attempt_at_a_cell_counts_and_lines_are_sorted(hostile, tmp_path, monkeypatch):
    path = hostile.folder / "per_query.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[3].replace('"hit@1":1.0', '"hit@1":0.5'), *lines[::-1]]) + "\n", encoding="utf-8")
    monkeypatch.setitem(hostile.run, "status", "running")
    write_csv(hostile, tmp_path / "rows.csv")
    keys = [(row["question"], row["configuration"]) for row in read_csv(tmp_path / "rows.csv")]
    assert keys == sorted(set(keys))
    assert len(keys) == len(lines)
    assert "0.5" not in {row["hit@1"] for row in read_csv(tmp_path / "rows.csv")}


def test_half_of_a_surrogate_pair_is_written_as_its_escape(run_of, question_of, tmp_path):
    record = run_of([question_of(1, text="half \ud83d here")], {"one": {}})
    write_csv(record, tmp_path / "rows.csv")
    assert read_csv(tmp_path / "rows.csv")[0]["text"] == "half \\ud83d here"


def test_parquet_holds_the_same_columns_with_texts_as_they_are(hostile, tmp_path):
    from pyarrow import parquet

    write_parquet(hostile, tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert table.column_names == Layout(hostile).columns
    found, rows = table.to_pylist(), list(hostile.rows())
    texts = {question.id: question.text for question in hostile.questions()}
    assert len(found) == len(rows)
    for line, row in zip(found, rows, strict=True):
        assert line["text"] == texts[row["question"]]
        assert {name: line[name] for name in row["metrics"]} == row["metrics"]
        assert (line["sealed"], line["domain"]) == (False, None)


def test_parquet_of_many_rows_is_read_back_whole_and_by_its_types(run_of, question_of, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    questions = [question_of(number, split="test" if number > 1_000 else "dev") for number in range(1, 1_203)]
    record = run_of(questions, {"one": {"lex-0001": ["g1.md"], "lex-0002": ValueError("x")}}, split="all")
    said = write_parquet(record, tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet")
    assert (table.num_rows, sum(table["sealed"].to_pylist())) == (1_202, 202)
    assert "1,202 rows; 202 of them of the sealed test split" in said
    types = {name: table.schema.field(name).type for name in ("question", "sealed", "ranked", "ndcg@10", "ms_search")}
    assert types == {
        "question": pa.string(), "sealed": pa.bool_(), "ranked": pa.int32(), "ndcg@10": pa.float64(),
        "ms_search": pa.float64(),
    }  # fmt: skip
    first, second, *_ = table.to_pylist()
    assert (first["ndcg@10"], first["error"]) == (1.0, None)
    assert (second["ndcg@10"], second["error"]) == (None, "ValueError: x")


REFUSED = {
    "no pyarrow": (["--parquet", "rows.parquet"], "--parquet needs pyarrow"),
    "no folder": (["--csv", "nowhere/rows.csv"], "nowhere/rows.csv: it cannot be written, there is no folder nowhere"),
    "a folder": (["--csv", "taken"], "taken: it is a folder; name a file in it"),
    "one place": (["--csv", "out"], "--trec, --csv name one place; give each form its own"),
    "a file": (["--trec", "pytest.ini"], "pytest.ini: it is no folder"),
    "not empty": (["--trec", "runs"], "runs: it is not empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_of_several_forms_none_is_written_where_one_cannot_be(case, hostile, tmp_path, monkeypatch, capsys):
    """What was written would stand in the way of the next attempt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "taken").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    typed, said = REFUSED[case]
    assert main(["export", "last", "--runs-dir", "runs", "--trec", "out", "--csv", "rows.csv", *typed]) == 4
    shown = capsys.readouterr()
    assert (said in shown.err, shown.out) == (True, "")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "rows.csv").exists()


def test_a_table_may_stand_in_the_new_folder_of_the_trec_files(hostile, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "last", "--runs-dir", "runs", "--csv", "out/rows.csv", "--trec", "out"]) == 0
    assert capsys.readouterr().out.splitlines() == ["out: 14 questions, 2 configurations", "out/rows.csv: 28 rows"]


def test_one_of_a_kind_is_counted_in_the_singular(run_of, question_of, tmp_path, monkeypatch, capsys):
    run_of([question_of(1)], {"one": {}})
    monkeypatch.chdir(tmp_path)
    assert main(["export", "last", "--runs-dir", "runs", "--csv", "rows.csv", "--trec", "out"]) == 0
    assert capsys.readouterr().out.splitlines() == ["out: 1 question, 1 configuration", "rows.csv: 1 row"]


def test_without_pyarrow_parquet_is_refused_by_its_name(hostile, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        UsageError, match=r"--parquet needs pyarrow.*install pytest-ragbench\[parquet\], or write --csv"
    ):
        write_parquet(hostile, tmp_path / "rows.parquet")
    monkeypatch.chdir(tmp_path)
    assert main(["export", "last", "--runs-dir", "runs", "--parquet", "x.parquet"]) == 4
    assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "x.parquet").exists()


def test_the_command_needs_to_be_told_what_to_write_and_where_it_can(hostile, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "last", "--runs-dir", "runs"]) == 4
    assert "say what to write: --trec DIR, --csv FILE or --parquet FILE" in capsys.readouterr().err
    assert main(["export", "last", "--runs-dir", "runs", "--csv", "nowhere/rows.csv"]) == 4
    assert "it cannot be written" in capsys.readouterr().err
    assert main(["export", "last", "--runs-dir", "runs", "--csv", "rows.csv", "--trec", "out"]) == 0
    assert "rows.csv: 28 rows" in capsys.readouterr().out


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed")
def test_pandas_reads_metrics_as_numbers_and_nothing_as_missing(hostile, tmp_path):
    import pandas as pd

    write_csv(hostile, tmp_path / "rows.csv")
    frame = pd.read_csv(tmp_path / "rows.csv")
    assert frame["ndcg@10"].dtype == float
    assert frame["sealed"].dtype == bool
    assert frame["faithfulness"].isna().all()
    assert frame.groupby("configuration")["hit@1"].mean().to_dict() == {"F:two": 0.0, "one": 0.5}
