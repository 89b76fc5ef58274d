"""`ragbench report RUN`, `ragbench show RUN` and `show RUN --question ID`."""

import json
import os
import subprocess
import sys
from functools import partial

import pytest

from pytest_ragbench.errors import RecordError, UsageError
from pytest_ragbench.reports.commands import (
    MISSES_SHOWN,
    render_for_terminal,
    render_misses,
    report_run,
    show_question,
    show_run,
    view_of,
)


def test_report_prints_report_md(recorded):
    record = recorded()
    runs = record.folder.parent
    written = (record.folder / "report.md").read_text(encoding="utf-8")
    assert (
        report_run("last", runs)
        == report_run(record.folder.name, runs)
        == report_run(str(record.folder), runs)
        == written
    )


def test_show_prints_what_the_session_printed_and_all_of_the_report_when_asked(recorded):
    record = recorded()
    whole, brief = (show_run("last", record.folder.parent, whole=asked, width=120) for asked in (True, False))
    assert brief == render_for_terminal(view_of(record), 120)
    assert "\nRecall by hop\n" in whole
    assert "\nRecall by hop\n" not in brief
    assert "\nIn words\n" in brief
    assert brief.endswith(f"`ragbench show {record.run['run_id']} --verbose` prints all of it.\n")


def test_one_question_shows_the_ranked_list_beside_its_gold(recorded):
    record = recorded()
    text = show_question("last", record.folder.parent, "lex-0002", width=120)
    assert "f2.pdf p. 1-3" in text
    assert "f3.pdf p. 1-3" in text
    assert [line for line in text.splitlines() if line in {"R0-bm25", "R2-hybrid", "R5-rerank"}] == [
        "R0-bm25", "R2-hybrid", "R5-rerank",
    ]  # fmt: skip
    assert "satisfies 0" in text
    assert "passage of f2.pdf" in text
    assert "recall@10" in text


def test_one_configuration_of_it_by_name_or_marker(recorded):
    text = show_question("last", recorded().folder.parent, "lex-0002", ["R2-hybrid"])
    assert "R2-hybrid" in text
    assert "R0-bm25" not in text


def test_a_question_that_failed_shows_its_error(recorded):
    record = recorded(fails={("lex-0002", 0.3): "no index"})
    assert "The search failed: ValueError: no index" in show_question("last", record.folder.parent, "lex-0002")


def test_unknown_names_are_refused_with_suggestions(recorded):
    runs = recorded().folder.parent
    with pytest.raises(UsageError, match="did you mean lex-00"):
        show_question("last", runs, "lex-000")
    with pytest.raises(UsageError, match=r"R9: no row of lex-0001 .* the record has: R0-bm25, R2-hybrid, R5-rerank"):
        show_question("last", runs, "lex-0001", ["R9"])
    with pytest.raises(RecordError, match="no record here"):
        report_run("nowhere", runs)


def test_misses_are_the_first_questions_that_lack_a_required_source(recorded):
    record = recorded()
    missed = sorted({row["question"] for row in record.rows() if row["metrics"]["complete@10"] == 0})
    assert len(missed) > MISSES_SHOWN
    titles = [line.split(":")[0] for line in render_misses(record, 120).splitlines() if line.startswith("lex-")]
    assert titles == missed[:MISSES_SHOWN]


def test_a_heading_and_a_single_page_read_as_a_place(recorded):
    from pytest_ragbench.reports.question import place

    assert place("b.pdf", [5, 5], ["Ch 4", "Bisection"]) == "b.pdf p. 5, Ch 4 > Bisection"
    assert place("a.md", None, ()) == "a.md"


DAMAGED = {
    "summary.json": [
        {"results": {"R0-bm25": {"overall": [1]}}},
        {"results": {"R0-bm25": {"rows": 3}}},
        {"results": [1]},
        {"latency": {"R0-bm25": 1}, "results": {"R0-bm25": {}}},
        {"results": {"R0-bm25": {"overall": {"ndcg@10": {"mean": 10**400}}}}},
        {"schema_version": 2},
        {"schema_version": True},
    ],
    "per_query.jsonl": [
        {"question": "lex-0002", "configuration": "R0-bm25", "ranking": [{}]},
        {"question": "lex-0002", "configuration": "R0-bm25", "ranking": 3},
        {"question": "lex-0002"},
    ],
    "chunks.jsonl": [{}, {"id": []}],
}


