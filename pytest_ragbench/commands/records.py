"""Commands that show a record, join several, or write one for other tools: `show`, `report`, `merge`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import (
    OK,
    add_run,
    add_run_or_last,
    add_runs_dir,
    run_name,
    run_or_last,
    runs_dir_of,
    terminal_width,
)
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

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


def add_merge(subparsers: Subparsers) -> None:
    """`ragbench merge RUN RUN... [--to DIR]`."""
    parser = subparsers.add_parser(
        "merge",
        help="join the shards of one run into one record",
        description="Join the records of pytest --rag-shard=1/N to N/N into the record of the whole run.",
    )
    parser.add_argument(
        "run_names", nargs="+", type=run_name, metavar="RUN", help="the record of each shard, in any order"
    )
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="where the new record goes (default: where run ids are looked up)"
    )
    add_runs_dir(parser)
    parser.set_defaults(run=_merge)


def _merge(args: argparse.Namespace) -> int:
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.text import plural
    from pytest_ragbench.runs.merging import merge

    runs_dir = runs_dir_of(args)
    shards = [find_run(name, runs_dir) for name in args.run_names]
    record = merge(shards, args.to or runs_dir)
    rows = plural(sum(1 for _ in record.rows()), "row")
    configurations = plural(len(record.run["configurations"]), "configuration")
    print(f"{rows} of {plural(len(shards), 'shard')}, {configurations}")
    print(f"record: {record.folder}")
    return OK


def add_export(subparsers: Subparsers) -> None:
    """`ragbench export RUN [--trec DIR] [--csv FILE] [--parquet FILE]`."""
    parser = subparsers.add_parser(
        "export",
        help="write a run's rows for other tools",
        description="Write a run as TREC files, CSV or Parquet. Rows of the sealed test split are named as such.",
    )
    add_run(parser)
    parser.add_argument(
        "--trec", type=Path, metavar="DIR", help="rankings and judgments by document, for trec_eval; a new folder"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="one line a question and configuration")
    parser.add_argument("--parquet", type=Path, metavar="FILE", help="the same as Parquet; needs pyarrow")
    parser.set_defaults(run=_export)


def _export(args: argparse.Namespace) -> int:
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.commands import as_written
    from pytest_ragbench.runs.tabular import write_csv, write_parquet
    from pytest_ragbench.runs.trec import write_trec

    _check_targets(args)
    writers: tuple[tuple[Callable[..., str], Path | None], ...] = (
        (write_trec, args.trec),
        (write_csv, args.csv),
        (write_parquet, args.parquet),
    )
    record = find_run(args.run_name, runs_dir_of(args))
    for write, path in writers:
        if path is not None:
            with as_written(record):
                print(write(record, path), flush=True)  # what is written is told, whatever becomes of the next
    for words in record.missing:
        print(f"note: {words}")
    return OK


def _check_targets(args: argparse.Namespace) -> None:
    """Refuse what cannot be written before anything is: the half that was would stand in the way of the next attempt.

    Raises:
        UsageError: Nothing is asked for, two forms are to be one file, a target is taken, or pyarrow is not installed.
    """
    from pytest_ragbench.runs.tabular import check_file, pyarrow_modules
    from pytest_ragbench.runs.trec import check_folder

    named = {"--trec": args.trec, "--csv": args.csv, "--parquet": args.parquet}
    places = {flag: path.absolute() for flag, path in named.items() if path is not None}
    if not places:
        raise UsageError("say what to write: --trec DIR, --csv FILE or --parquet FILE")
    if len(set(places.values())) < len(places):
        raise UsageError(f"{', '.join(places)} name one place; give each form its own")
    for path in (args.csv, args.parquet):
        if path is not None and path.absolute().parent != places.get("--trec"):  # that folder is made first
            check_file(path)
    if args.parquet is not None:
        pyarrow_modules()
    if args.trec is not None:
        check_folder(args.trec)
