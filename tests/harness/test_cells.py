"""Cells, their ids, and the way back from a node id."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.configurations.names import marker_name
from pytest_ragbench.harness.cells import Cell, CellFinder, cross
from pytest_ragbench.questions.model import Question


def question(name, split="dev"):
    return Question(id=name, text="?", suite="lexical", tier="T1", split=split)


def configuration(name):
    return Configuration(name, marker_name(name))


QUESTIONS = [question("lex-0001"), question("lex-0002", "test"), question("a_1-12345")]
CONFIGURATIONS = [configuration(name) for name in ("R0", "R0-bm25", "bm25", "-rerank", "F:none", "F:a+b", "run-2026")]


@pytest.fixture
def finder():
    return CellFinder(QUESTIONS, {c.name: c for c in CONFIGURATIONS})


def test_a_cell_is_keyed_by_names_and_shown_by_markers():
    cell = Cell(QUESTIONS[1], CONFIGURATIONS[3])
    assert (cell.key, cell.id, cell.sealed) == (("lex-0002", "-rerank"), "no-rerank-lex-0002", True)


def test_the_cells_of_one_question_stand_side_by_side():
    cells = cross(QUESTIONS[:2], CONFIGURATIONS[:2])
    assert [cell.id for cell in cells] == ["R0-lex-0001", "R0-bm25-lex-0001", "R0-lex-0002", "R0-bm25-lex-0002"]


def test_every_cell_is_found_again_in_its_node_id(finder):
    for cell in cross(QUESTIONS, CONFIGURATIONS):
        assert finder.find(f"golden/test_golden.py::test_question[{cell.id}]") == cell


@pytest.mark.parametrize(
    ("node_id", "key"),
    [
        ("t.py::test[half-R0-bm25-lex-0001]", ("lex-0001", "R0-bm25")),
        ("t.py::test[R0-bm25-lex-0001-half]", ("lex-0001", "R0-bm25")),
        ("t.py::test[lex-0002-R0-lex-0001]", ("lex-0001", "R0")),
        ("t.py::test[lex-9999-R0-lex-0001]", ("lex-0001", "R0")),
        ("t.py::test[run-2026-lex-0001]", ("lex-0001", "run-2026")),
        ("t.py::test[a [b] c-R0-lex-0001]", ("lex-0001", "R0")),
        ("t.py::test[R0-lex-0001]@group", ("lex-0001", "R0")),
        ("t.py::TestClass::test[F.a+b-a_1-12345]", ("a_1-12345", "F:a+b")),
    ],
)
def test_a_cell_is_found_among_other_parameters(finder, node_id, key):
    assert finder.find(node_id).key == key


@pytest.mark.parametrize(
    "node_id",
    [
        "t.py::test",
        "t.py",
        "t.py::test[]",
        "t.py::test[lex-0001]",
        "t.py::test[R9-lex-0001]",
        "t.py::test[xR0-lex-0001]",
        "t.py::test[R0-lex-0003]",
        "t.py::test[R0-lex-00010]",
        "t.py::test[R0-xlex-0001]",
    ],
)
def test_what_names_no_cell_finds_none(finder, node_id):
    assert finder.find(node_id) is None


@given(st.text(max_size=30))
def test_any_text_is_a_node_id_to_the_finder(text):
    finder = CellFinder(QUESTIONS, {c.name: c for c in CONFIGURATIONS})
    found = finder.find(f"t.py::test[{text}]")
    assert found is None or found.question.id in text
