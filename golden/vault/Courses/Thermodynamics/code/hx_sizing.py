"""Heat exchanger rating and sizing: LMTD, F correction and effectiveness-NTU.

Temperatures in degC, capacity rates C = m*cp in kW/K, U in W/(m2 K).

    >>> round(lmtd_counterflow(90, 60, 20, 45), 2)
    42.45
    >>> round(f_one_two(90, 60, 20, 45), 3)
    0.926
"""

from __future__ import annotations

import math


class TemperatureCrossError(ValueError):
    """Raised when a temperature difference is zero or negative."""


def log_mean(d1: float, d2: float) -> float:
    """Logarithmic mean of two temperature differences, safe when they are equal."""
    if d1 <= 0.0 or d2 <= 0.0:
        raise TemperatureCrossError(f"temperature cross: end differences {d1:g} K and {d2:g} K")
    if math.isclose(d1, d2, rel_tol=1e-6):
        return 0.5 * (d1 + d2)
    return (d1 - d2) / math.log(d1 / d2)


def lmtd_counterflow(th_in: float, th_out: float, tc_in: float, tc_out: float) -> float:
    """LMTD with the streams in opposite directions."""
    return log_mean(th_in - tc_out, th_out - tc_in)


def lmtd_parallel(th_in: float, th_out: float, tc_in: float, tc_out: float) -> float:
    """LMTD with both streams entering at the same end."""
    return log_mean(th_in - tc_in, th_out - tc_out)


def f_one_two(th_in: float, th_out: float, tc_in: float, tc_out: float) -> float:
    """Correction factor F of one shell pass and two tube passes (R not equal to 1)."""
    r = (th_in - th_out) / (tc_out - tc_in)
    p = (tc_out - tc_in) / (th_in - tc_in)
    s = math.sqrt(r * r + 1.0)
    top = s / (r - 1.0) * math.log((1.0 - p) / (1.0 - p * r))
    bottom = math.log((2.0 - p * (r + 1.0 - s)) / (2.0 - p * (r + 1.0 + s)))
    return top / bottom


def area_required(q_kw: float, u: float, dt_mean: float, f: float = 1.0) -> float:
    """Area in m2 from Q = U A F dT_mean."""
    return q_kw * 1000.0 / (u * f * dt_mean)


def effectiveness(ntu: float, cr: float, arrangement: str = "counterflow") -> float:
    """Effectiveness for `counterflow`, `parallel` or `shell-tube` (one shell pass)."""
    if arrangement == "counterflow":
        if math.isclose(cr, 1.0):
            return ntu / (1.0 + ntu)
        e = math.exp(-ntu * (1.0 - cr))
        return (1.0 - e) / (1.0 - cr * e)
    if arrangement == "parallel":
        return (1.0 - math.exp(-ntu * (1.0 + cr))) / (1.0 + cr)
    if arrangement == "shell-tube":
        g = math.sqrt(1.0 + cr * cr)
        e = math.exp(-ntu * g)
        return 2.0 / (1.0 + cr + g * (1.0 + e) / (1.0 - e))
    raise ValueError(f"unknown arrangement: {arrangement!r}")


def ntu_counterflow(eps: float, cr: float) -> float:
    """Inverse of the counterflow effectiveness relation."""
    if math.isclose(cr, 1.0):
        return eps / (1.0 - eps)
    return math.log((eps - 1.0) / (eps * cr - 1.0)) / (cr - 1.0)


def rate_exchanger(c_hot: float, c_cold: float, ua: float, th_in: float, tc_in: float) -> tuple[float, float, float]:
    """Duty in kW and both outlet temperatures of a counterflow unit; `ua` in kW/K."""
    c_min, c_max = sorted((c_hot, c_cold))
    q = effectiveness(ua / c_min, c_min / c_max) * c_min * (th_in - tc_in)
    return q, th_in - q / c_hot, tc_in + q / c_cold


if __name__ == "__main__":
    print("duty %.1f kW, hot out %.1f degC, cold out %.1f degC" % rate_exchanger(3.352, 4.598, 5.4, 85, 15))
