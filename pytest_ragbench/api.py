"""The jobs of the command line as functions: measure a pipeline, judge a run, find the commit that broke it.

They take and give values and records, and print nothing. The test split is opened by pytest alone, never from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.baselines import MAIN
from pytest_ragbench.baselines.files import read_baseline
from pytest_ragbench.bisection.search import Bisection, bisect_commits
from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.configurations.model import Catalogue, Configuration
from pytest_ragbench.configurations.names import check_name, marker_name
from pytest_ragbench.configurations.selection import select
from pytest_ragbench.configurations.thresholds import FILE_NAME, Known, load_hard_gates
from pytest_ragbench.errors import BaselineError, SealedError, UsageError
from pytest_ragbench.gates.model import Verdict
from pytest_ragbench.metrics.catalogue import metric_names
from pytest_ragbench.questions.loading import load_questions, read_set, shown_path
from pytest_ragbench.questions.model import GoldSource, Locator, Question
from pytest_ragbench.questions.serial import questions_digest, to_mapping
from pytest_ragbench.records.record import RunRecord
from pytest_ragbench.records.record import find_run as record_named
from pytest_ragbench.reports.commands import render_record
from pytest_ragbench.runs.gating import Held, check_rules, judge_run
from pytest_ragbench.runs.measuring import measure_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "Bisection",
    "Configuration",
    "GoldSource",
    "Locator",
    "Question",
    "RunRecord",
    "Verdict",
    "bisect_commits",
    "find_run",
    "gate",
    "measure",
    "report",
]

RUNS_DIR = Path(".ragbench/runs")
BASELINES = Path("baselines")


def measure(
    pipeline: Any,
    questions: str | Path | Iterable[Question],
    configurations: str | Path | Mapping[str, Mapping[str, Any]] | None = None,
    *,
    names: str | Sequence[str] = (),
    k: int = 10,
    limit: int | None = None,
    root: str | Path = ".",
    runs_dir: str | Path = RUNS_DIR,
    progress: Callable[[int, int], None] | None = None,
) -> RunRecord:
    """Measure every question under every configuration, in this process, and keep the record.

    Args:
        pipeline: Anything with `search(query, **overrides)`, or a callable of that shape.
        questions: A question set, or a folder of them; or questions. Those of the test split and those that review
            rejected are left out.
        configurations: A `configs.yaml`; or name to overrides, of which each is paired with the first; None measures
            one configuration, `default`, without overrides.
        names: Configurations and experiments to measure, as `--rag-configs` takes them; all of a mapping, and the
            ladder or the first configuration of a file, where none is named.
        k: Depth of the rankings.
        limit: At most so many questions, the first by id.
        root: The folder that absolute paths of chunks are read below; its commit is the one measured.
        runs_dir: Where the record goes; `ragbench show` and its kin read it there.
        progress: Called after each row with the number of rows and the number planned.

    Returns:
        The finished record: `summary()` has the statistics, `rows()` the rows. A search that raised is an errored row.

    Raises:
        InputError: A set or the configurations have mistakes; the message names each with its place.
        UsageError: Nothing is to be measured, a name is unknown, an argument is of another kind, or the pipeline
            refuses an override.
        SealedError: Every question is of the test split.
        RecordError: The record cannot be written.
    """
    _check_numbers(k=k, limit=limit)
    if not callable(getattr(pipeline, "search", None)) and not callable(pipeline):
        raise UsageError(
            f"a {type(pipeline).__name__} cannot be measured; give an object with `search(query, **overrides)`, or a "
            "function of that shape"
        )
    asked = _questions(questions)
    planned = _planned(asked, limit)
    catalogue = _catalogue(configurations, {question.suite for question in asked})
    wanted = tuple(names.split(",")) if isinstance(names, str) else names  # a text is a sequence of its characters
    selection = select(catalogue, wanted or _default_names(catalogue, configurations))
    return measure_all(
        pipeline,
        planned,
        selection,
        k=k,
        root=Path(root),
        runs_dir=Path(runs_dir),
        facts={
            "config_digest": catalogue.digest or None,
            "questions_digest": questions_digest(asked),
            "split": "dev",
            "limit": limit,
            "sets": str(questions) if isinstance(questions, str | Path) else None,
        },
        warm_up_keys=catalogue.warm_up,
        progress=progress,
    )


def gate(run: RunRecord, baselines: str | Path = BASELINES, *, floors: bool = False) -> Verdict:
    """Hold a run against the thresholds and the baseline of a project.

    Args:
        run: A finished record, from `measure` or `find_run`.
        baselines: The folder with `thresholds.yaml` and, where there is one, the baseline.
        floors: Judge by the floors alone.

    Returns:
        The verdict; `status` is `passed`, `failed` or `refused`.

    Raises:
        InputError: `thresholds.yaml` has mistakes.
        UsageError: There is no `thresholds.yaml`, or none with a rule to judge by.
        RecordError: The record or the baseline is damaged.
    """
    folder = Path(baselines)
    questions = run.questions()
    known = Known(
        k=run.run["k"],
        metrics=metric_names(run.run["k"]),
        configurations=tuple(entry["name"] for entry in run.run["configurations"]),
        suites=frozenset(question.suite for question in questions),
        domains=frozenset(question.domain for question in questions if question.domain),
    )
    rules = load_hard_gates(folder / FILE_NAME, known)
    check_rules(rules, shown_path(folder / FILE_NAME), floors=floors)
    if floors:
        return judge_run(run, rules, None)
    shown = f"{shown_path(folder)}/{MAIN}"
    try:
        held = Held(shown, read_baseline(folder, shown_path(folder)))
    except BaselineError as error:
        held = Held(shown, error=error)
    return judge_run(run, rules, held)


def find_run(name: str | Path, runs_dir: str | Path = RUNS_DIR) -> RunRecord:
    """The record that is named: `last`, a run id below `runs_dir`, or the path of a record.

    Raises:
        RecordError: There is none; the message lists the latest.
    """
    return record_named(str(name), Path(runs_dir))


def report(run: RunRecord) -> str:
    """The Markdown report of a run, as `report.md` beside its rows.

    Raises:
        RecordError: The record is damaged.
    """
    return render_record(run)


def _questions(given: Any) -> tuple[Question, ...]:
    if isinstance(given, str | Path):
        return load_questions(Path(given)).questions
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    if other := next((one for one in found if not isinstance(one, Question)), None):
        raise UsageError(f"a {type(other).__name__} is no Question; give questions, or the path of a set")
    found = tuple(sorted(found, key=lambda question: question.id))
    twice = next((one.id for one, other in pairwise(found) if one.id == other.id), None)
    if twice is not None:
        raise UsageError(f"two questions have the id {twice}; an id names one question")
    return _as_read(found)


def _as_read(questions: Sequence[Question]) -> tuple[Question, ...]:
    """The questions as a set's file would give them, so that the rules of sets hold here too."""
    try:
        lines = [canonical.dumps(to_mapping(question)) for question in questions]
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"a question has a field of another type than its annotation says: {error}") from error
    return tuple(read_set("".join(f"{line}\n" for line in lines), "questions.jsonl"))


