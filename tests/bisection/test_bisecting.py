"""A bisect as users run it: real git, real pytest, each commit's own code on the bad end's questions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_ragbench.cli import main

# From the tests' own conftest, whose names a test module cannot import under importlib mode.
GOOD = '[f"g{query[1:]}.md", "x.md"]'
BAD = '["x.md", f"g{query[1:]}.md"]'
BROKEN = "1 / 0"


def test_the_commit_is_found_from_a_folder_below_the_top_and_every_line_says_its_part(toy, tmp_path):
    # Also in a hook: what git exports to it names another repository and index than a probe's.
    toy.answers(GOOD, BAD, BAD)
    good, culprit, bad = (sha[:10] for sha in toy.commits())
    toy.git("init", "-q", str(tmp_path / "other"))
    git = tmp_path / "other" / ".git"
    hook = {"GIT_DIR": str(git), "GIT_INDEX_FILE": str(git / "index"), "GIT_PREFIX": "golden/"}
    found = toy.bisect(" -- test_golden.py", folder=toy.folder / "golden", exported=hook)
    assert found.status == 1
    assert found.out.splitlines() == [
        f"2 commits after {good} up to {bad}; at most 3 probes",
        f"probe  1  {bad}  mrr@10 0.5000  bad end  commit 3",
        f"probe  2  {good}  mrr@10 1.0000  good end  commit 1",
        "questions: the bad end's golden/sets; corpus: each commit's own; code and configurations: each commit's own",
        "threshold: 0.7500, midway between the two ends",
        f"probe  3  {culprit}  mrr@10 0.5000  regressed  commit 2",
        f"first regressed commit: {culprit}  0.5000  commit 2",
        "  2023-11-14  t",
        f"last good commit before: {good}  1.0000  commit 1",
    ]


def test_bis_06_the_bad_ends_questions_are_asked_of_every_commit(toy):
    # Commit 2 makes question 2 unanswerable by any ranking, commit 3 breaks the ranking. By its own questions each
    # commit would score 1, 0.5, 0.25 and commit 2 would be blamed; by the bad end's 0.5, 0.5, 0.25.
    harder = {"golden/sets/set.yaml": QUESTIONS.format(gold="nowhere.md")}
    toy.history({}, harder, {"src/toy/__init__.py": f"def search(query):\n    return {BAD}\n"})
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
    found = toy.bisect("--metric recall@10 --own-corpus", bad="HEAD~1")
    assert found.answer.endswith("0.5000  a document goes")


def test_bis_02_skipped_commits_that_hide_the_answer_are_told_as_a_range_each_with_its_reason(toy):
    pipeline = "src/toy/__init__.py"
    toy.history(
        {pipeline: search(GOOD)},
        {pipeline: "def search(query:\n"},
        {"conftest.py": "", pipeline: search(GOOD)},
        {"conftest.py": CONFTEST, pipeline: search(BROKEN)},
        {"pyproject.toml": "[tool.pytest.ini_options]\nrag_limit = 1\n", pipeline: search(GOOD)},
        {"pyproject.toml": "[tool.pytest.ini_options]\n", pipeline: search(BAD)},
    )
    found = toy.bisect("--skip-unscorable --metric mrr@k --json")
    assert (found.status, found.json["answer"], found.json["first_bad"]) == (2, "hidden", None)
    assert set(found.json) == documented_keys()
    assert [suspect["subject"] for suspect in found.json["suspects"]] == [f"commit {n}" for n in range(2, 7)]
    reasons = {probe["subject"]: probe["reason"] for probe in found.json["probes"]}
    assert "SyntaxError" in reasons["commit 2"]
    assert "no pipeline to measure" in reasons["commit 3"]
    assert reasons["commit 4"] == "2 rows errored, first lex-0001: ZeroDivisionError: division by zero"
    assert reasons["commit 5"] == "measured with another limit: 1, and the bad end with None"


def test_a_probe_that_takes_too_long_cannot_be_scored(toy):
    toy.answers(GOOD, BAD)
    found = toy.bisect("--timeout 0.01")
    assert (found.status, len(found.probes)) == (4, 2)
    assert (
        "the good end could not be scored, so there is nothing to compare with: it took longer than 0.01 s" in found.err
    )


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


def test_an_ignored_file_is_given_to_every_commit_that_has_none_of_that_name(toy):
    reads = "from pathlib import Path\n(Path(__file__).parents[2] / 'model/weights').read_text()\n\n\n"
    pipeline = "src/toy/__init__.py"
    toy.history(
        {".gitignore": "model/\n__pycache__/\n", pipeline: reads + search(GOOD)},
        {pipeline: search(GOOD), "model": "a file of that name"},
        {pipeline: search(BAD)},
    )
    toy.git("rm", "-q", "model")
    toy.git("commit", "-qm", "commit 4")
    (toy.folder / "model").mkdir()
    (toy.folder / "model" / "weights").write_text("1.0")
    found = toy.bisect("--link model/weights --json")
    assert [probe["reason"] for probe in found.json["probes"]] == [
        *(None, None),
        "--link model/weights has no place in this commit: File exists",
    ]
    assert (toy.folder / "model" / "weights").read_text() == "1.0"


def test_a_link_of_the_commits_own_stays_though_it_leads_nowhere(toy, tmp_path):
    toy.answers(GOOD)
    (toy.folder / "model").symlink_to(tmp_path / "nowhere")
    toy.git("add", "model")
    toy.git("commit", "-qm", "a link")
    toy.git("rm", "-q", "model")
    toy.git("commit", "-qm", "gone")
    (toy.folder / "model").write_text("mine")
    found = toy.bisect("--link model --timeout 0.01", bad="HEAD~1")
    assert (found.status, "it took longer than 0.01 s" in found.err) == (4, True)  # and not: File exists


def search(answer):
    """The source of the toy's retriever."""
    return f"def search(query, **overrides):\n    return {answer}\n"


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
        ("--metric MRR", "did you mean mrr"),
        ("--metric mrr@x", "no metric is called 'mrr@x'"),
        ("--threshold 7", "'7' is no value of a metric"),
        ("--link nothing", "--link nothing: it is a path below the top"),
        ("--sets nothing.yaml", "there is no such file or folder"),
        ("--keep {here}/src", "it exists already; name a new folder"),
        (" -- --unseal-test", "--unseal-test is not for bisect: every probe would be a look at the test split"),
        (" -- --rag-sets=a", "--rag-sets is not for bisect"),
        (" -- {here}/golden", "lies in your own tree, not in a commit's"),
        (" -- --rootdir={here}", "lies in your own tree, not in a commit's"),
        (" -- -o rag_corpus={here}/golden", "lies in your own tree, not in a commit's"),
        (" -- --override-ini=rag_corpus={here}/golden", "lies in your own tree, not in a commit's"),
    ],
)
def test_a_mistake_in_the_command_is_told_before_anything_is_measured(refused, toy, arguments, why):
    assert why in refused(arguments.format(here=toy.folder))


