"""Step-response metrics from sampled data.

All functions take the time vector t and the response y as array-likes and
assume that the step is applied at t[0]. Crossing times are interpolated
linearly between samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


class NotSettledError(RuntimeError):
    """The record ends before the response stays inside the band."""


@dataclass(frozen=True)
class StepMetrics:
    final_value: float
    rise_time: float
    peak_time: float
    overshoot_percent: float
    settling_time: float


def _first_crossing(t: np.ndarray, y: np.ndarray, level: float) -> float:
    above = np.nonzero(y >= level)[0]
    if len(above) == 0:
        raise NotSettledError("response never reaches level %.4g" % level)
    k = above[0]
    if k == 0:
        return float(t[0])
    frac = (level - y[k - 1]) / (y[k] - y[k - 1])
    return float(t[k - 1] + frac * (t[k] - t[k - 1]))


def rise_time_10_90(t, y, final_value: float) -> float:
    """Time from 10 % to 90 % of the final value."""
    t, y = np.asarray(t, float), np.asarray(y, float) / final_value
    return _first_crossing(t, y, 0.9) - _first_crossing(t, y, 0.1)


def overshoot_percent(y, final_value: float) -> float:
    """Peak above the final value, in percent of it; 0 if there is none."""
    ratio = np.asarray(y, float) / final_value
    return float(max(0.0, ratio.max() - 1.0) * 100.0)


def settling_time(t, y, final_value: float, band: float = 0.02) -> float:
    """Last instant at which the response is outside +/- band."""
    t = np.asarray(t, float)
    error = np.abs(np.asarray(y, float) / final_value - 1.0)
    outside = np.nonzero(error > band)[0]
    if len(outside) == 0:
        return float(t[0])
    k = outside[-1]
    if k == len(t) - 1:
        raise NotSettledError("still outside the %.0f %% band at t=%.3g"
                              % (band * 100, t[-1]))
    return float(t[k + 1])


def integral_absolute_error(t, y, setpoint: float) -> float:
    """IAE by the trapezoidal rule."""
    error = np.abs(setpoint - np.asarray(y, float))
    return float(np.trapezoid(error, np.asarray(t, float)))


def damping_from_overshoot(percent: float) -> float:
    """Invert Mp = 100*exp(-pi*zeta/sqrt(1-zeta^2))."""
    if not 0 < percent < 100:
        raise ValueError("overshoot must lie strictly between 0 and 100 %")
    log = np.log(percent / 100.0)
    return float(-log / np.hypot(np.pi, log))


def describe_step(t, y, final_value: float | None = None,
                  band: float = 0.02) -> StepMetrics:
    """Collect the usual figures; the final value defaults to y[-1]."""
    t, y = np.asarray(t, float), np.asarray(y, float)
    if final_value is None:
        final_value = float(y[-1])
    return StepMetrics(
        final_value=final_value,
        rise_time=rise_time_10_90(t, y, final_value),
        peak_time=float(t[int(np.argmax(y / final_value))]),
        overshoot_percent=overshoot_percent(y, final_value),
        settling_time=settling_time(t, y, final_value, band),
    )


if __name__ == "__main__":
    zeta, wn = 0.5, 2.0
    wd = wn * np.sqrt(1 - zeta**2)
    time = np.linspace(0, 10, 5001)
    resp = 1 - np.exp(-zeta * wn * time) * (
        np.cos(wd * time) + zeta / np.sqrt(1 - zeta**2) * np.sin(wd * time))
    print(describe_step(time, resp, final_value=1.0))
