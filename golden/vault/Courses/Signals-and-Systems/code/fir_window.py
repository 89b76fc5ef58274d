"""FIR design by windowing, without scipy: windowed sinc and Kaiser's formulas.

The ideal low-pass has the impulse response 2*fc/fs * sinc(2*fc/fs*(n - M/2)).
Cutting it off to M + 1 samples and weighting them with a window gives a
linear-phase filter with the delay M/2. The cutoff (-6 dB) lies in the middle
of the transition band.
"""

from __future__ import annotations

import math

import numpy as np


class DesignError(ValueError):
    """Specification that no filter of this kind can meet."""


def kaiser_beta(attenuation_db: float) -> float:
    """Kaiser's empirical window parameter for a stopband attenuation."""
    a = attenuation_db
    if a > 50:
        return 0.1102 * (a - 8.7)
    if a >= 21:
        return 0.5842 * (a - 21) ** 0.4 + 0.07886 * (a - 21)
    return 0.0


def kaiser_length(attenuation_db: float, transition_hz: float, fs: float) -> int:
    """Number of taps, made odd so that the filter is of type I."""
    if attenuation_db < 21:
        raise DesignError("below 21 dB a rectangular window is enough")
    if transition_hz <= 0:
        raise DesignError("transition band must have a positive width")
    width = 2 * math.pi * transition_hz / fs
    order = math.ceil((attenuation_db - 7.95) / (2.285 * width))
    return order + 1 + order % 2


def lowpass(cutoff_hz: float, fs: float, window: np.ndarray) -> np.ndarray:
    """Windowed sinc with unit gain at zero frequency."""
    if not 0 < cutoff_hz < fs / 2:
        raise DesignError("cutoff %g Hz outside of (0, %g)" % (cutoff_hz, fs / 2))
    n = np.arange(len(window)) - (len(window) - 1) / 2
    taps = window * np.sinc(2 * cutoff_hz / fs * n)
    return taps / taps.sum()


def spectral_inversion(taps: np.ndarray) -> np.ndarray:
    """High-pass from a low-pass: delta minus filter. Needs an odd length."""
    if len(taps) % 2 == 0:
        raise DesignError("even length: a type II filter is zero at fs/2")
    flipped = -taps
    flipped[len(taps) // 2] += 1
    return flipped


def magnitude_db(taps: np.ndarray, frequencies: np.ndarray, fs: float) -> np.ndarray:
    """Gain in dB by direct evaluation of the sum; floor at -200 dB."""
    n = np.arange(len(taps))
    response = np.exp(-2j * np.pi * np.outer(frequencies, n) / fs) @ taps
    return 20 * np.log10(np.maximum(np.abs(response), 1e-10))


def worst_stopband(taps: np.ndarray, stop_hz: float, fs: float) -> float:
    """Smallest attenuation in dB between stop_hz and fs/2."""
    grid = np.linspace(stop_hz, fs / 2, 4001)
    return float(-magnitude_db(taps, grid, fs).max())


def passband_ripple(taps: np.ndarray, pass_hz: float, fs: float) -> float:
    """Largest deviation from 0 dB between zero and pass_hz."""
    return float(np.abs(magnitude_db(taps, np.linspace(0, pass_hz, 4001), fs)).max())


if __name__ == "__main__":
    fs, f_pass, f_stop = 8000.0, 1000.0, 1300.0
    middle = (f_pass + f_stop) / 2
    for name, make in (("rectangular", np.ones), ("hann", np.hanning),
                       ("hamming", np.hamming), ("blackman", np.blackman)):
        taps = lowpass(middle, fs, make(89))
        print("%-12s 89 taps: %5.1f dB, ripple %.4f dB"
              % (name, worst_stopband(taps, f_stop, fs),
                 passband_ripple(taps, f_pass, fs)))
    count = kaiser_length(60.0, f_stop - f_pass, fs)
    taps = lowpass(middle, fs, np.kaiser(count, kaiser_beta(60.0)))
    print("kaiser %.3f  %d taps: %5.1f dB, delay %.2f ms"
          % (kaiser_beta(60.0), count, worst_stopband(taps, f_stop, fs),
             (count - 1) / 2 / fs * 1e3))
