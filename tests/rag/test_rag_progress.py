"""How builds speak: a bar on a terminal, in a log a line a stage and at most one more every ten seconds."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from rag.embedding import batches
from rag.progress import Progress

ROOT = Path(__file__).resolve().parents[2]


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_log_has_at_most_a_line_every_ten_seconds_and_none_for_a_short_stage(capsys):
    clock = Clock()
    progress = Progress(clock=clock)
    with progress.stage("reading", 5) as advance:
        for _ in range(5):
            clock.now += 1.9
            advance(1)
    assert capsys.readouterr().err == ""
    with progress.stage("embedding", 2_000) as advance:
        for _ in range(100):
            clock.now += 0.3
            advance(20)
    # 34 steps of 0.3 s are 10.2 s: 680 are done, and 1,320 / 680 * 10.2 s are left; so again at twice that.
    assert capsys.readouterr().err.splitlines() == [
        "rag: embedding: 680 of 2,000, about 20 s left",
        "rag: embedding: 1,360 of 2,000, about 10 s left",
    ]


def test_what_is_quiet_says_nothing(capsys):
    clock = Clock()
    progress = Progress(quiet=True, clock=clock)
    progress.say("text")
    with progress.stage("embedding", 10) as advance:
        clock.now = 100
        advance(5)
    assert capsys.readouterr().err == ""


def test_a_process_without_stderr_builds_all_the_same(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    Progress().say("text")
    with Progress().stage("reading", 1) as advance:
        advance(1)


def test_batches_hold_texts_of_like_length_in_word_pieces_and_short_ones_take_turns_with_long_ones(encoder):
    formulas = ["+ ".join("x" * pieces) for pieces in range(1, 9)]  # many word pieces, few characters
    words = ["w" * 30 + " y" * pieces for pieces in range(8)]
    made = list(batches([*words, *formulas], encoder, 4))
    sizes = [[length - 2 for length in encoder.lengths(batch)] for batch in made]
    assert sizes == [[1, 1, 2, 2], [7, 7, 8, 8], [3, 3, 4, 4], [5, 5, 6, 6]]


CONFTEST = """
import sys, time
sys.path.insert(0, {root!r})
from contextlib import nullcontext
from pathlib import Path
import pytest
from rag.progress import Progress
from rag.store import Store

@pytest.fixture(scope="session")
def rag_pipeline(request):
    manager = request.config.pluginmanager.getplugin("capturemanager")
    around = manager.global_and_fixture_disabled
    progress = Progress()
    def build(folder):
        with progress.stage("embedding", 4) as advance:
            for _ in range(4):
                time.sleep(0.15)
                advance(1)
        return {{}}
    Store(Path("state"), progress=progress, around=around).open("vectors", {{"a": "1"}}, build)
    return lambda query: []
"""


@pytest.mark.parametrize("terminal", [(24, 100), (0, 0), None], ids=["terminal", "terminal of unknown size", "log"])
def test_a_build_under_pytest_shows_a_bar_on_a_terminal_and_a_line_in_a_log(terminal, tmp_path):
    """The root conftest lets builds out of pytest's capture in the same way."""
    (tmp_path / "conftest.py").write_text(CONFTEST.format(root=str(ROOT)))
    (tmp_path / "test_x.py").write_text("def test_x(rag_pipeline):\n    print('captured')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:ragbench", "test_x.py"]
    if terminal is None:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr == "rag: building the vectors index: there is none yet\n"
        return
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, terminal)
    with subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0
    assert b"rag: building the vectors index: there is none yet" in shown
    assert b"rag: embedding:  25%|" in shown
    assert b"captured" not in shown
