"""Workers: the same numbers from any number of them, one writer, and no row lost to a crash."""

from __future__ import annotations

import json
import signal

import pytest
from plugin_support import CALM, HOW, kill_group, question, results_bytes, rows, run_json, summary, wait_for_rows

QUESTIONS = 8
CONFIGURATIONS = ("low", "mid", "high")


def write_graded(project, questions=QUESTIONS, **answers):
    """Three lists that find the gold at ranks that differ by question and list."""
    lists = {}
    for depth, name in enumerate(CONFIGURATIONS):
        lists[name] = {
            f"question {number}": [
                *(f"x{filler}.md" for filler in range((number * 3 + depth * 2) % 7)),
                f"g{number}.md",
            ]
            for number in range(1, questions + 1)
        }
    for name, changed in answers.items():
        lists[name].update(changed)
    return project.write([question(number) for number in range(1, questions + 1)], lists)


ALL = "--rag-configs=low,mid,high"


def test_xdi_08_serial_parallel_and_shuffled_runs_give_the_same_bytes(project):
    write_graded(project)
    shuffled = ("-p", "randomly", *CALM[2:])
    for options in ((), ("-n1",), ("-n2",), ("-n4",)):
        assert project.run(ALL, *options).ret == 0
    assert project.pytester.runpytest_subprocess(ALL, *shuffled, "-p", "no:cacheprovider").ret == 0
    assert project.pytester.runpytest_subprocess(ALL, *shuffled, "-n2").ret == 0
    assert len(project.runs) == 6
    assert len({results_bytes(folder) for folder in project.runs}) == 1
    assert all(run_json(folder)["complete"] for folder in project.runs)


def test_xdi_03_sets_written_in_any_order_collect_alike_on_every_worker(project, monkeypatch):
    write_graded(project)
    for number in (9, 3, 7, 1, 8, 2, 5, 4, 6):
        project.sets([question(number, prefix=f"p{number}", suite=f"s{number % 3}")], name=f"{9 - number}-set.yaml")
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    result = project.run("-n4", ALL)
    assert result.ret == 0
    assert "Different tests were collected" not in result.stdout.str()


def test_xdi_04_only_the_controller_writes(project):
    questions = [question(number, split="test" if number % 2 else "dev") for number in range(1, 9)]
    write_graded(project)
    project.sets(questions)
    result = project.run("-n4", ALL, "--rag-split=all", "--unseal-test", "--rag-report=out.md")
    assert result.ret == 0
    assert len(project.runs) == 1
    assert len(project.ledger) == 1
    assert (project.path / "out.md").read_text() == (project.runs[0] / "report.md").read_text()
    assert len(rows(project.runs[0])) == 8 * 3


def test_all_cells_of_one_question_run_in_one_worker(project):
    write_graded(project)
    assert project.run("-n4", ALL).ret == 0
    workers = {}
    for line in project.searches:
        pid, text = line.split(" ", 1)
        workers.setdefault(text.split(" {")[0], set()).add(pid)
    assert len(workers) == QUESTIONS
    assert all(len(pids) == 1 for pids in workers.values())
    assert len({pid for pids in workers.values() for pid in pids}) > 1


def test_sta_13_the_first_search_of_every_worker_is_cold_and_out_of_the_latencies(project):
    write_graded(project, questions=12)
    project.file(
        "conftest.py",
        "import os, pathlib, time, pytest\n"
        "class Slow:\n"
        "    loaded = False\n"
        "    def search(self, query, **_):\n"
        "        (pathlib.Path(__file__).parent / f'{os.getpid()}.pid').touch()\n"
        "        time.sleep(0.01 if Slow.loaded else 2)\n"
        "        Slow.loaded = True\n"
        "        return ['x.md']\n"
        "@pytest.fixture(scope='session')\n"
        "def rag_pipeline():\n"
        "    return Slow()\n",
    )
    result = project.run("-n4", "--rag-configs=low")
    assert result.ret == 0
    measured = rows(project.runs[0]).values()
    cold = [row for row in measured if row["cold"]]
    processes = len(list(project.path.glob("*.pid")))
    assert 1 < processes <= 4
    assert len(cold) == processes
    assert all(row["timings"]["search"] > 1900 for row in cold)
    assert all(row["timings"]["search"] < 1900 for row in measured if not row["cold"])
    latency = summary(project.runs[0])["latency"]["low"]["search"]
    assert latency["p95"] < 200
    assert latency["n"] == 12 - len(cold)
    report = (project.runs[0] / "report.md").read_text(encoding="utf-8").partition("## Latency")[2]
    header, _, row = (line for line in report.splitlines() if line.startswith("|"))
    shown = dict(zip(*([cell.strip() for cell in line.split("|")] for line in (header, row)), strict=True))
    assert (shown["warm"], shown["cold"]) == (str(12 - processes), str(processes))


