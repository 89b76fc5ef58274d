"""`ragbench runs`: the records that lie in a project, a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import OK, add_runs_dir, at_least_one, runs_dir_of, terminal_width

if TYPE_CHECKING:
    import argparse

    from pytest_ragbench.commands.common import Subparsers

SHOWN = 20


def add_runs(subparsers: Subparsers) -> None:
    """`ragbench runs [--limit N] [--json] [--runs-dir DIR]`."""
    parser = subparsers.add_parser(
        "runs",
        help="list the runs, each with its headline and verdict",
        description="List the runs of this project, the latest first: what each measured, its headline, its verdict.",
    )
    parser.add_argument(
        "--limit", type=at_least_one, default=SHOWN, metavar="N", help=f"at most N runs (default: {SHOWN})"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for scripts")
    add_runs_dir(parser)
    parser.set_defaults(run=_runs)


def _runs(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.saved import list_as_json, list_runs

    runs_dir = runs_dir_of(args)
    if args.json:
        print(list_as_json(runs_dir, limit=args.limit), end="")
    else:
        print(list_runs(runs_dir, limit=args.limit, width=terminal_width()), end="")
    return OK
