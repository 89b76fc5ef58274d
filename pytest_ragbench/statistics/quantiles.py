"""One definition of a quantile, for interval ends and latencies alike: linear interpolation, numpy's `linear`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def percentile(ascending: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Quantile of values that ascend along the last axis; equal to `numpy.quantile(..., method="linear")`.

    Source: definition 7 of Hyndman and Fan, Sample quantiles in statistical packages (Am. Stat. 50:4, 1996).

    Args:
        ascending: `(..., count)` sorted values, at least one.
        share: From 0 to 1.
    """
    last = ascending.shape[-1] - 1
    below = int(share * last)
    part = share * last - below
    start, end = ascending[..., below], ascending[..., min(below + 1, last)]
    # From the nearer end, as numpy does, so that the last bit is the same.
    return np.asarray(start + (end - start) * part if part < 0.5 else end - (end - start) * (1.0 - part))


def latency_percentiles(milliseconds: NDArray[np.float64]) -> dict[str, float]:
    """`p50`, `p95` and `p99` of at least one latency, interpolated linearly: p95 of 1 to 20 is 19.05, never 20."""
    ascending = np.sort(milliseconds)
    return {f"p{percent}": float(percentile(ascending, percent / 100)) for percent in (50, 95, 99)}
