"""Whether the process that writes a record still lives: its pid alone is not enough, since pids are reused."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def host() -> str:
    """The name of this machine."""
    return platform.node()


def process_started(pid: int) -> str | None:
    """A text that tells this process from a later one with the same pid; None when there is no such process.

    Linux: the boot and the start in clock ticks since it. Elsewhere: what `ps` says. Where neither can tell, the empty
    text for one's own process and None for another.
    """
    if Path("/proc/self/stat").exists():
        return _from_proc(pid)
    try:
        said = subprocess.run(  # noqa: S603 - a fixed command and a whole number
            ["ps", "-o", "lstart=", "-p", str(int(pid))],  # noqa: S607 - wherever the system keeps it
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return "" if pid == os.getpid() else None
    return said.stdout.strip() or None


def _from_proc(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{int(pid)}/stat").read_text(encoding="utf-8", errors="replace")
        boot = _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""
    except OSError:
        return None
    # The command's name stands in brackets and may hold spaces and brackets; the fields are counted behind it.
    fields = stat[stat.rfind(")") + 2 :].split()
    state, started = fields[0], fields[19]
    return None if state in "ZXx" else f"{boot}:{started}"
