"""Sums of products that come out the same, to the last bit, on every machine: whole numbers in float64, below 2**53.

Rounding the result would not do: another BLAS kernel or thread count adds in another order, and a digit on the edge
tips over. Whole numbers have nothing to round, so the order does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_ragbench.canonical import QUANTUM_BITS
from pytest_ragbench.errors import StatisticsError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ragbench.statistics.clusters import Clusters

QUANTUM = 2.0**-QUANTUM_BITS
"""What a quantised value of 1 is worth; multiplying by it is exact."""

_EXACT = 2.0**53
_LOW = 2.0 ** (QUANTUM_BITS // 2)  # halves a value of 1, so that both parts leave the same room for sums


class ExactSums:
    """Cluster sums of quantised columns, ready to be multiplied by whole numbers without rounding.

    Where the products could pass 2**53, every value is split as `high * _LOW + low`, each half is multiplied exactly,
    and the halves are joined with a single rounding.

    Args:
        clusters: The partition of the n questions.
        values: `(n, m)` whole numbers (see `canonical.quantise`), no NaN.
        reach: The largest possible sum over questions of the absolute factors, for example the number of draws.

    Raises:
        StatisticsError: NaN, a shape that does not fit, or more than even the halves can hold exactly.
    """

    def __init__(self, clusters: Clusters, values: NDArray[np.float64], *, reach: int) -> None:
        if values.ndim != 2 or len(values) != clusters.n:
            raise StatisticsError(f"expected ({clusters.n}, columns) values, found the shape {values.shape}")
        largest = float(np.abs(values).max(initial=0.0))
        if not np.isfinite(largest):
            raise StatisticsError("the values hold NaN or an infinity; leave out the questions that have no value")
        if largest * reach < _EXACT:
            self._parts = [(1.0, clusters.sums(values))]
            return
        high = np.floor(values / _LOW)
        if max(float(np.abs(high).max()), _LOW) * reach >= _EXACT:
            raise StatisticsError(f"{clusters.n} questions with values up to {largest * QUANTUM:g} are too many to add")
        self._parts = [(_LOW, clusters.sums(high)), (1.0, clusters.sums(values - high * _LOW))]

    @property
    def sums(self) -> NDArray[np.float64]:
        """`(clusters, m)` sums within clusters."""
        return self._join([sums * scale for scale, sums in self._parts])

    def times(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """`(m, rows)` sums of products for `(rows, clusters)` whole factors."""
        return self._join([(sums.T @ factors.T) * scale for scale, sums in self._parts])

    @staticmethod
    def _join(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]
