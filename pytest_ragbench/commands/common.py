"""What the commands share: exit statuses, the project they stand in, the runs that they name, how a report is shown."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ragbench.authoring.project import Project
    from pytest_ragbench.reports.model import Report

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives it no other name

OK, FOUND = 0, 1


def project_here() -> Project:
    """The project of the working directory."""
    from pytest_ragbench.authoring.project import find_project

    return find_project(Path.cwd())


def path_of(typed: Path | None, name: str, project: Project) -> Path:
    """The path that was typed, else that of an ini key or its default."""
    return typed or project.path(name) or Path()


def add_run(parser: argparse.ArgumentParser) -> None:
    """The argument RUN, and where its id is looked up."""
    parser.add_argument("run_name", type=run_name, metavar="RUN", help="`last`, a run id, or the path of a record")
    add_runs_dir(parser)


def run_name(text: str) -> str:
    """What was typed for a record; an empty text, as an unset variable of a shell gives it, would be this folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError(
            "an empty text names no record; write `last`, a run id, or the path of a record"
        )
    return text


def add_runs_dir(parser: argparse.ArgumentParser) -> None:
    """Where ids of runs are looked up."""
    parser.add_argument(
        "--runs-dir", type=Path, metavar="DIR", help="where run ids are looked up (default: ini key rag_runs_dir)"
    )


def runs_dir_of(args: argparse.Namespace) -> Path:
    """Where this command looks up run ids."""
    return path_of(args.runs_dir, "rag_runs_dir", project_here())


def terminal_width() -> int:
    """Columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def on_terminal(report: Report) -> str:
    """A report as this terminal can show it."""
    from pytest_ragbench.reports.commands import printable
    from pytest_ragbench.reports.terminal import render_terminal

    return printable(render_terminal(report, terminal_width()))