@pytest.mark.parametrize("first", range(8))
def test_a_worker_killed_at_any_cell_loses_no_other_row(project, first):
    """Over its parameters, each of the 24 cells once; three crashes in one session."""
    crashes = {(position // 3 + 1, CONFIGURATIONS[position % 3]) for position in (first, first + 8, first + 16)}
    answers = {
        name: {
            f"question {number}": {"once": f"died-{number}", "first": {"kill": True}, "then": ["g1.md"]}
            for number, other in crashes
            if other == name
        }
        for name in CONFIGURATIONS
    }
    write_graded(project, **answers)
    result = project.run("-n2", ALL)
    assert result.ret == 1
    found = rows(project.runs[0])
    assert len(found) == 24
    errored = {key: row["error"] for key, row in found.items() if row["error"]}
    assert set(errored) == {(f"lex-{number:04d}", name) for number, name in crashes}
    assert all(error.startswith("WorkerCrash: ") for error in errored.values())
    assert run_json(project.runs[0])["complete"] is True


def test_a_resumed_run_completes_a_crashed_one_to_the_same_bytes(project):
    write_graded(project, mid={"question 4": {"once": "died", "first": {"kill": True}, "then": ["x.md", "g4.md"]}})
    assert project.run("-n2", ALL).ret == 1
    before = len(project.searches)
    assert project.run("--rag-resume=last").ret == 0
    assert len(project.searches) - before == 1
    assert project.run(ALL).ret == 0
    crashed, resumed, whole = project.runs
    assert run_json(resumed)["resumed_from"] == crashed.name
    assert run_json(resumed)["partial"] is False
    assert results_bytes(resumed) == results_bytes(whole)


@pytest.mark.parametrize("typed", [10, 7])
def test_a_resumed_run_refuses_another_depth_even_where_it_is_the_usual_one(project, typed):
    write_graded(project, mid={"question 4": {"interrupt": True}})
    assert project.spawn(ALL, "--rag-k=5").ret == pytest.ExitCode.INTERRUPTED
    result = project.run("--rag-resume=last", f"--rag-k={typed}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--rag-resume: {project.runs[0].name} ran with k = 5, not {typed}"])
    assert len(project.runs) == 1


def test_a_resumed_run_goes_on_as_it_was_begun_whatever_an_ini_key_says(project):
    write_graded(project, mid={"question 4": {"interrupt": True}})
    assert project.spawn(ALL, "--rag-k=5").ret == pytest.ExitCode.INTERRUPTED
    project.file("pytest.ini", "[pytest]\nrag_k = 10\nrag_suites = books\nrag_split = dev\n")
    write_graded(project)
    assert project.run("--rag-resume=last").ret == 0
    assert (run_json(project.runs[-1])["k"], run_json(project.runs[-1])["complete"]) == (5, True)


@HOW
def test_resuming_a_run_that_is_whole_says_so_and_measures_nothing(project, workers):
    write_graded(project)
    assert project.run(ALL).ret == 0
    before = project.tree()
    result = project.run("--rag-resume=last", *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["ragbench: nothing is left to finish*"])
    assert project.tree() == before


def test_pyt_08_a_killed_controller_leaves_rows_that_readers_call_aborted_and_resume_completes(project):
    slow = {f"question {number}": {"sleep": 0.2, "chunks": [f"g{number}.md"]} for number in range(1, QUESTIONS + 1)}
    write_graded(project, low=slow, mid=slow, high=slow)
    process = project.start("-n2", ALL)
    folder = wait_for_rows(project, 5)
    kill_group(process)
    process.wait(timeout=20)
    assert run_json(folder)["status"] == "running"
    kept = len(rows(folder))
    assert kept >= 5
    shown = project.command("show", str(folder))
    shown.stdout.fnmatch_lines(["*aborted*"])
    assert run_json(folder)["status"] == "running"
    before = len(project.searches)
    assert project.run("-n2", f"--rag-resume={folder}").ret == 0
    assert len(project.searches) - before == 24 - kept
    assert project.run(ALL).ret == 0
    assert results_bytes(project.runs[-2]) == results_bytes(project.runs[-1])


@pytest.mark.usefixtures("interruptible")
@HOW
def test_pyt_07_an_interrupt_from_outside_keeps_every_finished_row(project, workers):
    slow = {f"question {number}": {"sleep": 0.2, "chunks": [f"g{number}.md"]} for number in range(1, QUESTIONS + 1)}
    write_graded(project, low=slow, mid=slow, high=slow)
    process = project.start(*workers, ALL)
    folder = wait_for_rows(project, 3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 2, output
    run = run_json(folder)
    assert (run["status"], run["reason"], run["complete"]) == ("failed", "interrupted", False)
    found = rows(folder)
    assert len(found) >= 3
    assert not any(row["error"] for row in found.values())
    assert "incomplete" in (folder / "report.md").read_text(encoding="utf-8").lower()


@HOW
def test_pyt_07_an_interrupt_inside_a_search_is_no_crash_of_its_cell(project, workers):
    write_graded(project, mid={"question 3": {"interrupt": True}})
    result = project.spawn(*workers, ALL)
    assert result.ret == 2
    folder = project.runs[0]
    run = run_json(folder)
    assert (run["status"], run["reason"]) == ("failed", "interrupted")
    found = rows(folder)
    assert ("lex-0003", "mid") not in found
    assert not any(row["error"] for row in found.values())
    counts = summary(folder)["results"]
    assert sum(counts[name]["rows"]["not_run"] for name in CONFIGURATIONS) == 24 - len(found)


DIES_BETWEEN_ITEMS = """
def pytest_runtest_protocol():
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
        os._exit(3)
"""


def test_items_lost_with_a_worker_that_is_not_replaced_fail_the_session(project):
    write_graded(project)
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + DIES_BETWEEN_ITEMS)
    result = project.run("-n2", "--max-worker-restart=0", "--rag-configs=low")
    run, found = run_json(project.runs[0]), rows(project.runs[0])
    assert not any(row["error"] for row in found.values())
    assert len(found) < QUESTIONS
    assert result.ret == 1
    assert (run["status"], run["complete"]) == ("failed", False)
    assert run["reason"] == f"{QUESTIONS - len(found)} of {QUESTIONS} selected items never ran"


@HOW
def test_a_test_that_ends_the_session_decides_its_exit_status(project, workers):
    stops = (
        "import pytest\ndef test_question(rag_row):\n    if rag_row.question == 'lex-0003': pytest.exit('enough', {})\n"
    )
    for status in (7, 1) if workers else (7,):
        write_graded(project).file("golden/test_golden.py", stops.format(status))
        result = project.spawn(*workers, "--rag-configs=low")
        assert result.ret == status
        assert "INTERNALERROR" not in result.stdout.str()
        run, found = run_json(project.runs[-1]), rows(project.runs[-1])
        assert (run["status"], run["complete"]) == ("failed", False)
        assert not any(row["error"] for row in found.values())


def test_the_record_counts_the_workers_of_a_multiplied_spec_and_tells_why_they_stopped(project):
    write_graded(project, low={"question 1": {"raise": "no such index"}})
    result = project.spawn("--dist=load", "--tx=2*popen", "--maxfail=1", ALL)
    assert result.ret == 2
    run = run_json(project.runs[0])
    assert (run["workers"], run["status"], run["reason"]) == (2, "failed", "stopping after 1 failures")


def test_stopping_at_the_first_failure_leaves_the_rest_not_run(project):
    write_graded(project, low={"question 1": {"raise": "no such index"}})
    result = project.run("-x", ALL)
    assert result.ret == 1
    run = run_json(project.runs[0])
    assert run["complete"] is False
    assert summary(project.runs[0])["results"]["low"]["rows"] == {"scored": 0, "errored": 1, "not_run": 7}


def test_a_rerun_counts_with_its_last_attempt(project):
    write_graded(project, mid={"question 2": {"once": "failed", "first": {"raise": "timed out"}, "then": ["g2.md"]}})
    result = project.run("--reruns=1", ALL)
    assert result.ret == 0
    assert rows(project.runs[0])[("lex-0002", "mid")]["error"] is None
    assert rows(project.runs[0])[("lex-0002", "mid")]["metrics"]["hit@1"] == 1.0


def test_other_distribution_modes_record_the_same_rows(project):
    write_graded(project)
    assert project.run(ALL).ret == 0
    assert project.run(ALL, "-n2", "--dist=loadfile").ret == 0
    assert project.run(ALL, "-n2", "--dist=worksteal").ret == 0
    assert len({results_bytes(folder) for folder in project.runs}) == 1


TELLS_WHERE = """
import os, time, pytest

@pytest.fixture(scope="session")
def rag_pipeline():
    def search(query, **overrides):
        first = "test_a.py" in os.environ["PYTEST_CURRENT_TEST"]
        time.sleep(0.5 if first == (query == "question 1") else 0)
        return ["a.md" if first else "b.md"]
    return search
"""


def test_of_two_modules_that_search_one_cell_in_two_workers_the_first_by_node_id_records(project):
    """Each question's rows arrive in the other order."""
    write_graded(project, questions=2).file("conftest.py", TELLS_WHERE)
    (project.path / "golden" / "test_golden.py").unlink()
    for module in ("test_b.py", "test_a.py"):
        project.file(f"golden/{module}", "def test_question(rag_row): rag_row.check()\n")
    project.run("-n2", "--dist=loadfile", "--rag-configs=low").assert_outcomes(passed=4)
    found = rows(project.runs[0])
    assert {key: row["ranking"][0]["file"] for key, row in found.items()} == dict.fromkeys(found, "a.md")
    assert len(found) == 2


def test_a_project_with_sets_still_runs_its_other_tests_under_workers(project):
    write_graded(project)
    project.file(
        "tests/test_other.py", "import pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_n(n): pass\n"
    )
    result = project.run("-n2", "tests")
    result.assert_outcomes(passed=30)
    assert not project.runs
    assert "ragbench:" not in result.stdout.str()


def test_row_texts_on_reports_are_the_lines_of_the_record(project):
    write_graded(project)
    assert project.run("-n2", ALL).ret == 0
    lines = (project.runs[0] / "per_query.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [(json.loads(line)["question"], json.loads(line)["configuration"]) for line in lines]
    assert keys == sorted(keys)
    chunks = (project.runs[0] / "chunks.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(chunks) == len(set(chunks)) > 0
