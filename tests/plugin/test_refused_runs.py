"""A session that is refused when its record has begun: no empty record is left, no empty report printed."""

from __future__ import annotations

from textwrap import dedent

from plugin_support import HOW, question, rows, run_json

PICKY = """
import pytest


class Picky:
    def check_overrides(self, **overrides):
        if overrides.get("list") == "wrong":
            raise ValueError("no list is called wrong")

    def search(self, query, **overrides):
        return ["g1.md"]


@pytest.fixture(scope="session")
def rag_pipeline():
    return Picky()
"""


def write(project, split="dev"):
    project.write([question(number, split=split) for number in range(1, 7)], {"right": {}, "wrong": {}})
    project.file("conftest.py", PICKY)


@HOW
def test_a_refused_run_leaves_no_record_and_prints_no_report_above_the_refusal(project, workers):
    write(project)
    assert project.run("--rag-configs=right", *workers).ret == 0
    (kept,) = project.runs
    result = project.run("--rag-configs=right,wrong", *workers)
    assert result.ret == 4
    shown = result.stdout.str() + result.stderr.str()
    assert "no list is called wrong" in shown
    assert "= ragbench =" not in shown
    assert "In words" not in shown
    assert project.runs == [kept]
    assert kept.name in project.command("show", "last").stdout.str()


@HOW
def test_a_look_that_the_ledger_counts_keeps_its_record_though_it_was_refused(project, workers):
    write(project, split="test")
    result = project.run("--rag-configs=wrong", "--rag-split=test", "--unseal-test", *workers)
    assert result.ret == 4
    (folder,) = project.runs
    (entry,) = project.ledger
    assert entry["run_id"] == folder.name
    assert (run_json(folder)["status"], run_json(folder)["complete"]) == ("failed", False)


def test_rows_that_were_measured_are_kept_whatever_ends_the_session(project):
    write(project)
    test = """
        import pytest

        def test_question(rag_row, request):
            if "lex-0003" in request.node.name:
                pytest.exit("enough", returncode=4)
    """
    project.file("golden/test_golden.py", dedent(test))
    assert project.here("--rag-configs=right").ret == 4
    (folder,) = project.runs
    assert len(rows(folder)) == 3  # that of the item which ended the session too


def test_a_resumed_run_that_is_refused_leaves_only_the_run_that_it_would_have_finished(project):
    """Its copied rows stand in the earlier record still; a second, empty `last` would hide them."""
    once = {"once": "flag", "first": {"interrupt": True}, "then": ["g2.md"]}
    project.write([question(number) for number in (1, 2, 3)], {"right": {"question 2": once}})
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8")
    assert project.spawn("--rag-configs=right").ret == 2
    (broken,) = project.runs
    refusing = conftest.replace(
        "class Scripted:",
        'class Scripted:\n    def check_overrides(self, **overrides):\n        raise ValueError("no more")\n',
    )
    project.file("conftest.py", refusing)
    assert project.here("--rag-resume=last").ret == 4
    assert project.runs == [broken]
    project.file("conftest.py", conftest)
    assert project.here("--rag-resume=last").ret == 0
    assert len(rows(project.runs[-1])) == 3
