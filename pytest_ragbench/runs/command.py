"""The arguments of `ragbench compare`, `merge` and `export`, and what they print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives it no other name


def declare_compare(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Add `compare` to the command line."""
    parser = subparsers.add_parser(
        "compare",
        help="compare runs question by question",
        description="Pair the rows of later runs with those of the first by question, and say what became better, what "
        "became worse, and what else differs between the runs.",
    )
    parser.add_argument("run_names", nargs="+", metavar="RUN", help="the old run, then one new run or more")
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
    _add_runs_dir(parser)
    return parser


def compare(names: Sequence[str], runs_dir: Path, pairs: Sequence[str], *, form: str, width: int) -> str:
    """What `ragbench compare` prints.

    Raises:
        UsageError: The runs are not comparable, or a pair is none.
        RecordError: A record is missing or damaged.
    """
    from pytest_ragbench import canonical
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.between import build_between
    from pytest_ragbench.reports.commands import printable
    from pytest_ragbench.reports.markdown import render_markdown
    from pytest_ragbench.reports.terminal import render_terminal
    from pytest_ragbench.runs.comparing import compare_runs

    found = compare_runs([find_run(name, runs_dir) for name in names], list(_pairs(pairs)))
    if form == "json":
        return canonical.dumps_pretty(found)
    report = build_between(found)
    return render_markdown(report) if form == "markdown" else printable(render_terminal(report, width))


def _pairs(typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in typed:
        old, equals, new = text.partition("=")
        if not old or (equals and not new):
            raise UsageError(
                f"--config {text}: it is A=B, a configuration of the old run and one of the new; or A for both"
            )
        yield old, new or old


def declare_merge(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Add `merge` to the command line."""
    parser = subparsers.add_parser(
        "merge",
        help="join the shards of one run into one record",
        description="Join the records of pytest --rag-shard=1/N to N/N into the record of the whole run.",
    )
    parser.add_argument("run_names", nargs="+", metavar="RUN", help="the record of each shard, in any order")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="where the new record goes (default: where run ids are looked up)"
    )
    _add_runs_dir(parser)
    return parser


def merge(names: Sequence[str], runs_dir: Path, target: Path | None) -> str:
    """What `ragbench merge` prints.

    Raises:
        UsageError: These are not all the shards of one run.
        RecordError: A record is missing or damaged, or the new one cannot be written.
    """
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.text import plural
    from pytest_ragbench.runs.merging import merge as join

    records = [find_run(name, runs_dir) for name in names]
    record = join(records, target or runs_dir)
    rows = plural(sum(1 for _ in record.rows()), "row")
    configurations = plural(len(record.run["configurations"]), "configuration")
    return f"{rows} of {plural(len(records), 'shard')}, {configurations}\nrecord: {record.folder}\n"


def declare_export(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Add `export` to the command line."""
    parser = subparsers.add_parser(
        "export",
        help="write a run's rows for other tools",
        description="Write a run as TREC files, CSV or Parquet. Rows of the sealed test split are named as such.",
    )
    parser.add_argument("run_name", metavar="RUN", help="`last`, a run id, or the path of a record")
    parser.add_argument(
        "--trec", type=Path, metavar="DIR", help="rankings and judgments by document, for trec_eval; a new folder"
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="one line a question and configuration")
    parser.add_argument("--parquet", type=Path, metavar="FILE", help="the same as Parquet; needs pyarrow")
    _add_runs_dir(parser)
    return parser


def export(name: str, runs_dir: Path, *, trec: Path | None, csv: Path | None, parquet: Path | None) -> str:
    """What `ragbench export` prints.

    Raises:
        UsageError: Nothing was asked for, the folder is not empty, or pyarrow is not there.
        RecordError: The record is missing or damaged, or a file cannot be written.
    """
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.commands import as_written
    from pytest_ragbench.runs.tabular import write_csv, write_parquet
    from pytest_ragbench.runs.trec import write_trec

    asked: list[tuple[Callable[..., str], Path]] = [
        (writer, path)
        for writer, path in ((write_trec, trec), (write_csv, csv), (write_parquet, parquet))
        if path is not None
    ]
    if not asked:
        raise UsageError("say what to write: --trec DIR, --csv FILE or --parquet FILE")
    record = find_run(name, runs_dir)
    with as_written(record):
        lines = [writer(record, path) for writer, path in asked]
        lines += [f"note: {words}" for words in record.missing]
    return "\n".join(lines) + "\n"


def _add_runs_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs-dir", type=Path, metavar="DIR", help="where run ids are looked up (default: ini key rag_runs_dir)"
    )
