"""Bracketing root finder in the manner of Brent and Dekker.

Inverse quadratic interpolation or a secant step is tried first; when the trial
point is not well inside the bracket, or the steps stop shrinking, the interval
is bisected. The root stays bracketed, so convergence is guaranteed.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

EPSILON = sys.float_info.epsilon


class NoBracketError(ValueError):
    """The function has the same sign at both ends of the interval."""


@dataclass(frozen=True)
class RootReport:
    """The root found and what it cost."""

    root: float
    residual: float
    evaluations: int
    bisections: int


def interpolated_step(a: float, fa: float, b: float, fb: float, c: float, fc: float) -> float:
    """The step from b proposed by inverse quadratic (or, if a == c, secant) interpolation."""
    if a == c or fa == fc:
        return -fb * (b - c) / (fb - fc)
    r, s, t = fb / fc, fb / fa, fa / fc
    numerator = s * (t * (r - t) * (c - b) - (1 - r) * (b - a))
    return numerator / ((t - 1) * (r - 1) * (s - 1))


def find_root_brent(
    f: Callable[[float], float],
    left: float,
    right: float,
    xtol: float = 1e-12,
    max_iterations: int = 200,
) -> RootReport:
    """Find a root of f between left and right.

    b is the best estimate, c the other end of the bracket and a the previous b.
    Raises NoBracketError if f(left) and f(right) share a sign, RuntimeError if
    max_iterations is not enough.
    """
    a, b = left, right
    fa, fb = f(a), f(b)
    if fa * fb > 0:
        raise NoBracketError(f"f({left}) = {fa:.3g} and f({right}) = {fb:.3g} have the same sign")
    c, fc = a, fa
    previous = step = b - a
    evaluations, bisections = 2, 0
    for _ in range(max_iterations):
        if fb * fc > 0:
            c, fc, previous, step = a, fa, b - a, b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        tolerance = 2 * EPSILON * abs(b) + xtol / 2
        half = (c - b) / 2
        if fb == 0 or abs(half) <= tolerance:
            return RootReport(b, fb, evaluations, bisections)
        trial = interpolated_step(a, fa, b, fb, c, fc)
        inside = 0 < trial / half < 1.5 and abs(trial) < abs(previous) / 2
        if inside and abs(previous) >= tolerance and abs(fa) > abs(fb):
            previous, step = step, trial
        else:
            previous = step = half
            bisections += 1
        a, fa = b, fb
        b += step if abs(step) > tolerance else (tolerance if half > 0 else -tolerance)
        fb = f(b)
        evaluations += 1
    raise RuntimeError(f"no convergence after {max_iterations} iterations, last x = {b!r}")


if __name__ == "__main__":
    print(find_root_brent(lambda x: x**3 - 2 * x - 5, 2.0, 3.0))
