"""A bisect as users run it: real git, real pytest, each commit's own code on the bad end's questions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

# From the tests' own conftest, whose names a test module cannot import under importlib mode.
GOOD = '[f"g{query[1:]}.md", "x.md"]'
BAD = '["x.md", f"g{query[1:]}.md"]'
BROKEN = "1 / 0"


def test_the_commit_is_found_from_a_folder_below_the_top_and_every_line_says_its_part(toy):
    toy.answers(GOOD, GOOD, BAD, BAD)
    good, before, culprit, bad = (sha[:10] for sha in toy.commits())
    found = toy.bisect(" -- test_golden.py", folder=toy.folder / "golden")
    assert found.status == 1
    assert found.out.splitlines() == [
        f"3 commits after {good} up to {bad}; at most 4 probes",
        f"probe  1  {bad}  mrr@10 0.5000  bad end  commit 4",
        f"probe  2  {good}  mrr@10 1.0000  good end  commit 1",
        "questions: the bad end's golden/sets; corpus: each commit's own; code and configurations: each commit's own",
        "threshold: 0.7500, midway between the two ends",
        f"probe  3  {before}  mrr@10 1.0000  good  commit 2",
        f"probe  4  {culprit}  mrr@10 0.5000  regressed  commit 3",
        f"first regressed commit: {culprit}  0.5000  commit 3",
        "  2023-11-14  t",
        f"last good commit before: {before}  1.0000  commit 2",
    ]


def test_bis_06_the_bad_ends_questions_are_asked_of_every_commit(toy):
    # Commit 2 makes question 2 unanswerable by any ranking, commit 3 breaks the ranking. By its own questions each
    # commit would score 1, 0.5, 0.25, 0.25 and commit 2 would be blamed; by the bad end's 0.5, 0.5, 0.25, 0.25.
    harder = {"golden/sets/set.yaml": QUESTIONS.format(gold="nowhere.md")}
    toy.history({}, harder, {"src/toy/__init__.py": f"def search(query):\n    return {BAD}\n"}, {"README": "later"})
    found = toy.bisect()
    assert found.answer.endswith("0.2500  commit 3")
    assert "0.5000  good end" in found.out


def test_bis_06_a_question_set_that_was_named_is_asked_of_every_commit(toy, tmp_path):
    toy.answers(GOOD, BAD)
    sets = tmp_path / "mine.yaml"
    sets.write_text(QUESTIONS.format(gold="x.md"))  # question 2 is answered better by the later commit
    found = toy.bisect(f"--sets {sets} --json")
    assert found.json["questions"] == f"{sets} as it is now"
    assert (found.json["good"]["value"], found.json["bad"]["value"]) == (0.75, 0.75)
    assert (found.status, found.json["answer"]) == (0, "no regression")


def test_bis_06_the_bad_ends_corpus_is_read_by_every_commit_and_each_its_own_when_asked(toy):
    reads = (
        "from pathlib import Path\nCORPUS = Path(__file__).parents[2] / 'corpus'\n\n\n"
        "def search(query):\n    found = sorted(p.name for p in CORPUS.iterdir())\n"
        "    return {} and [name for name in found if name == 'g' + query[1:] + '.md']\n"
    )
    ini = {"pyproject.toml": "[tool.pytest.ini_options]\nrag_corpus = 'corpus'\n"}
    corpus = {"corpus/g1.md": "one", "corpus/g2.md": "two"}
    toy.history(ini | corpus | {"src/toy/__init__.py": reads.format("found")})
    toy.git("rm", "-q", "corpus/g2.md")
    toy.git("commit", "-qm", "a document goes")
    (toy.folder / "src/toy/__init__.py").write_text(reads.format("[]"))
    toy.git("commit", "-qam", "the code breaks")
    found = toy.bisect("--metric recall@10")
    assert "corpus: the bad end's corpus" in found.out
    assert "0.5000  good end" in found.out  # without g2.md question 2 finds nothing, at any commit
    assert found.answer.endswith("0.0000  the code breaks")
    found = toy.bisect("--metric recall@10 --own-corpus --threshold 0.9")
    assert found.answer.endswith("0.5000  a document goes")


def test_bis_02_a_broken_commit_counts_as_regressed_and_is_labelled_with_a_status_of_its_own(toy):
    toy.answers(GOOD, BROKEN, GOOD, BAD)
    found = toy.bisect()
    assert found.status == 2
    assert found.answer.endswith("could not be scored  commit 2")
    assert "2 rows errored, first lex-0001: ZeroDivisionError: division by zero" in found.out
    assert "--skip-unscorable searches around such commits" in found.out
    found = toy.bisect("--skip-unscorable")
    assert found.status == 1
    assert found.answer.endswith("0.5000  commit 4")


def test_bis_02_skipped_commits_that_hide_the_answer_are_told_as_a_range(toy):
    toy.history(
        {"src/toy/__init__.py": f"def search(query):\n    return {GOOD}\n"},
        {"src/toy/__init__.py": "def search(query:\n"},
        {"conftest.py": "", "src/toy/__init__.py": f"def search(query):\n    return {GOOD}\n"},
        {"conftest.py": CONFTEST, "src/toy/__init__.py": f"def search(query):\n    return {BAD}\n"},
    )
    found = toy.bisect("--skip-unscorable --metric mrr@k --json")
    assert (found.status, found.json["answer"], found.json["first_bad"]) == (2, "hidden", None)
    assert set(found.json) == documented_keys()
    assert [suspect["subject"] for suspect in found.json["suspects"]] == ["commit 2", "commit 3", "commit 4"]
    reasons = {probe["subject"]: probe["reason"] for probe in found.json["probes"]}
    assert "SyntaxError" in reasons["commit 2"]
    assert "no pipeline to measure" in reasons["commit 3"]


def test_what_is_no_regression_ends_with_status_0_after_the_ends(toy):
    toy.answers(BAD, GOOD, GOOD)
    found = toy.bisect()
    assert (found.status, len(found.probes)) == (0, 2)
    assert "no regression: mrr@10 is 1.0000 at the bad end and 0.5000 at the good end" in found.out


def test_a_good_end_below_the_threshold_is_refused(toy):
    toy.answers(BAD, GOOD)
    found = toy.bisect("--threshold 0.8")
    assert found.status == 4
    assert "the good end is regressed itself: mrr@10 0.5000 is below 0.8000" in found.err
    assert "are the two in the wrong order?" in found.err


def test_one_of_several_configurations_is_named_and_alone_measured(toy):
    configs = "configurations:\n  A: {overrides: {flip: false}}\n  B: {overrides: {flip: true}}\n"
    either = "def search(query, flip):\n    return {} if flip else {}\n"
    toy.history(
        {"golden/configs.yaml": configs, "src/toy/__init__.py": either.format(GOOD, BAD)},
        {"src/toy/__init__.py": either.format(BAD, BAD)},
    )
    found = toy.bisect(" -- --rag-configs=A,B")
    assert found.status == 4
    assert "the run has 2 configurations; name one with --configuration: A, B" in found.err
    found = toy.bisect("--configuration B --json -- --rag-configs=A,B")
    assert (found.status, found.json["configuration"]) == (1, "B")


def test_a_commit_that_would_measure_other_questions_is_no_measurement(toy):
    toy.history(
        {"pyproject.toml": "[tool.pytest.ini_options]\nrag_limit = 1\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
    )
    found = toy.bisect()
    assert found.status == 4
    assert "measured with another limit: 1, and the bad end with None" in found.err


def test_a_probe_that_takes_too_long_is_ended_and_cannot_be_scored(toy):
    toy.answers(GOOD, toy.waits)
    found = toy.bisect("--timeout 15 --json")
    assert (found.status, found.json["answer"]) == (2, "could not be scored")
    assert found.json["bad"]["reason"] == "it took longer than 15 s"
    assert "threshold: 1.0000, the good end's value" in found.err
    # Without a value of its own the bad end gives no middle: whatever is below the good end is regressed.
    assert (found.json["threshold"], found.json["threshold_from"]) == (1.0, "good end")


def test_records_are_kept_where_asked(toy, tmp_path):
    toy.answers(GOOD, BAD)
    assert toy.bisect(f"--keep {tmp_path / 'kept'}").status == 1
    good, bad = (sha[:10] for sha in toy.commits())
    folders = sorted(folder.name for folder in (tmp_path / "kept").iterdir())
    assert folders == [f"01-{bad}", f"02-{good}"]
    (run,) = (tmp_path / "kept" / folders[0] / "runs").glob("*/run.json")
    assert json.loads(run.read_text())["git"] == {"sha": toy.commits()[1], "dirty": False}
    found = toy.bisect(f"--keep {tmp_path / 'kept'}")
    assert (found.status, "it exists already" in found.err) == (4, True)


def test_an_ignored_file_is_given_to_every_commit_when_asked(toy):
    reads = "from pathlib import Path\nMODEL = (Path(__file__).parents[2] / 'model/weights').read_text()\n\n\n"
    toy.history(
        {
            ".gitignore": "model/\n__pycache__/\n",
            "src/toy/__init__.py": f"{reads}def search(query):\n    return {GOOD}\n",
        },
        {"src/toy/__init__.py": f"{reads}def search(query):\n    return {BAD}\n"},
    )
    (toy.folder / "model").mkdir()
    (toy.folder / "model" / "weights").write_text("1.0")
    found = toy.bisect()
    assert found.status == 4
    assert "FileNotFoundError" in found.err
    assert toy.bisect("--link model").status == 1
    assert (toy.folder / "model" / "weights").read_text() == "1.0"


QUESTIONS = """\
- {{id: lex-0001, question: q1, suite: lexical, tier: T1, split: dev, answerable: true, gold: [{{file: g1.md}}]}}
- {{id: lex-0002, question: q2, suite: lexical, tier: T1, split: dev, answerable: true, gold: [{{file: {gold}}}]}}
"""

CONFTEST = """
import pytest
from toy import search


