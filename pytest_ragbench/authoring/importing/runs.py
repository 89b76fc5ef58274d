"""Run files of an imported project: what they may be called, their one spelling, and the configurations they make."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.suites import MARKER, RESERVED_MARKERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ragbench.execution.trec_files import Run

EXPERIMENT = "runs"
"""The experiment that holds every run of the project; its comparisons are one family."""

_TAKEN = frozenset({EXPERIMENT, "ladder", "loo", "factorial", *RESERVED_MARKERS})


def parse_runs(typed: Iterable[str]) -> dict[str, str]:
    """`NAME=FILE` arguments in the order typed.

    Raises:
        UsageError: One has no `=`, or a name stands twice.
    """
    runs: dict[str, str] = {}
    for text in typed:
        name, equals, file = text.partition("=")
        if not equals or not name or not file:
            raise UsageError(f"--run {text}: write NAME=FILE, as --run bm25=runs/bm25.trec.gz")
        if name in runs:
            raise UsageError(f"--run {text}: the name {name!r} stands twice; give each run its own")
        runs[name] = file
    return runs


def check_names(names: Iterable[str], suites: Iterable[str]) -> None:
    """Refuse names that cannot be a file, a configuration and a marker.

    Raises:
        UsageError: A name is taken, has other characters, or differs from another in case alone.
    """
    taken = {*_TAKEN, *suites}
    folded: dict[str, str] = {}
    for name in names:
        if not MARKER.fullmatch(name):
            raise UsageError(
                f"--run {name!r}: a name has ASCII letters, digits, `_`, `.`, `+` and `-`, the first a letter or digit"
            )
        if name in taken:
            raise UsageError(
                f"--run {name!r}: the name is taken by a suite, a tier, pytest or the bench; choose another"
            )
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise UsageError(f"--run {name!r}: differs from {other!r} in case alone; choose another")


def run_lines(run: Run, name: str) -> str:
    """A run file in one spelling: queries sorted, best first, ranks from 1, scores as Python writes them."""
    return "".join(
        f"{query} Q0 {ranked.document} {rank} {ranked.score!r} {name}\n"
        for query in sorted(run.rankings)
        for rank, ranked in enumerate(run.rankings[query], start=1)
    )


def configs_text(names: Sequence[str]) -> str:
    """`configs.yaml` with one configuration a run; every other one is paired with the first."""
    lines = [
        "# One configuration a run file in runs/. All but the first are compared with the first.\n",
        f"experiments:\n  {EXPERIMENT}:\n    arms:\n",
    ]
    for name in names:
        lines.append(f"      {json.dumps(name)}:\n        overrides: {{run: {json.dumps(name)}}}\n")
        if name != names[0]:
            lines.append(f"        paired: {json.dumps(names[0])}\n")
    return "".join(lines)


def declared_runs(path: Path) -> tuple[str, ...]:
    """The runs that an earlier import declared in `configs.yaml`, in order; empty when it has been edited since.

    Raises:
        InputError: The file is no catalogue.
    """
    if not path.is_file():
        return ()
    experiment = load_catalogue(path).experiments.get(EXPERIMENT)
    arms = experiment.arms if experiment else ()
    return arms if arms and path.read_text(encoding="utf-8") == configs_text(arms) else ()
