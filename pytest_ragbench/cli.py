"""The command `ragbench`: it parses, calls and prints. Each command registers itself and imports its work when it runs.

Exit status: 0; 1 when the command found what it looks for (errors in a set) or a configuration does not graduate; 2
where the answer of `bisect` could not be scored; 4 for a mistake in the command or a file that cannot be used, told
without a traceback; 130 after Ctrl-C, 141 when the reader of its output went away, as shells have them.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from pytest_ragbench import __version__
from pytest_ragbench.commands import bisecting, decisions, listing, ragas, records, sets, stores
from pytest_ragbench.commands.common import OK
from pytest_ragbench.errors import RagbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ragbench.commands.common import Subparsers

USAGE, INTERRUPTED, READER_GONE = 4, 130, 141
_SHOWN_PATH = 200

COMMANDS: tuple[Callable[[Subparsers], None], ...] = (
    sets.add_validate,
    sets.add_split,
    sets.add_import,
    stores.add_fill,
    listing.add_runs,
    records.add_show,
    records.add_report,
    decisions.add_compare,
    records.add_merge,
    records.add_export,
    decisions.add_graduate,
    decisions.add_power,
    ragas.add_ragas,
    bisecting.add_bisect,
)
"""In the order of `ragbench --help`."""


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
    """The status, once all output is out: a reader that went away is noticed here and not at the interpreter's end.

    Python has no stream at all where the command was started without one (`>&-`): then nothing is to be printed.
    """
    if sys.stdout is not None:
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


if __name__ == "__main__":
    sys.exit(main())