def _check_numbers(**numbers: int | None) -> None:
    for name, value in numbers.items():
        if value is not None and (type(value) is not int or value < 1):
            raise UsageError(f"{name} = {value!r}: it is a whole number, 1 or more")


def _planned(questions: Sequence[Question], limit: int | None) -> tuple[Question, ...]:
    """The questions to measure: those of dev, and all of a set that nobody has split."""
    unsplit = all(question.split is None for question in questions)
    runnable = [one for one in questions if not one.rejected and (unsplit or one.split is not None)]
    planned = tuple(one for one in runnable if one.split != "test")[:limit]
    if planned:
        return planned
    if runnable and limit is None:
        raise SealedError(
            "every question is of the test split, which is opened by `pytest -m sealed --unseal-test` alone"
        )
    raise UsageError("there is no question to measure")


def _catalogue(given: str | Path | Mapping[str, Mapping[str, Any]] | None, suites: set[str]) -> Catalogue:
    if given is None or isinstance(given, str | Path):
        return load_catalogue(None if given is None else Path(given), reserved=suites)
    if not isinstance(given, Mapping):
        raise UsageError(f"configurations are a path or a mapping of names to overrides, not a {type(given).__name__}")
    if not given:
        raise UsageError("no configuration is given; `{'default': {}}` measures the pipeline as it is")
    first = next(iter(given))
    for name, overrides in given.items():
        if (problem := check_name(name) or _unwritable(overrides)) is not None:
            raise UsageError(f"configuration {name!r}: {problem}")
    return Catalogue(
        {
            name: Configuration(name, marker_name(name), dict(overrides), pairs=() if name == first else (first,))
            for name, overrides in given.items()
        }
    )


def _unwritable(overrides: object) -> str | None:
    """A complaint about overrides that no record could hold, or None."""
    if not isinstance(overrides, Mapping):
        return f"its overrides are a mapping, not a {type(overrides).__name__}"
    try:
        canonical.dumps(dict(overrides))
    except (TypeError, ValueError) as error:
        return f"its overrides must be JSON: {error}"
    return None


def _default_names(catalogue: Catalogue, given: object) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        return tuple(catalogue.configurations)
    return ("ladder",) if "ladder" in catalogue.experiments else (next(iter(catalogue.configurations)),)
