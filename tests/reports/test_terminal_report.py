"""The report on a terminal: any width, any encoding."""

import re
import subprocess
import sys

import pytest

from pytest_ragbench.cli import main
from pytest_ragbench.reports.commands import report_of
from pytest_ragbench.reports.model import (
    Bullets,
    Column,
    Estimate,
    Number,
    Probability,
    Report,
    Section,
    Sentences,
    Table,
)
from pytest_ragbench.reports.terminal import render_terminal
from pytest_ragbench.reports.text import cell_text, cut, encodable, milliseconds, signed


@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(recorded, width):
    text = render_terminal(report_of(recorded()), width)
    assert max(map(len, text.splitlines())) <= width


def test_below_80_columns_sentences_still_fit_and_of_a_table_one_column_at_a_time_stands_beside_its_keys():
    columns = (Column("arm", numeric=False), Column("against", numeric=False), Column("delta"), Column("p"))
    table = Table(columns, (("R5-rerank", "R2-hybrid", Estimate(0.1, 0.05, 0.15, signed=True), Probability(0.5)),), 2)
    text = render_terminal(Report("t", (Section("s", (Sentences("word " * 30), table)),)), 40)
    assert text.count("word " * 7 + "word\n") == 3  # 39 characters
    # Two keys of 9, a difference of 23 and a blank pair between each make 45; `p` alone fits, with the keys again.
    assert [len(line) for line in text.splitlines() if len(line) > 40] == [45, 45, 45]
    assert text.count("R5-rerank  R2-hybrid") == 2


def test_a_wide_terminal_keeps_the_main_table_whole_and_a_narrow_one_repeats_its_keys(recorded):
    report = report_of(recorded())
    assert render_terminal(report, 200).count("scored/planned") == 1
    narrow = render_terminal(report, 80)
    main = narrow[narrow.index("Results\n") : narrow.index("Comparisons")]
    assert main.count("configuration  ") >= 3
    assert all(
        f"{metric}" in main for metric in ("ndcg@10", "recall@10", "hit@1", "mrr@10", "complete@10", "doc_recall@10")
    )


def test_brief_leaves_the_details_to_report_md(recorded):
    report = report_of(recorded())
    *shown, more = report.brief().sections
    titles = ["What ran", "In words", "Results", "Comparisons: ladder", "By suite: ndcg@10", "Latency"]
    assert [section.title for section in shown] == titles
    assert more.blocks == (
        Sentences(
            "By tier: ndcg@10; Comparisons by suite: ndcg@10; Chunk and document level; Recall by hop; Latency by stage."
        ),
    )


def test_the_summary_of_a_session_fits_three_screens_of_80_columns_whatever_the_number_of_arms_and_errors(recorded):
    assert len(render_terminal(report_of(recorded()).brief(), 80).splitlines()) <= 135
    table = Table((Column("q", numeric=False),), tuple((str(number),) for number in range(64)))
    bullets = Bullets(tuple(map(str, range(256))))
    (section,) = Report("t", (Section("s", (table, bullets)),)).brief().sections
    assert [len(block.rows) for block in section.blocks if isinstance(block, Table)] == [10]
    assert Sentences("54 more rows are not shown here.") in section.blocks
    assert section.blocks[-1].items[-1] == "246 more are not shown here."


def test_rpt_01_a_hostile_text_stays_on_its_line():
    table = Table((Column("q", numeric=False), Column("n")), (("a\nb\x1b[2J\u202e" + "x" * 500, 1),))
    text = render_terminal(Report("t", (Section("s", (table, Bullets(("c\rd",)), Sentences("e\0f"))),)), 80)
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    assert "a␊b␛[2J⟨U+202E⟩" in text
    assert "[cut: 508 characters]" in text


def test_an_empty_table_and_numbers_that_look_like_others_are_left_alone():
    table = Table((Column("q", numeric=False), Column("n")), (("007", 1_000), ("1e5", None)))
    text = render_terminal(Report("t", (Section("s", (table, Table(table.columns, ()))),)), 80)
    assert "007" in text
    assert "1e5" in text
    assert "1,000" in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "no-such-encoding", None])
def test_any_stream_can_show_it(encoding):
    shown = encodable("0.5… → ␊ 北 ×", encoding)
    if encoding in {"ascii", "no-such-encoding"}:
        assert shown == "0.5... -> \\u240a \\u5317 x"
    if encoding in {"utf-8", None}:
        assert shown == "0.5… → ␊ 北 ×"


def test_an_ascii_stdout_shows_the_report_without_a_traceback(recorded):
    record = recorded(fails={("lex-0001", 0.3): "naïve\n\u202e"})
    script = (
        "import sys; from pathlib import Path; from pytest_ragbench.reports.commands import *;"
        "print(show_run('last', Path(sys.argv[1]), whole=True, width=80))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script, str(record.folder.parent)],
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        check=True,
    )
    assert b"na\\xefve\\u240a\\u27e8U+202E\\u27e9" in shown.stdout


def test_cells_read_as_the_field_writes_them():
    assert cell_text(Estimate(0.12345, 0.1, 0.2)) == "0.123 [0.100, 0.200]"
    assert cell_text(Estimate(0.0311, -0.0004, 0.06, signed=True)) == "+0.031 [0.000, +0.060]"
    assert cell_text(Probability(0.00001)) == "<0.0001"
    assert cell_text(Number(3.0, 0)) == "3"
    assert [signed(value) for value in (-0.0, 0.0004, -0.0006)] == ["0.000", "0.000", "-0.001"]
    assert [milliseconds(value) for value in (0.123, 12.34, 1234.5)] == ["0.12", "12.3", "1,234"]
    assert cut("abc", 3) == "abc"


def test_rpt_03_no_command_but_export_writes_csv(capsys):
    """What `export` does about formulas is claimed in its own tests."""
    assert main(["--help"]) == 0
    commands = re.findall(r"^    ([a-z]+) ", capsys.readouterr().out, re.MULTILINE)
    assert {"show", "report", "compare", "export"} <= set(commands)
    offered = set()
    for command in commands:
        assert main([command, "--help"]) == 0
        if "csv" in capsys.readouterr().out.lower():
            offered.add(command)
    assert offered == {"export"}
