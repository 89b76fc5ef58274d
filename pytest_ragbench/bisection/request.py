"""What a bisect is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for.

    Attributes:
        good: The ref of the good end.
        bad: The ref of the bad end.
        metric: Name of the metric; without a cut-off it is read at the depth of the run.
        configuration: Which configuration is judged; None where the run has just one.
        threshold: A value below it is regressed; None for the middle of both ends.
        skip_unscorable: Whether commits without a value are searched around rather than counted as regressed.
        sets: Question sets for every probe; None for those of the bad end.
        own_corpus: Whether every commit reads its own corpus, although `rag_corpus` names one.
        links: Paths below the top of the repository that every worktree is given as links to the user's own.
        timeout: Seconds after which a probe is ended.
        keep: Folder that keeps the probes' records and what pytest printed; None to keep nothing.
        pytest_args: What every probe hands to pytest.
        folder: Where the user stands.
    """

    good: str
    bad: str
    metric: str
    configuration: str | None
    threshold: float | None
    skip_unscorable: bool
    sets: Path | None
    own_corpus: bool
    links: tuple[str, ...]
    timeout: float
    keep: Path | None
    pytest_args: tuple[str, ...]
    folder: Path
