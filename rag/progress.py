"""How builds speak while they run: a bar on a terminal, in a log a line now and then. What they say, they decide."""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOG_EVERY = 10.0
"""Seconds between two lines about one stage where no terminal shows a bar."""


class Progress:
    """Writes to stderr.

    Args:
        quiet: Whether nothing is said.
        clock: Seconds, for tests.
    """

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet = quiet
        self._clock = clock

    def say(self, text: str) -> None:
        """One line."""
        if not self._quiet and sys.stderr is not None:
            print(f"rag: {text}", file=sys.stderr, flush=True)  # noqa: T201 a build says what it does

    @contextmanager
    def stage(self, what: str, total: int) -> Iterator[Callable[[int], object]]:
        """A stretch of work; what it yields is called with how many more of `total` are done."""
        if self._quiet or sys.stderr is None:
            yield lambda _: None
        elif sys.stderr.isatty():
            from tqdm import tqdm

            # A terminal that does not know its size would get no bar at all.
            width, height = shutil.get_terminal_size()
            with tqdm(
                total=total,
                desc=f"rag: {what}",
                file=sys.stderr,
                leave=False,
                ncols=min(100, width),
                nrows=height,
            ) as bar:
                yield bar.update
        else:
            yield self._lines(what, total)

    def _lines(self, what: str, total: int) -> Callable[[int], None]:
        """For logs: silent for the first `LOG_EVERY` seconds, so that a short stage has no line of its own."""
        started = spoken = self._clock()
        done = 0

        def advance(more: int) -> None:
            nonlocal spoken, done
            done += more
            now = self._clock()
            if now - spoken >= LOG_EVERY and 0 < done < total:
                spoken = now
                left = (now - started) * (total - done) / done
                self.say(f"{what}: {done:,} of {total:,}, about {left:.0f} s left")

        return advance
