"""`validate` against folders on disk: each finding by its code, and nothing read outside of the corpus."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_ragbench.authoring import corpus as corpus_module
from pytest_ragbench.authoring.boards import board_text
from pytest_ragbench.authoring.corpus import Unread, open_corpus
from pytest_ragbench.authoring.validation import ERRORS, WARNINGS, Validation, validate
from pytest_ragbench.errors import UsageError

NOTE = """\
# Bisection

Bisection halves a bracket until it is smaller than the tolerance of 1e-6.

## Convergence

The error after n steps is at most the width of the bracket divided by two to the power of n.

## Empty
"""

Check = Callable[..., Validation]


def record(name: str = "par-0001", question: str = "how fast does halving converge?", **fields: str) -> str:
    usual = {"id": name, "question": question, "suite": "paraphrase", "tier": "T2", "gold": "[{file: a.md}]"}
    return "- " + "\n  ".join(f"{key}: {value}" for key, value in (usual | fields).items()) + "\n"


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Validate one set against a corpus of the files given (name to text)."""

    def run(text: str, files: dict[str, str] | None = None) -> Validation:
        docs = tmp_path / "docs"
        for name, content in ({"a.md": NOTE} if files is None else files).items():
            (docs / name).parent.mkdir(parents=True, exist_ok=True)
            (docs / name).write_text(content, encoding="utf-8")
        docs.mkdir(exist_ok=True)
        (tmp_path / "set.yaml").write_text(text, encoding="utf-8")
        result = validate(tmp_path / "set.yaml", corpus=docs, shown_as="set.yaml")
        assert {problem.code for problem in result.errors} <= set(ERRORS)
        assert {problem.code for problem in result.warnings} <= set(WARNINGS)
        return result

    return run


def codes(result: Validation) -> tuple[list[str], list[str]]:
    return [problem.code for problem in result.errors], [problem.code for problem in result.warnings]


def test_a_good_set_has_no_findings(check: Check) -> None:
    result = check(
        record(
            gold="[{file: a.md, heading: Bisection > Convergence}]",
            nuggets="[error at most the bracket width over 2^n]",
        )
    )
    assert codes(check(record(gold="[{file: a.md, heading: Bisection > Convergence}]"))) == ([], [])
    assert (result.questions, result.checked) == (1, True)


def test_a_missing_gold_file_is_an_error_with_its_line_and_a_near_name(check: Check) -> None:
    (problem,) = check(record(gold="\n    - file: Notes/bisecton.md"), {"Notes/bisection.md": NOTE}).errors
    assert (problem.code, problem.line, problem.field) == ("gold-file-missing", 6, "gold[0].file")
    assert "did you mean 'Notes/bisection.md'?" in problem.message


def test_alternatives_are_looked_up_as_well(check: Check) -> None:
    (problem,) = check(record(gold="[{file: a.md, alternatives: [{file: a.md}, {file: nope.md}]}]")).errors
    assert problem.field == "gold[0].alternatives[1].file"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_loc_01_the_file_on_disk_is_found_in_either_unicode_form(check: Check, form: str) -> None:
    other = "NFD" if form == "NFC" else "NFC"
    on_disk = {unicodedata.normalize(form, "Notes/Résumé.md"): unicodedata.normalize(form, "# Théorème\ntexte\n")}
    written = unicodedata.normalize(other, "[{file: Notes/Résumé.md, heading: Théorème}]")
    assert codes(check(record(gold=written), on_disk)) == ([], [])


def test_loc_02_two_files_that_fold_to_one_key_are_ambiguous(check: Check) -> None:
    files = {"Notes/todo.md": NOTE, "notes/TODO.md": NOTE}
    result = check(
        record(gold="[{file: Notes/todo.md}]") + record("par-0002", "other words", gold="[{file: notes/TODO.md}]"),
        files,
    )
    if not result.errors and sys.platform in ("darwin", "win32"):
        pytest.skip("this disk folds names itself")
    assert codes(result)[0] == ["locator-ambiguous", "locator-ambiguous"]
    assert "'Notes/todo.md' and 'notes/TODO.md'" in result.errors[0].message


@pytest.mark.parametrize("path", ["sub\\a.md", "./sub/a.md", "sub//a.md", "SUB/A.md"])
def test_loc_03_any_spelling_of_the_path_finds_the_file(check: Check, path: str) -> None:
    assert codes(check(record(gold=f"[{{file: '{path}'}}]"), {"sub/a.md": NOTE})) == ([], [])


