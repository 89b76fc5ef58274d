"""A run as one table for spreadsheets and notebooks: a line for each question and configuration.

CSV is written so that no spreadsheet takes text for a formula: a text that begins with one of `GUARDED` gets one more
apostrophe in front, which is undone by taking one away. Numbers stay as they are. Parquet needs none of this.
"""

from __future__ import annotations

import csv
import importlib
import io
from typing import TYPE_CHECKING, Any

from pytest_ragbench import durable
from pytest_ragbench.errors import UsageError
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.records.files import encode, write_atomic, writing
from pytest_ragbench.reports.text import plural
from pytest_ragbench.runs.reading import last_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ragbench.records.record import RunRecord

_LABELS = ("suite", "tier", "domain", "difficulty", "strategy", "author", "split")
TEXTS = ("run", "question", "configuration", *_LABELS, "text", "error")
FLAGS = ("sealed", "cold", "cached")
COUNTS = ("ranked",)
MILLISECONDS = "ms_"
"""Before the name of a stage."""

GUARDED = tuple("=+-@\t\r\n'＝＋－＠")  # noqa: RUF001 - some spreadsheets read full-width signs as they do the others
_BATCH = 1_000


class Layout:
    """The columns of a run's table.

    Attributes:
        metrics: Names of the metrics.
        stages: Stages that some row has timed, sorted.
    """

    def __init__(self, record: RunRecord) -> None:
        self._run = record.run["run_id"]
        self._texts = {question.id: question.text for question in record.questions()}
        self.metrics = metric_names(record.run["k"])
        self.stages = sorted({stage for row in last_rows(record) for stage in row["timings"] or {}})

    @property
    def numbers(self) -> list[str]:
        """Columns of floating-point numbers: metrics, then milliseconds."""
        return [*self.metrics, *(MILLISECONDS + stage for stage in self.stages)]

    @property
    def columns(self) -> list[str]:
        """All columns, in their order."""
        return [*TEXTS, *FLAGS, *COUNTS, *self.numbers]

    def line(self, row: Mapping[str, Any]) -> list[Any]:
        """The values of one row in the order of the columns; None where there is nothing."""
        given = {**row, "run": self._run, "text": self._texts.get(row["question"])}
        flags = (row["split"] == "test", *(_flag(row.get(key)) for key in FLAGS[1:]))
        metrics, timings = row["metrics"] or {}, row["timings"] or {}
        return [
            *(given.get(key) for key in TEXTS),
            *flags,
            len(row["ranking"]),
            *(_number(metrics.get(name)) for name in self.metrics),
            *(_number(timings.get(stage)) for stage in self.stages),
        ]


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def check_file(path: Path) -> None:
    """Refuse a path at which no file can stand.

    Raises:
        UsageError: It is a folder, or the folder of it is not there.
        RecordError: It cannot be looked at.
    """
    with writing(path):
        if path.is_dir():
            raise UsageError(f"{path}: it is a folder; name a file in it")
        if not path.parent.is_dir():
            raise UsageError(f"{path}: it cannot be written, there is no folder {path.parent}; make it first")


def write_csv(record: RunRecord, path: Path) -> str:
    """Write a run's rows as CSV (RFC 4180, UTF-8); nothing stands for null.

    Returns:
        What was written, in a sentence.

    Raises:
        RecordError: The record is damaged, or the file cannot be written.
    """
    layout, told = Layout(record), _Told(path)
    write_atomic(path, (encode(text) for text in _csv(layout, told.counting(last_rows(record)))))
    return str(told)


def _csv(layout: Layout, rows: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([_guarded(name) for name in layout.columns])
    for row in rows:
        writer.writerow([_csv_value(value) for value in layout.line(row)])
        if buffer.tell() > 1 << 20:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _csv_value(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return _guarded(value) if isinstance(value, str) else value


def _guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula; `text.removeprefix("'")` of what comes back so is the text."""
    return f"'{text}" if text.startswith(GUARDED) else text


def write_parquet(record: RunRecord, path: Path) -> str:
    """Write a run's rows as Parquet: text, boolean, 32-bit whole number and double columns, texts as they are.

    Returns:
        What was written, in a sentence.

    Raises:
        UsageError: pyarrow is not installed.
        RecordError: The record is damaged, or the file cannot be written.
    """
    arrow, parquet = pyarrow_modules()
    layout, told = Layout(record), _Told(path)
    types = [*[arrow.string()] * len(TEXTS), *[arrow.bool_()] * len(FLAGS), *[arrow.int32()] * len(COUNTS)]
    types += [arrow.float64()] * len(layout.numbers)
    schema = arrow.schema(list(zip(layout.columns, types, strict=True)))
    sink = io.BytesIO()
    with parquet.ParquetWriter(sink, schema) as writer:
        for batch in _batches(
            [_plain(value) for value in layout.line(row)] for row in told.counting(last_rows(record))
        ):
            columns = [list(column) for column in zip(*batch, strict=True)]
            arrays = [arrow.array(column, type=kind) for column, kind in zip(columns, types, strict=True)]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
    with writing(path):
        durable.write_atomic(path, [sink.getvalue()])
    return str(told)


def pyarrow_modules() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise UsageError(
            f"--parquet needs pyarrow, which cannot be imported ({error}); install pytest-ragbench[parquet], or write "
            "--csv"
        ) from error


def _plain(value: Any) -> Any:
    """Half of a surrogate pair, which UTF-8 cannot hold, as JSON escapes it."""
    return encode(value).decode("utf-8") if isinstance(value, str) else value


def _batches(lines: Iterator[list[Any]]) -> Iterator[Sequence[list[Any]]]:
    batch: list[list[Any]] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class _Told:
    """Counts the rows that pass, for the sentence at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = self._sealed = 0

    def counting(self, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The same rows."""
        for row in rows:
            self._rows += 1
            self._sealed += row["split"] == "test"
            yield row

    def __str__(self) -> str:
        note = f"; {self._sealed:,} of them of the sealed test split, `sealed` in their line" if self._sealed else ""
        return f"{self._path}: {plural(self._rows, 'row')}{note}"
