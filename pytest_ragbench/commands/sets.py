"""Commands on question sets: `validate`, `split`, `import`."""

from __future__ import annotations

import argparse
import math
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import FOUND, OK, path_of, project_here
from pytest_ragbench.reports.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.authoring.quotas import Quota
    from pytest_ragbench.authoring.split_sets import SplitResult
    from pytest_ragbench.authoring.validation import Validation
    from pytest_ragbench.commands.common import Subparsers


def add_validate(subparsers: Subparsers) -> None:
    """`ragbench validate [SETS] [--corpus DIR] [--configs FILE] [--chunks FILE --encoder-limit N]`."""
    parser = subparsers.add_parser(
        "validate",
        help="check question sets, against a corpus where there is one",
        description="Check question sets and configurations. Exit status 1 when there are errors.",
    )
    parser.add_argument("sets", nargs="?", type=Path, metavar="SETS", help="folder or file (default: golden/sets)")
    parser.add_argument(
        "--corpus", type=Path, metavar="DIR", help="folder of the documents (default: ini key rag_corpus)"
    )
    parser.add_argument("--configs", type=Path, metavar="FILE", help="configurations (default: golden/configs.yaml)")
    parser.add_argument(
        "--chunks",
        type=Path,
        metavar="FILE",
        help="the pipeline's chunks, as JSON lines with `file`, `text` and, where there are any, `pages` and `heading` "
        "(default: ini key rag_chunks)",
    )
    parser.add_argument(
        "--encoder-limit",
        metavar="N",
        help="word pieces that its encoder reads of a chunk: warn of nuggets that stand only beyond them "
        "(default: ini key rag_encoder_limit)",
    )
    parser.set_defaults(run=_validate)


def _validate(args: argparse.Namespace) -> int:
    from pytest_ragbench.authoring.encoder_limit import find_limit
    from pytest_ragbench.authoring.validation import validate

    project = project_here()
    sets = path_of(args.sets, "rag_sets", project)
    configs = path_of(args.configs, "rag_configs_file", project)
    named = args.configs is not None or project.is_set("rag_configs_file")
    result = validate(
        sets,
        corpus=args.corpus or project.path("rag_corpus"),
        configurations=configs if named or configs.exists() else None,
        limit=find_limit(
            args.chunks or project.path("rag_chunks"), args.encoder_limit or project.values.get("rag_encoder_limit")
        ),
        shown_as=project.shown(sets),
        configurations_shown_as=project.shown(configs),
    )
    for name, problems in (("error", result.errors), ("warning", result.warnings)):
        for problem in problems:
            print(f"{name}: {problem}")
    if result.quotas:
        print(_quota_table(result.quotas))
    print(_verdict(result))
    return FOUND if result.errors else OK


def _verdict(result: Validation) -> str:
    counts = f"{plural(len(result.errors), 'error')}, {plural(len(result.warnings), 'warning')}"
    where = "" if result.checked else "; no corpus was given, so gold files, headings and pages were not looked up"
    return f"{plural(result.questions, 'question')}: {counts}{where}"


def _quota_table(quotas: Sequence[Quota]) -> str:
    from tabulate import tabulate

    tiers = list(quotas[0].tiers)
    head = ["suite", "have", "target", "dev", "test", "unsplit", "rejected", *(f"{tier} dev/test" for tier in tiers)]
    rows = [
        [quota.suite, quota.have, "-" if quota.target is None else quota.target]
        + [quota.dev, quota.test, quota.unsplit, quota.rejected]
        + ["/".join(map(str, quota.tiers[tier][:2])) for tier in tiers]
        for quota in quotas
    ]
    return tabulate(rows, head, disable_numparse=True)


def add_split(subparsers: Subparsers) -> None:
    """`ragbench split [SETS] [--test-share S] [--group-by gold] [--dry-run]`."""
    parser = subparsers.add_parser(
        "split",
        help="give unsplit questions a side, dev or test",
        description="Fill `split` where it is null, balanced within suite x tier. What is split already never moves.",
    )
    parser.add_argument("sets", nargs="?", type=Path, metavar="SETS", help="folder or file (default: golden/sets)")
    parser.add_argument(
        "--test-share", type=_share, default=Fraction(2, 5), metavar="S", help="share of test questions (default: 0.4)"
    )
    parser.add_argument(
        "--group-by", choices=["gold"], help="keep questions that share a required gold passage on one side"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    parser.add_argument(
        "--lock-timeout",
        type=_seconds,
        default=30.0,
        metavar="S",
        help="seconds to wait for another writer (default: 30)",
    )
    parser.set_defaults(run=_split)


def _share(text: str) -> Fraction:
    # No exponent: the exact fraction of 1e-99999999 would take minutes.
    share = Fraction(text) if re.fullmatch(r"0?\.[0-9]{1,12}|[0-9]{1,9}/0*[1-9][0-9]{0,8}", text, re.ASCII) else 0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no share; write a number between 0 and 1, as 0.4 or 2/5")
    return Fraction(share)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if seconds < 0 or not math.isfinite(seconds):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no time; write seconds, 0 or more")
    return seconds


def _split(args: argparse.Namespace) -> int:
    from pytest_ragbench.authoring.split_sets import split_sets

    project = project_here()
    sets = path_of(args.sets, "rag_sets", project)
    result = split_sets(
        sets,
        args.test_share,
        by_gold=args.group_by == "gold",
        dry_run=args.dry_run,
        shown_as=project.shown(sets),
        patience=args.lock_timeout,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    _print_split(result, dry_run=args.dry_run)
    return OK


def _print_split(result: SplitResult, *, dry_run: bool) -> None:
    from tabulate import tabulate

    splits = result.assignment.splits
    if dry_run:
        for name in sorted(splits):
            print(f"{name}: {splits[name]}")
    rows = [[*stratum, dev, test] for stratum, (dev, test) in result.strata.items()]
    print(tabulate(rows, ["suite", "tier", "dev", "test"], disable_numparse=True))
    sides = list(splits.values())
    would = "would be given" if dry_run else "given"
    left = f"; {result.rejected} rejected left alone" if result.rejected else ""
    print(
        f"{plural(len(sides), 'question')} {would} a split: {sides.count('dev')} dev, {sides.count('test')} test{left}"
    )
    for group in result.assignment.torn:
        print(f"already on both sides: {', '.join(group)} share a gold passage")


def add_import(subparsers: Subparsers) -> None:
    """`ragbench import beir DIR --to FOLDER`, `ragbench import trec --qrels FILE --queries FILE --to FOLDER`."""
    from pytest_ragbench.authoring.importing.command import declare

    declare(subparsers).set_defaults(run=_import)


def _import(args: argparse.Namespace) -> int:
    from pytest_ragbench.authoring.importing.command import perform

    for line in perform(args):
        print(line)
    return OK
