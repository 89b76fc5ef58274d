"""Question sets through files: what is accepted, what is refused, and what the refusal says."""

from __future__ import annotations

import errno
import gc
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.errors import InputError, Problem, UsageError
from pytest_ragbench.questions import strict_yaml
from pytest_ragbench.questions.loading import QuestionSet, find_set_files, load_questions, read_set

GOOD = """\
- id: lex-0001
  question: which routine reports the pivot growth?
  suite: lexical
  tier: T1
  gold: [{file: a.md}]
"""


def record(**fields: str | None) -> str:
    """One block record; a field replaces the usual one, None drops it."""
    usual: dict[str, str | None] = {
        "id": "lex-0001",
        "question": "which routine reports the pivot growth?",
        "suite": "lexical",
        "tier": "T1",
        "gold": "[{file: a.md}]",
    }
    lines = [f"{name}: {value}" for name, value in (usual | fields).items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


def load(folder: Path, content: str | bytes, name: str = "set.yaml") -> QuestionSet:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_questions(folder, shown_as="sets")


def problems(folder: Path, content: str | bytes, name: str = "set.yaml") -> list[Problem]:
    with pytest.raises(InputError) as caught:
        load(folder, content, name)
    return caught.value.problems


def only(folder: Path, content: str | bytes, name: str = "set.yaml") -> Problem:
    found = problems(folder, content, name)
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


@pytest.mark.parametrize(
    ("content", "line", "field", "said"),
    [
        (record(question="No"), 2, "question", 'unquoted `No` is read as a boolean; quote it: "No"'),
        (record(question="2024"), 2, "question", "unquoted `2024` is read as a number"),
        (
            record(answerable='"false"'),
            6,
            "answerable",
            "must be true or false, without quotes, found the text 'false'",
        ),
        (record(gold='[{file: a.md, required: "no"}]'), 5, "gold[0].required", "found the text 'no'"),
        (
            record(gold='[{file: a.md, hop: "1"}]'),
            5,
            "gold[0].hop",
            "must be a whole number, without quotes, found the text '1'",
        ),
        (record(question="~"), 2, "question", "unquoted `~` is read as null"),
        (record(gold="[{file: a.md, hop: true}]"), 5, "gold[0].hop", "found a boolean, `true`"),
        (record(nuggets="[fine, yes]"), 6, "nuggets[1]", "unquoted `yes` is read as a boolean"),
        (record(question=""), 2, "question", "must be text, but nothing stands here"),
    ],
)
def test_yml_01_no_value_changes_its_type(tmp_path: Path, content: str, line: int, field: str, said: str) -> None:
    problem = only(tmp_path, content)
    assert (problem.file, problem.line, problem.record, problem.field) == ("sets/set.yaml", line, "lex-0001", field)
    assert said in problem.message


@pytest.mark.parametrize("spelling", ["1e5", "0x1F", "0o17", "017", "1_000", "1:30", ".inf", "3.10", "-4", "0b11"])
def test_yml_01_a_number_of_any_yaml_version_must_be_quoted_in_a_text_field(tmp_path: Path, spelling: str) -> None:
    assert only(tmp_path, record(question=spelling)).code == "quote-text"
    assert load(tmp_path, record(question=f"'{spelling}'")).questions[0].text == spelling


@pytest.mark.parametrize("spelling", ["010", "0x10", "1_0", "1:10"])
def test_a_page_number_that_yaml_versions_read_differently_is_refused(tmp_path: Path, spelling: str) -> None:
    assert only(tmp_path, record(gold=f"[{{file: b.pdf, pages: [{spelling}, 99]}}]")).code == "bad-pages"


def test_yml_04_a_key_that_stands_twice_names_both_lines_and_the_id(tmp_path: Path) -> None:
    problem = only(tmp_path, GOOD + "  question: second\n")
    assert (problem.line, problem.record, problem.field, problem.code) == (6, "lex-0001", "question", "duplicate-key")
    assert "first on line 2" in problem.message


def test_yml_04_a_second_file_in_one_gold_source_is_a_duplicate_key(tmp_path: Path) -> None:
    problem = only(tmp_path, record(gold="[{file: a.md, file: b.md}]"))
    assert (problem.line, problem.field, problem.code) == (5, "gold[0].file", "duplicate-key")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (record(question="&a text"), "alias"),
        (record(question="*a"), "alias"),
        (record(question="!!str text"), "tag"),
        (record(question="!mine text"), "tag"),
        (GOOD + "  <<: {domain: x}\n", "non-text-key"),
        (GOOD + "  !!str domain: x\n", "tag"),
    ],
)
def test_yml_04_anchors_aliases_tags_and_merge_keys_are_refused(tmp_path: Path, content: str, code: str) -> None:
    assert only(tmp_path, content).code == code


