"""The two files of a baseline: read strictly, written under one lock, told apart when they do not belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import durable
from pytest_ragbench.baselines import MAIN, ROWS
from pytest_ragbench.baselines.agreement import disagreements
from pytest_ragbench.baselines.model import SCHEMA_VERSION, Baseline
from pytest_ragbench.baselines.projection import encode_main, encode_rows, rows_digest, unix_lines
from pytest_ragbench.baselines.schema import baseline_of, check_main, check_row
from pytest_ragbench.errors import BaselineError, RecordError
from pytest_ragbench.records.files import reading, unwritten
from pytest_ragbench.records.strict import parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ragbench.baselines.model import BaselineRow

LOCK_SECONDS = 30.0

_DISAGREE = (
    "the rows that {main} was written with: a refresh was cut short between the two files, or one of them was edited"
)


def read_baseline(folder: Path, shown: str) -> Baseline | None:
    """The baseline of a project, or None where it has none.

    Args:
        folder: The folder of baselines.
        shown: What messages write for it.

    Raises:
        RecordError: A file cannot be read, is no strict JSON, or is not of the schema; the message has path and place.
        BaselineError: The files do not belong together, were edited, or are of another schema version.
    """
    main, rows = f"{shown}/{MAIN}", f"{shown}/{ROWS}"
    if not _there(folder / MAIN):
        if _there(folder / ROWS):
            raise BaselineError("baseline", f"{rows} alone: a refresh was cut short", f"{main} beside it")
        return None
    model = check_main(_current(parse_object(_text(folder / MAIN, main), main), main), main)
    if not _there(folder / ROWS):
        raise BaselineError("baseline", f"{main} alone", f"{rows} beside it")
    with reading(folder / ROWS):
        data = (folder / ROWS).read_bytes()
    if rows_digest(data) != model.rows_digest:
        raise BaselineError("baseline", f"{rows} of another digest", _DISAGREE.format(main=main))
    baseline = baseline_of(model, tuple(_rows(data, rows)))
    for path, stands, gives in disagreements(baseline):
        raise BaselineError("baseline edited by hand", f"{path}: {stands} in {main}", f"{gives}, as {rows} gives")
    return baseline


def _there(path: Path) -> bool:
    """Whether a name stands here: what cannot be seen, or is a link to nothing, is no absent file.

    Raises:
        RecordError: The folder cannot be searched.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise RecordError(f"{path}: it cannot be read ({error.strerror or error})") from error
    return True


def _current(value: dict[str, Any], shown: str) -> dict[str, Any]:
    """The value itself, when it is of the schema that this version reads."""
    version = value.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        found = "no schema_version" if version is None else f"schema_version {version!r}"
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        reads = f"schema_version {SCHEMA_VERSION}, which this version reads"
        raise BaselineError(
            "baseline schema", f"{found} in {shown}", f"{reads}; upgrade pytest-ragbench" if newer else reads
        )
    return value


def _rows(data: bytes, shown: str) -> Iterator[BaselineRow]:
    for place, line in enumerate(data.splitlines(), start=1):
        yield check_row(parse_object(_decoded(line, shown), shown, place), f"{shown}:{place}")


def _text(path: Path, shown: str) -> str:
    with reading(path):
        return _decoded(path.read_bytes(), shown)


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise RecordError(f"{shown}:{line}:{column}: this is no UTF-8 (byte {data[error.start]:#04x})") from None


def read_anchor(folder: Path) -> tuple[int, str | None] | None:
    """What the baseline says of the test split's ledger: number of entries, and the hash of the last.

    Returns:
        None where there is no baseline, or none that says it.

    Raises:
        RecordError: `main.json` cannot be read, or is no strict JSON object.
    """
    path = folder / MAIN
    if not _there(path):
        return None
    ledger = parse_object(_text(path, str(path)), str(path)).get("ledger")
    if not isinstance(ledger, dict) or type(ledger.get("count")) is not int:
        return None
    return ledger["count"], ledger.get("last_hash")


def write_baseline(folder: Path, baseline: Baseline) -> bool:
    """Write both files, unless they hold the same lines already, whichever line ends a checkout has given them.

    The rows take their place first: after a crash between the two, the digest in `main.json` does not fit them.

    Returns:
        Whether anything was written.

    Raises:
        RecordError: They cannot be written, or someone else has held the lock for half a minute.
    """
    from filelock import FileLock, Timeout  # every gate reads baselines, and few sessions write one

    rows = encode_rows(baseline.rows)
    files = {folder / ROWS: rows, folder / MAIN: encode_main(baseline, rows_digest(rows))}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f".{MAIN}.lock", timeout=LOCK_SECONDS):
            if all(path.exists() and unix_lines(path.read_bytes()) == data for path, data in files.items()):
                return False
            _replace(files)
    except Timeout:
        raise RecordError(
            f"{folder / MAIN}: another session has held the baseline's lock for {LOCK_SECONDS:.0f} s; "
            "try again when it has ended"
        ) from None
    except OSError as error:
        raise unwritten(folder / MAIN, error) from error
    return True


def _replace(files: dict[Path, bytes]) -> None:
    """Have every file on the disk before the first takes its place, so that a full disk changes neither."""
    staged: list[tuple[Path, Path]] = []
    try:
        for path, data in files.items():
            staged.append((durable.stage(path, [data]), path))
        for temporary, path in staged:
            temporary.replace(path)
            durable.sync_folder(path.parent)
    except BaseException:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
        raise
