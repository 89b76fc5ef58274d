"""What a run set out to measure: the questions, configurations and settings that its rows are summarised under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pytest_ragbench.configurations.model import Configuration, Experiment
    from pytest_ragbench.questions.model import Question

SEED = 20260901
RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned cells (every question under every configuration) and how to judge them.

    Attributes:
        questions: In any order; the summary sorts them by id.
        configurations: In display order.
        experiments: Each one's comparisons are a family for Holm's adjustment.
        k: Depth of the rankings.
        seed: Of every random draw.
        resamples: Of every interval; also the flips of a sign-flip test that is too large to enumerate.
        confidence: Of every interval.
        cluster: What is resampled and flipped as one: the questions of one file, or each question alone.
    """

    questions: tuple[Question, ...]
    configurations: tuple[Configuration, ...]
    experiments: tuple[Experiment, ...] = ()
    k: int = 10
    seed: int = SEED
    resamples: int = RESAMPLES
    confidence: float = CONFIDENCE
    cluster: Literal["file", "none"] = "file"
