"""Dew point, absolute humidity and pressure reduced to sea level."""

import math

MAGNUS_A = 17.62
MAGNUS_B = 243.12  # degrees Celsius


def saturation_hpa(celsius):
    """Saturation vapour pressure over water in hPa (Magnus form)."""
    return 6.112 * math.exp(MAGNUS_A * celsius / (MAGNUS_B + celsius))


def dew_point(celsius, humidity_percent):
    """Temperature at which the given air would be saturated."""
    if not 0 < humidity_percent <= 100:
        raise ValueError("relative humidity must be in (0, 100]")
    gamma = (math.log(humidity_percent / 100)
             + MAGNUS_A * celsius / (MAGNUS_B + celsius))
    return MAGNUS_B * gamma / (MAGNUS_A - gamma)


def absolute_humidity(celsius, humidity_percent):
    """Water vapour in grams per cubic metre (ideal gas, Rv = 461.5 J/kg/K)."""
    vapour_pa = saturation_hpa(celsius) * humidity_percent
    return 1000 * vapour_pa / (461.5 * (celsius + 273.15))


def sea_level_pressure(station_hpa, height_m, celsius):
    """Reduce the station pressure with the mean temperature of the column.

    The column below the station gets 0.0065 K/m of lapse, half of it on
    average.
    """
    mean_kelvin = celsius + 273.15 + 0.0065 * height_m / 2
    return station_hpa * math.exp(9.80665 * height_m / (287.05 * mean_kelvin))


if __name__ == "__main__":
    print(round(dew_point(21.5, 63), 2), round(absolute_humidity(21.5, 63), 2))
    print(round(sea_level_pressure(968.4, 412, 11.0), 1))