def test_yml_08_a_bare_review_date_stays_iso_text(tmp_path: Path) -> None:
    loaded = load(tmp_path, record(provenance="{status: verified, reviewed_at: 2026-01-05}"))
    assert loaded.questions[0].provenance.reviewed_at == "2026-01-05"


@pytest.mark.parametrize("value", ["2026-13-05", "'05.01.2026'", "2026", "2026-1-5", "yesterday", "2026-02-30"])
def test_yml_08_what_is_no_date_is_refused(tmp_path: Path, value: str) -> None:
    assert only(tmp_path, record(provenance=f"{{reviewed_at: {value}}}")).field == "provenance.reviewed_at"


def test_yml_08_a_daily_note_must_be_quoted(tmp_path: Path) -> None:
    problem = only(tmp_path, record(gold="[{file: 2026-01-05}]"))
    assert problem.field == "gold[0].file"
    assert 'unquoted `2026-01-05` is read as a date; quote it: "2026-01-05"' in problem.message
    assert load(tmp_path, record(gold='[{file: "2026-01-05"}]')).questions[0].gold[0].locator.file == "2026-01-05"


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + GOOD.encode(), GOOD.replace("\n", "\r\n").encode(), b"---\n" + GOOD.encode() + b"...\n"],
)
def test_yml_09_a_byte_order_mark_crlf_and_document_markers_are_accepted(tmp_path: Path, content: bytes) -> None:
    question = load(tmp_path, content).questions[0]
    assert (question.id, question.text) == ("lex-0001", "which routine reports the pivot growth?")


