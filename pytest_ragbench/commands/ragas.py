"""The command `ragas`: a saved run scored by RAGAS, beside its own lexical faithfulness."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench.commands.common import FOUND, OK, add_run, runs_dir_of, terminal_width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from pytest_ragbench.commands.common import Subparsers


def add_ragas(subparsers: Subparsers) -> None:
    """`ragbench ragas RUN --llm MODE:FILE [--json]`."""
    parser = subparsers.add_parser(
        "ragas",
        help="score a run's faithfulness by RAGAS (extra `ragas`)",
        description="Ask a language model, through the same stores as --rag-llm, which statements of the reference "
        "answers the first five chunks support. Exit status 1 while any row has no answer.",
    )
    add_run(parser)
    parser.add_argument(
        "--llm", required=True, metavar="MODE:FILE", help="replay:STORE, record:STORE, live, live:STORE"
    )
    parser.add_argument("--json", action="store_true", help="every row, for scripts")
    parser.set_defaults(run=_ragas)


def _ragas(args: argparse.Namespace) -> int:
    from pytest_ragbench import canonical
    from pytest_ragbench.llm.opening import open_seam, split_mode
    from pytest_ragbench.records.record import find_run
    from pytest_ragbench.reports.commands import as_written, printable
    from pytest_ragbench.runs.ragas_faithfulness import score_run

    mode, file = split_mode(args.llm, "--llm")
    record = find_run(args.run_name, runs_dir_of(args))
    with as_written(record):
        found = score_run(record, open_seam(mode, Path(file) if file else None))
    print(canonical.dumps(found) if args.json else printable(_text(found)))
    return FOUND if any(row["error"] is not None for row in found["rows"]) else OK


def _text(found: Mapping[str, Any]) -> str:
    from pytest_ragbench.reports.model import Bullets, Column, Number, Report, Section, Sentences, Table
    from pytest_ragbench.reports.terminal import render_terminal

    columns = tuple(Column(title) for title in ("RAGAS", "lexical", "n", "no answer"))
    rows = tuple(
        (
            name,
            *(None if one[kind] is None else Number(one[kind]) for kind in ("ragas", "lexical")),
            one["n"],
            one["unanswered"],
        )
        for name, one in found["configurations"].items()
    )
    table = Table((Column("configuration", numeric=False), *columns), rows)
    told = Sentences(f"By RAGAS {found['ragas']} and {found['model']}, over the rows that both have scored.")
    errors = [
        f"{row['question']} under {row['configuration']}: {row['error']}" for row in found["rows"] if row["error"]
    ]
    more = (Bullets(tuple(errors[:3])),) if errors else ()
    section = Section("Faithfulness of the reference answers", (told, table, *more))
    return render_terminal(Report(f"RAGAS: {found['run_id']}", (section,)), terminal_width()).rstrip("\n")
