"""Commands that judge from records of finished runs: `compare`, `graduate`, `power`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import (
    FOUND,
    OK,
    add_run,
    add_runs_dir,
    on_terminal,
    path_of,
    project_here,
    run_name,
    runs_dir_of,
)
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ragbench.commands.common import Subparsers
    from pytest_ragbench.records.record import RunRecord


def add_compare(subparsers: Subparsers) -> None:
    """`ragbench compare RUN RUN... [--config A=B] [--json | --markdown]`."""
    parser = subparsers.add_parser(
        "compare",
        help="compare runs question by question",
        description="Pair the rows of later runs with those of the first by question, and say what became better, what "
        "became worse, and what else differs between the runs.",
    )
    parser.add_argument(
        "run_names", nargs="+", type=run_name, metavar="RUN", help="the old run, then one new run or more"
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="A=B",
        help="compare B of the new runs with A of the old one, or with A alone that one; may be given again "
        "(default: all configurations of one name)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all values as JSON")
    form.add_argument("--markdown", action="store_true", help="print Markdown")
    add_runs_dir(parser)
    parser.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    from pytest_ragbench import canonical
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.between import build_between
    from pytest_ragbench.reports.markdown import render_markdown
    from pytest_ragbench.runs.comparing import compare_runs

    pairs, runs_dir = list(_pairs(args.config)), runs_dir_of(args)
    found = compare_runs([find_run(name, runs_dir) for name in args.run_names], pairs)
    if args.json:
        text = canonical.dumps_pretty(found)
    else:
        report = build_between(found)
        text = render_markdown(report) if args.markdown else on_terminal(report)
    print(text, end="")
    return OK


def _pairs(typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in typed:
        old, equals, new = text.partition("=")
        if not old or (equals and not new):
            raise UsageError(
                f"--config {text}: it is A=B, a configuration of the old run and one of the new; or A for both"
            )
        yield old, new or old


def add_graduate(subparsers: Subparsers) -> None:
    """`ragbench graduate CONFIGURATION --against DEFAULT [--run RUN ...] [--thresholds FILE] [--json]`."""
    parser = subparsers.add_parser(
        "graduate",
        help="whether a configuration may become the default, from run records",
        description="Hold a configuration against the default by the rule of graduation, from the newest complete "
        "records. It reads and opens nothing. Exit status 1 when it does not graduate, or evidence is missing.",
    )
    parser.add_argument("configuration", metavar="CONFIGURATION", help="what may become the default, by name or marker")
    parser.add_argument("--against", required=True, metavar="DEFAULT", help="what is the default now")
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        type=run_name,
        dest="run_names",
        metavar="RUN",
        help="use this record and no other; may be given again (default: the newest that serve)",
    )
    parser.add_argument(
        "--thresholds", type=Path, metavar="FILE", help="tolerances (default: thresholds.yaml in rag_baselines)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    add_runs_dir(parser)
    parser.set_defaults(run=_graduate)


def _graduate(args: argparse.Namespace) -> int:
    from pytest_ragbench import canonical
    from pytest_ragbench.configurations.loading import load_catalogue
    from pytest_ragbench.configurations.thresholds import FILE_NAME, load_thresholds
    from pytest_ragbench.reports.graduating import graduation_report
    from pytest_ragbench.runs.graduating import graduate
    from pytest_ragbench.seal import ledger

    project = project_here()
    baselines, configs = (path_of(None, key, project) for key in ("rag_baselines", "rag_configs_file"))
    usual = baselines / FILE_NAME
    found = graduate(
        _records(args.run_names, path_of(args.runs_dir, "rag_runs_dir", project)),
        args.configuration,
        args.against,
        tolerance=load_thresholds(args.thresholds or (usual if usual.exists() else None)).max_suite_regression,
        looks=len(ledger.Ledger(baselines / ledger.FILE_NAME).entries()),
        catalogue=load_catalogue(configs) if configs.exists() else None,
    )
    print(canonical.dumps_pretty(found) if args.json else on_terminal(graduation_report(found)), end="")
    return OK if found["graduated"] else FOUND


def _records(names: Sequence[str], runs_dir: Path) -> Iterable[RunRecord]:
    """The named records, or all of them; the newest first."""
    from pytest_ragbench.records.record import find_run, newest

    if not names:
        return newest(runs_dir)
    found = [find_run(name, runs_dir) for name in names]
    return sorted(found, key=lambda record: str(record.run["started_at"]), reverse=True)


def add_power(subparsers: Subparsers) -> None:
    """`ragbench power RUN [--effect E] [--metric NAME ...] [--config NAME ... [--against NAME]] [--json]`."""
    parser = subparsers.add_parser(
        "power",
        help="how many questions an effect needs, suite by suite",
        description="The detectable effect of each suite and metric of a run, and how many questions (and gold files) "
        "an effect needs for a power of 80 %% at 5 %% two-sided.",
    )
    add_run(parser)
    parser.add_argument(
        "--effect", type=_effect, default=0.03, metavar="E", help="the difference of means to be found (default: 0.03)"
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="NAME",
        help="may be given again (default: nDCG and recall at k, hit@1)",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME",
        help="only pairs of this configuration; may be given again (default: every pair of the run)",
    )
    parser.add_argument("--against", metavar="NAME", help="pair what --config names with this one, declared or not")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.set_defaults(run=_power)


def _effect(text: str) -> float:
    try:
        effect = float(text)
    except ValueError:
        effect = 0.0
    if not 0.0 < effect <= 1.0:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no effect; write a difference above 0 and at most 1, as 0.03"
        )
    return effect


def _power(args: argparse.Namespace) -> int:
    from pytest_ragbench import canonical
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.powering import power_report
    from pytest_ragbench.runs.powering import power_of

    record = find_run(args.run_name, runs_dir_of(args))
    found = power_of(record, args.effect, metrics=args.metric, configurations=args.config, against=args.against)
    print(canonical.dumps_pretty(found) if args.json else on_terminal(power_report(found)), end="")
    return OK
