"""Lines the rows up with the plan: every planned cell in a fixed order, and the columns that statistics are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from pytest_ragbench.analysis.table import ABSENT, ERRORED
from pytest_ragbench.canonical import fold_path, number, quantise
from pytest_ragbench.statistics.clusters import Clusters
from pytest_ragbench.statistics.resampling import COLUMNS, Draws, Resamples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_ragbench.analysis.plan import Plan
    from pytest_ragbench.analysis.table import RowTable
    from pytest_ragbench.questions.model import Question

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Arm:
    """The cells of one configuration, each array `(n_questions,)` in the order of the questions.

    Attributes:
        slots: Where the rows stand in the table.
        errored: Rows with an error.
        scored: Rows that count in means: no error, an answerable question, some metric that is not null.
    """

    slots: NDArray[np.intp]
    errored: NDArray[np.bool_]
    scored: NDArray[np.bool_]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Cells that have a row."""
        found: NDArray[np.bool_] = self.slots != ABSENT
        return found


class Cells:
    """Every planned cell.

    Attributes:
        plan: What was planned.
        table: The rows.
        questions: Sorted by id, so that nothing depends on the order of rows or files.
        arms: Configuration name to its cells.
    """

    def __init__(self, table: RowTable, plan: Plan) -> None:
        self.plan = plan
        self.table = table
        self.questions: tuple[Question, ...] = tuple(sorted(plan.questions, key=lambda question: question.id))
        self._draws = Draws(plan.seed, plan.resamples)
        self._labels = [cluster_label(question, plan.cluster) for question in self.questions]
        ids = [question.id for question in self.questions]
        answerable = np.array([question.answerable for question in self.questions], dtype=np.bool_)
        self.arms: dict[str, Arm] = {}
        self._metrics: dict[str, NDArray[np.float64]] = {}
        for configuration in plan.configurations:
            slots = table.slots(ids, configuration.name)
            values = table.metrics(slots)
            scored = answerable & ~np.isnan(values).all(axis=1)  # absent, errored and unanswerable cells are not
            values[~scored] = np.nan
            self.arms[configuration.name] = Arm(slots, table.flagged(slots, ERRORED), scored)
            self._metrics[configuration.name] = np.ascontiguousarray(quantise(values).T)

    def metric(self, configuration: str, column: int) -> NDArray[np.float64]:
        """Quantised values of one metric under one configuration, `(n_questions,)`; NaN where it does not count."""
        values: NDArray[np.float64] = self._metrics[configuration][column]
        return values

    def clusters(self, questions: NDArray[np.intp]) -> Clusters:
        """The clusters of some of the questions."""
        return Clusters.of([self._labels[index] for index in questions.tolist()])

    def resamples(self, questions: NDArray[np.intp]) -> Resamples:
        """The resamples of some of the questions."""
        return Resamples(self.clusters(questions), self._draws)

    def set_size(self, questions: NDArray[np.intp]) -> dict[str, Any]:
        """`n`, `clusters` and `effective_n` of some of the questions."""
        found = self.clusters(questions)
        return {"n": found.n, "clusters": found.count, "effective_n": number(found.effective_n)}


def cluster_label(question: Question, cluster: str) -> str:
    """What a question is resampled with: the file of its first required gold source, or itself alone."""
    if cluster == "none" or not question.gold:
        return question.id
    first = next((source for source in question.gold if source.required), question.gold[0])
    return fold_path(first.locator.file)


def blocks(
    keys: Iterable[Key], fetch: Callable[[Key], NDArray[np.float64]]
) -> Iterator[tuple[NDArray[np.intp], Sequence[Key], NDArray[np.float64]]]:
    """Group columns by the questions that have a value in them, so that each such set is resampled once.

    Args:
        keys: Names of the columns.
        fetch: Gives the `(n_questions,)` values of a column, NaN where it has none.

    Yields:
        Indexes of a set's n questions, up to `COLUMNS` of its columns' keys, and their values `(n, columns)`. The set
        may be empty.
    """
    sets: dict[bytes, list[Key]] = {}
    for key in keys:
        sets.setdefault((~np.isnan(fetch(key))).tobytes(), []).append(key)
    # Sets of one size follow each other, since they may share their draws.
    for mask, columns in sorted(sets.items(), key=lambda item: item[0].count(1)):
        questions = np.flatnonzero(np.frombuffer(mask, dtype=np.bool_))
        for start in range(0, len(columns), COLUMNS):
            block = columns[start : start + COLUMNS]
            yield questions, block, np.stack([fetch(key)[questions] for key in block], axis=1)
