"""Writing splits into sets: only the splits change, under a lock, and never by halves."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ragbench.authoring import files
from pytest_ragbench.authoring.editing import with_splits
from pytest_ragbench.authoring.files import LOCK, replace_all, sets_lock
from pytest_ragbench.authoring.split_sets import split_sets
from pytest_ragbench.errors import InputError, UsageError
from pytest_ragbench.questions.loading import load_questions, read_set
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.questions.serial import to_mapping
from pytest_ragbench.questions.writing import write_set

HALF = Fraction(1, 2)
HEAD = "  suite: lexical\n  tier: T1\n  gold: [{file: a.md}]\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- id: q-0001\n  question: x\n  split: null\n" + HEAD, "- id: q-0001\n  question: x\n  split: dev\n" + HEAD),
        (
            "# top\n- id: q-0001   # why\n  question: x\n  split: ~  # soon\n" + HEAD,
            "# top\n- id: q-0001   # why\n  question: x\n  split: dev  # soon\n" + HEAD,
        ),
        ("- id: q-0001\n  question: x\n  split:\n" + HEAD, "- id: q-0001\n  question: x\n  split: dev\n" + HEAD),
        (
            "- id: q-0001\n  question: x\n  split: # soon\n" + HEAD,
            "- id: q-0001\n  question: x\n  split: dev # soon\n" + HEAD,
        ),
        ("- id: q-0001\n  question: x\n" + HEAD, "- id: q-0001\n  split: dev\n  question: x\n" + HEAD),
        (
            "- id: |-\n    q-0001\n  gold:\n  - file: a.md\n  question: x\n  suite: lexical\n  tier: T1\n",
            "- id: |-\n    q-0001\n  split: dev\n  gold:\n  - file: a.md\n  question: x\n  suite: lexical\n  tier: T1\n",
        ),
        (
            "-   id: 'q-0001' # c\n    question: x\n" + HEAD.replace("  ", "    "),
            "-   id: 'q-0001' # c\n    split: dev\n    question: x\n" + HEAD.replace("  ", "    "),
        ),
        (
            "- {id: q-0001, question: x, suite: lexical, tier: T1,\n   split: null, gold: [{file: a.md}]}\n",
            "- {id: q-0001, question: x, suite: lexical, tier: T1,\n   split: dev, gold: [{file: a.md}]}\n",
        ),
        (
            "- {id: q-0001\n  , question: x, suite: lexical, tier: T1, gold: [{file: a.md}]}\n",
            "- {id: q-0001, split: dev\n  , question: x, suite: lexical, tier: T1, gold: [{file: a.md}]}\n",
        ),
        (
            '- "split" : null\n  "id": q-0001\n  question: x\n' + HEAD,
            '- "split" : dev\n  "id": q-0001\n  question: x\n' + HEAD,
        ),
        (
            "- suite: lexical\n  question: 🙂 é\n  tier: T1\n  gold: [{file: a.md}]\n  id: q-0001",
            "- suite: lexical\n  question: 🙂 é\n  tier: T1\n  gold: [{file: a.md}]\n  id: q-0001\n  split: dev",
        ),
    ],
)
def test_only_the_split_changes(before: str, after: str) -> None:
    assert with_splits(before, {"q-0001": "dev", "q-9999": "test"}, name="a.yaml") == after


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_mark_and_line_ends_stay(mark: str) -> None:
    text = mark + (
        "- id: q-0001\n  question: é🙂\n" + HEAD + "- id: q-0002\n  question: y\n  split: null\n" + HEAD
    ).replace("\n", "\r\n")
    edited = with_splits(text, {"q-0001": "dev", "q-0002": "test"}, name="a.yaml")
    assert edited.startswith(mark)
    assert edited.count("\n") == edited.count("\r\n") == text.count("\n") + 1
    assert edited.replace("  split: dev\r\n", "").replace("split: test", "split: null") == text


@pytest.mark.parametrize("style", ["split", "? split", "split: ", "split : "])
def test_a_split_without_a_value_in_a_flow_record_is_filled(style: str) -> None:
    text = f"- {{id: q-0001, question: x, suite: lexical, gold: [{{file: a.md}}], tier: T1, {style}}}"
    edited = with_splits(text, {"q-0001": "dev"}, name="a.yaml")
    assert read_set(edited, "a.yaml")[0].split == "dev"


@pytest.mark.parametrize(
    "text",
    [
        "- ? id\n  : q-0001\n  question: x\n" + HEAD,
        "- ? split\n  id: q-0001\n  question: x\n" + HEAD,
    ],
)
def test_a_spelling_that_cannot_be_edited_is_said_to_be_so_and_never_damaged(text: str) -> None:
    """What the edited text would be wrong about is a text that nobody has seen: no problem of it is told."""
    with pytest.raises(UsageError, match=r"^a\.yaml: the splits cannot be written"):
        with_splits(text, {"q-0001": "dev"}, name="a.yaml")


def test_what_is_split_already_and_other_keys_of_that_name_are_left_alone() -> None:
    text = (
        "- id: q-0001\n  question: 'split: null'\n  split: test\n" + HEAD + "- id: q-0002\n  question: y\n"
        "  provenance: {drafted_by: 'id: q-0001'}\n" + HEAD
    )
    edited = with_splits(text, {"q-0002": "dev"}, name="a.yaml")
    assert edited == text.replace("- id: q-0002\n", "- id: q-0002\n  split: dev\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": "q-0001", "split": null, "question": "x"', '{"id": "q-0001", "split": "dev", "question": "x"'),
        (
            '{"id":"q-0001","question":"\\"split\\": null }, {"',
            '{"id":"q-0001", "split": "dev","question":"\\"split\\": null }, {"',
        ),
        (
            '{ "question" : "\\u00e9" , "split" :null ,"id":"q-0001"',
            '{ "question" : "\\u00e9" , "split" :"dev" ,"id":"q-0001"',
        ),
    ],
)
def test_only_the_split_of_a_json_line_changes(line: str, expected: str) -> None:
    rest = ', "suite": "lexical", "tier": "T1", "gold": [{"file": "a\\u2028.md", "pages": [1, 2]}]}'
    text = f"\n{line}{rest}\r\n\n"
    assert with_splits(text, {"q-0001": "dev"}, name="a.jsonl") == f"\n{expected}{rest}\r\n\n"


QUESTIONS = [
    Question(f"q-{n:04d}", f"what {n}", "lexical", "T1", gold=(GoldSource(Locator("a.md")),)) for n in range(9)
]


@given(st.sets(st.integers(0, 8), min_size=1), st.sampled_from(["a.yaml", "a.jsonl"]))
@settings(deadline=None)
def test_an_edited_set_is_the_set_with_other_splits(chosen: set[int], name: str) -> None:
    lines = "".join(json.dumps(to_mapping(question)) + "\n" for question in QUESTIONS)
    splits = {f"q-{n:04d}": "test" for n in chosen}
    edited = read_set(with_splits(write_set(QUESTIONS) if name == "a.yaml" else lines, splits, name=name), name)
    assert edited == [replace(question, split=splits.get(question.id)) for question in QUESTIONS]


def write(folder: Path, count: int = 4, name: str = "a.yaml") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("".join(f"- id: q-{n:04d}\n  question: what {n}\n{HEAD}" for n in range(count)))
    return file


def test_split_fills_nulls_in_every_file_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    write(tmp_path / "sets", 5)
    other = tmp_path / "sets" / "b.jsonl"
    other.write_text(
        '{"id": "z-0001", "question": "x", "suite": "lexical", "tier": "T1", "gold": [{"file": "a.md"}]}\n'
    )
    before = load_questions(tmp_path / "sets")
    result = split_sets(tmp_path / "sets", HALF, shown_as="sets")
    assert result.files == ("sets/a.yaml", "sets/b.jsonl")
    assert result.strata == {("lexical", "T1"): (3, 3)}
    after = load_questions(tmp_path / "sets")
    assert [one.id for one in after.questions] == [one.id for one in before.questions]
    assert {one.split for one in after.questions} == {"dev", "test"}
    again = split_sets(tmp_path / "sets", HALF)
    assert (again.files, dict(again.assignment.splits)) == ((), {})


def test_aut_01_renaming_and_reordering_files_changes_no_split(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    text = write(one, 12).read_text()
    other.mkdir()
    records = ["- id:" + part for part in text.split("- id:")[1:]]
    (other / "z.yaml").write_text("".join(records[:7][::-1]))
    (other / "a.yml").write_text("".join(records[7:]))
    for folder in (one, other):
        split_sets(folder, HALF)
    assert load_questions(one).digest == load_questions(other).digest


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    file = write(tmp_path / "sets")
    before = file.read_bytes()
    assert len(split_sets(tmp_path / "sets", HALF, dry_run=True).assignment.splits) == 4
    assert file.read_bytes() == before
    assert [path.name for path in (tmp_path / "sets").iterdir()] == ["a.yaml"]


def test_a_wrong_set_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "sets")
    (tmp_path / "sets" / "b.yaml").write_text("- id: q-0000\n  tier: T9\n")
    before = file.read_bytes()
    with pytest.raises(InputError, match="duplicate-id"):
        split_sets(tmp_path / "sets", HALF)
    assert file.read_bytes() == before


def test_yml_08_split_leaves_a_bare_date_as_it_was_written(tmp_path: Path) -> None:
    text = f"- id: q-0001\n  question: x\n{HEAD}  provenance: {{status: verified, reviewed_at: 2026-01-05}}\n"
    file = tmp_path / "a.yaml"
    file.write_text(text)
    split_sets(tmp_path, HALF)
    assert file.read_text().replace("  split: dev\n", "").replace("  split: test\n", "") == text
    assert json.dumps(to_mapping(load_questions(tmp_path).questions[0])["provenance"]).count('"2026-01-05"') == 1


def test_permissions_and_symbolic_links_survive(tmp_path: Path) -> None:
    real = write(tmp_path / "elsewhere")
    real.chmod(0o640)
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "a.yaml").symlink_to(real)
    split_sets(sets, HALF)
    assert (sets / "a.yaml").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "split: dev" in real.read_text()


HOLDER = """\
import sys, time
from pathlib import Path
from pytest_ragbench.authoring.files import sets_lock
with sets_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(folder: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_aut_04_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    write(tmp_path / "sets")
    process = hold(tmp_path / "sets", 60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / "sets" / LOCK).exists()
    said: list[str] = []
    assert len(split_sets(tmp_path / "sets", HALF, patience=5, say=said.append).assignment.splits) == 4
    assert said == []


def test_aut_04_an_empty_lock_file_locks_nothing(tmp_path: Path) -> None:
    write(tmp_path / "sets")
    (tmp_path / "sets" / LOCK).parent.mkdir()
    (tmp_path / "sets" / LOCK).touch()
    assert split_sets(tmp_path / "sets", HALF, patience=1).files


def test_git_takes_no_notice_of_the_lock(tmp_path: Path) -> None:
    write(tmp_path / "sets")
    split_sets(tmp_path / "sets", HALF)
    assert ((tmp_path / "sets" / LOCK).parent / ".gitignore").read_text() == "*\n"


def test_aut_04_a_slow_holder_is_waited_for_with_a_message(tmp_path: Path) -> None:
    write(tmp_path / "sets")
    process = hold(tmp_path / "sets", 1.0)
    said: list[str] = []
    started = time.monotonic()
    assert split_sets(tmp_path / "sets", HALF, patience=20, say=said.append).files
    assert time.monotonic() - started > 0.3
    assert len(said) == 1
    assert "waiting up to 20 s" in said[0]
    process.wait()


def test_aut_04_a_holder_that_does_not_end_is_a_clear_timeout_and_nothing_changes(tmp_path: Path) -> None:
    file = write(tmp_path / "sets")
    before = file.read_bytes()
    process = hold(tmp_path / "sets", 60)
    try:
        with pytest.raises(UsageError, match=r"still locked after 0\.3 s.*nothing was changed"):
            split_sets(tmp_path / "sets", HALF, patience=0.3)
    finally:
        process.kill()
        process.wait()
    assert file.read_bytes() == before


def test_aut_04_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    sets = tmp_path / "sets"
    write(sets, 30)
    code = (
        "import sys\nfrom fractions import Fraction\nfrom pathlib import Path\n"
        "from pytest_ragbench.authoring.split_sets import split_sets\n"
        "print(len(split_sets(Path(sys.argv[1]), Fraction(1, 2)).assignment.splits))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(sets)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert sorted(process.communicate()[0] for process in processes) == ["0\n", "30\n"]
    assert all(one.split for one in load_questions(sets).questions)


READ_ONLY = """\
import os, sys
from fractions import Fraction
from pathlib import Path
from pytest_ragbench.authoring.split_sets import split_sets
from pytest_ragbench.errors import UsageError
import pytest_ragbench.authoring.editing, filelock, tempfile
if os.geteuid() == 0:
    os.seteuid(65534)  # root writes everywhere
try:
    split_sets(Path(sys.argv[1]), Fraction(1, 2))
except UsageError as error:
    print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permission there")
def test_aut_04_a_read_only_folder_is_a_clear_error() -> None:
    with tempfile.TemporaryDirectory() as name:
        file = write(Path(name) / "sets")
        Path(name).chmod(0o755)
        file.parent.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(file.parent)], capture_output=True, text=True, check=True
        )
        assert re.search(r"sets cannot be written: .*make it writable; nothing was changed", done.stdout)
        assert "split" not in file.read_text()
        assert [path.name for path in file.parent.iterdir()] == ["a.yaml"]
        file.parent.chmod(0o755)


def test_aut_04_a_folder_that_refuses_files_is_a_clear_error_for_any_user(tmp_path: Path) -> None:
    """What stands where the lock's folder belongs keeps even root from making it."""
    file = write(tmp_path / "sets")
    (tmp_path / "sets" / ".ragbench").write_text("in the way")
    with pytest.raises(UsageError, match=r"cannot be written: .*nothing was changed"):
        split_sets(tmp_path / "sets", HALF)
    assert "split" not in file.read_text()


def test_no_file_is_replaced_when_one_cannot_be_staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other")
    stage = files.stage

    def full_disk(target: Path, parts: list[bytes], *, mode: int) -> Path:
        if target == other.resolve():
            raise OSError(28, "No space left on device")
        return stage(target, parts, mode=mode)

    monkeypatch.setattr(files, "stage", full_disk)
    before = one.read_bytes()
    with pytest.raises(UsageError, match="No space left"):
        replace_all({one: "new", other: "new"})
    assert one.read_bytes() == before
    assert [path.name for path in one.parent.iterdir()] == ["a.yaml"]


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_ctrl_c_in_the_middle_leaves_whole_files_alone_and_a_second_split_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder in (whole, stopped):
        write(folder, 9)
        (folder / "b.yaml").write_text((folder / "a.yaml").read_text().replace("q-", "r-"))
        (folder / "c.yaml").write_text((folder / "a.yaml").read_text().replace("q-", "s-"))
    split_sets(whole, HALF)
    calls, swap = [], Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return swap(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        split_sets(stopped, HALF)
    monkeypatch.undo()
    assert sorted(path.name for path in stopped.iterdir()) == [".ragbench", "a.yaml", "b.yaml", "c.yaml"]
    before = {path.name: path.read_bytes() for path in stopped.glob("*.yaml")}
    assert sum(b"split:" in data for data in before.values()) == moment - 1
    split_sets(stopped, HALF)
    assert {path.name: path.read_bytes() for path in stopped.glob("*.yaml")} == {
        path.name: path.read_bytes() for path in whole.glob("*.yaml")
    }


def test_a_disk_that_fails_between_two_files_is_said_with_what_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other")
    swap = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if target == other.resolve():
            raise OSError(5, "Input/output error")
        return swap(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(UsageError, match=r"Input/output error; .*; 1 of 2 files were changed"):
        replace_all({one: "new", other: "new"})
    assert (one.read_text(), [path.name for path in other.parent.iterdir()]) == ("new", ["a.yaml"])


def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), sets_lock(tmp_path):
        raise RuntimeError
    with sets_lock(tmp_path, patience=0):
        pass
