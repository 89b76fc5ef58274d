"""`--rag-update-baseline` in real sessions: the same bytes for the same metrics, and never by accident."""

from __future__ import annotations

import hashlib
import json
import subprocess

import pytest
from plugin_support import question

QUESTIONS = 6
UPDATE = ("--rag-configs=one,two", "--rag-update-baseline")
FILES = ("main.json", "main.rows.jsonl")


def ranking(number):
    """Answers at another rank for each question, so that the means are no round numbers."""
    return [f"x{place}.md" for place in range(number % 4)] + [f"g{number}.md"]


def questions():
    return [
        question(
            number,
            domain="networking" if number % 2 else "déploiement",
            difficulty="hard",
            suite="lexical" if number % 3 else "books",
        )
        for number in range(1, QUESTIONS + 1)
    ]


def script(project, **changes):
    answers = {f"question {number}": ranking(number) for number in range(1, QUESTIONS + 1)}
    project.file("script.json", json.dumps({"one": answers, "two": {**answers, **changes}}))


@pytest.fixture
def ready(project):
    project.write(questions(), {"one": {}, "two": {}})
    script(project)
    return project


def bytes_of(project):
    return {name: (project.path / "baselines" / name).read_bytes() for name in FILES}


def digest(project):
    """One sha256 over both files."""
    return hashlib.sha256(b"".join(bytes_of(project).values())).hexdigest()


def main_of(project):
    return json.loads(bytes_of(project)["main.json"])


def told(result):
    return " ".join(result.stdout.str().partition("ragbench baseline")[2].split())


def refreshes():
    """Ten ways to measure the same: (arguments, environment, question sets by file name)."""
    records = questions()
    shuffled = [records[number - 1] for number in (5, 2, 6, 1, 4, 3)]
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    german = next((name for name in locales if name.startswith("de_DE")), "C.utf8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return [
        ((), {}, {"set": records}),
        ((), {}, {"set": shuffled}),
        ((), {}, {"set": records[::-1]}),
        ((), {}, {"b": records[:3], "a": records[3:]}),
        (("--rag-configs=two,one",), {}, {"set": records}),
        (("--rag-configs=two,one",), {}, {"z": shuffled[::2], "a": shuffled[1::2]}),
        (("-n2",), {"PYTHONHASHSEED": "7"}, {"set": records}),
        (("-n4",), {}, {"set": shuffled}),
        (("-n0",), {"LC_ALL": german, "PYTHONHASHSEED": "1"}, {"set": records}),
        (("-n0",), {**plain, "PYTHONHASHSEED": "4242"}, {"set": shuffled}),
    ]


def test_gat_06_ten_refreshes_by_other_workers_orders_locales_and_hashes_are_one_sha256(ready):
    (ready.path / "golden" / "sets" / "set.yaml").unlink()
    seen = []
    for arguments, environment, sets in refreshes():
        for name, records in sets.items():
            ready.sets(records, f"{name}.yaml")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            assert ready.run(*UPDATE, *arguments).ret == 0, arguments
        seen.append(digest(ready))
        for path in [ready.path / "baselines" / name for name in FILES]:
            path.unlink()  # each one captures anew: a file that is there could be left as it is
        for name in sets:
            (ready.path / "golden" / "sets" / f"{name}.yaml").unlink()
    assert len(seen) == 10
    assert len(set(seen)) == 1


def test_the_same_metrics_leave_the_files_unchanged_and_say_so(ready):
    assert ready.here(*UPDATE).ret == 0
    before = bytes_of(ready)
    result = ready.here(*UPDATE)
    assert result.ret == 0
    assert "baselines/main.json is unchanged, to the last byte." in told(result)
    assert bytes_of(ready) == before


def test_a_changed_metric_changes_its_own_lines_alone(ready):
    assert ready.here(*UPDATE).ret == 0
    before = main_of(ready)
    script(ready, **{"question 1": ["x.md"]})
    assert ready.here(*UPDATE).ret == 0
    after = main_of(ready)
    assert after["results"]["one"] == before["results"]["one"]
    assert after["results"]["two"] != before["results"]["two"]
    assert {key for key in after if after[key] != before[key]} == {"results", "rows_digest"}


def test_a_regression_alone_needs_no_force_and_is_shown(ready):
    ready.file("baselines/thresholds.yaml", "hard_gates:\n  recall@10: {min: 0.99, max_regression_delta: 0.0}\n")
    assert ready.here(*UPDATE).ret == 0
    script(ready, **{"question 1": ["x.md"]})
    assert ready.here("--rag-configs=one,two", "--rag-gate").ret == 1
    result = ready.here(*UPDATE)
    assert result.ret == 0
    assert "baselines/main.json was written, with the rows beside it" in told(result)
    assert "two recall@10 1.000 0.833 -0.167" in told(result)  # five of six are left
    assert "one recall@10" not in told(result)
    assert ready.here("--rag-configs=one,two", "--rag-gate=floors").ret == 1  # the floor is not the baseline's to move


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "n2"])
def test_a_partial_run_is_not_kept_without_force(ready, workers):
    assert ready.here(*UPDATE).ret == 0
    before = bytes_of(ready)
    script(ready, **{"question 1": ["x.md"]})
    result = ready.run(*UPDATE, "-k", "lex-0001", *workers)
    assert result.ret == 1
    assert "baselines/main.json was not written: this run stands for less than it planned." in told(result)
    assert "partial run: found a selection" in told(result)
    assert "To mend it: pytest --rag-configs=one,two --rag-update-baseline" in told(result)
    assert "--rag-force writes it all the same" in told(result)
    assert bytes_of(ready) == before