@pytest.mark.parametrize("path", ["a.md", "old/sub/a.md", "sub/a.md.md"])
def test_loc_03_no_part_of_a_path_is_enough(check: Check, path: str) -> None:
    assert codes(check(record(gold=f"[{{file: '{path}'}}]"), {"sub/a.md": NOTE}))[0] == ["gold-file-missing"]


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("Convergence", "did you mean 'Bisection > Convergence'?"),
        ("Bisection > Convergense", "did you mean 'Bisection > Convergence'?"),
        ("Bisect", ""),
        ("Bisection > Convergence > Proof", "no such heading"),
        ("Bisection > Empty", "nothing stands below"),
    ],
)
def test_loc_06_a_heading_that_names_nothing_is_an_empty_locator(check: Check, heading: str, said: str) -> None:
    (problem,) = check(record(gold=f"[{{file: a.md, heading: {heading}}}]")).errors
    assert (problem.code, problem.field) == ("locator-empty", "gold[0].heading")
    assert said in problem.message


@pytest.mark.parametrize(
    ("gold", "found"),
    [("'3.1'", False), ("3.1 Euler", True), ("Ch 4", True), ("ch  4", True), ("Ch 4 > Bisection", False)],
)
def test_loc_06_headings_are_compared_component_by_component(check: Check, gold: str, found: bool) -> None:
    text = "# 3.1 Euler\nx\n# 3.10 Newton\nx\n# Ch 4\n## Bisection method\nx\n# Ch 40\nx\n"
    assert (codes(check(record(gold=f"[{{file: b.md, heading: {gold}}}]"), {"b.md": text}))[0] == []) is found


BOTH = "# Mapping\n## Input > Output\none\n## Input\n### Output\ntwo\n"


def test_loc_07_text_that_reads_as_two_headings_must_be_a_list(check: Check) -> None:
    (problem,) = check(record(gold="[{file: b.md, heading: Mapping > Input > Output}]"), {"b.md": BOTH}).errors
    assert problem.code == "locator-ambiguous"
    assert "['Mapping', 'Input > Output'] or ['Mapping', 'Input', 'Output']" in problem.message


@pytest.mark.parametrize(
    "heading", ["[Mapping, Input > Output]", "[Mapping, Input, Output]", "[mapping, 'INPUT  >  output']"]
)
def test_loc_07_a_list_tells_the_two_apart(check: Check, heading: str) -> None:
    assert codes(check(record(gold=f"[{{file: b.md, heading: {heading}}}]"), {"b.md": BOTH})) == ([], [])


def test_loc_07_a_heading_that_holds_the_separator_is_hinted_at_as_a_list(check: Check) -> None:
    text = "# Mapping\n## Input > Output\none\n"
    (problem,) = check(record(gold="[{file: b.md, heading: Mapping > Input > Output}]"), {"b.md": text}).errors
    assert problem.code == "locator-empty"
    assert "['Mapping', 'Input > Output'], to be written as that list" in problem.message


@pytest.mark.parametrize("heading", ["'`f(x)` **bold**'", "A B", "'A  B'"])
def test_loc_07_markup_stays_as_written_and_spaces_do_not_count(check: Check, heading: str) -> None:
    text = "## `f(x)` **bold** \none\n## A  B\ntwo\n"
    assert codes(check(record(gold=f"[{{file: b.md, heading: {heading}}}]"), {"b.md": text})) == ([], [])


def test_a_heading_that_stands_twice_is_a_warning(check: Check) -> None:
    result = check(record(gold="[{file: b.md, heading: A}]"), {"b.md": "# A\none\n# B\n# A\ntwo\n"})
    assert codes(result) == ([], ["repeated-heading"])
    assert "lines 1, 4" in result.warnings[0].message


def test_a_note_has_no_pages(check: Check) -> None:
    (problem,) = check(record(gold="[{file: a.md, pages: [3]}]")).errors
    assert (problem.code, problem.field) == ("locator-empty", "gold[0].pages")


def test_loc_08_a_symbolic_link_out_of_the_corpus_is_never_read(check: Check, tmp_path: Path) -> None:
    sentinel = "sentinel words that stand outside of the corpus only"
    (tmp_path / "outside.md").write_text(f"# Heading\n{sentinel}\n")
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "b.md").write_text(sentinel)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "docs" / "dangling.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "docs" / "folder").symlink_to(tmp_path / "away")
    (tmp_path / "docs" / "loop").symlink_to(tmp_path / "docs")
    text = record(
        question=sentinel, gold="[{file: link.md, heading: Headin}, {file: folder/b.md}, {file: dangling.md}]"
    )
    result = check(text)
    assert codes(result) == (["gold-file-missing", "gold-file-outside", "gold-file-outside"], [])
    assert not any(sentinel in str(problem) for problem in result.errors)


