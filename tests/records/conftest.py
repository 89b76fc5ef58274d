"""A small record to read, break and resume."""

from datetime import UTC, datetime

import pytest

from pytest_ragbench import canonical
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.records.writer import RunWriter

NOON = datetime(2026, 9, 1, 12, 0, 0, tzinfo=UTC)
SHA = "0123456789abcdef0123456789abcdef01234567"


def row_text(question, configuration, error=None, **more):
    row = {"question": question, "configuration": configuration, "error": error, "metrics": {}, "ranking": []}
    return canonical.dumps({**row, **more})


@pytest.fixture(name="row_text")
def row_text_fixture():
    """Makes the text of a row: `row_text(question, configuration, error=None, **more)`."""
    return row_text


@pytest.fixture
def questions():
    gold = (GoldSource(Locator("a.md")),)
    return [Question(f"lex-000{n}", f"question {n}?", "lexical", "T1", "dev", gold=gold) for n in (2, 1)]


@pytest.fixture
def new_writer(tmp_path, questions):
    def make(**run):
        return RunWriter.create(tmp_path / "runs", started_at=NOON, sha=SHA, run={"k": 10, **run}, questions=questions)

    return make


@pytest.fixture
def finished(new_writer):
    """The folder of a finished record with two rows and one chunk."""
    writer = new_writer()
    writer.add(row_text("lex-0002", "R0"), ['{"file":"a.md","heading":[],"id":"1","pages":null,"text":"t"}'])
    writer.add(row_text("lex-0001", "R0"))
    record = writer.finish(
        status="done", finished_at=NOON, summary={"results": {}}, render=lambda _: "# report\n", complete=True
    )
    return record.folder