def test_an_errored_run_is_not_kept_without_force(ready):
    script(ready, **{"question 1": {"raise": "no index"}})
    result = ready.here(*UPDATE)
    assert result.ret == 1
    assert "errored rows: found 1 row failed: lex-0001 under two: RuntimeError: no index" in told(result)
    assert not (ready.path / "baselines" / "main.json").exists()


def test_with_force_it_is_kept_loudly_and_marked_and_the_gate_tells(ready):
    ready.file("baselines/thresholds.yaml", "hard_gates:\n  recall@10: {min: 0.5, max_regression_delta: 0.0}\n")
    script(ready, **{"question 1": {"raise": "no index"}})
    result = ready.here(*UPDATE, "--rag-force")
    assert result.ret == 1  # the row failed all the same
    assert "FORCED from a run that is not whole: errored rows: 1 row failed: lex-0001 under two" in told(result)
    assert "baselines/main.json says so until a whole run replaces it." in told(result)
    assert main_of(ready)["forced"] == ["errored rows: 1 row failed: lex-0001 under two: RuntimeError: no index"]
    script(ready)
    result = ready.here("--rag-configs=one,two", "--rag-gate")
    assert result.ret == 0
    shown = " ".join(result.stdout.str().split())
    assert "baselines/main.json was captured with --rag-force from a run that is not whole" in shown
    assert "recall@10 of two: no baseline; the baseline has 5 questions here, this run 6: floors alone." in shown
    assert "recall@10 one ok 1.000 1.000" in shown


def test_a_whole_run_takes_the_mark_away(ready):
    assert ready.here(*UPDATE, "--rag-force", "-k", "lex-0001").ret == 0
    assert main_of(ready)["forced"]
    assert ready.here(*UPDATE, "--rag-force").ret == 0
    assert "forced" not in main_of(ready)


def test_a_run_without_any_score_is_not_kept_even_with_force(ready):
    ready.file("script.json", json.dumps({name: {"*": {"raise": "no index"}} for name in ("one", "two")}))
    result = ready.here(*UPDATE, "--rag-force")
    assert result.ret == 1
    assert "nothing scored: found no row with a score" in told(result)
    assert not (ready.path / "baselines" / "main.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rag-gate", *UPDATE), "--rag-gate holds a run against the baseline and --rag-update-baseline replaces it"),
        (("--rag-gate=floors", *UPDATE), "type one of the two"),
        (("--rag-configs=one", "--rag-force"), "--rag-force goes with --rag-update-baseline"),
        (("--rag-configs=one", "--rag-gate", "--rag-force"), "--rag-force goes with --rag-update-baseline"),
    ],
)
def test_flags_that_contradict_each_other_are_refused_before_anything_runs(ready, arguments, said):
    result = ready.here(*arguments)
    assert result.ret == 4
    assert said in result.stderr.str()
    assert not ready.searches


def test_it_counts_only_when_typed(ready):
    ready.file("pytest.ini", "[pytest]\naddopts = --rag-update-baseline\n")
    result = ready.here("--rag-configs=one")
    assert result.ret == 4
    assert "--rag-update-baseline counts only when typed" in result.stderr.str()
    ready.file("pytest.ini", "[pytest]\nrag_update_baseline = on\n")
    ready.here("--rag-configs=one")
    assert not (ready.path / "baselines" / "main.json").exists()


def test_the_ini_keys_gate_steps_aside_for_a_typed_refresh(ready):
    ready.file("baselines/thresholds.yaml", "hard_gates:\n  recall@10: {min: 0.1, max_regression_delta: 0.0}\n")
    ready.file("pytest.ini", "[pytest]\nrag_gate = full\n")
    assert ready.here(*UPDATE).ret == 0
    script(ready, **{"question 1": ["x.md"]})
    assert ready.here("--rag-configs=one,two").ret == 1
    assert ready.here(*UPDATE).ret == 0
    assert ready.here("--rag-configs=one,two").ret == 0


def test_a_broken_baseline_can_be_captured_anew(ready):
    ready.file("baselines/main.json", "<<<<<<< HEAD\n")
    assert ready.here(*UPDATE).ret == 0
    assert main_of(ready)["results"]


def test_the_ledger_that_the_baseline_has_seen_may_not_be_cut(ready):
    ready.sets([*questions(), question(9, split="test")])
    assert ready.here("--rag-configs=one", "--rag-split=test", "--unseal-test").ret == 0
    assert ready.here("--rag-configs=one", "--rag-update-baseline").ret == 0
    assert main_of(ready)["ledger"] == {"count": 1, "last_hash": ready.ledger[0]["hash"]}
    for folder in ready.runs:  # no record that saw it is left; the baseline still has
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
    (ready.path / "baselines" / "test_ledger.jsonl").unlink()
    searched = len(ready.searches)
    result = ready.here("--rag-configs=one")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*the ledger was cut or rewritten: baselines/main.json saw the test split opened once, it has 0; *"]
    )
    assert len(ready.searches) == searched


def test_a_baseline_that_cannot_be_read_keeps_the_test_split_sealed_and_nothing_else(ready):
    ready.sets([*questions(), question(9, split="test")])
    ready.file("baselines/main.json", "<<<<<<< HEAD\n")
    assert ready.here("--rag-configs=one").ret == 0
    result = ready.here("--rag-configs=one", "--rag-split=test", "--unseal-test")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*the baseline anchors the ledger of the test split, and cannot be read: *"])
    assert not ready.ledger


def test_with_nothing_left_to_resume_no_baseline_is_written_and_the_session_says_so(ready):
    assert ready.here("--rag-configs=one,two").ret == 0
    result = ready.here("--rag-resume=last", "--rag-update-baseline")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["No baseline was written: the run has every row already, *"])
    assert not (ready.path / "baselines" / "main.json").exists()