def test_a_symbolic_link_within_the_corpus_is_a_file_like_others(check: Check, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link.md").symlink_to("a.md")
    assert codes(check(record(gold="[{file: link.md, heading: Bisection}]"))) == ([], [])


@pytest.mark.parametrize(
    ("nugget", "supported"),
    [
        ("the bracket is halved until smaller than the tolerance", True),  # `halved` alone is not there
        ("the tolerance is 1e-6", True),
        ("the tolerance is 42", False),
        ("secant steps need two starting values", False),
        ("what it is about", True),  # no content words
    ],
)
def test_a_nugget_must_stand_in_its_gold_passage(check: Check, nugget: str, supported: bool) -> None:
    result = check(record(gold="[{file: a.md, heading: Bisection}]", nuggets=f"[{nugget}]"))
    assert codes(result) == ([], [] if supported else ["nugget-unsupported"])


def test_a_nugget_is_held_against_its_section_and_against_all_sources_together(check: Check) -> None:
    files = {"a.md": NOTE, "b.md": "# Newton\nNewton converges quadratically.\n"}
    nuggets = "[bisection tolerance]"
    one = check(record(gold="[{file: b.md, heading: Newton}]", nuggets=nuggets), files)
    assert codes(one)[1] == ["nugget-unsupported"]
    assert (one.warnings[0].line, one.warnings[0].field) == (6, "nuggets[0]")
    both = check(record(gold="[{file: b.md, heading: Newton}, {file: a.md}]", nuggets=nuggets), files)
    assert codes(both)[1] == []


def test_copied_phrasing_is_a_warning_but_in_the_lexical_suite(check: Check) -> None:
    question = "why is the error after n steps is at most the width?"
    assert codes(check(record(question=question)))[1] == ["copied-phrasing"]
    assert codes(check(record(question=question, suite="lexical")))[1] == []


def test_aut_02_near_duplicates_and_shared_passages_across_the_split_are_warned_about(check: Check) -> None:
    gold = "[{file: a.md, heading: Bisection > Convergence}]"
    pairs = "".join(
        record(f"par-{2 * n:04d}", f"topic{n} {n} how fast does it go", gold=f"[{{file: n{n}.md}}]", split="dev")
        + record(
            f"par-{2 * n + 1:04d}", f"how fast does it go topic{n} {n}?", gold=f"[{{file: n{n}.md}}]", split="test"
        )
        for n in range(20)
    )
    result = check(pairs, {f"n{n}.md": NOTE for n in range(20)})
    assert codes(result)[1].count("near-duplicate") == 20
    assert codes(result)[1].count("shared-gold") == 20
    near = next(problem for problem in result.warnings if problem.code == "near-duplicate")
    assert "across dev and test" in near.message
    same_side = record("par-0001", "how fast does it go", gold=gold, split="dev") + record(
        "par-0002", "how fast does it go?", gold=gold, split="dev"
    )
    assert codes(check(same_side))[1] == ["near-duplicate"]


def test_rejected_questions_are_not_held_against_anything(check: Check) -> None:
    rejected = "{status: rejected}"
    text = record("par-0001", gold="[{file: nope.md}]", provenance=rejected) + record("par-0002")
    assert codes(check(text)) == ([], [])


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"question": "what is #5 in the list?"}, "question"),
        ({"nuggets": "\n    - fine\n    - the answer is #5"}, "nuggets[1]"),
        ({"answer": "it is  # five"}, "answer"),
        ({"gold": "[{file: a.md, heading: Bisection # 1\n    }]"}, "gold[0].heading"),
    ],
)
def test_yml_06_text_that_a_comment_cuts_off_is_warned_about(check: Check, fields: dict[str, str], field: str) -> None:
    result = check(record(**fields))
    assert [(problem.code, problem.field) for problem in result.warnings if problem.code == "cut-by-comment"] == [
        ("cut-by-comment", field)
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"question": '"what is #5?"'},
        {"question": "C# or F#?"},
        {"tier": "T1 # easy"},
        {"gold": "[{file: a.md}] # where"},
        {"question": ">\n    what is\n    #5?"},
    ],
)
def test_yml_06_no_warning_where_nothing_is_cut(check: Check, fields: dict[str, str]) -> None:
    assert codes(check(record(**fields))) == ([], [])


