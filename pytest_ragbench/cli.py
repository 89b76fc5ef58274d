"""The command `ragbench`: it parses, calls and prints. Each command registers itself and imports its work when it runs.

Exit status: 0; 1 when the command found what it looks for (errors in a set) or a configuration does not graduate; 4 for
a mistake in the command or a file that cannot be used, told without a traceback; 130 after Ctrl-C, 141 when the reader
of its output went away, as shells have them.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench import __version__
from pytest_ragbench.errors import RagbenchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ragbench.authoring.project import Project
    from pytest_ragbench.authoring.quotas import Quota
    from pytest_ragbench.authoring.split_sets import SplitResult
    from pytest_ragbench.authoring.validation import Validation

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives it no other name

OK, FOUND, USAGE, INTERRUPTED, READER_GONE = 0, 1, 4, 130, 141
_SHOWN_PATH = 200


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _print_anywhere()
    parser = _parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as exit_:
        return USAGE if exit_.code else OK
    run: Callable[[argparse.Namespace], int] = args.run
    try:
        return _flushed(run(args))
    except RagbenchError as error:
        return _refused(args.command, str(error))
    except BrokenPipeError:
        # The reader, as `head`, has seen enough; nothing is left for the interpreter to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except OSError as error:
        place = f"{str(error.filename)[-_SHOWN_PATH:]}: " if error.filename is not None else ""
        return _refused(args.command, f"{place}{error.strerror or error}")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _flushed(status: int) -> int:
    """The status, once all output is out: a reader that went away is noticed here and not at the interpreter's end."""
    sys.stdout.flush()
    return status


def _refused(command: str, text: str) -> int:
    print(f"ragbench {command}: error: {text}", file=sys.stderr)
    return USAGE


