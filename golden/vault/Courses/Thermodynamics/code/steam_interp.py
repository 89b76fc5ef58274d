"""Linear interpolation in a small saturated-water table.

The table is indexed by pressure in kPa. Columns: T (degC), vf and vg (m3/kg),
hf and hg (kJ/kg), sf and sg (kJ/(kg K)).

    >>> saturation(100.0)["T"]
    99.61
    >>> round(saturation(150.0)["T"], 2)
    109.91
"""

from __future__ import annotations

from bisect import bisect_right

COLUMNS = ("T", "vf", "vg", "hf", "hg", "sf", "sg")
SATURATED = (
    (10.0, (45.81, 0.001010, 14.670, 191.81, 2583.9, 0.6492, 8.1488)),
    (20.0, (60.06, 0.001017, 7.6480, 251.42, 2608.9, 0.8320, 7.9072)),
    (50.0, (81.32, 0.001030, 3.2400, 340.54, 2645.2, 1.0912, 7.5930)),
    (100.0, (99.61, 0.001043, 1.6939, 417.50, 2674.9, 1.3028, 7.3588)),
    (200.0, (120.21, 0.001061, 0.88568, 504.70, 2706.2, 1.5302, 7.1269)),
    (500.0, (151.83, 0.001093, 0.37481, 640.09, 2748.1, 1.8604, 6.8207)),
    (1000.0, (179.88, 0.001127, 0.19436, 762.52, 2777.1, 2.1381, 6.5850)),
    (2000.0, (212.38, 0.001177, 0.09959, 908.50, 2798.3, 2.4468, 6.3390)),
    (4000.0, (250.35, 0.001253, 0.04978, 1087.49, 2800.8, 2.7968, 6.0696)),
)


class TableRangeError(LookupError):
    """Raised instead of extrapolating."""


def saturation(p_kpa: float) -> dict[str, float]:
    """All saturation properties at `p_kpa`, linear in pressure between two rows."""
    pressures = [row[0] for row in SATURATED]
    if not pressures[0] <= p_kpa <= pressures[-1]:
        raise TableRangeError(f"{p_kpa} kPa is outside the table ({pressures[0]:g}..{pressures[-1]:g} kPa)")
    hi = min(bisect_right(pressures, p_kpa), len(pressures) - 1)
    p0, low = SATURATED[hi - 1]
    p1, high = SATURATED[hi]
    w = (p_kpa - p0) / (p1 - p0)
    return {name: a + w * (b - a) for name, a, b in zip(COLUMNS, low, high)}


def mixture(p_kpa: float, x: float) -> dict[str, float]:
    """v, h and s of wet steam with dryness fraction `x`."""
    if not 0.0 <= x <= 1.0:
        raise ValueError(f"quality {x} is not between 0 and 1")
    row = saturation(p_kpa)
    return {k: row[k + "f"] + x * (row[k + "g"] - row[k + "f"]) for k in "vhs"}


def quality_from(p_kpa: float, prop: str, value: float) -> float:
    """Dryness fraction from one of v, h, s; above 1 means superheated steam."""
    row = saturation(p_kpa)
    liquid, vapour = row[prop + "f"], row[prop + "g"]
    return (value - liquid) / (vapour - liquid)


def isentropic_turbine_outlet(s_in: float, p_out_kpa: float) -> tuple[float, float]:
    """Outlet quality and enthalpy of an ideal turbine that exhausts wet steam."""
    x = quality_from(p_out_kpa, "s", s_in)
    return x, mixture(p_out_kpa, x)["h"]


if __name__ == "__main__":
    dryness, h_out = isentropic_turbine_outlet(6.7219, 10.0)
    print(f"x = {dryness:.4f}, h = {h_out:.1f} kJ/kg")