def test_load_errors_are_findings_with_the_text_of_a_session(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(record() + record())
    result = validate(tmp_path, shown_as="golden/sets")
    assert str(result.errors[0]).startswith(
        "golden/sets/set.yaml:6: par-0001: id: the id stands already in golden/sets/set.yaml:1"
    )
    assert result.quotas == []


def test_configurations_are_checked_along(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(record())
    (tmp_path / "configs.yaml").write_text("factors: {a: {x: 1}}\nconfigurations: {paraphrase: {}}\n")
    result = validate(tmp_path / "set.yaml", configurations=tmp_path / "configs.yaml")
    assert codes(result) == (["marker-clash"], ["no-off-value"])


def test_quotas_count_each_side_and_leave_rejected_ones_out(check: Check) -> None:
    text = (
        record("par-0001", "one", split="dev")
        + record("par-0002", "two", split="test", tier="T1")
        + record("par-0003", "three")
        + record("par-0004", "four", provenance="{status: rejected}")
        + record("own-0001", "five", suite="own")
    )
    by_name = {quota.suite: quota for quota in check(text).quotas}
    assert list(by_name)[-1] == "own"
    assert len(by_name) == 10
    found = by_name["paraphrase"]
    assert (found.have, found.dev, found.test, found.unsplit, found.rejected, found.target) == (3, 1, 1, 1, 1, 80)
    assert found.tiers == {"T1": (0, 1, 0), "T2": (1, 0, 1), "T3": (0, 0, 0), "T4": (0, 0, 0)}
    assert by_name["own"].target is None


@pytest.fixture
def book(tmp_path: Path) -> Path:
    fpdf = pytest.importorskip("fpdf")
    pytest.importorskip("pypdf")
    pdf = fpdf.FPDF()
    pdf.set_font("helvetica", size=12)
    for number in range(1, 13):
        pdf.add_page()
        if number != 12:
            pdf.multi_cell(0, 8, f"Page {number}: the Jacobi method converges for diagonally dominant matrices.")
    (tmp_path / "docs").mkdir()
    pdf.output(str(tmp_path / "docs" / "book.pdf"))
    return tmp_path / "docs" / "book.pdf"


@pytest.mark.parametrize(
    ("pages", "errors", "warnings"),
    [
        ("[3]", [], []),
        ("[11, 12]", [], []),
        ("[12, 13]", ["locator-empty"], []),
        ("[1, 11]", [], ["wide-pages"]),
        ("[12]", [], ["not-checked"]),
    ],
)
def test_loc_04_loc_05_pages_of_a_pdf(
    check: Check, book: Path, pages: str, errors: list[str], warnings: list[str]
) -> None:
    nuggets = "[jacobi converges]" if not errors else "[]"
    assert codes(check(record(gold=f"[{{file: book.pdf, pages: {pages}}}]", nuggets=nuggets))) == (errors, warnings)


def test_without_a_pdf_reader_pages_are_said_to_be_unchecked_once(
    check: Check, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        corpus_module, "_open_pdf", lambda _: Unread("pypdf is not installed, so pages were not checked")
    )
    text = "".join(record(f"par-{n:04d}", f"word{n}", gold="[{file: book.pdf, pages: [90]}]") for n in range(5))
    result = check(text)
    assert codes(result) == ([], ["not-checked"])
    assert "pypdf is not installed" in result.warnings[0].message
    assert "4 more sources" in result.warnings[0].message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", "no pdf at all"),
        ("a.ipynb", "{"),
        ("a.canvas", "[1]"),
        ("a.xyz", "?"),
    ],
)
def test_a_damaged_or_unknown_file_is_said_to_be_unchecked(check: Check, name: str, content: str) -> None:
    if name == "a.pdf":
        pytest.importorskip("pypdf")
    within = "pages: [1]" if name == "a.pdf" else "heading: X"
    assert codes(check(record(gold=f"[{{file: {name}, {within}}}]"), {name: content})) == ([], ["not-checked"])
    assert codes(check(record(gold=f"[{{file: {name}}}]", nuggets="[never looked up]"), {name: content})) == ([], [])


def test_nuggets_are_looked_up_in_the_cells_of_a_notebook_and_the_nodes_of_a_canvas(check: Check) -> None:
    files = {
        "n.ipynb": '{"cells": [{"source": ["tridiagonal ", "solver"]}, {"source": "thomas"}]}',
        "c.canvas": '{"nodes": [{"text": "stability region"}, {"type": "file"}]}',
    }
    text = record("par-0001", gold="[{file: n.ipynb, heading: Any}]", nuggets="[thomas tridiagonal solver]")
    text += record("par-0002", "else", gold="[{file: c.canvas}]", nuggets="[stability region]")
    assert codes(check(text, files)) == ([], [])


