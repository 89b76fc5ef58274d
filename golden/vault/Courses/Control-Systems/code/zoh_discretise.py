"""Discretise state-space models: exact zero-order hold and Tustin.

The ZOH map uses the block-matrix trick, so A may be singular:

    expm([[A, B], [0, 0]] * Ts) = [[Ad, Bd], [0, I]]
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm


def _as_matrices(a, b) -> tuple[np.ndarray, np.ndarray]:
    a = np.atleast_2d(np.asarray(a, dtype=float))
    b = np.asarray(b, dtype=float)
    if b.ndim == 1:
        b = b.reshape(-1, 1)
    if a.shape[0] != a.shape[1]:
        raise ValueError("A must be square, got shape %s" % (a.shape,))
    if b.shape[0] != a.shape[0]:
        raise ValueError("B has %d rows, expected %d"
                         % (b.shape[0], a.shape[0]))
    return a, b


def zoh(a, b, ts: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact discretisation for an input held constant over each sample."""
    a, b = _as_matrices(a, b)
    n, m = b.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n] = a
    block[:n, n:] = b
    big = expm(block * ts)
    return big[:n, :n], big[:n, n:]


def tustin(a, b, c, d, ts: float):
    """Bilinear map s = (2/Ts)(z-1)/(z+1) applied to (A, B, C, D)."""
    a, b = _as_matrices(a, b)
    c = np.atleast_2d(np.asarray(c, dtype=float))
    d = np.atleast_2d(np.asarray(d, dtype=float))
    eye = np.eye(a.shape[0])
    inv = np.linalg.inv(eye - a * ts / 2)
    ad = inv @ (eye + a * ts / 2)
    bd = inv @ b * ts
    cd = c @ inv
    dd = d + c @ inv @ b * ts / 2
    return ad, bd, cd, dd


def prewarped_omega(omega: float, ts: float) -> float:
    """Analogue frequency that Tustin maps exactly onto `omega` (rad/s)."""
    if not 0 < omega * ts < np.pi:
        raise ValueError("omega must lie below the Nyquist frequency")
    return 2 / ts * np.tan(omega * ts / 2)


def map_poles(poles, ts: float) -> np.ndarray:
    """z = exp(s*Ts) for each continuous pole s."""
    return np.exp(np.asarray(poles, dtype=complex) * ts)


def is_sampling_pathological(poles, ts: float, tol: float = 1e-6) -> bool:
    """True when two poles with equal real parts differ by k*2*pi/Ts.

    Such a sampling period destroys controllability of the sampled model.
    """
    poles = np.asarray(poles, dtype=complex)
    for i, p in enumerate(poles):
        for q in poles[i + 1:]:
            if abs(p.real - q.real) > tol:
                continue
            turns = abs(p.imag - q.imag) * ts / (2 * np.pi)
            if turns > 0.5 and abs(turns - round(turns)) < tol:
                return True
    return False


if __name__ == "__main__":
    np.set_printoptions(precision=5, suppress=True)
    ad, bd = zoh([[0, 1], [0, -2]], [0, 1], 0.1)
    print("Ad =", ad.tolist())
    print("Bd =", bd.ravel().tolist())
    print("prewarp 20 rad/s at Ts=0.05:", prewarped_omega(20, 0.05))
