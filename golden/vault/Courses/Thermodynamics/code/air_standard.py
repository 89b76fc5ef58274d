"""Cold-air-standard cycle efficiencies and state temperatures.

All functions assume constant specific heats. Temperatures are in kelvin and
heats in kJ/kg.

    >>> round(otto_efficiency(9), 4)
    0.5848
    >>> round(diesel_efficiency(18, 2), 4)
    0.6316
    >>> round(dual_efficiency(14, 1.5, 1.3), 4)
    0.641
"""

from __future__ import annotations

CP_AIR = 1.005
CV_AIR = 0.718
GAMMA_AIR = 1.4


class CycleInputError(ValueError):
    """Raised for a ratio that no real cycle can have."""


def _require_above_one(**ratios: float) -> None:
    for name, value in ratios.items():
        if value <= 1.0:
            raise CycleInputError(f"{name} must be greater than 1, got {value}")


def otto_efficiency(r: float, gamma: float = GAMMA_AIR) -> float:
    """Efficiency of the spark-ignition cycle with compression ratio `r`."""
    _require_above_one(r=r)
    return 1.0 - r ** (1.0 - gamma)


def diesel_efficiency(r: float, cutoff: float, gamma: float = GAMMA_AIR) -> float:
    """Efficiency with heat added at constant pressure; `cutoff` is V3/V2."""
    _require_above_one(r=r, cutoff=cutoff)
    penalty = (cutoff**gamma - 1.0) / (gamma * (cutoff - 1.0))
    return 1.0 - r ** (1.0 - gamma) * penalty


def dual_efficiency(r: float, alpha: float, cutoff: float, gamma: float = GAMMA_AIR) -> float:
    """Limited-pressure (Sabathe) cycle; `alpha` is the pressure ratio P3/P2.

    With alpha = 1 it is the Diesel result, with cutoff = 1 the Otto result, so
    both limits are allowed here as long as some heat is added.
    """
    _require_above_one(r=r)
    if alpha < 1.0 or cutoff < 1.0 or alpha == cutoff == 1.0:
        raise CycleInputError("alpha and cutoff must be >= 1 and not both equal to 1")
    added = (alpha - 1.0) + gamma * alpha * (cutoff - 1.0)
    return 1.0 - r ** (1.0 - gamma) * (alpha * cutoff**gamma - 1.0) / added


def brayton_efficiency(pressure_ratio: float, gamma: float = GAMMA_AIR) -> float:
    """Efficiency of the ideal gas-turbine cycle without a regenerator."""
    _require_above_one(pressure_ratio=pressure_ratio)
    return 1.0 - pressure_ratio ** ((1.0 - gamma) / gamma)


def back_work_ratio(t1: float, t3: float, pressure_ratio: float, eta_c: float, eta_t: float) -> float:
    """Compressor work over turbine work for the simple gas turbine."""
    tau = pressure_ratio ** ((GAMMA_AIR - 1.0) / GAMMA_AIR)
    compressor = t1 * (tau - 1.0) / eta_c
    turbine = t3 * (1.0 - 1.0 / tau) * eta_t
    return compressor / turbine


def otto_temperatures(t1: float, r: float, q_in: float) -> tuple[float, float, float]:
    """T2, T3 and T4 of an Otto cycle that receives `q_in` kJ/kg at constant volume."""
    _require_above_one(r=r)
    t2 = t1 * r ** (GAMMA_AIR - 1.0)
    t3 = t2 + q_in / CV_AIR
    return t2, t3, t3 / r ** (GAMMA_AIR - 1.0)


def mean_effective_pressure(w_net: float, v_max: float, r: float) -> float:
    """MEP in kPa from net work (kJ/kg) and the volume at bottom dead centre (m3/kg)."""
    return w_net / (v_max * (1.0 - 1.0 / r))


if __name__ == "__main__":
    for ratio in (8, 10, 12):
        print(f"r = {ratio:2d}: Otto {otto_efficiency(ratio):.4f}")
    print(f"back work ratio {back_work_ratio(300, 1300, 8, 0.80, 0.85):.3f}")