@pytest.fixture(scope="session")
def rag_pipeline():
    return search
"""


def documented_keys():
    """The keys that docs/bisect.md explains."""
    section = (
        (Path(__file__).parents[2] / "docs" / "bisect.md").read_text(encoding="utf-8").partition("## For scripts")[2]
    )
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--metric recal@10", "did you mean recall@10"),
        ("--metric mrr@x", "no metric is called 'mrr@x'"),
        ("--threshold 7", "'7' is no value of a metric"),
        ("--link nothing", "--link nothing: it is a path below the top"),
        ("--sets nothing.yaml", "there is no such file or folder"),
        (" -- --unseal-test", "--unseal-test is not for bisect: every probe would be a look at the test split"),
        (" -- --rag-sets=a", "--rag-sets is not for bisect"),
        (" -- {here}/golden", "lies in your own tree, not in a commit's"),
        (" -- --rootdir={here}", "lies in your own tree, not in a commit's"),
    ],
)
def test_a_mistake_in_the_command_is_told_before_anything_is_measured(toy, arguments, why):
    toy.answers(GOOD, BAD)
    found = toy.bisect(arguments.format(here=toy.folder))
    assert (found.status, found.probes) == (4, [])
    assert why in found.err


def test_a_metric_that_the_depth_of_the_run_has_not_is_told_with_the_depth(toy):
    toy.answers(GOOD, BAD)
    found = toy.bisect("--metric recall@5")
    assert found.status == 4
    assert "no metric is called 'recall@5'; did you mean" in found.err
    assert "the run is cut at k = 10" in found.err