@pytest.mark.parametrize(
    ("always", "why"),
    [("--unseal-test", "--unseal-test is not for bisect"), ("-k 'open", "PYTEST_ADDOPTS cannot be read as arguments")],
)
def test_what_pytest_adds_to_every_command_line_is_held_to_the_same(refused, monkeypatch, always, why):
    monkeypatch.setenv("PYTEST_ADDOPTS", always)
    assert why in refused("")


@pytest.fixture
def refused(toy, capsys, monkeypatch):
    """Type a bisect that is refused before its first probe; what is told of it."""

    def typed(arguments):
        toy.answers(GOOD, BAD)
        monkeypatch.chdir(toy.folder)
        before = toy.state()
        assert main(toy.command(arguments)[4:]) == 4
        assert toy.state() == before
        said = capsys.readouterr()
        assert said.out == ""
        return said.err

    return typed


def test_a_folder_that_the_bad_end_does_not_have_is_named_as_the_user_knows_it(toy):
    toy.answers(GOOD, BAD)
    (toy.folder / "build").mkdir()
    found = toy.bisect(folder=toy.folder / "build")
    assert (found.status, found.probes) == (4, [])
    assert "error: the folder build is not in the bad end; stand in one that is" in found.err


def test_a_metric_that_the_depth_of_the_run_has_not_is_told_with_the_depth(toy):
    toy.answers(GOOD, BAD)
    found = toy.bisect("--metric recall@5")
    assert found.status == 4
    assert "no metric is called 'recall@5'; did you mean" in found.err
    assert "the run is cut at k = 10" in found.err
