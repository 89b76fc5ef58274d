"""Stores of completions: exact keys, helpful misses, conflicts refused with their lines, and what filling moves."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.errors import InputError, UsageError
from pytest_ragbench.llm.filling import fill
from pytest_ragbench.llm.seam import CANDIDATES, NoCompletionError, Recording, Replay
from pytest_ragbench.llm.store import Record, append, pending_path, prompt_key, read_pending, read_store

SYSTEM = "Answer briefly."
USER = "What is x?\n"


def line(system=SYSTEM, user=USER, completion="A letter.", model="m1", **more):
    key = prompt_key(system, user)
    return json.dumps({"key": key, "model": model, "completion": completion, "system": system, "user": user, **more})


def write(tmp_path, *lines):
    path = tmp_path / "store.jsonl"
    path.write_text("".join(f"{text}\n" for text in lines), encoding="utf-8")
    return path


def test_rep_01_only_the_exact_prompt_hits(tmp_path):
    store = read_store(write(tmp_path, line(), line(user="Was heißt Café?", completion="Kaffee.")))
    seam = Replay(store)
    assert seam.complete(SYSTEM, USER) == "A letter."
    others = [(SYSTEM, "What is x?"), (SYSTEM, "What is x?\r\n"), (SYSTEM, "Was heißt Cafe\u0301?"), ("Be long.", USER)]
    for system, user in others:
        with pytest.raises(NoCompletionError):
            seam.complete(system, user)


@pytest.mark.parametrize(
    ("system", "user", "told"),
    [
        (SYSTEM, "What is x?", "user prompt differs at character 10: recorded '\\n', asked its end"),
        (SYSTEM, "What is x?\r\n", "user prompt differs at character 10: recorded '\\n', asked '\\r\\n'"),
        (SYSTEM, "What is x?\n\n", "user prompt differs at character 11: recorded its end, asked '\\n'"),
        ("Answer at length.", USER, "system prompt differs at character 7: recorded 'briefly.', asked 'at length.'"),
    ],
)
def test_rep_01_a_miss_names_the_key_the_nearest_prompt_and_where_they_part(tmp_path, system, user, told):
    seam = Replay(read_store(write(tmp_path, line(user="Name a colour.", completion="Red."), line())))
    with pytest.raises(NoCompletionError) as raised:
        seam.complete(system, user)
    assert prompt_key(system, user) in str(raised.value)
    assert "nearest recorded prompt is 'What is x?\\n'" in str(raised.value)
    assert told in str(raised.value)


def test_rep_01_a_miss_in_another_unicode_form_says_where_the_forms_part(tmp_path):
    seam = Replay(read_store(write(tmp_path, line(), line(user="Was hei\u00dft Caf\u00e9?", completion="Kaffee."))))
    with pytest.raises(NoCompletionError) as raised:
        seam.complete(SYSTEM, "Was hei\u00dft Cafe\u0301?")
    # `Was heißt Caf` are 13 characters.
    assert "differs at character 13: recorded '\u00e9?', asked 'e\u0301?'" in str(raised.value)


def test_of_many_long_prompts_the_nearest_is_named_without_comparing_each_letter_by_letter(tmp_path, monkeypatch):
    rng = random.Random(1)
    prompts = ["".join(rng.choices("abcdefghijklmnop ", k=3000)) for _ in range(400)]
    seam = Replay(read_store(write(tmp_path, *(line(user=prompt) for prompt in prompts))))
    compared, ratio = [], SequenceMatcher.ratio
    monkeypatch.setattr(SequenceMatcher, "ratio", lambda matcher: compared.append(1) or ratio(matcher))
    with pytest.raises(NoCompletionError) as raised:
        seam.complete(SYSTEM, f"{prompts[300][:1500]}X{prompts[300][1500:]}")
    assert "differs at character 1500: recorded" in str(raised.value)
    assert len(compared) <= CANDIDATES  # each takes a tenth of a second


def test_a_store_without_prompts_still_answers_and_says_why_a_miss_names_no_neighbour(tmp_path):
    bare = json.dumps({"key": prompt_key("s", "u"), "model": "m", "completion": "yes"})
    seam = Replay(read_store(write(tmp_path, bare)))
    assert seam.complete("s", "u") == "yes"
    with pytest.raises(NoCompletionError, match="keep no prompts to compare with"):
        seam.complete("s", "v")


def test_rep_04_two_completions_for_one_key_are_refused_with_key_and_lines(tmp_path):
    path = write(tmp_path, line(), "", line(completion="A number."))
    with pytest.raises(InputError) as raised:
        read_store(path)
    (problem,) = raised.value.problems
    assert (problem.code, problem.line, problem.record) == ("two-completions", 3, prompt_key(SYSTEM, USER))
    assert "line 1 has another completion" in problem.message


def test_rep_04_two_labels_in_one_store_are_refused_with_their_lines(tmp_path):
    with pytest.raises(InputError, match=r"'m1' \(line 1\), 'm2' \(line 2\)"):
        read_store(write(tmp_path, line(), line(user="else", model="m2")))


def test_rep_04_an_identical_duplicate_is_accepted_with_a_warning(tmp_path):
    store = read_store(write(tmp_path, line(), line()))
    assert len(store.records) == 1
    assert [(warning.code, warning.line) for warning in store.warnings] == [("repeated-record", 2)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "bad-json"),
        ('{"key": "k", "key": "k"}', "bad-json"),
        ('{"key": "k", "model": "m", "completion": "c", "extra": 1}', "bad-record"),
        ('{"key": 5, "model": "m", "completion": "c"}', "bad-record"),
        ('{"key": "k", "completion": "c"}', "no-model"),
        ('{"key": "k", "model": "m"}', "no-completion"),
        ('{"key": "k", "model": "m", "completion": "c", "system": "s", "user": "u"}', "wrong-key"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path, text, code):
    with pytest.raises(InputError) as raised:
        read_store(write(tmp_path, line(), text))
    assert [(problem.code, problem.line) for problem in raised.value.problems] == [(code, 2)]


def test_a_missing_store_says_how_to_make_one(tmp_path):
    with pytest.raises(UsageError, match="--rag-llm=record:"):
        read_store(tmp_path / "none.jsonl")


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), unique=True, max_size=8))
def test_distinct_prompts_have_distinct_keys(prompts):
    clean = [pair for pair in prompts if not any("\ud800" <= c <= "\udfff" for text in pair for c in text)]
    assert len({prompt_key(*pair) for pair in clean}) == len(clean)


def test_the_digest_depends_on_answers_and_not_on_their_order(tmp_path):
    one, two = line(), line(user="else", completion="Other.")
    digests = {read_store(write(tmp_path, *lines)).digest for lines in ((one, two), (two, one), (two, one, one))}
    assert len(digests) == 1
    assert read_store(write(tmp_path, one)).digest not in digests


def test_what_is_recorded_waits_beside_the_store_once_and_fails_its_row(tmp_path):
    path = write(tmp_path, line())
    seam = Recording(read_store(path))
    assert seam.complete(SYSTEM, USER) == "A letter."
    for _ in range(2):
        with pytest.raises(NoCompletionError, match="ragbench fill"):
            seam.complete(SYSTEM, "new?")
    (waiting,) = read_pending(pending_path(path))
    assert (waiting.key, waiting.user, waiting.completion) == (prompt_key(SYSTEM, "new?"), "new?", None)


def test_two_processes_record_one_prompt_once(tmp_path):
    code = (
        "import sys; from pathlib import Path; from pytest_ragbench.llm.seam import Waiting\n"
        "waiting = Waiting(Path(sys.argv[1]))\n"
        "for n in range(20): waiting.note('s', f'prompt {n}')"
    )
    pending = tmp_path / "store.pending.jsonl"
    running = [subprocess.Popen([sys.executable, "-c", code, str(pending)]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert sorted(record.user for record in read_pending(pending)) == sorted(f"prompt {n}" for n in range(20))


def test_a_line_torn_by_a_crash_is_told_from_the_next(tmp_path):
    path = write(tmp_path, line())
    path.write_bytes(path.read_bytes() + b'{"key": "to')
    append(path, Record(key=prompt_key("a", "b"), model="m1", completion="c"))
    with pytest.raises(InputError) as raised:
        read_store(path)
    assert [problem.line for problem in raised.value.problems] == [2]


def answered(path, **completions):
    """Fill in the pending file by hand, as a user would."""
    records = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    for record in records:
        record["completion"] = completions.get(record["user"])
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def test_filling_moves_what_is_answered_and_leaves_the_rest(tmp_path):
    path = tmp_path / "store.jsonl"
    seam = Recording(read_store(write(tmp_path)))
    for user in ("a", "b", "c"):
        with pytest.raises(NoCompletionError):
            seam.complete("s", user)
    answered(pending_path(path), a="one", c="")
    filled = fill(path, model="hand")
    assert (filled.added, filled.known, filled.left) == (2, 0, 1)
    store = read_store(path)
    assert store.model == "hand"
    assert Replay(store).complete("s", "a") == "one"
    assert Replay(store).complete("s", "c") == ""
    assert [record.user for record in read_pending(pending_path(path))] == ["b"]
    assert fill(path, ask=lambda _, user: user.upper()).added == 1
    assert Replay(read_store(path)).complete("s", "b") == "B"


def test_filling_that_is_interrupted_keeps_each_answer_and_goes_on(tmp_path):
    path = write(tmp_path)
    seam = Recording(read_store(path))
    for user in ("a", "b", "c"):
        with pytest.raises(NoCompletionError):
            seam.complete("s", user)
    asked = []

    def ask(_, user):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(user)
        return user

    with pytest.raises(KeyboardInterrupt):
        fill(path, model="m", ask=ask)
    assert set(read_store(path).records) == {prompt_key("s", "a"), prompt_key("s", "b")}
    again = fill(path, ask=lambda _, user: user)
    assert (again.added, again.known, again.left) == (1, 2, 0)
    assert read_pending(pending_path(path)) == []


def test_a_second_label_is_refused_before_anything_is_written(tmp_path):
    path = write(tmp_path, line())
    with pytest.raises(NoCompletionError):
        Recording(read_store(path)).complete("s", "a")
    answered(pending_path(path), a="one")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="found m1, other"):
        fill(path, model="other")
    assert path.read_bytes() == before


def test_where_nothing_was_ever_recorded_filling_says_so_and_leaves_nothing(tmp_path):
    with pytest.raises(UsageError, match=r"there is no such store and no store\.pending\.jsonl beside it"):
        fill(tmp_path / "no" / "store.jsonl", model="m")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_an_editor_saved_with_a_mark_of_its_encoding_is_read(tmp_path):
    path = write(tmp_path, line())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert Replay(read_store(path)).complete(SYSTEM, USER) == "A letter."


def test_without_any_label_filling_asks_for_one(tmp_path):
    path = write(tmp_path)
    with pytest.raises(NoCompletionError):
        Recording(read_store(path)).complete("s", "a")
    with pytest.raises(UsageError, match="--model LABEL"):
        fill(path)


def test_a_pending_prompt_that_was_edited_is_refused(tmp_path):
    path = write(tmp_path)
    with pytest.raises(NoCompletionError):
        Recording(read_store(path)).complete("s", "a")
    pending = pending_path(path)
    pending.write_text(pending.read_text(encoding="utf-8").replace('"user":"a"', '"user":"z"'), encoding="utf-8")
    with pytest.raises(InputError, match="do not edit"):
        fill(path, model="m")


def test_half_a_character_is_refused_by_line_and_nothing_is_made(tmp_path):
    path = tmp_path / "store.jsonl"
    with pytest.raises(NoCompletionError):
        Recording(read_store(write(tmp_path))).complete("s", "a")
    path.unlink()
    answered(pending_path(path), a="a\ud800b")
    with pytest.raises(InputError, match="half a surrogate pair"):
        fill(path, model="m")
    assert not path.exists()


def test_of_two_answers_to_one_prompt_none_is_dropped_unsaid(tmp_path):
    path = write(tmp_path)
    with pytest.raises(NoCompletionError):
        Recording(read_store(path)).complete("s", "a")
    pending = pending_path(path)
    answered(pending, a="one")
    first = pending.read_text(encoding="utf-8")
    pending.write_text(first + first.replace('"one"', '"two"'), encoding="utf-8")
    with pytest.raises(InputError, match="another completion"):
        fill(path, model="m")
    pending.write_text(first, encoding="utf-8")
    fill(path, model="m")
    pending.write_text(first.replace('"one"', '"two"'), encoding="utf-8")
    with pytest.raises(UsageError, match="the store has another completion"):
        fill(path)
    assert Replay(read_store(path)).complete("s", "a") == "one"


def test_a_blank_label_is_none(tmp_path):
    path = write(tmp_path)
    with pytest.raises(NoCompletionError):
        Recording(read_store(path)).complete("s", "a")
    answered(pending_path(path), a="one")
    with pytest.raises(UsageError, match="--model LABEL"):
        fill(path, model="  ")