def test_rec_02_strict_json_that_no_run_wrote_is_a_sentence_and_no_traceback(recorded):
    folder = recorded().folder
    for file, contents in DAMAGED.items():
        whole = (folder / file).read_bytes()
        for content in contents:
            (folder / file).write_text(json.dumps(content) + "\n")
            show = show_run if file == "summary.json" else partial(show_question, question="lex-0002")
            with pytest.raises(RecordError, match=r"names no cell|is not what a run writes|schema_version (2|True)"):
                show("last", folder.parent)
        (folder / file).write_bytes(whole)


def test_the_command_line_prints_the_same_texts(recorded, tmp_path, monkeypatch, capsys):
    from pytest_ragbench.cli import main

    record = recorded()
    monkeypatch.chdir(tmp_path)
    typed = ["--runs-dir", "runs"]
    assert main(["report", "last", *typed]) == 0
    assert capsys.readouterr().out == (record.folder / "report.md").read_text(encoding="utf-8")
    assert main(["show", record.folder.name, *typed]) == 0
    assert "\nRecall by hop\n" not in (brief := capsys.readouterr().out)
    assert main(["show", "--last", *typed]) == 0
    assert capsys.readouterr().out == brief
    assert main(["show", "last", "--verbose", *typed]) == 0
    assert "\nRecall by hop\n" in capsys.readouterr().out
    assert main(["show", "last", "--question", "lex-0002", "--config", "R2-hybrid", *typed]) == 0
    assert "f2.pdf p. 1-3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere"], "nowhere: no record here"),
        (["show", "last"], "run the bench first"),
        (["show", "last", "--config", "R0"], "give --question ID with it"),
        (["show"], "or --last for the latest"),
        (["show", "20260901T120000Z-abc", "--last"], "name two runs"),
        (["show", "last", "--question", "lex-0001", "--json"], "--question shows one question whole"),
        (["show", "last", "--json", "--verbose"], "not allowed with"),
        (["runs"], "there is no record of a run here"),
        (["runs", "--limit", "0"], "must be a whole number, 1 or more, found '0'"),
    ],
)
def test_a_mistake_in_the_command_is_a_sentence_and_exit_status_4(arguments, message, tmp_path, monkeypatch, capsys):
    from pytest_ragbench.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 4
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
    assert list(tmp_path.iterdir()) == []


def typed_in_a_shell(line, *arguments, folder):
    """What the command does as `line`, where `$@` stands for it, with its exit status."""
    command = [sys.executable, "-B", "-m", "pytest_ragbench.cli", *arguments]
    return subprocess.run(["sh", "-c", line, "sh", *command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(os.name == "nt", reason="there is no such shell there")
@pytest.mark.parametrize("command", ["report", "show"])
def test_a_command_that_was_started_without_an_output_prints_nothing_and_ends_well(recorded, tmp_path, command):
    recorded()
    done = typed_in_a_shell('"$@" >&-', command, "last", "--runs-dir=runs", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("kept", ["nothing", "half", "torn"])
def test_rec_02_rows_that_were_lost_after_the_run_are_told_before_any_number(recorded, kept):
    record = recorded()
    path = record.folder / "per_query.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    left = {"nothing": [], "half": lines[:60], "torn": [*lines[:-1], lines[-1][:-20]]}[kept]
    path.write_bytes(b"".join(left))
    text = show_run("last", record.folder.parent, width=120)
    whole = sum(line.endswith(b"\n") for line in left)
    assert f"per_query.jsonl has {whole} whole rows and summary.json tells of {len(lines)}" in " ".join(text.split())
    assert "Complete when it ended; since then rows were lost." in text
    assert "every planned cell has a row" not in text
