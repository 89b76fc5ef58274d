"""The arguments of `ragbench import`, and its report in lines; the command line prints them."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from pytest_ragbench.authoring.importing.project import Imported

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse gives it no other name


def declare(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Add `import beir` and `import trec` to the command line."""
    parser = subparsers.add_parser(
        "import",
        help="make a project of a BEIR collection, or of TREC judgments and runs",
        description="Write the judged queries of a collection as a question set, ready for pytest.",
    )
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    beir = formats.add_parser("beir", help="a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv")
    beir.add_argument("source", type=Path, metavar="DIR", help="the BEIR folder")
    beir.add_argument("--qrels", default="test", metavar="NAME", help="which file of qrels/ (default: test)")
    _add_common(beir, "default: the folder's name")
    trec = formats.add_parser("trec", help="judgments, queries and run files")
    trec.add_argument("--qrels", type=Path, required=True, metavar="FILE", help="`query 0 document grade` a line")
    trec.add_argument(
        "--queries", type=Path, required=True, metavar="FILE", help="queries.jsonl, or `id<TAB>text` a line"
    )
    _add_common(trec, "default: trec")
    return parser


def _add_common(parser: argparse.ArgumentParser, suite: str) -> None:
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="the project to write or to extend")
    parser.add_argument("--suite", metavar="NAME", help=f"suite of the questions ({suite})")
    parser.add_argument("--split", choices=["dev", "test", "null"], default="dev", help="default: dev")
    parser.add_argument("--tier", choices=["T1", "T2", "T3", "T4"], default="T2", help="default: T2")
    parser.add_argument(
        "--min-grade", type=int, default=1, metavar="N", help="the least grade that is relevant (default: 1)"
    )
    parser.add_argument(
        "--run",
        dest="run_files",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a TREC run file as a configuration; the others are compared with the first; may be repeated",
    )


def perform(args: argparse.Namespace) -> list[str]:
    """Import, and say what was written.

    Raises:
        InputError: With every problem of the files.
        UsageError: A mistake in the command.
    """
    from pytest_ragbench.authoring.importing.beir import import_beir
    from pytest_ragbench.authoring.importing.runs import parse_runs
    from pytest_ragbench.authoring.importing.trec import import_trec

    split = None if args.split == "null" else args.split
    runs = parse_runs(args.run_files)
    if args.format == "beir":
        imported = import_beir(
            args.source,
            args.to,
            suite=args.suite,
            qrels=args.qrels,
            split=split,
            tier=args.tier,
            min_grade=args.min_grade,
            runs=runs,
        )
    else:
        imported = import_trec(
            args.qrels,
            args.queries,
            args.to,
            suite=args.suite or "trec",
            split=split,
            tier=args.tier,
            min_grade=args.min_grade,
            runs=runs,
        )
    return report(imported, args.to)


def report(imported: Imported, target: Path) -> list[str]:
    """What an import did, in sentences."""
    folder = target.as_posix().rstrip("/")
    lines = [f"{folder}/{imported.set_file}: {imported.added} questions added, {imported.kept} kept"]
    if imported.documents is not None:
        lines.append(f"{folder}/corpus/corpus.jsonl: {imported.documents} documents")
    lines += [f"note: {note}" for note in imported.notes]
    if imported.runs:
        lines.append(f"runs: {', '.join(imported.runs)}; measure them: cd {quote(folder)} && pytest --rag-configs=runs")
    else:
        lines.append(
            f"next: write the fixture rag_pipeline in {folder}/conftest.py, then: cd {quote(folder)} && pytest"
        )
    return lines
