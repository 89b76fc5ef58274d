"""Nuggets that stand only beyond what an encoder reads of a chunk: told by a listing of chunks and a limit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_ragbench.authoring.encoder_limit import EncoderLimit, find_limit
from pytest_ragbench.authoring.validation import WARNINGS, validate
from pytest_ragbench.cli import main
from pytest_ragbench.errors import Problem, UsageError

BODY = "The pump was serviced in spring and again. " * 60  # eight words, of which one of 8 letters, and a full stop
ANSWER = "Bisection halves the bracket."
QUESTION = """\
- id: par-0001
  question: what does one step of the method do to the interval?
  suite: paraphrase
  tier: T2
  gold: [{file: a.md, heading: Method}]
  nuggets:
  - bisection halves the bracket
  - the pump was serviced
"""

Warn = Callable[..., list[Problem]]


@pytest.fixture
def warn(tmp_path: Path) -> Warn:
    """The warnings of one question under a limit, given the chunks of the listing."""

    def run(*chunks: dict[str, object], limit: int = 256, question: str = QUESTION) -> list[Problem]:
        (tmp_path / "set.yaml").write_text(question, encoding="utf-8")
        listing = tmp_path / "chunks.jsonl"
        listing.write_text("".join(json.dumps(chunk) + "\n" for chunk in chunks), encoding="utf-8")
        found = validate(tmp_path / "set.yaml", limit=find_limit(listing, str(limit)), shown_as="set.yaml")
        assert not found.errors
        return found.warnings

    return run


def chunk(text: str, heading: str = "Method", file: str = "a.md") -> dict[str, object]:
    return {"file": file, "heading": heading, "text": text}


def test_den_06_a_nugget_only_in_the_last_sentence_of_a_long_chunk_is_warned_about(warn: Warn) -> None:
    # 60 sentences of eight words, of which `serviced` has 8 letters and so two pieces, and a full stop: 600 pieces.
    (problem,) = warn(chunk(BODY + ANSWER))
    assert (problem.code, problem.field, problem.record) == ("nugget-beyond-limit", "nuggets[0]", "par-0001")
    assert problem.line == 7
    assert "bisection, bracket, halves" in problem.message
    assert "first 256 word pieces" in problem.message
    assert problem.code in WARNINGS


def test_den_06_what_the_encoder_reads_is_no_finding(warn: Warn) -> None:
    assert warn(chunk(ANSWER + BODY)) == []
    assert warn(chunk(BODY + ANSWER), limit=607) == []  # 600 and bisection (2), halves, the, bracket (2), full stop


def test_den_06_one_chunk_that_shows_the_nugget_is_enough(warn: Warn) -> None:
    assert warn(chunk(BODY + ANSWER), chunk(f"again. {ANSWER}")) == []


def test_den_06_chunks_beside_the_gold_do_not_count(warn: Warn) -> None:
    beside = [chunk(ANSWER, heading="Other"), chunk(ANSWER, file="b.md")]
    assert [problem.code for problem in warn(chunk(BODY + ANSWER), *beside)] == ["nugget-beyond-limit"]


def test_den_06_a_nugget_that_no_chunk_holds_is_not_blamed_on_the_limit(warn: Warn) -> None:
    assert warn(chunk(BODY)) == []
    assert warn(chunk(ANSWER, file="b.md")) == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("one two three", "one two "),  # a word of up to six letters is one piece
        ("seventh two", "seventh "),  # of seven letters, two
        ("a, b", "a, "),  # a mark of punctuation is one
        ("a b", "a b"),
        ("", ""),
    ],
)
def test_den_06_a_piece_is_six_letters_or_a_mark(text: str, read: str) -> None:
    assert EncoderLimit(2, {}).read(text) == read


@pytest.mark.parametrize(
    ("content", "limit", "said"),
    [
        (None, "256", "chunks.jsonl cannot be read"),
        ("", "256", "holds none"),
        ('{"file": "a.md"\n', "256", r"chunks.jsonl:1:16: this is no JSON"),
        ('{"text": "x"}\n', "256", r"chunks.jsonl:1 is a dict"),
        ('{"file": "a.md", "pages": [3, 1]}\n', "256", r"chunks.jsonl:1.pages must be \[first, last\]"),
        ('{"file": "a.md"}\n', "0", "--encoder-limit=0: it is a whole number"),
        ('{"file": "a.md"}\n', "many", "--encoder-limit=many: it is a whole number"),
        ('{"file": "a.md"}\n', None, r"name --encoder-limit N \(rag_encoder_limit\) as well"),
    ],
)
def test_a_listing_or_limit_that_cannot_be_used_is_a_usage_error(
    tmp_path: Path, content: str | None, limit: str | None, said: str
) -> None:
    listing = tmp_path / "chunks.jsonl"
    if content is not None:
        listing.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        find_limit(listing, limit)


def test_a_limit_without_chunks_is_a_usage_error_and_neither_is_none() -> None:
    with pytest.raises(UsageError, match=r"name --chunks FILE \(rag_chunks\) as well"):
        find_limit(None, "256")
    assert find_limit(None, None) is None


@pytest.mark.parametrize("by_ini", [True, False])
def test_den_06_the_command_takes_both_from_its_flags_or_the_ini_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], by_ini: bool
) -> None:
    keys = "rag_chunks = parts.jsonl\nrag_encoder_limit = 256\n" if by_ini else ""
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nrag_sets = set.yaml\n{keys}", encoding="utf-8")
    (tmp_path / "set.yaml").write_text(QUESTION, encoding="utf-8")
    (tmp_path / "parts.jsonl").write_text(json.dumps(chunk(BODY + ANSWER)) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    typed = [] if by_ini else ["--chunks", "parts.jsonl", "--encoder-limit", "256"]
    assert main(["validate", *typed]) == 0
    assert "warning: set.yaml:7: par-0001: nuggets[0]" in capsys.readouterr().out
