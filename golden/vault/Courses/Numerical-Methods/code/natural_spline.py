"""Natural cubic spline interpolation.

The unknowns are the second derivatives ("moments") at the knots. They solve a
diagonally dominant tridiagonal system; the natural end condition sets the first
and the last moment to zero.
"""

from bisect import bisect_right
from collections.abc import Sequence


def spline_moments(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Second derivatives of the natural spline at the knots."""
    n = len(x)
    width = [x[i + 1] - x[i] for i in range(n - 1)]
    slope = [(y[i + 1] - y[i]) / width[i] for i in range(n - 1)]
    moments = [0.0] * n
    pivots = [0.0] * n
    for i in range(1, n - 1):  # forward elimination
        factor = width[i - 1] / pivots[i - 1] if i > 1 else 0.0
        pivots[i] = 2 * (width[i - 1] + width[i]) - factor * width[i - 1]
        moments[i] = 6 * (slope[i] - slope[i - 1]) - factor * moments[i - 1]
    for i in range(n - 2, 0, -1):  # back substitution
        moments[i] = (moments[i] - width[i] * moments[i + 1]) / pivots[i]
    return moments


class NaturalCubicSpline:
    """Piecewise cubic through the given points with continuous second derivative."""

    def __init__(self, x: Sequence[float], y: Sequence[float]) -> None:
        if len(x) != len(y) or len(x) < 3:
            raise ValueError("need at least 3 knots and as many values")
        if any(b <= a for a, b in zip(x, x[1:], strict=False)):
            raise ValueError("knots must be strictly increasing")
        self.x = list(x)
        self.y = list(y)
        self.moments = spline_moments(x, y)

    def _interval(self, t: float) -> int:
        """Index of the knot interval for t; the outer ones also serve outside."""
        return min(max(bisect_right(self.x, t) - 1, 0), len(self.x) - 2)

    def __call__(self, t: float) -> float:
        """Value of the spline at t."""
        i = self._interval(t)
        h = self.x[i + 1] - self.x[i]
        a = (self.x[i + 1] - t) / h
        b = 1 - a
        bend = (a**3 - a) * self.moments[i] + (b**3 - b) * self.moments[i + 1]
        return a * self.y[i] + b * self.y[i + 1] + bend * h * h / 6

    def derivative(self, t: float) -> float:
        """First derivative of the spline at t."""
        i = self._interval(t)
        h = self.x[i + 1] - self.x[i]
        a = (self.x[i + 1] - t) / h
        b = 1 - a
        bend = (3 * b * b - 1) * self.moments[i + 1] - (3 * a * a - 1) * self.moments[i]
        return (self.y[i + 1] - self.y[i]) / h + bend * h / 6


def sample_spline(spline: NaturalCubicSpline, count: int) -> list[tuple[float, float]]:
    """Equally spaced points (t, value) over the knots, for a plot or a table."""
    first, last = spline.x[0], spline.x[-1]
    times = [first + (last - first) * k / (count - 1) for k in range(count)]
    return [(t, spline(t)) for t in times]


if __name__ == "__main__":
    curve = NaturalCubicSpline([0, 1, 2, 3], [0, 1, 0, 1])
    print(curve.moments, curve(0.5), curve.derivative(1.0))