@pytest.mark.parametrize("content", ["", "# only\n# comments\n", "[]\n", "---\n"])
def test_yml_09_a_file_without_questions_is_a_warning(tmp_path: Path, content: str) -> None:
    loaded = load(tmp_path, content)
    assert loaded.questions == ()
    assert [(warning.file, warning.code) for warning in loaded.warnings] == [("sets/set.yaml", "no-questions")]


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"- id: lex-0001\n\tquestion: x\n", 2, "indented with a tab"),
        (GOOD.encode() + b"---\n" + GOOD.encode(), 6, "a second document begins here"),
        (b"# a comment\nid: lex-0001\n", 2, "a list of records"),
        (GOOD.encode() + b"-\n", 6, "this is null"),
        (GOOD.encode().decode().encode("utf-16"), 1, "save it as UTF-8"),
        (GOOD.encode().decode().encode("utf-16-le"), 1, "save it as UTF-8"),
        (GOOD.encode() + b"# caf\xe9\n", 6, "byte 0xe9 is not UTF-8"),
        (b"just text\n", 1, "a list of records"),
        (GOOD.encode() + b"- plain\n", 6, "this is text"),
        (b"- id: lex-0001\n  question: what: now\n", 2, "quote text that holds `: `"),
        (b"- id: lex-0001\n  question: @x\n", 2, "quote text that begins with `@`"),
        (b"- id: lex-0001\n  question: a\x01b\n", 2, "control characters"),
    ],
)
def test_yml_09_other_shapes_are_refused_with_file_and_line(
    tmp_path: Path, content: bytes, line: int, said: str
) -> None:
    problem = only(tmp_path, content)
    assert (problem.file, problem.line) == ("sets/set.yaml", line)
    assert said in problem.message


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (record(gold="[{file: b.pdf, page: [5, 6]}]"), 5, "gold[0].page: unknown field; did you mean `pages`?"),
        (
            record(gold="[{file: b.md, requried: false}]"),
            5,
            "gold[0].requried: unknown field; did you mean `required`?",
        ),
        (record(anwserable="false"), 6, "anwserable: unknown field; did you mean `answerable`?"),
        (GOOD + "  1: a\n", 6, "the key `1` is read as a number"),
        (GOOD + "  on: x\n", 6, "the key `on` is read as a boolean"),
        (GOOD + "  ? [a, b]\n  : c\n", 6, "a list stands where a key must stand"),
        (GOOD + "  ? {a: [b]}\n  : {c: [d]}\n  notes: fine\n", 6, "a mapping stands where a key must stand"),
        (GOOD + "  true: x\n", 6, "the key `true` is read as a boolean"),
        (GOOD + "  ~: x\n", 6, "the key `~` is read as null"),
        (GOOD + "  '[key]': x\n", 6, "[key]: unknown field"),
        (record(gold="[{file: a.md, '[key]': 1}]"), 5, "gold[0].[key]: unknown field"),
        (record(provenance="{autor: owner}"), 6, "provenance.autor: unknown field; did you mean `author`?"),
        (
            record(gold="[{file: a.md, alternatives: [{file: b.md, heding: X}]}]"),
            5,
            "gold[0].alternatives[0].heding: unknown field; did you mean `heading`?",
        ),
    ],
)
def test_yml_12_an_unknown_or_non_text_key_is_named_with_its_nearest_field(
    tmp_path: Path, content: str, line: int, said: str
) -> None:
    problem = only(tmp_path, content)
    assert (problem.line, problem.record) == (line, "lex-0001")
    assert said in str(problem)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (record(id="lex-1"), "id"),
        (record(id="Lex-0001"), "id"),
        (record(id="lex-٠٠٠١"), "id"),
        (record(id="-0001"), "id"),
        (record(tier="T5"), "tier"),
        (record(split="tset"), "split"),
        (record(strategy="facts"), "strategy"),
        (record(suite="sealed"), "suite"),
        (record(suite="T1"), "suite"),
        (record(suite="skip"), "suite"),
        (record(suite="a:b"), "suite"),
        (record(suite="-x"), "suite"),
        (record(question="'  '"), "question"),
        (record(nuggets="one"), "nuggets"),
        (record(gold="{file: a.md}"), "gold"),
        (record(gold="[a.md]"), "gold[0]"),
        (record(gold="[{file: a.md, hop: 0}]"), "gold[0].hop"),
        (record(gold="[{file: a.md, hop: 1.0}]"), "gold[0].hop"),
        (record(gold="[]"), "gold"),
        (record(gold=None), "gold"),
        (record(gold="[{file: a.md, required: false}]"), "gold"),
        (record(answerable="false"), "gold"),
        (record(provenance="~"), "provenance"),
        (record(tier=None), "tier"),
        (record(domain="3"), "domain"),
        (record(gold="[{file: a.md, heading: [A, 3.10]}]"), "gold[0].heading"),
        (record(gold="[{file: a.md, heading: A >  > B}]"), "gold[0].heading"),
    ],
)
def test_each_rule_of_the_schema_names_its_field(tmp_path: Path, content: str, field: str) -> None:
    assert only(tmp_path, content).field == field


def test_a_project_uses_a_suite_of_its_own_by_writing_its_name(tmp_path: Path) -> None:
    assert load(tmp_path, record(suite="legal-v2")).questions[0].suite == "legal-v2"


def test_an_unanswerable_question_has_empty_gold(tmp_path: Path) -> None:
    question = load(tmp_path, record(answerable="false", gold="[]")).questions[0]
    assert (question.answerable, question.gold, question.required) == (False, (), ())


def test_the_same_gold_source_twice_is_refused_since_one_chunk_earns_one_gain(tmp_path: Path) -> None:
    problem = only(tmp_path, record(gold="[{file: a.md, pages: [2, 2]}, {file: b.md}, {file: a.md, pages: [2, 2]}]"))
    assert (problem.field, problem.code) == ("gold[2]", "repeated-gold")
    assert "gold[0] again" in problem.message


