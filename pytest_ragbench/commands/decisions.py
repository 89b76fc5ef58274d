"""Commands that decide from records: `graduate`, `power`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import FOUND, OK, path_of, project_here, runs_dir_of, terminal_width

if TYPE_CHECKING:
    import argparse

    from pytest_ragbench.commands.common import Subparsers


def add_graduate(subparsers: Subparsers) -> None:
    """`ragbench graduate CONFIGURATION --against DEFAULT [--run RUN ...] [--thresholds FILE] [--json]`."""
    from pytest_ragbench.runs.deciding import declare_graduate

    declare_graduate(subparsers).set_defaults(run=_graduate)


def _graduate(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.deciding import graduate

    project = project_here()
    text, graduated = graduate(
        args.configuration,
        args.against,
        path_of(args.runs_dir, "rag_runs_dir", project),
        runs=args.run_names,
        baselines=path_of(None, "rag_baselines", project),
        thresholds=args.thresholds,
        configs=path_of(None, "rag_configs_file", project),
        json=args.json,
        width=terminal_width(),
    )
    print(text, end="")
    return OK if graduated else FOUND


def add_power(subparsers: Subparsers) -> None:
    """`ragbench power RUN [--effect E] [--metric NAME ...] [--config NAME ... [--against NAME]] [--json]`."""
    from pytest_ragbench.runs.deciding import declare_power

    declare_power(subparsers).set_defaults(run=_power)


def _power(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.deciding import power

    text = power(
        args.run_name,
        runs_dir_of(args),
        args.effect,
        metrics=args.metric,
        configurations=args.config,
        against=args.against,
        json=args.json,
        width=terminal_width(),
    )
    print(text, end="")
    return OK