CANVAS = """{"nodes": [
  {"id": "a", "type": "text", "text": "# Bisection\\nhalves a bracket"},
  {"id": "b", "type": "file", "file": "Courses/Newton method.md", "subpath": "#Convergence"},
  {"id": "c", "type": "link", "url": "https://example.org/secant"},
  {"id": "g", "type": "group", "label": "Root finding"}
], "edges": [
  {"id": "1", "fromNode": "a", "toNode": "b", "label": "is slower than"},
  {"id": "2", "fromNode": "c", "toNode": "gone", "label": "generalises"},
  {"id": "3", "fromNode": "a", "toNode": "c"}
]}"""


def test_all_that_a_canvas_says_is_seen_labels_addresses_paths_and_edges_between_named_ends(check: Check) -> None:
    nuggets = "[root finding, example.org secant, Courses Newton Convergence, bisection slower than newton method]"
    assert codes(check(record(gold="[{file: c.canvas}]", nuggets=nuggets), {"c.canvas": CANVAS})) == ([], [])
    text = board_text(json.loads(CANVAS))
    assert "Bisection is slower than Courses/Newton method.md#Convergence" in text.split("\n\n")
    assert "https://example.org/secant generalises" in text.split("\n\n")
    missing = check(record(gold="[{file: c.canvas}]", nuggets="[halley iteration]"), {"c.canvas": CANVAS})
    assert codes(missing) == ([], ["nugget-unsupported"])


@pytest.mark.parametrize("content", ["", "{}", '{"nodes": null}', '{"nodes": [{"id": 3, "text": 4}], "edges": [{}]}'])
def test_an_empty_canvas_says_nothing_and_is_no_damage(check: Check, content: str) -> None:
    found = check(record(gold="[{file: c.canvas}]", nuggets="[halley iteration]"), {"c.canvas": content})
    assert codes(found) == ([], ["nugget-unsupported"])


def test_a_corpus_or_set_that_does_not_exist_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(record())
    with pytest.raises(UsageError, match="no corpus"):
        validate(tmp_path / "set.yaml", corpus=tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no question sets"):
        validate(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no corpus"):
        open_corpus(tmp_path / "set.yaml")


def test_a_template_is_one_near_duplicate_a_question_and_not_one_a_pair(check: Check) -> None:
    text = "".join(record(f"par-{n:04d}", f"how fast does the bracket of a method get halved {n}") for n in range(40))
    result = check(text)
    assert codes(result) == ([], ["near-duplicate"] * 39)
    assert result.warnings[-1].message.endswith("and 38 more questions are as near")


def test_aut_02_a_near_question_across_the_split_is_named_before_one_on_the_same_side(check: Check) -> None:
    text = record("par-0001", "how fast does it go", split="dev") + record(
        "par-0002", "how fast does it go", split="test"
    )
    result = check(text + record("par-0003", "how fast does it go", split="dev"))
    found = [problem for problem in result.warnings if problem.code == "near-duplicate"]
    assert [(problem.record, "across dev and test" in problem.message) for problem in found] == [
        ("par-0002", True),
        ("par-0003", True),
    ]
    assert "those of par-0002" in found[1].message


def test_yml_06_a_line_is_counted_as_yaml_counts_it(check: Check) -> None:
    text = record(answer='"one\u2028two"') + record("par-0002", "what else is #5 in it?")
    assert [(problem.code, problem.record) for problem in check(text).warnings] == [("cut-by-comment", "par-0002")]


def test_scl_01_many_headings_of_one_file_are_looked_up_in_seconds(check: Check) -> None:
    note = "".join(f"# Heading {number}\ntext\n" for number in range(1_500))
    text = "".join(
        record(f"par-{n:04d}", f"w{n} x{n}", gold=f"[{{file: b.md, heading: Heading {n}{'' if n % 2 else ' off'}}}]")
        for n in range(1_500)
    )
    started = time.process_time()
    errors, warnings = codes(check(text, {"b.md": note}))
    assert (errors, warnings) == (["locator-empty"] * 750, [])
    assert time.process_time() - started < 10


def test_a_corpus_that_cannot_be_listed_is_an_error_and_no_smaller_corpus(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs" / "locked").mkdir(parents=True)
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(UsageError, match=r"no corpus: .*locked cannot be read: Permission denied"):
        check(record())


def test_a_collection_that_cannot_be_read_is_a_usage_error(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(path: Path) -> object:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(corpus_module, "read_entries", refusing)
    with pytest.raises(UsageError, match=r"corpus\.jsonl cannot be read"):
        check(record(), {"corpus.jsonl": "{}"})