def test_null_leaves_an_optional_field_unset_but_no_locator(tmp_path: Path) -> None:
    assert load(tmp_path, record(domain="", notes="~", split="null")).questions[0].domain is None
    # A blank `pages:` would quietly widen the source to the whole file.
    assert only(tmp_path, record(gold="[{file: a.pdf, pages: }]")).field == "gold[0].pages"
    assert only(tmp_path, record(gold="[{file: a.pdf, heading: }]")).field == "gold[0].heading"


def test_every_problem_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(record(tier="T9", question="No", colour="red"))
    (tmp_path / "b.yml").write_text("- id: lex-0002\n\tx: y\n")
    (tmp_path / "c.jsonl").write_text('{"id": "lex-0003", "question": 5}\n')
    with pytest.raises(InputError) as caught:
        load_questions(tmp_path, shown_as="sets")
    told = [(problem.file, problem.line, problem.field) for problem in caught.value.problems]
    assert told[:3] == [("sets/a.yaml", 2, "question"), ("sets/a.yaml", 4, "tier"), ("sets/a.yaml", 6, "colour")]
    assert ("sets/b.yml", 2, None) in told
    assert {field for file, _, field in told if file == "sets/c.jsonl"} == {"question", "suite", "tier", "gold"}
    assert str(caught.value).count("\n") == len(told) - 1


def test_pyt_03_an_id_in_two_files_names_both_files_and_lines(tmp_path: Path) -> None:
    (tmp_path / "lexical.yaml").write_text(record(id="lex-0006") + record(id="lex-0007"))
    (tmp_path / "paraphrase.yaml").write_text("# here too\n" + record(id="lex-0007"))
    with pytest.raises(InputError) as caught:
        load_questions(tmp_path, shown_as="golden/sets")
    (problem,) = caught.value.problems
    assert str(problem).startswith("golden/sets/paraphrase.yaml:2: lex-0007: id: ")
    assert "golden/sets/lexical.yaml:6" in problem.message


def test_an_id_twice_in_one_file_is_found_even_in_a_record_that_is_wrong_otherwise(tmp_path: Path) -> None:
    found = problems(tmp_path, record() + record(tier="T7"))
    assert [(problem.code, problem.line) for problem in found] == [("bad-value", 9), ("duplicate-id", 6)]


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "- " * 50_000, "{a: " * 20_000, GOOD + "  notes: " + "[" * 200 + "\n"]
)
def test_deep_nesting_is_refused_and_does_not_crash(tmp_path: Path, content: str) -> None:
    assert {problem.code for problem in problems(tmp_path, content)} <= {"too-deep", "yaml-syntax"}


def test_a_number_of_many_digits_is_refused_and_does_not_crash(tmp_path: Path) -> None:
    digits = "9" * 6_000
    assert only(tmp_path, record(notes=digits)).code == "quote-text"
    assert "too long to read" in only(tmp_path, record(gold=f"[{{file: a.md, hop: {digits}}}]")).message
    started = time.process_time()
    assert load(tmp_path, record(notes="9" * 50_000 + "x")).questions[0].notes == "9" * 50_000 + "x"
    assert time.process_time() - started < 1


