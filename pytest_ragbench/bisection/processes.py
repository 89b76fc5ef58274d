"""Runs a probe's command and ends whatever it started: its session, and on Linux also what has left that session."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.bisection.interruption import undisturbed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOOKS = 100
"""How often, a hundredth of a second apart, processes are looked for that are about to be gone."""


def run(
    command: Sequence[str], here: Path, variables: Mapping[str, str], log: Path, timeout: float, folder: Path
) -> int | None:
    """Run a command; its exit status, or None when its time was up. What it started does not outlive the call.

    Args:
        command: A list, never a shell.
        here: Its working directory.
        variables: Its environment.
        log: Takes what it prints.
        timeout: Seconds that it may take.
        folder: A folder that the environment names, by which processes that left the session are known.
    """
    process = None
    try:
        with log.open("wb") as output, undisturbed():
            process = subprocess.Popen(  # noqa: S603 - a list, never a shell
                command,
                cwd=here,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with undisturbed():
            if process is not None:
                _end(process)
            end_all(folder)


def end_all(folder: Path) -> None:
    """End every process whose environment names a folder, and see it gone; a system without /proc knows of none."""
    mark = os.fsencode(folder) + os.fsencode(os.sep)
    for _ in range(_LOOKS):
        found = [pid for pid in _pids() if any(mark in variable for variable in _environment(pid))]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _pids() -> list[int]:
    proc = Path("/proc")
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal()] if proc.is_dir() else []


def _environment(pid: int) -> list[bytes]:
    """The variables that a process was started with; none for one that is gone or another user's.

    Where a shell stands is left out: whoever looks on from the folder was not started by the probe.
    """
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
    return [variable for variable in variables if not variable.startswith((b"PWD=", b"OLDPWD="))]
