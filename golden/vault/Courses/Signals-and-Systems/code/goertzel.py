"""Goertzel algorithm: one DFT bin at the price of one multiplication per sample.

    s[n] = x[n] + c*s[n-1] - s[n-2],   c = 2*cos(2*pi*f/fs)
    |X(f)|^2 = s[N-1]^2 + s[N-2]^2 - c*s[N-1]*s[N-2]

Worth it as long as fewer than about 2*log2(N) bins are wanted; above that an
FFT is cheaper. The frequency need not sit on a bin. Used here for DTMF keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, log10, pi, sin

ROWS = (697.0, 770.0, 852.0, 941.0)
COLUMNS = (1209.0, 1336.0, 1477.0, 1633.0)
KEYS = ("123A", "456B", "789C", "*0#D")
BLOCK = 205  # samples at 8 kHz: 25.6 ms, bins of 39.02 Hz


class ToneError(ValueError):
    """A block in which no valid pair of tones was found."""


@dataclass
class Goertzel:
    """Running detector for one frequency; feed samples, then read power()."""

    frequency: float
    fs: float
    _s1: float = field(default=0.0, init=False)
    _s2: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.frequency < self.fs / 2:
            raise ValueError("frequency %g Hz is not below fs/2 = %g Hz"
                             % (self.frequency, self.fs / 2))
        self.coefficient = 2 * cos(2 * pi * self.frequency / self.fs)

    def push(self, sample: float) -> None:
        s0 = sample + self.coefficient * self._s1 - self._s2
        self._s2, self._s1 = self._s1, s0

    def power(self) -> float:
        """Squared magnitude of the DFT sum; no square root, no complex number."""
        return (self._s1 ** 2 + self._s2 ** 2
                - self.coefficient * self._s1 * self._s2)

    def reset(self) -> None:
        self._s1 = self._s2 = 0.0


def tone_power(samples: list[float], frequency: float, fs: float) -> float:
    """Power of one tone: a sine of amplitude A gives (A*N/2)^2, N samples."""
    detector = Goertzel(frequency, fs)
    for sample in samples:
        detector.push(sample)
    return detector.power()


def detect_dtmf(samples: list[float], fs: float = 8000.0,
                max_twist_db: float = 8.0, min_share: float = 0.7) -> str:
    """The key whose two tones fill a block, else ToneError.

    `min_share` is the part of the energy of the block that both tones together
    must hold; it throws out speech. Twist is the level difference of the tones.
    """
    low = [tone_power(samples, f, fs) for f in ROWS]
    high = [tone_power(samples, f, fs) for f in COLUMNS]
    row, column = low.index(max(low)), high.index(max(high))
    energy = sum(v * v for v in samples)
    share = 2 * (low[row] + high[column]) / (len(samples) * energy) if energy else 0.0
    if share < min_share:
        raise ToneError("tones hold only %.0f %% of the energy" % (100 * share))
    twist = 10 * log10(high[column] / low[row])
    if abs(twist) > max_twist_db:
        raise ToneError("twist of %.1f dB is too large" % twist)
    return KEYS[row][column]


def make_key(key: str, fs: float = 8000.0, count: int = BLOCK,
             twist_db: float = 0.0) -> list[float]:
    """Test signal: the two tones of a key, the high one louder by twist_db."""
    row = next(i for i, line in enumerate(KEYS) if key in line)
    f_low, f_high = ROWS[row], COLUMNS[KEYS[row].index(key)]
    gain = 10 ** (twist_db / 20)
    return [sin(2 * pi * f_low * n / fs) + gain * sin(2 * pi * f_high * n / fs)
            for n in range(count)]


if __name__ == "__main__":
    print("".join(detect_dtmf(make_key(k)) for k in "0123456789*#ABCD"))
    for twist in (6.0, 10.0):
        try:
            print("twist", twist, "->", detect_dtmf(make_key("5", twist_db=twist)))
        except ToneError as problem:
            print("twist", twist, "->", problem)
    try:
        detect_dtmf([sin(2 * pi * 1000.0 * n / 8000.0) for n in range(BLOCK)])
    except ToneError as problem:
        print("1 kHz tone ->", problem)
