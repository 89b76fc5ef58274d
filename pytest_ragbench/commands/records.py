"""Commands that read records of runs and judge nothing: `show`, `report`, `compare`, `merge`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import OK, add_run, add_run_or_last, run_or_last, runs_dir_of, terminal_width
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from pytest_ragbench.commands.common import Subparsers


def add_show(subparsers: Subparsers) -> None:
    """`ragbench show RUN|--last [--verbose | --json] [--question ID [--config NAME]] [--runs-dir DIR]`."""
    parser = subparsers.add_parser(
        "show",
        help="show a run, or one question of it, on the terminal",
        description="Show the report that a run ended with, all of it with --verbose; with --question what each "
        "configuration ranked, beside the gold.",
    )
    add_run_or_last(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--verbose", action="store_true", help="every table, as in report.md")
    form.add_argument("--json", action="store_true", help="what the report is made from, for scripts")
    parser.add_argument("--question", metavar="ID", help="one question of the run, as lex-0007")
    parser.add_argument(
        "--config", action="append", default=[], metavar="NAME", help="only this configuration; may be given again"
    )
    parser.set_defaults(run=_show)


def _show(args: argparse.Namespace) -> int:
    from pytest_ragbench.reports.commands import show_question, show_run
    from pytest_ragbench.runs.saved import show_as_json

    name, runs_dir, width = run_or_last(args), runs_dir_of(args), terminal_width()
    if args.question is None:
        if args.config:
            raise UsageError("--config picks configurations of one question; give --question ID with it")
        shown = show_as_json(name, runs_dir) if args.json else show_run(name, runs_dir, whole=args.verbose, width=width)
    elif args.json or args.verbose:
        raise UsageError("--question shows one question whole; --json and --verbose go without it")
    else:
        shown = show_question(name, runs_dir, args.question, args.config, width=width)
    print(shown, end="")
    return OK


def add_report(subparsers: Subparsers) -> None:
    """`ragbench report RUN [--to FILE] [--runs-dir DIR]`."""
    parser = subparsers.add_parser(
        "report",
        help="print a run's report.md, made again from its record, or write it as HTML",
        description="Print the Markdown report of a run. It is made from the record, byte for byte as report.md. "
        "With --to it is written to a file: one page with charts and every question where the name ends with .html.",
    )
    add_run(parser)
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="write it there: FILE.md is Markdown, FILE.html one page"
    )
    parser.set_defaults(run=_report)


def _report(args: argparse.Namespace) -> int:
    from pytest_ragbench.reports.commands import report_run
    from pytest_ragbench.reports.saving import save_report

    if args.to is not None:
        print(save_report(args.run_name, runs_dir_of(args), args.to), end="")
        return OK
    print(report_run(args.run_name, runs_dir_of(args)), end="")
    return OK


def add_compare(subparsers: Subparsers) -> None:
    """`ragbench compare RUN RUN... [--config A=B] [--json | --markdown]`."""
    from pytest_ragbench.runs.command import declare_compare

    declare_compare(subparsers).set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.command import compare

    form = "json" if args.json else "markdown" if args.markdown else "terminal"
    width = terminal_width()
    runs_dir = runs_dir_of(args)
    print(compare(args.run_names, runs_dir, args.config, form=form, width=width), end="")
    return OK


def add_merge(subparsers: Subparsers) -> None:
    """`ragbench merge RUN RUN... [--to DIR]`."""
    from pytest_ragbench.runs.command import declare_merge

    declare_merge(subparsers).set_defaults(run=_merge)


def _merge(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.command import merge

    print(merge(args.run_names, runs_dir_of(args), args.to), end="")
    return OK


def add_export(subparsers: Subparsers) -> None:
    """`ragbench export RUN [--trec DIR] [--csv FILE] [--parquet FILE]`."""
    from pytest_ragbench.runs.command import declare_export

    declare_export(subparsers).set_defaults(run=_export)


def _export(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.command import export

    runs_dir = runs_dir_of(args)
    print(export(args.run_name, runs_dir, trec=args.trec, csv=args.csv, parquet=args.parquet), end="")
    return OK
