"""The jobs of the command line from Python: the same records, verdicts and answers, and nothing printed."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from pytest_ragbench import bisect_commits, gate, measure
from pytest_ragbench.api import GoldSource, Locator, Question, find_run, report
from pytest_ragbench.cli import main
from pytest_ragbench.errors import InputError, SealedError, UsageError

SET = """\
- id: lex-000{number}
  question: question {number}
  suite: lexical
  tier: T1
  split: {split}
  answerable: true
  gold: [{{file: g{number}.md}}]
"""


def question(number, **keys):
    return Question(
        f"lex-{number:04d}", f"question {number}", "lexical", "T1", gold=(GoldSource(Locator(f"g{number}.md")),), **keys
    )


def search(query, best=2):
    """Finds the source of the first `best` questions, and nothing of the others."""
    number = int(query.split()[1])
    return [f"g{number}.md"] if number <= best else ["x.md"]


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def mean(run, name, metric="ndcg@10"):
    return run.summary()["results"][name]["overall"][metric]["mean"]


def test_questions_and_overrides_give_the_means_of_a_hand_count(runs, capsys):
    run = measure(search, map(question, (4, 3, 2, 1)), {"base": {}, "better": {"best": 3}}, runs_dir=runs)
    assert (mean(run, "base"), mean(run, "better")) == (0.5, 0.75)  # 2 and 3 of 4 found, at rank 1
    assert list(run.summary()["results"]["better"]["paired"]) == ["base"]
    assert capsys.readouterr() == ("", "")


def test_the_record_is_one_that_the_commands_read(runs, capsys):
    run = measure(search, [question(1)], runs_dir=runs)
    assert find_run("last", str(runs)).folder == find_run(run.folder, runs).folder == run.folder
    assert main(["report", "last", "--runs-dir", str(runs)]) == 0
    assert capsys.readouterr().out == report(run) == report(find_run("last", runs))
    assert run.run["complete"] is True


def test_files_give_the_results_that_pytest_gives_to_the_last_byte(pytester):
    pytester.makefile(".yaml", **{"golden/sets/a": "".join(SET.format(number=n, split="dev") for n in (1, 2, 3, 4))})
    pytester.makefile(
        ".yaml", **{"golden/configs": "configurations: {two: {}, three: {overrides: {best: 3}, paired: two}}"}
    )
    pytester.makeconftest(
        """
        import pytest

        def search(query, best=2):
            number = int(query.split()[1])
            return [f"g{number}.md"] if number <= best else ["x.md"]

        @pytest.fixture(scope="session")
        def rag_pipeline():
            return search
        """
    )
    pytester.makepyfile(**{"golden/test_golden": "def test_question(rag_row):\n    rag_row.check()\n"})
    assert pytester.runpytest_subprocess("--rag-configs=two,three").ret == 0
    pytest_run = find_run("last", pytester.path / ".ragbench" / "runs")
    run = measure(search, "golden/sets", "golden/configs.yaml", names=["two", "three"], runs_dir=pytester.path / "mine")
    assert json.dumps(run.summary()["results"]) == json.dumps(pytest_run.summary()["results"])
    for key in ("questions_digest", "config_digest", "configurations", "bootstrap", "split"):
        assert run.run[key] == pytest_run.run[key]


def test_a_search_that_raises_is_an_errored_row(runs):
    def broken(query):
        raise OSError("no index")

    run = measure(broken, [question(1), question(2)], runs_dir=runs)
    assert [row["error"] for row in run.errored_rows()] == ["OSError: no index"] * 2
    assert run.summary()["results"]["default"]["rows"] == {"errored": 2, "not_run": 0, "scored": 0}


def test_progress_counts_every_row(runs):
    told = []
    measure(search, map(question, (1, 2)), {"a": {}, "b": {}}, runs_dir=runs, progress=lambda *at: told.append(at))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_interruption_keeps_the_rows_and_says_so(runs):
    def stopped(query):
        if query == "question 2":
            raise KeyboardInterrupt
        return []

    with pytest.raises(KeyboardInterrupt):
        measure(stopped, map(question, (1, 2, 3)), runs_dir=runs)
    run = find_run("last", runs)
    assert (run.status, run.run["reason"], run.run["complete"]) == ("failed", "interrupted", False)
    assert [row["question"] for row in run.rows()] == ["lex-0001"]


def test_the_test_split_is_never_searched(runs):
    asked = []
    measure(
        lambda query: asked.append(query) or [], [question(1, split="dev"), question(2, split="test")], runs_dir=runs
    )
    assert asked == ["question 1"]
    with pytest.raises(SealedError, match="pytest -m sealed --unseal-test"):
        measure(search, [question(2, split="test")], runs_dir=runs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "there is no question to measure"),
        (([replace(question(1), tier="T9")],), "questions.jsonl:1: lex-0001: tier"),
        (([replace(question(1), id="lex-1")],), "id"),
        (([replace(question(1), gold=())],), "gold"),
        (([replace(question(1), gold=None)],), "a field of another type"),
        (([question(1), question(1)],), "two questions have the id lex-0001"),
        (([question(1)], {}), "no configuration is given"),
        (([question(1)], {"and": {}}), "a word of `-m` expressions"),
        (([question(1)], {"one": 5}), "configuration 'one': its overrides are a mapping, not a int"),
        (([question(1)], {"one": {"a": {1}}}), "configuration 'one': its overrides must be JSON"),
        (([question(1)], ["one"]), "a mapping of names to overrides, not a list"),
        ((["lex-0001"],), "a str is no Question"),
        ((5,), "a int is no Question"),
    ],
)
def test_a_mistake_is_a_sentence_and_leaves_nothing(arguments, message, runs):
    with pytest.raises((InputError, UsageError), match=message):
        measure(search, *arguments, runs_dir=runs)
    assert not runs.exists()


@pytest.mark.parametrize("keys", [{"k": 0}, {"k": "10"}, {"limit": 0}, {"limit": -1}, {"k": True}])
def test_a_depth_or_a_limit_below_one_is_a_sentence_and_leaves_nothing(keys, runs):
    ((name, value),) = keys.items()
    with pytest.raises(UsageError, match=f"{name} = {value!r}: it is a whole number, 1 or more"):
        measure(search, [question(1), question(2)], runs_dir=runs, **keys)
    assert not runs.exists()


@pytest.mark.parametrize("pipeline", [None, 5, "search"])
def test_what_cannot_search_is_no_pipeline(pipeline, runs):
    with pytest.raises(UsageError, match="cannot be measured; give an object with `search"):
        measure(pipeline, [question(1)], runs_dir=runs)
    assert not runs.exists()


def test_names_may_be_written_as_on_the_command_line(runs):
    run = measure(search, [question(1)], {"one": {}, "two": {}, "three": {}}, names="one,three", runs_dir=runs)
    assert list(run.summary()["results"]) == ["one", "three"]


def test_a_pipeline_that_knows_its_overrides_refuses_before_any_search(runs):
    class Strict:
        search = staticmethod(search)

        def check_overrides(self, **overrides):
            raise ValueError(f"{next(iter(overrides))}: no such override; did you mean depth?")

    with pytest.raises(UsageError, match="configuration base: depht"):
        measure(Strict(), [question(1)], {"base": {"depht": 3}}, runs_dir=runs)
    assert not runs.exists()


def test_the_gate_judges_by_the_floors_of_the_file(runs, tmp_path):
    run = measure(search, map(question, (1, 2, 3, 4)), runs_dir=runs)  # recall 0.5
    folder = tmp_path / "baselines"
    folder.mkdir()
    for floor, status in ((0.5, "passed"), (0.6, "failed")):
        (folder / "thresholds.yaml").write_text(f"hard_gates: {{recall@10: {{min: {floor}}}}}\n")
        verdict = gate(run, folder)
        assert verdict.status == status
        assert [(line.current, line.floor) for line in verdict.lines if line.gated] == [(0.5, floor)]
    (folder / "thresholds.yaml").write_text("hard_gates: {recal@10: {min: 0.5}}\n")
    with pytest.raises(InputError, match=r"did you mean `?recall@10"):
        gate(run, folder)


@pytest.mark.parametrize(
    ("text", "floors"),
    [("", False), ("hard_gates: {}", False), ("hard_gates: {recall@10: {max_regression_delta: 0}}", True)],
)
def test_a_gate_without_a_rule_is_a_mistake_and_never_green(text, floors, runs, tmp_path):
    (tmp_path / "thresholds.yaml").write_text(text)
    with pytest.raises(UsageError, match="so that every run would pass"):
        gate(measure(search, [question(9)], runs_dir=runs), tmp_path, floors=floors)


def test_any_sequence_can_be_bisected():
    found = bisect_commits("abcdefgh", lambda commit: "good" if commit < "f" else "regressed")
    assert found.first_bad == "f"
    assert len(found.probes) <= 5  # both ends, and log2(8)


def test_the_names_cost_nothing_until_they_are_used():
    script = (
        "import sys, pytest_ragbench; print([m for m in ('numpy', 'pydantic', 'yaml', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
