"""Which questions are resampled and flipped as one. What is computed from them is left to the other modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Clusters:
    """A partition of n questions.

    Attributes:
        codes: `(n,)` number of each question's cluster; numbers follow the sorted labels, so that they do not depend on
            the order of the questions.
        sizes: `(count,)` questions in each cluster, none empty.
    """

    codes: NDArray[np.intp]
    sizes: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of questions."""
        return int(self.codes.size)

    @property
    def count(self) -> int:
        """Number of clusters."""
        return int(self.sizes.size)

    @property
    def effective_n(self) -> float:
        """Kish's effective sample size, `(sum of sizes)^2 / sum of sizes^2`, with the clusters as units.

        The number of equally large clusters that would estimate a mean as well as these, if all questions of a cluster
        scored alike. A floor: with questions that are independent within their cluster the information is `n`.
        Source: Kish, Weighting for unequal Pi (Journal of Official Statistics 8:2, 1992).
        """
        return float(self.n) ** 2 / float((self.sizes**2).sum()) if self.n else 0.0

    @classmethod
    def of(cls, labels: Sequence[str]) -> Clusters:
        """Partition questions by a label each."""
        if not len(labels):
            return cls(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.int64))
        numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
        codes = np.array([numbers[label] for label in labels], dtype=np.intp)
        return cls(codes, np.bincount(codes))

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum `(n, m)` values within clusters: `(count, m)`. Exact in any order for whole numbers below 2**53."""
        if self.count == self.n:
            summed = np.empty_like(values)
            summed[self.codes] = values
            return summed
        order = np.argsort(self.codes, kind="stable")
        starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        return np.add.reduceat(values[order], starts, axis=0)
