"""Claims about quantiles, held against numpy and the reported cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ragbench.statistics.quantiles import latency_percentiles, percentile


@pytest.mark.parametrize(
    ("latencies", "expected"),
    [
        ([10, 20, 30], (20, 29.0, 29.8)),
        (range(1, 21), (10.5, 19.05, 19.81)),
        (range(1, 101), (50.5, 95.05, 99.01)),
        ([10], (10, 10, 10)),
        ([30, 10, 20], (20, 29.0, 29.8)),
    ],
)
def test_sta_12_latency_percentiles_are_interpolated(latencies, expected):
    found = latency_percentiles(np.array(latencies, dtype=np.float64))
    assert (found["p50"], found["p95"], found["p99"]) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0, 1))
def test_a_percentile_is_that_of_numpy(values, share):
    values = np.sort(np.array(values))
    assert percentile(values, share) == pytest.approx(np.quantile(values, share, method="linear"), rel=1e-12, abs=1e-9)
