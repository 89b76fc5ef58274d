"""The arguments of `ragbench bisect`, and the request that they make."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.bisection.request import Request

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives it no other name

HOUR = 3600.0


def declare_bisect(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Add `bisect` to the command line."""
    parser = subparsers.add_parser(
        "bisect",
        help="find the commit that made a metric worse",
        description="Search the first-parent commits between two ends for the first whose metric is below the "
        "threshold. Each probe runs the commit's own pipeline in a worktree of its own, on the question set of the "
        "bad end.",
        epilog="Exit status: 0 no regression, 1 the commit was found, 2 it could not be scored or commits that "
        "could not be scored hide it, 4 a mistake in the command.",
    )
    parser.add_argument("--good", required=True, metavar="REF", help="a commit before the regression")
    parser.add_argument("--bad", required=True, metavar="REF", help="a commit after it, as HEAD")
    parser.add_argument("--metric", required=True, metavar="M", help="as recall@10; without @ at the run's depth")
    parser.add_argument("--configuration", metavar="NAME", help="which one is judged (default: the run's only one)")
    parser.add_argument(
        "--threshold", type=_share, metavar="X", help="below it is regressed (default: midway between the two ends)"
    )
    parser.add_argument(
        "--skip-unscorable",
        action="store_true",
        help="search around commits that have no value; else they are regressed",
    )
    parser.add_argument("--sets", type=Path, metavar="PATH", help="question sets (default: the bad end's rag_sets)")
    parser.add_argument(
        "--own-corpus", action="store_true", help="let each commit read its own rag_corpus, not the bad end's"
    )
    parser.add_argument(
        "--link",
        action="append",
        default=[],
        metavar="PATH",
        help="link this ignored file or folder of yours into every worktree, as a model's; may be given again",
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=HOUR, metavar="S", help="seconds that a probe may take (default: 3600)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep records and output of every probe, in a new folder"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON; the lines go to stderr")
    parser.add_argument("pytest_args", nargs="*", metavar="-- PYTEST ARGS", help="what every probe hands to pytest")
    return parser


def _share(text: str) -> float:
    value = _number(text)
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no value of a metric; write a number from 0 to 1")
    return value


def _seconds(text: str) -> float:
    value = _number(text)
    if not value > 0.0 or math.isinf(value):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no time; write seconds, above 0")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def request_of(args: argparse.Namespace, folder: Path) -> Request:
    """The request that parsed arguments make."""
    return Request(
        good=args.good,
        bad=args.bad,
        metric=args.metric,
        configuration=args.configuration,
        threshold=args.threshold,
        skip_unscorable=args.skip_unscorable,
        sets=args.sets.absolute() if args.sets else None,
        own_corpus=args.own_corpus,
        links=tuple(args.link),
        timeout=args.timeout,
        keep=args.keep.absolute() if args.keep else None,
        pytest_args=tuple(args.pytest_args),
        folder=folder,
    )
