"""The command on stores of completions: `fill`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.commands.common import FOUND, OK
from pytest_ragbench.errors import UsageError
from pytest_ragbench.reports.text import plural

if TYPE_CHECKING:
    import argparse

    from pytest_ragbench.commands.common import Subparsers


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
    print(f"{filled.added} added, {filled.known} known already, {plural(filled.left, 'prompt')} left")
    return FOUND if filled.left else OK
