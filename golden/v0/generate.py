"""Write golden/v0/corpus and golden/v0/sets from the concept tables; `--check` says whether they are what is committed.

Everything is composed before anything is written, and every file is on the disk before any is renamed into its place,
so that a mistake in a table or a full disk leaves all of them as they were.
"""

from __future__ import annotations

import argparse
import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from golden.v0.compose import compose
from golden.v0.tables import TableError, read_tables
from pytest_ragbench.durable import stage, sync_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).resolve().parent
WRITTEN = ("corpus", "sets")
"""The folders that hold nothing but what is generated."""

COMMAND = "python -m golden.v0.generate"


def generated(home: Path = HERE) -> dict[str, bytes]:
    """Path below `home` -> content, from `home`'s tables.

    Raises:
        TableError: A table is wrong.
    """
    return {name: text.encode() for name, text in sorted(compose(read_tables(home / "concepts")).items())}


def difference(wanted: Mapping[str, bytes], home: Path = HERE) -> str | None:
    """What is wrong with the first file, in the order of names, that is not as generated; None where all are."""
    kept = _kept(home)
    for name in sorted(wanted.keys() | kept.keys()):
        if name not in kept:
            return f"{name} is missing"
        if name not in wanted:
            return f"{name} is superfluous: no table makes it"
        found = kept[name].read_bytes()
        if found != wanted[name]:
            lines = zip_longest(found.split(b"\n"), wanted[name].split(b"\n"))
            line = next(number for number, (one, other) in enumerate(lines, start=1) if one != other)
            return f"{name} differs from what its table makes, from line {line} on"
    return None


def write(wanted: Mapping[str, bytes], home: Path = HERE) -> tuple[int, int]:
    """Make the folders hold just these files; how many were written and how many removed.

    Raises:
        OSError: A file cannot be written; none is changed then.
    """
    kept = _kept(home)
    changed = {name: data for name, data in wanted.items() if name not in kept or kept[name].read_bytes() != data}
    staged: dict[Path, Path] = {}
    try:
        for name, data in changed.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            staged[home / name] = stage(home / name, [data])
    except BaseException:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
        raise
    for path, temporary in staged.items():
        temporary.replace(path)
    superfluous = [path for name, path in kept.items() if name not in wanted]
    for path in superfluous:
        path.unlink()
    for folder in {path.parent for path in (*staged, *superfluous)}:
        sync_folder(folder)
    return len(staged), len(superfluous)


def _kept(home: Path) -> dict[str, Path]:
    """Every file of the written folders by its path below `home`, whatever it is."""
    found = (path for folder in WRITTEN for path in (home / folder).rglob("*") if not path.is_dir())
    return {path.relative_to(home).as_posix(): path for path in found}


def main(arguments: list[str] | None = None, home: Path = HERE) -> int:
    """The command; 0 when all is well, 1 when a file is not as generated or a table is wrong."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 and name the first file that differs"
    )
    options = parser.parse_args(arguments)
    try:
        wanted = generated(home)
        if options.check:
            problem = difference(wanted, home)
            if problem is not None:
                print(f"golden/v0/{problem}; change golden/v0/concepts and run {COMMAND}", file=sys.stderr)
                return 1
            print(f"golden/v0 is as generated: {len(wanted)} files")
            return 0
        written, removed = write(wanted, home)
    except TableError as error:
        print(f"golden/v0/concepts/{error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"golden/v0: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"golden/v0: {len(wanted)} files, of which {written} were written and {removed} superfluous ones removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
