"""Bootstrap resamples of a set of questions, and the percentile interval of a mean under them.

What is drawn depends on the seed and the number of clusters alone, so that every metric, configuration and pair
measured on the same questions sees the same resamples, in whatever order they are asked for. Large sets of resamples
are never held whole: a block is drawn, used and dropped, and comes out the same when it is drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_ragbench.errors import StatisticsError
from pytest_ragbench.statistics.exact import QUANTUM, ExactSums
from pytest_ragbench.statistics.quantiles import percentile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pytest_ragbench.statistics.clusters import Clusters

_BLOCK = 1 << 20
"""Draws in one block: about 8 MB, and as much again for their counts."""

_KEPT = 1 << 24
"""Bytes of counts that are kept between uses, so that many small sets of questions do not draw them again and again."""

COLUMNS = 128
"""Columns whose resampled means are held at once: 10 MB at 10,000 resamples."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Means of m columns and their intervals, each `(m,)`, in units of the metric.

    Attributes:
        mean: Of the questions as they are.
        low: Lower end of the percentile interval.
        high: Upper end.
    """

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Draws:
    """How often each resample drew each cluster, for any number of clusters.

    Attributes:
        seed: Of the generator, which starts anew for every number of clusters.
        count: Number of resamples.

    Raises:
        StatisticsError: Fewer than 2 resamples.
    """

    def __init__(self, seed: int, count: int = 10_000) -> None:
        if count < 2:
            raise StatisticsError(f"expected at least 2 resamples, found {count}")
        self.seed = seed
        self.count = count
        self._kept: dict[int, list[NDArray[np.uint8]]] = {}

    def weights(self, clusters: int) -> Iterator[NDArray[np.float64]]:
        """Blocks of `(rows, clusters)` counts; every row sums to `clusters`."""
        if clusters in self._kept:
            yield from (block.astype(np.float64) for block in self._kept[clusters])
            return
        keep = self.count * clusters <= _KEPT
        blocks: list[NDArray[np.uint8]] = []
        for counts in self._draw(clusters):
            keep = keep and counts.max() <= np.iinfo(np.uint8).max
            if keep:
                blocks.append(counts.astype(np.uint8))
            yield counts.astype(np.float64)
        if keep:
            self._make_room(self.count * clusters)
            self._kept[clusters] = blocks

    def _draw(self, clusters: int) -> Iterator[NDArray[np.int64]]:
        generator = np.random.default_rng(self.seed)
        rows = max(1, _BLOCK // clusters)
        for start in range(0, self.count, rows):
            size = min(rows, self.count - start)
            drawn = generator.integers(0, clusters, size=(size, clusters), dtype=np.int64)
            drawn += np.arange(size, dtype=np.int64)[:, None] * clusters
            yield np.bincount(drawn.ravel(), minlength=size * clusters).reshape(size, clusters)

    def _make_room(self, needed: int) -> None:
        while self._kept and self.count * sum(self._kept) + needed > _KEPT:
            del self._kept[next(iter(self._kept))]


@dataclass(frozen=True, slots=True)
class Resamples:
    """Draws of whole clusters with replacement from one set of questions.

    A resample's mean is the sum of its values over the number of its questions (a ratio estimator, since clusters
    differ in size): Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8.

    Attributes:
        clusters: The set of questions.
        draws: Shared by all sets of a run.
    """

    clusters: Clusters
    draws: Draws

    def __post_init__(self) -> None:
        if not self.clusters.n:
            raise StatisticsError("there is no question to resample")

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Resampled means, `(m, draws.count)`, of `(n, m)` quantised columns, in units of the metric.

        Raises:
            StatisticsError: NaN, or a shape that does not fit.
        """
        sums = self._exact(values)
        sizes = self.clusters.sizes.astype(np.float64)
        means = np.empty((values.shape[1], self.draws.count))
        start = 0
        for weights in self.draws.weights(self.clusters.count):
            stop = start + len(weights)
            # One division; the quantum is a power of two, so scaling by it rounds nothing.
            np.divide(sums.times(weights), weights @ sizes, out=means[:, start:stop])
            start = stop
        means *= QUANTUM
        return means

    def estimate(self, values: NDArray[np.float64], confidence: float = 0.95) -> Estimates:
        """Means of `(n, m)` quantised columns with their percentile intervals.

        Raises:
            StatisticsError: NaN, a shape that does not fit, or a confidence outside 0 to 1.
        """
        return Estimates(*self._estimate(values, confidence, errors=False)[:3])

    def estimate_with_errors(
        self, values: NDArray[np.float64], confidence: float = 0.95
    ) -> tuple[Estimates, NDArray[np.float64]]:
        """As `estimate`, and the bootstrap standard errors: standard deviations of the resampled means, `(m,)`."""
        *ends, errors = self._estimate(values, confidence, errors=True)
        return Estimates(*ends), errors

    def _estimate(self, values: NDArray[np.float64], confidence: float, *, errors: bool) -> NDArray[np.float64]:
        if not 0.0 < confidence < 1.0:
            raise StatisticsError(f"expected a confidence between 0 and 1, found {confidence}")
        tail = (1.0 - confidence) / 2.0
        found = np.full((4, values.shape[1]), np.nan)
        for start in range(0, values.shape[1], COLUMNS):
            block = slice(start, start + COLUMNS)
            means = self.means(values[:, block])
            found[0, block] = self._point(values[:, block])
            if errors:
                found[3, block] = spread(means)
            means.sort(axis=1)  # one sort serves both ends, and is quicker than a partition
            found[1, block] = percentile(means, tail)
            found[2, block] = percentile(means, 1.0 - tail)
        return found

    def _point(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        everyone_once = np.ones((1, self.clusters.count))
        sums: NDArray[np.float64] = self._exact(values).times(everyone_once)[:, 0]
        return sums / self.clusters.n * QUANTUM

    def _exact(self, values: NDArray[np.float64]) -> ExactSums:
        return ExactSums(self.clusters, values, reach=self.clusters.count * int(self.clusters.sizes.max()))


def spread(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation (n - 1) along the last axis, the same bits on every machine.

    `cumsum` adds strictly from left to right; `sum` and `std` add in an order that depends on the processor.
    """
    count = means.shape[-1]
    squares = means - np.cumsum(means, axis=-1)[..., -1:] / count
    np.square(squares, out=squares)
    variance: NDArray[np.float64] = np.cumsum(squares, axis=-1, out=squares)[..., -1] / (count - 1)
    return np.sqrt(variance)