def test_aliases_cannot_blow_a_file_up(tmp_path: Path) -> None:
    bomb = "- &a [x, x]\n" + "".join(f"- &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20))
    started = time.process_time()
    assert "alias" in {problem.code for problem in problems(tmp_path, bomb)}
    assert time.process_time() - started < 1


def test_scl_01_five_thousand_questions_and_a_long_one_load_in_seconds(tmp_path: Path) -> None:
    """About one second of an idle core; the bound leaves room for a slow one."""
    text = "".join(record(id=f"lex-{number:04d}", nuggets="[one fact, another fact]") for number in range(5_000))
    long = "pivot growth " * 2_308  # 30,004 characters
    started = time.process_time()
    loaded = load(tmp_path, text + record(id="par-0001", question=long.strip()))
    elapsed = time.process_time() - started
    assert len(loaded.questions) == 5_001
    assert len(loaded.questions[-1].text) >= 30_000
    if hasattr(strict_yaml.yaml, "CSafeLoader"):
        assert elapsed < 6


def test_the_parser_in_python_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = record(question='"Prüfung 🙂 of x"', gold="[{file: b.pdf, pages: [5]}]", notes="cut # here")
    fast = load(tmp_path, text)
    monkeypatch.setattr(strict_yaml, "_Parser", strict_yaml.yaml.SafeLoader)
    assert load(tmp_path, text) == fast
    assert only(tmp_path, record(question="No")).line == 2
    assert only(tmp_path, record(question="*a")).code == "alias"
    assert only(tmp_path, "- id: lex-0001\n\tquestion: x\n").line == 2


def test_jsonl_has_the_same_schema(tmp_path: Path) -> None:
    line = '{"id": "lex-0001", "question": "naïve?", "suite": "lexical", "tier": "T1", "gold": [{"file": "a.md", "pages": [5]}]}'
    loaded = load(tmp_path, "\ufeff" + line + "\n\n", "set.jsonl")
    assert loaded.questions[0].gold[0].locator.pages == (5, 5)
    assert loaded.files == {"lex-0001": "sets/set.jsonl"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "lex-0001", "id": "lex-0002"}', "stands twice"),
        ('{"id": NaN}', "NaN is not JSON"),
        ("[1]", "this is a list"),
        ('{"id": "lex-0001"', "no JSON object"),
        ("[" * 100_000, "nested too deep"),
        ('{"n": ' + "9" * 5_000 + "}", "no JSON object"),
    ],
)
def test_jsonl_is_strict_json_one_object_a_line(tmp_path: Path, line: str, said: str) -> None:
    problem = only(tmp_path, f"\n{line}\n", "set.jsonl")
    assert problem.line == 2
    assert said in problem.message


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    line = '{"id": "lex-0001", "question": "x \\ud800", "suite": "lexical", "tier": "T1", "gold": [{"file": "a.md"}]}'
    assert only(tmp_path, line, "set.jsonl").code == "bad-text"


def test_set_files_are_found_below_the_folder_in_one_order(tmp_path: Path) -> None:
    for name in (
        "b/z.yaml",
        "a.jsonl",
        "b/a.yml",
        "c.YAML",
        "notes.md",
        ".hidden.yaml",
        ".ragbench/x.yaml",
        "d.yaml/e.yaml",
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    names = [path.relative_to(tmp_path).as_posix() for path in find_set_files(tmp_path)]
    assert names == ["a.jsonl", "b/a.yml", "b/z.yaml", "c.YAML", "d.yaml/e.yaml"]


def test_a_single_set_stands_for_itself(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(GOOD)
    loaded = load_questions(tmp_path / "one.yaml", shown_as="golden/sets/one.yaml")
    assert loaded.files == {"lex-0001": "golden/sets/one.yaml"}


def test_a_missing_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rag_sets"):
        load_questions(tmp_path / "nowhere")


def test_the_digest_depends_on_questions_and_not_on_files(tmp_path: Path) -> None:
    one, two, three = tmp_path / "one", tmp_path / "two", tmp_path / "three"
    for folder in (one, two, three):
        folder.mkdir()
    (one / "a.yaml").write_text(record(id="lex-0001") + record(id="lex-0002"))
    (two / "x.yaml").write_text("# other layout\n" + record(id="lex-0002", answerable="true", split="~"))
    (two / "b.yaml").write_text(record(id="lex-0001", gold='[{"file": "a.md", required: true}]'))
    (three / "a.yaml").write_text(record(id="lex-0001") + record(id="lex-0002", split="dev"))
    digests = [load_questions(folder).digest for folder in (one, two, three)]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


@pytest.mark.parametrize("pages", ["[6, 5]", "[0, 1]", "[-1, 2]", "[5, 6, 7]", '"5-6"', "[5.0, 6]", "5"])
def test_loc_04_a_refused_range_names_the_id_and_the_field(tmp_path: Path, pages: str) -> None:
    problem = only(tmp_path, record(gold=f"[{{file: b.pdf, pages: {pages}}}]"))
    assert (problem.line, problem.record, problem.field, problem.code) == (5, "lex-0001", "gold[0].pages", "bad-pages")


def test_loc_04_one_page_is_a_range_of_one(tmp_path: Path) -> None:
    assert load(tmp_path, record(gold="[{file: b.pdf, pages: [5]}]")).questions[0].gold[0].locator.pages == (5, 5)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../../outside.txt", "could lie outside the corpus root"),
        ("/some/absolute/outside.txt", "outside the corpus root"),
        ("C:\\\\x.md", "outside the corpus root"),
        ("a\\0b.md", "control character"),
    ],
)
def test_loc_08_a_gold_file_outside_of_the_corpus_root_is_refused_by_id(tmp_path: Path, path: str, said: str) -> None:
    problem = only(tmp_path, record(gold=f'[{{file: "{path}"}}]'))
    assert (problem.line, problem.record, problem.field, problem.code) == (5, "lex-0001", "gold[0].file", "bad-file")
    assert said in problem.message


