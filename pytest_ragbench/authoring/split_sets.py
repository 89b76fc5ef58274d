"""`ragbench split`: read the sets under the lock, decide, and write the splits into their files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.authoring.editing import with_splits
from pytest_ragbench.authoring.files import PATIENCE, replace_all, sets_lock
from pytest_ragbench.authoring.splitting import Assignment, Stratum, assign, assign_by_gold, stratum_of
from pytest_ragbench.questions.loading import load_records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from pytest_ragbench.questions.loading import Record


@dataclass(frozen=True, slots=True)
class SplitResult:
    """What a split did, or would do.

    Attributes:
        assignment: The questions that were given a side, and groups that stand on both.
        files: Files that change, as shown.
        strata: Stratum to (dev, test) afterwards, rejected questions left out.
        rejected: How many questions review threw out; they stay without a split.
    """

    assignment: Assignment
    files: tuple[str, ...]
    strata: Mapping[Stratum, tuple[int, int]]
    rejected: int


def split_sets(
    sets: Path,
    share: Fraction,
    *,
    by_gold: bool = False,
    dry_run: bool = False,
    shown_as: str | None = None,
    patience: float = PATIENCE,
    say: Callable[[str], None] | None = None,
) -> SplitResult:
    """Give every unsplit question of the sets a side; see `splitting` for the rule.

    Args:
        sets: A folder of sets, or one set.
        share: Wanted share of test questions, above 0 and below 1.
        by_gold: Keep questions that share a required gold passage together.
        dry_run: Decide, take no lock and write nothing.
        shown_as: What messages write for `sets`.
        patience: Seconds to wait for another writer.
        say: Called with a sentence when there is one to wait for.

    Raises:
        InputError: A set is wrong; nothing was changed.
        UsageError: The lock is held, or a folder cannot be written; nothing was changed.
    """
    if dry_run or not sets.exists():
        return _decide(load_records(sets, shown_as=shown_as)[0], share, by_gold=by_gold)
    with sets_lock(sets, patience=patience, say=say):
        records, _ = load_records(sets, shown_as=shown_as)
        result = _decide(records, share, by_gold=by_gold)
        paths = {record.path: record.file for record in records if record.path and record.file in result.files}
        texts = {path: path.read_bytes().decode() for path in sorted(paths)}
        splits = result.assignment.splits
        replace_all({path: with_splits(text, splits, name=paths[path]) for path, text in texts.items()})
    return result


def _decide(records: Sequence[Record], share: Fraction, *, by_gold: bool) -> SplitResult:
    questions = [record.question for record in records]
    assignment = (assign_by_gold if by_gold else assign)(questions, share)
    files = {record.file: None for record in records if record.question.id in assignment.splits}
    sides: dict[str, Counter[Stratum]] = {"dev": Counter(), "test": Counter()}
    for question in questions:
        side = question.split or assignment.splits.get(question.id)
        if side is not None and not question.rejected:
            sides[side][stratum_of(question)] += 1
    strata = {key: (sides["dev"][key], sides["test"][key]) for key in sorted(sides["dev"] | sides["test"])}
    return SplitResult(assignment, tuple(sorted(files)), strata, sum(question.rejected for question in questions))