def _print_anywhere() -> None:
    """Let a terminal of any encoding show what it can; the rest is escaped instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ragbench", description="Work on golden questions and runs outside of pytest."
    )
    parser.add_argument("--version", action="version", version=f"pytest-ragbench {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for register in COMMANDS:
        register(subparsers)
    return parser


def _project() -> Project:
    from pytest_ragbench.authoring.project import find_project

    return find_project(Path.cwd())


def _path(typed: Path | None, name: str, project: Project) -> Path:
    return typed or project.path(name) or Path()


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

    project = _project()
    sets = _path(args.sets, "rag_sets", project)
    configs = _path(args.configs, "rag_configs_file", project)
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
    counts = f"{_plural(len(result.errors), 'error')}, {_plural(len(result.warnings), 'warning')}"
    where = "" if result.checked else "; no corpus was given, so gold files, headings and pages were not looked up"
    return f"{_plural(result.questions, 'question')}: {counts}{where}"


def _plural(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


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

    project = _project()
    sets = _path(args.sets, "rag_sets", project)
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
        f"{_plural(len(sides), 'question')} {would} a split: {sides.count('dev')} dev, {sides.count('test')} test{left}"
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


def add_fill(subparsers: Subparsers) -> None:
    """`ragbench fill STORE [--model LABEL] [--live]`."""
    parser = subparsers.add_parser(
        "fill",
        help="move answered prompts into a store of completions",
        description="Prompts that --rag-llm=record:STORE has noted wait in STORE's pending twin, with their completion "
        "null. Those that have one by now move into the store; with --live the model that the environment names "
        "answers the others. Exit status 1 while any are left.",
    )
    parser.add_argument("store", type=Path, metavar="STORE", help="the store, as golden/llm/drafts.jsonl")
    parser.add_argument("--model", metavar="LABEL", help="whose answers these are; a store holds those of one model")
    parser.add_argument("--live", action="store_true", help="ask the model of RAGBENCH_LLM_MODEL and OPENAI_BASE_URL")
    parser.set_defaults(run=_fill)


def _fill(args: argparse.Namespace) -> int:
    from pytest_ragbench.llm.filling import fill

    model, ask = args.model, None
    if args.live:
        from pytest_ragbench.llm.live import Live, model_of

        asked = model_of()
        if model not in (None, asked):
            raise UsageError(f"--model {model} is not the live model {asked}; leave one of the two out")
        model, ask = asked, Live(asked).complete
    say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731 - a name for one print
    filled = fill(args.store, model=model, ask=ask, say=say)
    print(f"{filled.added} added, {filled.known} known already, {_plural(filled.left, 'prompt')} left")
    return FOUND if filled.left else OK


def add_show(subparsers: Subparsers) -> None:
    """`ragbench show RUN [--question ID [--config NAME]] [--runs-dir DIR]`."""
    parser = subparsers.add_parser(
        "show",
        help="show a run, or one question of it, on the terminal",
        description="Show the whole report of a run, or with --question what each configuration ranked and the gold.",
    )
    _add_run(parser)
    parser.add_argument("--question", metavar="ID", help="one question of the run, as lex-0007")
    parser.add_argument(
        "--config", action="append", default=[], metavar="NAME", help="only this configuration; may be given again"
    )
    parser.set_defaults(run=_show)


def _show(args: argparse.Namespace) -> int:
    from pytest_ragbench.reports.commands import show_run

    if args.config and args.question is None:
        raise UsageError("--config picks configurations of one question; give --question ID with it")
    width = shutil.get_terminal_size((100, 24)).columns
    runs_dir = _path(args.runs_dir, "rag_runs_dir", _project())
    print(show_run(args.run_name, runs_dir, question=args.question, configurations=args.config, width=width), end="")
    return OK


def add_report(subparsers: Subparsers) -> None:
    """`ragbench report RUN [--runs-dir DIR]`."""
    parser = subparsers.add_parser(
        "report",
        help="print a run's report.md, made again from its record",
        description="Print the Markdown report of a run. It is made from the record, byte for byte as report.md.",
    )
    _add_run(parser)
    parser.set_defaults(run=_report)


def _report(args: argparse.Namespace) -> int:
    from pytest_ragbench.reports.commands import report_run

    print(report_run(args.run_name, _path(args.runs_dir, "rag_runs_dir", _project())), end="")
    return OK


def add_compare(subparsers: Subparsers) -> None:
    """`ragbench compare RUN RUN... [--config A=B] [--json | --markdown]`."""
    from pytest_ragbench.runs.command import declare_compare

    declare_compare(subparsers).set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.command import compare

    form = "json" if args.json else "markdown" if args.markdown else "terminal"
    width = shutil.get_terminal_size((100, 24)).columns
    runs_dir = _path(args.runs_dir, "rag_runs_dir", _project())
    print(compare(args.run_names, runs_dir, args.config, form=form, width=width), end="")
    return OK


def add_merge(subparsers: Subparsers) -> None:
    """`ragbench merge RUN RUN... [--to DIR]`."""
    from pytest_ragbench.runs.command import declare_merge

    declare_merge(subparsers).set_defaults(run=_merge)


def _merge(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.command import merge

    print(merge(args.run_names, _path(args.runs_dir, "rag_runs_dir", _project()), args.to), end="")
    return OK


def add_export(subparsers: Subparsers) -> None:
    """`ragbench export RUN [--trec DIR] [--csv FILE] [--parquet FILE]`."""
    from pytest_ragbench.runs.command import declare_export

    declare_export(subparsers).set_defaults(run=_export)


def _export(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.command import export

    runs_dir = _path(args.runs_dir, "rag_runs_dir", _project())
    print(export(args.run_name, runs_dir, trec=args.trec, csv=args.csv, parquet=args.parquet), end="")
    return OK


def add_graduate(subparsers: Subparsers) -> None:
    """`ragbench graduate CONFIGURATION --against DEFAULT [--run RUN ...] [--thresholds FILE] [--json]`."""
    from pytest_ragbench.runs.deciding import declare_graduate

    declare_graduate(subparsers).set_defaults(run=_graduate)


def _graduate(args: argparse.Namespace) -> int:
    from pytest_ragbench.runs.deciding import graduate

    project = _project()
    text, graduated = graduate(
        args.configuration,
        args.against,
        _path(args.runs_dir, "rag_runs_dir", project),
        runs=args.run_names,
        baselines=_path(None, "rag_baselines", project),
        thresholds=args.thresholds,
        configs=_path(None, "rag_configs_file", project),
        json=args.json,
        width=shutil.get_terminal_size((100, 24)).columns,
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
        _path(args.runs_dir, "rag_runs_dir", _project()),
        args.effect,
        metrics=args.metric,
        configurations=args.config,
        against=args.against,
        json=args.json,
        width=shutil.get_terminal_size((100, 24)).columns,
    )
    print(text, end="")
    return OK


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help="`last`, a run id, or the path of a record")
    parser.add_argument(
        "--runs-dir", type=Path, metavar="DIR", help="where run ids are looked up (default: ini key rag_runs_dir)"
    )


COMMANDS: tuple[Callable[[Subparsers], None], ...] = (
    add_validate,
    add_split,
    add_import,
    add_fill,
    add_show,
    add_report,
    add_compare,
    add_merge,
    add_export,
    add_graduate,
    add_power,
)
"""In the order of `ragbench --help`."""


if __name__ == "__main__":
    sys.exit(main())
