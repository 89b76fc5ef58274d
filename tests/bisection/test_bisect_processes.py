"""BIS-04: what a probe started goes with it, and a signal neither cuts off what is being put away nor gets lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pytest_ragbench.bisection import processes
from pytest_ragbench.bisection.interruption import terminable, undisturbed
from pytest_ragbench.bisection.repository import Repository
from pytest_ragbench.bisection.worktrees import Workspace

BEATS = "import sys, time\nwhile True:\n    open(sys.argv[1], 'a').write('.')\n    time.sleep(0.02)"
STARTS = f"""
import os, subprocess, sys, time
for name in ("inside", "outside"):
    subprocess.Popen([sys.executable, "-c", {BEATS!r}, name], start_new_session=name == "outside")
while not (os.path.exists("inside") and os.path.exists("outside")):
    time.sleep(0.02)
print("done")
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no list of processes with their environment")
def test_what_a_probe_started_ends_with_it_in_its_session_or_out_of_it(tmp_path):
    command, log = [sys.executable, "-c", STARTS], tmp_path / "log"
    variables = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    assert processes.run(command, tmp_path, variables, log, 60, tmp_path) == 0
    sizes = [(tmp_path / name).stat().st_size for name in ("inside", "outside")]
    time.sleep(0.2)
    assert [(tmp_path / name).stat().st_size for name in ("inside", "outside")] == sizes
    assert min(sizes) > 0
    assert log.read_text() == "done\n"


def test_a_probe_whose_time_is_up_is_ended_and_has_no_status(tmp_path):
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert processes.run(command, tmp_path, os.environ, tmp_path / "log", 0.1, tmp_path) is None


@pytest.mark.parametrize("variable", ["TMPDIR=mine-too/tmp", "PWD=mine/processes"])
def test_a_process_of_another_folder_or_of_somebody_who_looks_on_is_left_alone(tmp_path, variable):
    name, _, place = variable.partition("=")
    environment = os.environ | {name: str(tmp_path / place)}
    with subprocess.Popen([sys.executable, "-c", "input()"], env=environment, stdin=subprocess.PIPE) as process:
        processes.end_all(tmp_path / "mine")
        process.communicate(b"\n", timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_that_comes_while_things_are_put_away_is_delivered_when_they_are(number, error):
    done = []

    def put_away():
        with terminable(), undisturbed():
            signal.raise_signal(number)
            done.append("put away")
        done.append("went on")

    with pytest.raises(error):
        put_away()
    assert done == ["put away"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of a terminal")
def test_a_hang_up_that_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminable():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interruption_while_the_temporary_folder_is_made_leaves_none(toy, monkeypatch):
    toy.answers("[]")
    monkeypatch.setattr(tempfile, "tempdir", str(toy.scratch))
    make = tempfile.mkdtemp

    def interrupted(**named):
        made = make(**named)
        signal.raise_signal(signal.SIGINT)
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(KeyboardInterrupt), Workspace(Repository.of(toy.folder)):
        pass
    assert list(toy.scratch.iterdir()) == []
