"""Places: any working folder, any locale, any state of git, and several runs at once."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from plugin_support import HOW, question, results_bytes, rows, run_json

INI = (
    "[pytest]\nrag_sets = eval/sets\nrag_configs_file = eval/configs.yaml\nrag_runs_dir = out/runs\nrag_tests = eval\n"
)


def write_elsewhere(project):
    """A project whose ini says that everything lies in `eval`, and whose root holds a folder `tests/deep`."""
    project.write([question(number) for number in (1, 2)], {"A": {}})
    (project.path / "golden").rename(project.path / "eval")
    project.file("pytest.ini", INI)
    project.file("tests/deep/test_deep.py", "def test_deep(): pass\n")
    return project


def test_pyt_10_paths_of_the_ini_file_do_not_depend_on_where_pytest_starts(project, monkeypatch, tmp_path_factory):
    write_elsewhere(project)
    outside = tmp_path_factory.mktemp("outside")
    root = str(project.path)
    for folder, typed in (
        (project.path, ()),
        (project.path / "tests" / "deep", ()),
        (outside, (f"--rootdir={root}", "-c", f"{root}/pytest.ini")),
    ):
        monkeypatch.chdir(folder)
        project.run("-q", "--rag-configs=A", *typed).assert_outcomes(passed=2)
    runs = list((project.path / "out" / "runs").glob("*-*"))
    assert len(runs) == 3
    assert all(set(rows(run)) == {("lex-0001", "A"), ("lex-0002", "A")} for run in runs)
    assert {run_json(run)["sets"] for run in runs} == {"eval/sets"}
    assert not list(outside.iterdir())


def test_pyt_10_typed_paths_are_relative_to_where_they_were_typed(project, monkeypatch):
    write_elsewhere(project)
    deep = project.path / "tests" / "deep"
    shutil.copytree(project.path / "eval" / "sets", deep / "mine")
    project.sets([question(3)], "unused.yaml")
    (project.path / "golden" / "sets" / "unused.yaml").rename(deep / "mine" / "third.yaml")
    monkeypatch.chdir(deep)
    typed = ("--rag-configs=A", "--rag-sets=mine", "--rag-runs-dir=here", "--rag-report=last.md")
    result = project.run(*typed)
    result.assert_outcomes(passed=3)
    (run,) = (deep / "here").glob("*-*")
    assert (deep / "last.md").read_bytes() == (run / "report.md").read_bytes()
    assert run_json(run)["sets"] == "tests/deep/mine"


def test_the_folders_of_a_further_report_are_made(project):
    project.write([question(1)], {"A": {"question 1": ["g1.md"]}})
    assert project.run("--rag-configs=A", "--rag-report=out/of/it/last.md").ret == 0
    (run,) = project.runs
    assert (project.path / "out/of/it/last.md").read_bytes() == (run / "report.md").read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes there")
def test_a_further_report_goes_through_a_pipe_and_to_where_a_link_leads(project):
    project.write([question(1)], {"A": {"question 1": ["g1.md"]}})
    os.mkfifo(project.path / "pipe")
    project.file("kept/report.md", "old")
    (project.path / "link.md").symlink_to("kept/report.md")
    reader = os.open(project.path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert project.run("--rag-configs=A", "--rag-report=pipe").ret == 0
        assert os.read(reader, 1 << 16) == (project.runs[-1] / "report.md").read_bytes()
    finally:
        os.close(reader)
    assert (project.path / "pipe").is_fifo()
    assert project.run("--rag-configs=A", "--rag-report=link.md").ret == 0
    assert (project.path / "link.md").is_symlink()
    assert (project.path / "kept" / "report.md").read_bytes() == (project.runs[-1] / "report.md").read_bytes()


@HOW
def test_a_further_report_that_cannot_be_written_loses_no_other_output(project, workers):
    project.write([question(1)], {"A": {"question 1": ["g1.md"]}})
    project.file("taken", "a file, no folder")
    result = project.run("--rag-configs=A", "--rag-report=taken/report.md", *workers)
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(
        ["*Complete: every planned cell*", "--rag-report: *taken/report.md: it cannot be written*"]
    )
    assert run_json(project.runs[0])["status"] == "done"


TEXTS = ["Où est la démonstration de l'inégalité de Schwarz ?", "二分法の収束", "ß, İ and 🙂"]


def write_foreign(project):
    records = [question(n, text=text, gold=[{"file": f"é{n}.md"}]) for n, text in enumerate(TEXTS, start=1)]
    records.append(question(9, text="fails"))
    answers = {text: ["x.md", {"file": f"e\u0301{n}.md", "text": text}] for n, text in enumerate(TEXTS, start=1)}
    return project.write(records, {"A": answers | {"fails": {"raise": "naïve ☃ \ud83d"}}})


def test_yml_11_the_same_bytes_in_the_c_locale(project, monkeypatch):
    write_foreign(project)
    assert project.spawn("--rag-configs=A").ret == pytest.ExitCode.TESTS_FAILED
    for name, value in {
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "",
        "LC_ALL": "C",
        "LANG": "C",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    plain = project.spawn("--rag-configs=A")
    workers = project.run("--rag-configs=A", "-n2")
    one = project.spawn("-k", "lex-0002", "--rag-configs=A")
    validated = project.command("validate")
    for result in (plain, workers, one, validated):
        text = result.stdout.str() + result.stderr.str()
        assert "UnicodeEncodeError: '" not in text
        assert "INTERNALERROR" not in text
        assert "Traceback" not in text
    assert (plain.ret, workers.ret, one.ret, validated.ret) == (1, 1, 0, 0)
    first, second, third, _ = project.runs
    digests = {run_json(folder)["questions_digest"] for folder in (first, second, third)}
    assert len(digests) == 1
    assert len({results_bytes(folder) for folder in (first, second, third)}) == 1
    assert len({reproducible(folder) for folder in (first, second, third)}) == 1
    found = rows(first)
    assert all(found[(f"lex-{n:04d}", "A")]["metrics"]["mrr@10"] == 0.5 for n in (1, 2, 3))
    assert found[("lex-0009", "A")]["error"].startswith("RuntimeError: naïve ☃ ")


def reproducible(folder):
    """A report without what a run's name, time and machine put into it."""
    text = (folder / "report.md").read_text(encoding="utf-8").replace(folder.name, "RUN")
    text = re.sub(r"started \S+", "started", text)
    return re.sub(r"## Latency.*?(?=\n## |\Z)", "", text, flags=re.DOTALL)