def test_a_record_without_an_id_is_counted_whatever_blank_lines_precede_it(tmp_path: Path) -> None:
    found = problems(tmp_path, '\n\n{"question": "x"}\n', "set.jsonl")
    assert {(problem.line, problem.record) for problem in found} == {(3, "record 1")}


PIECES = st.sampled_from(
    [
        *(
            "- ",
            "id: ",
            "lex-0001",
            "question: ",
            "gold: ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            ": ",
            "? ",
            "\n",
            "\n  ",
            "\n    ",
        ),
        *("\t", " # x", "&a ", "*a", "!!str ", "<<: ", "'", '"', "|\n", "> \n", "file: a.md", "pages: ", "'[key]': 1"),
        *("no", "~", "1e5", "2026-01-05", "alternatives: ", "\u2028", "\x85", "\r", "\ufeff", "---\n", "%YAML 1.1\n"),
        *("@", "`", "\x00", '"\\ud800"', "9" * 400, "provenance: ", "split: ", "[[[", "{{{"),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join), st.booleans(), st.sampled_from(["set.yaml", "set.jsonl"]))
@settings(deadline=None)
def test_no_text_brings_anything_but_problems_of_the_file(pieces: str, behind: bool, name: str) -> None:
    found: list[Problem] = []
    try:
        read_set(GOOD + "  " + pieces if behind else pieces, name)
    except InputError as error:
        found = error.problems or [Problem("none", None, None, None, "an error without a problem", "bug")]
    assert {problem.file for problem in found} <= {name}


def test_a_link_to_a_set_that_is_not_there_is_an_error_and_no_smaller_set(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").symlink_to(tmp_path / "nowhere.yaml")
    with pytest.raises(UsageError, match=r"b\.yaml is a link to nothing"):
        load_questions(tmp_path)


def test_a_folder_that_cannot_be_listed_is_an_error_and_no_smaller_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir()
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(UsageError, match=r"locked cannot be read: Permission denied"):
        load_questions(tmp_path)


def test_a_name_that_no_file_can_have_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: File name too long"):
        load_questions(tmp_path / ("x" * 5_000))


def test_a_linked_folder_of_sets_is_read_once_and_a_loop_ends(tmp_path: Path) -> None:
    shared, sets = tmp_path / "shared", tmp_path / "sets"
    shared.mkdir()
    sets.mkdir()
    (shared / "a.yaml").write_text(GOOD)
    (sets / "one").symlink_to(shared)
    (sets / "two").symlink_to(shared)
    (shared / "loop").symlink_to(sets)
    assert load_questions(sets, shown_as="sets").files == {"lex-0001": "sets/one/a.yaml"}


def test_what_was_read_is_gone_once_nobody_holds_it_without_the_garbage_collector():
    def mappings():
        return sum(isinstance(thing, strict_yaml.YamlMapping) for thing in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = mappings()
        document = strict_yaml.parse("- id: lex-0001\n- id: lex-0002\n")
        assert mappings() == before + 2
        del document
        assert mappings() == before
    finally:
        gc.enable()
