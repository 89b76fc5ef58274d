"""Psychrometric helper for air at pressures near one atmosphere.

Temperatures in degC, pressures in Pa, humidity ratio in kg water per kg dry
air, enthalpy in kJ per kg dry air. Saturation pressure is the Magnus form with
the coefficients 610.94 Pa, 17.625 and 243.04 degC.

    >>> round(humidity_ratio(24, 0.5), 5)
    0.00928
    >>> round(dew_point(24, 0.5), 1)
    12.9
"""

from __future__ import annotations

import math

P_ATM = 101_325.0
CP_DRY = 1.006
CP_VAPOUR = 1.86
H_FG0 = 2501.0
MASS_RATIO = 0.622


def magnus_pressure(t: float) -> float:
    """Saturation pressure over liquid water in Pa."""
    return 610.94 * math.exp(17.625 * t / (t + 243.04))


def humidity_ratio(t: float, phi: float, p: float = P_ATM) -> float:
    """W from dry-bulb temperature and relative humidity between 0 and 1."""
    if not 0.0 <= phi <= 1.0:
        raise ValueError(f"relative humidity {phi} is not a fraction; divide percent by 100")
    vapour = phi * magnus_pressure(t)
    return MASS_RATIO * vapour / (p - vapour)


def relative_humidity(t: float, w: float, p: float = P_ATM) -> float:
    """Relative humidity from dry bulb and humidity ratio."""
    return p * w / (MASS_RATIO + w) / magnus_pressure(t)


def dew_point(t: float, phi: float) -> float:
    """Temperature at which the vapour begins to condense."""
    g = math.log(phi * magnus_pressure(t) / 610.94)
    return 243.04 * g / (17.625 - g)


def moist_enthalpy(t: float, w: float) -> float:
    """Enthalpy per kg of dry air, zero for dry air at 0 degC."""
    return CP_DRY * t + w * (H_FG0 + CP_VAPOUR * t)


def adiabatic_saturation(t: float, w: float, p: float = P_ATM) -> float:
    """Thermodynamic wet-bulb temperature by bisection on the enthalpy balance."""
    low, high = -10.0, t
    for _ in range(60):
        mid = 0.5 * (low + high)
        w_sat = humidity_ratio(mid, 1.0, p)
        excess = moist_enthalpy(mid, w_sat) - moist_enthalpy(t, w) - (w_sat - w) * 4.186 * mid
        low, high = (mid, high) if excess < 0.0 else (low, mid)
    return 0.5 * (low + high)


def coil_load(m_dry: float, t1: float, w1: float, t2: float, w2: float) -> tuple[float, float]:
    """Cooling in kW and condensate in kg/s when air is cooled and dehumidified."""
    water = m_dry * (w1 - w2)
    heat = m_dry * (moist_enthalpy(t1, w1) - moist_enthalpy(t2, w2)) - water * 4.186 * t2
    return heat, water


if __name__ == "__main__":
    w_room = humidity_ratio(24, 0.5)
    print(f"W = {1000 * w_room:.2f} g/kg, wet bulb {adiabatic_saturation(24, w_room):.2f} degC")