def test_gat_06_another_language_of_the_system_changes_no_byte(project, monkeypatch):
    write_foreign(project)
    assert project.spawn("--rag-configs=A").ret == 1
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    sets = project.path / "golden" / "sets" / "set.yaml"
    records = sets.read_text(encoding="utf-8").split("- id:")
    sets.write_text("- id:" + "- id:".join(reversed(records[1:])), encoding="utf-8")
    assert project.spawn("--rag-configs=A").ret == 1
    assert results_bytes(project.runs[0]) == results_bytes(project.runs[1])
    assert run_json(project.runs[0])["questions_digest"] == run_json(project.runs[1])["questions_digest"]


def test_rec_01_five_runs_in_one_second_have_five_folders(project):
    project.write([question(1)], {"A": {}})
    clock = "import datetime, pytest_ragbench.harness.recorder as recorder\n"
    clock += "class Frozen(datetime.datetime):\n"
    clock += "    @classmethod\n    def now(cls, tz=None): return cls(2026, 1, 5, 12, 0, 0, tzinfo=tz)\n"
    clock += "recorder.datetime = Frozen\n"
    conftest = (project.path / "conftest.py").read_text()
    project.file("conftest.py", clock + conftest)
    processes = [project.start("--rag-configs=A") for _ in range(5)]
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    names = {folder.name for folder in project.runs}
    assert names == {"20260105T120000Z-nogit", *(f"20260105T120000Z-nogit-{n}" for n in range(2, 6))}
    assert all(len(rows(folder)) == 1 and run_json(folder)["run_id"] == folder.name for folder in project.runs)


def test_rec_01_a_run_without_a_row_breaks_neither_readers_nor_the_latest(project):
    project.write([question(1)], {"A": {"*": {"interrupt": True}}})
    assert project.spawn("--rag-configs=A").ret == pytest.ExitCode.INTERRUPTED
    (project.path / ".ragbench" / "runs" / "20990101T000000Z-nogit").mkdir()
    shown = project.command("show", "last")
    assert shown.ret == 0
    shown.stdout.fnmatch_lines(["*Broke off: interrupted*"])
    project.file("script.json", '{"A": {}}')
    assert project.run("--rag-resume=last").ret == 0


def git(folder, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def measured_state(project):
    assert project.run("--rag-configs=A").ret == 0
    state = run_json(project.runs[-1])["git"]
    return state["sha"], state["dirty"]


def test_rec_03_every_state_of_git_is_recorded_rightly(project, monkeypatch, tmp_path_factory):
    project.write([question(1)], {"A": {}})
    assert measured_state(project) == (None, None)
    git(project.path, "init", "-q")
    assert measured_state(project) == (None, True)
    project.file(".gitignore", ".ragbench/\n.pytest_cache/\n__pycache__/\n*.log\n")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-qm", "one")
    sha = git(project.path, "rev-parse", "HEAD")
    assert measured_state(project) == (sha, False)
    project.sets([question(2)], "untracked.yaml")
    assert measured_state(project) == (sha, True)
    (project.path / "golden" / "sets" / "untracked.yaml").unlink()
    git(project.path, "commit", "-qm", "two", "--allow-empty")
    git(project.path, "checkout", "-q", "--detach", sha)
    assert measured_state(project) == (sha, False)
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    git(other, "commit", "-qm", "elsewhere", "--allow-empty")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert measured_state(project) == (sha, False)
    assert project.runs[-1].name.split("-")[1] == sha[:7]
    monkeypatch.setenv("PATH", "/nowhere")
    assert measured_state(project) == (None, None)


DATED = """- id: lex-0001
  question: what was done
  suite: personal
  tier: T1
  split: dev
  answerable: true
  gold:
  - file: {file}
  provenance:
    author: owner
    status: verified
    reviewed_at: 2026-01-05
"""


@HOW
def test_yml_08_a_bare_date_is_a_review_date_and_no_file_name(project, workers):
    project.write([question(9)], {"A": {"*": ["2026-01-05.md"]}})
    project.file("golden/sets/set.yaml", DATED.format(file="2026-01-05"))
    result = project.run("--rag-configs=A", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*golden/sets/set.yaml:8: lex-0001: gold[[]0].file: *"])
    project.file("golden/sets/set.yaml", DATED.format(file='"2026-01-05.md"'))
    before = (project.path / "golden" / "sets" / "set.yaml").read_bytes()
    assert project.run("--rag-configs=A", *workers).ret == 0
    assert (project.path / "golden" / "sets" / "set.yaml").read_bytes() == before
    assert '"reviewed_at":"2026-01-05"' in (project.runs[0] / "questions.jsonl").read_text()
    assert rows(project.runs[0])[("lex-0001", "A")]["metrics"]["hit@1"] == 1.0
