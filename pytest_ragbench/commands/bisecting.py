"""The command that searches history: `bisect`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from pytest_ragbench.bisection.measuring import Places
    from pytest_ragbench.commands.common import Subparsers


def add_bisect(subparsers: Subparsers) -> None:
    """`ragbench bisect --good REF --bad REF --metric M [...] -- PYTEST ARGS`."""
    from pytest_ragbench.bisection.command import declare_bisect

    declare_bisect(subparsers).set_defaults(run=_bisect)


def _bisect(args: argparse.Namespace) -> int:
    from pytest_ragbench.bisection.command import request_of
    from pytest_ragbench.bisection.driving import bisect
    from pytest_ragbench.bisection.telling import STATUS, as_json, conclusion

    lines = sys.stderr if args.json else sys.stdout

    def say(line: str) -> None:
        _muse("")
        print(line, file=lines, flush=True)

    outcome = bisect(request_of(args, Path.cwd()), _places, say, _muse)
    if args.json:
        _muse("")
        print(as_json(outcome), end="")
    else:
        for line in conclusion(outcome):
            say(line)
    return STATUS[outcome.found.answer]


def _muse(text: str) -> None:
    """Show on a terminal what is being done; the next line takes its place."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:78]}", end="", file=sys.stderr, flush=True)


def _places(folder: Path) -> Places:
    """Where the project of a folder keeps its sets and its corpus."""
    from pytest_ragbench.authoring.project import find_project
    from pytest_ragbench.bisection.measuring import Places

    project = find_project(folder)
    return Places(project.path("rag_sets") or folder, project.path("rag_corpus"))
