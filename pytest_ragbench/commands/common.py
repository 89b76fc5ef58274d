"""What the commands share: exit statuses, the project they stand in, the runs that they name, how a report is shown."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError

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


def add_run_or_last(parser: argparse.ArgumentParser) -> None:
    """The argument RUN, or `--last` in place of it, and where its id is looked up; `run_or_last` reads them."""
    told = "`last`, a run id, or the path of a record"
    parser.add_argument("run_name", type=run_name, metavar="RUN", nargs="?", help=told)
    parser.add_argument("--last", action="store_true", help="the latest run")
    add_runs_dir(parser)


def run_or_last(args: argparse.Namespace) -> str:
    """The run that was named.

    Raises:
        UsageError: None was, or one was beside `--last`.
    """
    if args.last and args.run_name not in {None, "last"}:
        raise UsageError(f"{args.run_name} and --last name two runs; give one of them")
    if not args.last and args.run_name is None:
        raise UsageError("which run? Give its id or its folder, or --last for the latest; `ragbench runs` lists them")
    return "last" if args.last else str(args.run_name)


def add_runs_dir(parser: argparse.ArgumentParser) -> None:
    """`--runs-dir`: where run ids are looked up."""
    parser.add_argument(
        "--runs-dir", type=Path, metavar="DIR", help="where run ids are looked up (default: ini key rag_runs_dir)"
    )


def at_least_one(text: str) -> int:
    """A whole number from 1, for `type=` of an argument.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not text.isascii() or not text.isdigit() or not (count := int(text[:9])) >= 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, found {text!r}")
    return count


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
