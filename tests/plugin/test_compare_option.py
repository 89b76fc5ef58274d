"""`--rag-compare=RUN|last`: at the end of a session, the difference to an earlier run."""

from __future__ import annotations

import pytest
from plugin_support import HOW, question

QUESTIONS = 8


def write(project, *, found, questions=QUESTIONS):
    lists = {
        "one": {f"question {number}": [f"g{number}.md"] if number <= found else ["x.md"] for number in range(1, 20)}
    }
    return project.write([question(number) for number in range(1, questions + 1)], lists)


def shown(result):
    """What stands behind the report of the run itself, whatever the width at which it was wrapped."""
    return " ".join(result.stdout.str().partition("ragbench compare")[2].split())


@HOW
def test_last_is_the_run_before_this_one(project, workers):
    write(project, found=1)
    assert project.run("--rag-configs=one").ret == 0
    write(project, found=8)
    result = project.run("--rag-configs=one", "--rag-compare=last", *workers)
    assert result.ret == 0
    old, new = (folder.name for folder in project.runs)
    text = shown(result)
    assert f"Comparison with {old}" in text
    assert "one is better: ndcg@10 0.125 to 1.000" in text
    assert "7 won, 0 lost, 1 tied" in text
    assert f"`ragbench compare {old} {new}` prints all of it." in text


def test_a_run_is_named_by_its_id_or_its_folder(project):
    write(project, found=4)
    assert project.here("--rag-configs=one").ret == 0
    (first,) = project.runs
    for name in (first.name, str(first)):
        assert "ranked exactly as in" in shown(project.here("--rag-configs=one", f"--rag-compare={name}"))


@HOW
def test_a_run_that_is_not_there_is_refused_before_anything_runs(project, workers):
    write(project, found=4)
    for name in ("last", "nowhere"):
        result = project.run("--rag-configs=one", f"--rag-compare={name}", *workers)
        assert result.ret == 4
        result.stderr.fnmatch_lines([f"*--rag-compare={name}: *"])
    assert not project.searches
    assert not project.runs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rag-k=5"], "not comparable: k: 10 in *, 5 in this run; run one of them again with --rag-k"),
        (["--rag-limit=3"], "not comparable: questions: 5 only in * (lex-0004, lex-0005, lex-0006 and 2 more)*"),
        (["--rag-shard=1/2"], "a shard stands for its part alone; compare the run that `ragbench merge` makes"),
    ],
)
def test_what_will_not_be_comparable_is_refused_before_anything_runs(project, options, message):
    write(project, found=4)
    assert project.here("--rag-configs=one").ret == 0
    searched = len(project.searches)
    result = project.here("--rag-configs=one", "--rag-compare=last", *options)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--rag-compare=last: {message}"])
    assert len(project.searches) == searched


def test_from_the_ini_file_a_first_run_only_says_that_there_is_nothing_to_compare_with(project):
    write(project, found=4)
    project.file("pytest.ini", "[pytest]\nrag_compare = last\n")
    result = project.here("--rag-configs=one")
    assert result.ret == 0
    assert "Not compared: " in shown(result)
    assert "there is no readable record here" in shown(result)
    assert "ranked exactly as in" in shown(project.here("--rag-configs=one"))


def test_a_partial_run_says_why_it_was_not_compared(project):
    write(project, found=4)
    assert project.here("--rag-configs=one").ret == 0
    result = project.here("--rag-configs=one", "--rag-compare=last", "-k", "lex-0001")
    assert result.ret == 0
    assert "Not compared: not comparable: " in shown(result)
    assert "run.json" not in shown(result)


def test_last_passes_over_runs_that_stand_for_a_part(project):
    """A run of one question, and a shard, between the two that are compared."""
    write(project, found=1)
    assert project.here("--rag-configs=one").ret == 0
    (whole,) = project.runs
    assert project.here("--rag-configs=one", "-k", "lex-0001").ret == 0
    assert project.here("--rag-configs=one", "--rag-shard=1/2").ret == 0
    result = project.here("--rag-configs=one", "--rag-compare=last")
    assert result.ret == 0
    assert f"Comparison with {whole.name}" in shown(result)


def test_where_no_run_stands_for_the_whole_the_last_is_refused_by_what_it_is(project):
    write(project, found=4)
    assert project.here("--rag-configs=one", "-k", "lex-0001").ret == 0
    result = project.here("--rag-configs=one", "--rag-compare=last")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--rag-compare=last: * is incomplete: its selection (-k, -m, --lf or a path) left *"])
