"""The arguments of `ragbench power` and `graduate`, and what they print; their work is loaded when they run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.configurations.model import Catalogue
    from pytest_ragbench.records.record import RunRecord

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives it no other name


def declare_power(subparsers: Subparsers) -> argparse.ArgumentParser:
    """`ragbench power RUN [--effect E] [--metric NAME ...] [--config NAME ... [--against NAME]] [--json]`."""
    parser = subparsers.add_parser(
        "power",
        help="how many questions an effect needs, suite by suite",
        description="The detectable effect of each suite and metric of a run, and how many questions (and gold files) "
        "an effect needs for a power of 80 %% at 5 %% two-sided.",
    )
    parser.add_argument("run_name", metavar="RUN", help="`last`, a run id, or the path of a record")
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
    _common(parser)
    return parser


def declare_graduate(subparsers: Subparsers) -> argparse.ArgumentParser:
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
        dest="run_names",
        metavar="RUN",
        help="use this record and no other; may be given again (default: the newest that serve)",
    )
    parser.add_argument(
        "--thresholds", type=Path, metavar="FILE", help="tolerances (default: thresholds.yaml in rag_baselines)"
    )
    _common(parser)
    return parser


def power(
    name: str,
    runs_dir: Path,
    effect: float,
    *,
    metrics: Sequence[str],
    configurations: Sequence[str],
    against: str | None,
    json: bool,
    width: int,
) -> str:
    """What `ragbench power` prints.

    Raises:
        UsageError: The run is unfinished, or has no such configuration, metric or pair.
        RecordError: There is no such record, or a file of it is damaged.
    """
    from pytest_ragbench import canonical
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.commands import printable
    from pytest_ragbench.reports.powering import power_report
    from pytest_ragbench.reports.terminal import render_terminal
    from pytest_ragbench.runs.powering import power_of

    record = find_run(name, runs_dir)
    found = power_of(record, effect, metrics=metrics, configurations=configurations, against=against)
    return canonical.dumps_pretty(found) if json else printable(render_terminal(power_report(found), width))


def graduate(
    configuration: str,
    against: str,
    runs_dir: Path,
    *,
    runs: Sequence[str],
    baselines: Path,
    thresholds: Path | None,
    configs: Path,
    json: bool,
    width: int,
) -> tuple[str, bool]:
    """What `ragbench graduate` prints, and whether the configuration graduates.

    Args:
        configuration: Name or marker of what may become the default.
        against: Of what is the default now.
        runs_dir: Where records are looked for.
        runs: Those to use, where they were named.
        baselines: The folder of the ledger, and of `thresholds.yaml` where there is one.
        thresholds: Another file of thresholds.
        configs: The declared configurations; the file need not exist.
        json: Whether to print JSON.
        width: Columns of the terminal.

    Raises:
        UsageError: A name that nothing has; thresholds, configurations or a ledger that cannot be used.
        RecordError: A named record is not there, or a file of one is damaged.
    """
    from pytest_ragbench import canonical
    from pytest_ragbench.configurations.thresholds import FILE_NAME, load_thresholds
    from pytest_ragbench.records.record import find_run, newest
    from pytest_ragbench.reports.commands import printable
    from pytest_ragbench.reports.graduating import graduation_report
    from pytest_ragbench.reports.terminal import render_terminal
    from pytest_ragbench.runs import graduating
    from pytest_ragbench.seal import ledger

    usual = baselines / FILE_NAME
    found = graduating.graduate(
        _newest_first([find_run(name, runs_dir) for name in runs]) if runs else newest(runs_dir),
        configuration,
        against,
        tolerance=load_thresholds(thresholds or (usual if usual.exists() else None)).max_suite_regression,
        looks=len(ledger.Ledger(baselines / ledger.FILE_NAME).entries()),
        catalogue=_catalogue(configs),
    )
    text = canonical.dumps_pretty(found) if json else printable(render_terminal(graduation_report(found), width))
    return text, bool(found["graduated"])


def _newest_first(records: Sequence[RunRecord]) -> list[RunRecord]:
    return sorted(records, key=lambda record: str(record.run["started_at"]), reverse=True)


def _catalogue(configs: Path) -> Catalogue | None:
    from pytest_ragbench.configurations.loading import load_catalogue

    return load_catalogue(configs) if configs.exists() else None


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument(
        "--runs-dir", type=Path, metavar="DIR", help="where run ids are looked up (default: ini key rag_runs_dir)"
    )


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
