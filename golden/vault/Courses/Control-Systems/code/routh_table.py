"""Routh array with the two classic special cases.

Usage: count right-half-plane roots of a real polynomial without computing
the roots. Coefficients are given in descending powers, as in numpy.poly1d.

    >>> count_rhp_roots([1, 2, 3, 10])
    2
    >>> critical_gain([1, 6, 8, 0], 1.0)
    48.0
"""

from __future__ import annotations

import numpy as np

EPSILON = 1e-6
ZERO_TOL = 1e-9


class RouthError(ValueError):
    """Raised when the coefficient list cannot start a Routh array."""


def _first_two_rows(coeffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = (len(coeffs) + 1) // 2
    top = np.zeros(width)
    second = np.zeros(width)
    top[: len(coeffs[0::2])] = coeffs[0::2]
    second[: len(coeffs[1::2])] = coeffs[1::2]
    return top, second


def auxiliary_derivative(row: np.ndarray, power: int) -> np.ndarray:
    """Differentiate the auxiliary polynomial whose leading power is `power`.

    The row holds coefficients of s^power, s^(power-2), s^(power-4), ...
    """
    powers = power - 2 * np.arange(len(row))
    return np.where(powers > 0, row * powers, 0.0)


def build_routh_array(coeffs) -> np.ndarray:
    """Return the full array, one row per power from s^n down to s^0."""
    poly = np.asarray(coeffs, dtype=float)
    if poly.ndim != 1 or len(poly) < 2:
        raise RouthError("need at least two coefficients")
    if poly[0] == 0:
        raise RouthError("leading coefficient must be non-zero")
    if poly[0] < 0:
        poly = -poly
    order = len(poly) - 1
    rows = list(_first_two_rows(poly))
    for k in range(1, order + 1):
        scale = max(1.0, float(np.max(np.abs(rows[k - 1]))))
        if np.all(np.abs(rows[k]) < ZERO_TOL * scale):
            # Zero row: replace it by the derivative of the row above.
            rows[k] = auxiliary_derivative(rows[k - 1], order - k + 1)
        elif abs(rows[k][0]) < ZERO_TOL * scale:
            # Zero pivot only: nudge it so that the next row exists.
            rows[k][0] = EPSILON
        if k < order:
            above, here = rows[k - 1], rows[k]
            nxt = np.zeros_like(above)
            nxt[:-1] = above[1:] - above[0] * here[1:] / here[0]
            rows.append(nxt)
    return np.vstack(rows[: order + 1])


def count_rhp_roots(coeffs) -> int:
    """Number of sign changes in the first column of the Routh array."""
    first = build_routh_array(coeffs)[:, 0]
    signs = np.sign(first)
    return int(np.sum(signs[1:] * signs[:-1] < 0))


def critical_gain(den, num_gain: float) -> float:
    """Largest K for which s^3 + a s^2 + b s + (c + K*num_gain) stays stable.

    Only for third-order loops with a constant numerator: the condition is
    a*b > c + K*num_gain after normalising to a monic denominator.
    """
    den = np.asarray(den, dtype=float)
    if len(den) != 4:
        raise RouthError("critical_gain handles third-order loops only")
    a, b, c = den[1:] / den[0]
    return float((a * b - c) * den[0] / num_gain)


if __name__ == "__main__":
    np.set_printoptions(precision=4, suppress=True)
    for example in ([1, 2, 3, 10], [1, 1, 2, 2, 3], [1, 2, 5, 8, 4]):
        print(example, "->", count_rhp_roots(example), "RHP roots")
        print(build_routh_array(example))
