"""Which part of a run's questions one machine measures. The parts are joined again by `runs.merging`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ragbench.questions.model import Question

_TEXT = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` of `of`, counted from 1."""

    index: int
    of: int

    def __str__(self) -> str:
        """As it is typed: `2/3`."""
        return f"{self.index}/{self.of}"

    def part(self, questions: Sequence[Question]) -> tuple[Question, ...]:
        """Every `of`-th of some questions in the order of their ids, from the `index`-th on.

        Neighbouring ids are as a rule of one suite, so every part gets its share of each suite. A question is in one
        part whole, under all configurations.
        """
        ordered = sorted(questions, key=lambda question: question.id)
        return tuple(ordered[self.index - 1 :: self.of])


def parse_shard(text: str) -> Shard | None:
    """`2/3` as a shard; None when the text is none."""
    match = _TEXT.fullmatch(text.strip())
    shard = Shard(int(match[1]), int(match[2])) if match else None
    return shard if shard is not None and shard.index <= shard.of else None
