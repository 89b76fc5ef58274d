"""Biquads from the bilinear transform, run as transposed direct form II.

H(z) = (b0 + b1/z + b2/z^2) / (1 + a1/z + a2/z^2). The two state variables of a
section are updated as

    y  = b0*x + s1
    s1 = b1*x - a1*y + s2
    s2 = b2*x - a2*y

which needs fewer registers than direct form I and overflows later than plain
direct form II. Sections of a cascade are ordered by rising Q.
"""

from __future__ import annotations

import cmath
from dataclasses import dataclass, field
from math import cos, log10, pi, sin, sqrt


@dataclass
class Biquad:
    """One second-order section with a0 = 1."""

    b0: float
    b1: float
    b2: float
    a1: float
    a2: float
    _s1: float = field(default=0.0, init=False)
    _s2: float = field(default=0.0, init=False)

    def is_stable(self) -> bool:
        """The stability triangle of the second order."""
        return abs(self.a2) < 1 and abs(self.a1) < 1 + self.a2

    def step(self, x: float) -> float:
        y = self.b0 * x + self._s1
        self._s1 = self.b1 * x - self.a1 * y + self._s2
        self._s2 = self.b2 * x - self.a2 * y
        return y

    def response(self, frequency: float, fs: float) -> complex:
        z = cmath.exp(-2j * pi * frequency / fs)
        return ((self.b0 + self.b1 * z + self.b2 * z * z)
                / (1 + self.a1 * z + self.a2 * z * z))

    def pole_radius(self) -> float:
        """Largest pole magnitude; sqrt(a2) for a complex pair."""
        root = cmath.sqrt(self.a1 ** 2 - 4 * self.a2)
        return max(abs(-self.a1 + root), abs(-self.a1 - root)) / 2


def _angles(frequency: float, fs: float, q: float) -> tuple[float, float]:
    if not 0 < frequency < fs / 2:
        raise ValueError("corner %g Hz must lie between 0 and %g Hz" % (frequency, fs / 2))
    if q <= 0:
        raise ValueError("Q must be positive, got %r" % q)
    w = 2 * pi * frequency / fs
    return cos(w), sin(w) / (2 * q)


def lowpass(frequency: float, fs: float, q: float = 1 / sqrt(2)) -> Biquad:
    """Prewarped: the gain at `frequency` is exactly q."""
    c, alpha = _angles(frequency, fs, q)
    a0 = 1 + alpha
    return Biquad((1 - c) / 2 / a0, (1 - c) / a0, (1 - c) / 2 / a0,
                  -2 * c / a0, (1 - alpha) / a0)


def notch(frequency: float, fs: float, q: float = 30.0) -> Biquad:
    """Zero on the unit circle at `frequency`, -3 dB width frequency/q."""
    c, alpha = _angles(frequency, fs, q)
    a0 = 1 + alpha
    return Biquad(1 / a0, -2 * c / a0, 1 / a0, -2 * c / a0, (1 - alpha) / a0)


def butterworth_q(order: int) -> list[float]:
    """Quality factors of an even-order Butterworth filter, rising."""
    if order < 2 or order % 2:
        raise ValueError("even order of at least 2 expected, got %d" % order)
    return sorted(1 / (2 * sin(pi * (2 * k + 1) / (2 * order)))
                  for k in range(order // 2))


def butterworth_cascade(order: int, frequency: float, fs: float) -> list[Biquad]:
    return [lowpass(frequency, fs, q) for q in butterworth_q(order)]


def run(sections: list[Biquad], samples: list[float]) -> list[float]:
    """Send samples through a cascade; the sections keep their state."""
    output = []
    for x in samples:
        for section in sections:
            x = section.step(x)
        output.append(x)
    return output


def gain_db(sections: list[Biquad], frequency: float, fs: float) -> float:
    return sum(20 * log10(max(abs(s.response(frequency, fs)), 1e-15)) for s in sections)


if __name__ == "__main__":
    fs = 2000.0
    cascade = butterworth_cascade(4, 100.0, fs)
    print("Q", [round(q, 4) for q in butterworth_q(4)])
    for f in (50.0, 100.0, 200.0, 400.0):
        print("%5.0f Hz %8.2f dB" % (f, gain_db(cascade, f, fs)))
    hum = notch(50.0, fs)
    print("notch: radius %.5f, 49 Hz %.2f dB" % (hum.pole_radius(), gain_db([hum], 49.0, fs)))
    print("step ends at %.6f" % run(cascade, [1.0] * 400)[-1])
