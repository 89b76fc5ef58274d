"""Questions to mappings and sets, and back, without loss."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_ragbench.questions.loading import load_questions, read_set
from pytest_ragbench.questions.model import GoldSource, Locator, Provenance, Question
from pytest_ragbench.questions.serial import from_mapping, questions_digest, to_mapping
from pytest_ragbench.questions.writing import write_set

# What YAML cannot hold even escaped, or what no file is named: surrogates and NUL.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x00")
TEXT = st.text(CHARACTERS, min_size=1, max_size=30).filter(lambda text: not text.isspace())
TRAPS = st.sampled_from(
    [
        "No",
        "3.10",
        "2026-01-05",
        "~",
        "- x",
        "a: b",
        "a #b",
        "*a",
        "&a",
        "'",
        '"',
        "x ",
        "x\u2028y",
        "x\x85y",
        "1e3",
        "=",
        "<<",
    ]
)
PROSE = TEXT | TRAPS
FILES = st.from_regex(r"[A-Za-z0-9é][A-Za-z0-9é ._-]{0,8}[a-z]", fullmatch=True) | st.just("2026-01-05")
PAGES = st.tuples(st.integers(1, 50), st.integers(0, 5)).map(lambda pair: (pair[0], pair[0] + pair[1]))
HEADINGS = st.lists(PROSE, max_size=3).map(tuple)
LOCATORS = st.builds(Locator, FILES, st.none() | PAGES, HEADINGS)
SOURCES = st.builds(
    GoldSource, LOCATORS, st.booleans(), st.none() | st.integers(1, 4), st.lists(LOCATORS, max_size=2).map(tuple)
)
GOLD = st.lists(SOURCES, max_size=2).map(lambda rest: (GoldSource(Locator("first.md")), *rest))
DATES = st.none() | st.dates().map(lambda date: date.isoformat())
PROVENANCES = st.builds(
    Provenance,
    st.sampled_from(["draft", "owner"]),
    st.sampled_from(["draft", "verified", "edited", "rejected"]),
    DATES,
    st.none() | PROSE,
    st.lists(PROSE, max_size=2).map(tuple),
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    answerable = draw(st.booleans())
    optional = st.none() | PROSE
    return Question(
        id=f"{draw(st.sampled_from(['lex', 'par', 'a1-b']))}-{draw(st.integers(0, 99_999)):04d}",
        text=draw(PROSE),
        suite=draw(st.sampled_from(["lexical", "own.suite"])),
        tier=draw(st.sampled_from(["T1", "T2", "T3", "T4"])),
        split=draw(st.sampled_from([None, "dev", "test"])),
        answerable=answerable,
        gold=draw(GOLD) if answerable else (),
        nuggets=tuple(draw(st.lists(PROSE, max_size=2))),
        expect_course=draw(optional),
        domain=draw(optional),
        provenance=draw(PROVENANCES),
        notes=draw(optional),
        strategy=draw(st.sampled_from([None, "fact", "history"])),
        difficulty=draw(optional),
        answer=draw(optional),
        source_id=draw(optional),
    )


SETS = st.lists(questions(), max_size=3, unique_by=lambda question: question.id)


class Quoting(yaml.SafeDumper):
    """PyYAML's writer with all text in quotes: it leaves `1e3` and `08` bare, which YAML 1.2 reads as numbers."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@given(questions())
@settings(deadline=None)
def test_a_mapping_reads_back_as_the_same_question(question: Question) -> None:
    assert from_mapping(json.loads(json.dumps(to_mapping(question)))) == question


@given(SETS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_written_set_loads_equal_and_is_rewritten_byte_for_byte(found: list[Question]) -> None:
    text = write_set(found)
    loaded = read_set(text, "set.yaml")
    assert loaded == found
    assert write_set(loaded) == text


@given(SETS)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_what_pyyaml_and_json_dump_is_read_as_well(found: list[Question]) -> None:
    mappings = [to_mapping(question) for question in found]
    lines = "".join(json.dumps(mapping) + "\n" for mapping in mappings)
    assert read_set(lines, "set.jsonl") == found
    assert read_set(yaml.dump(mappings, Dumper=Quoting, sort_keys=False), "set.yaml") == found


def test_optional_keys_are_written_only_when_set() -> None:
    plain = Question("lex-0001", "q", "lexical", "T1", gold=(GoldSource(Locator("a.md")),))
    assert to_mapping(plain) == {
        "id": "lex-0001",
        "question": "q",
        "suite": "lexical",
        "tier": "T1",
        "split": None,
        "answerable": True,
        "gold": [{"file": "a.md"}],
    }


def test_a_written_set_reads_like_a_person_wrote_it() -> None:
    source = GoldSource(
        Locator("a.md", (5, 6), ("Ch 4", "Bisection")), required=False, hop=2, alternatives=(Locator("b.md"),)
    )
    gold = (GoldSource(Locator("x.md", heading=("Map", "In > Out"))), source)
    provenance = Provenance("owner", "verified", "2026-01-05")
    question = Question("lex-0001", "what is #5?", "lexical", "T1", None, True, gold, ("no",), provenance=provenance)
    assert write_set([question]) == (
        "- id: lex-0001\n"
        '  question: "what is #5?"\n'
        "  suite: lexical\n"
        "  tier: T1\n"
        "  split: null\n"
        "  answerable: true\n"
        "  gold:\n"
        "    - file: a.md\n".replace("a.md", "x.md")
        + "      heading:\n"
        "        - Map\n"
        '        - "In > Out"\n'
        "    - file: a.md\n"
        "      pages: [5, 6]\n"
        '      heading: "Ch 4 > Bisection"\n'
        "      required: false\n"
        "      hop: 2\n"
        "      alternatives:\n"
        "        - file: b.md\n"
        "  nuggets:\n"
        '    - "no"\n'
        "  provenance:\n"
        "    author: owner\n"
        "    status: verified\n"
        '    reviewed_at: "2026-01-05"\n'
    )


def test_yml_08_dates_are_iso_text_in_json(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "- {id: lex-0001, question: q, suite: lexical, tier: T1, gold: [{file: a.md}], provenance: {reviewed_at: 2026-01-05}}\n"
    )
    (question,) = load_questions(tmp_path).questions
    assert json.loads(json.dumps(to_mapping(question)))["provenance"]["reviewed_at"] == "2026-01-05"


@given(st.permutations([Question(f"lex-{number:04d}", "q", "lexical", "T1") for number in range(4)]))
@settings(deadline=None)
def test_the_digest_knows_no_order(found: list[Question]) -> None:
    assert questions_digest(found) == questions_digest(found[::-1])


@pytest.mark.parametrize("change", [{"text": "other"}, {"split": "dev"}, {"gold": (GoldSource(Locator("b.md")),)}])
def test_the_digest_knows_every_field(change: dict[str, object]) -> None:
    fields: dict[str, object] = {"text": "q", "suite": "lexical", "tier": "T1", "gold": (GoldSource(Locator("a.md")),)}
    one, other = Question(id="lex-0001", **fields), Question(id="lex-0001", **{**fields, **change})
    assert questions_digest([one]) != questions_digest([other])
