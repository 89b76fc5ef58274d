"""`--rag-report=FILE.html`: one more report, made when it is asked for and refused before anything is searched."""

from __future__ import annotations

import sys

import pytest
from plugin_support import HOW, question

from pytest_ragbench.records.record import RunRecord
from pytest_ragbench.reports.saving import render_html

SPY = """
import sys

def pytest_unconfigure(config):
    print("loaded:", [name for name in ("jinja2", "matplotlib") if name in sys.modules])
"""


@HOW
def test_the_page_is_written_from_the_record_alone(project, workers):
    project.write([question(1), question(2)], {"A": {"question 1": ["g1.md"]}, "B": {"question 2": ["g2.md"]}})
    assert project.run("--rag-configs=A,B", "--rag-report=out/last.html", *workers).ret == 0
    (run,) = project.runs
    page = (project.path / "out" / "last.html").read_text(encoding="utf-8")
    assert page == render_html(RunRecord.load(run))
    assert "question 2" in page
    assert not (run / "report.html").exists()


def test_without_its_packages_the_page_is_refused_before_any_search(project, monkeypatch):
    project.write([question(1)], {"A": {}})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = project.here("--rag-configs=A", "--rag-report=last.html")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--rag-report: last.html needs *matplotlib*install pytest-ragbench?html?*"])
    assert project.searches == []
    assert project.runs == []


def test_a_session_that_asks_for_no_page_loads_no_plotting(project):
    project.write([question(1)], {"A": {}})
    project.file("spy.py", SPY)
    result = project.spawn("-p", "spy", "--rag-configs=A", "--rag-report=last.md")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*loaded: []"])
