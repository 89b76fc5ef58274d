"""Adaptive explicit Runge-Kutta integrator with the Dormand-Prince 5(4) pair.

Seven stages give a fifth-order value and an embedded fourth-order value. Their
difference estimates the local error and steers the step. The last stage of an
accepted step is the first stage of the next one (FSAL, first same as last), so
an accepted step costs six new evaluations of the right-hand side.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Vector = list[float]
Rhs = Callable[[float, Sequence[float]], Sequence[float]]

NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES: tuple[tuple[float, ...], ...] = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR_WEIGHTS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)

SAFETY = 0.9
MIN_FACTOR = 0.2
MAX_FACTOR = 5.0


class StepSizeUnderflow(RuntimeError):
    """The controller asked for a step below the resolution of t."""


@dataclass
class Trajectory:
    """Accepted points of a run and its work counters."""

    times: list[float] = field(default_factory=list)
    states: list[Vector] = field(default_factory=list)
    rejected: int = 0
    evaluations: int = 0


def scaled_norm(error: Sequence[float], old: Vector, new: Vector, rtol: float, atol: float) -> float:
    """Root mean square of error / (atol + rtol * |y|); at most 1 means accept."""
    total = 0.0
    for e, a, b in zip(error, old, new, strict=True):
        total += (e / (atol + rtol * max(abs(a), abs(b)))) ** 2
    return math.sqrt(total / len(error))


def dopri_step(
    f: Rhs, t: float, y: Vector, h: float, first: Sequence[float]
) -> tuple[Vector, Vector, Sequence[float]]:
    """One trial step: the new state, the error estimate and the last stage."""
    slopes: list[Sequence[float]] = [first]
    state = y
    for node, weights in zip(NODES[1:], STAGES[1:], strict=True):
        state = [
            yi + h * sum(w * k[i] for w, k in zip(weights, slopes, strict=True))
            for i, yi in enumerate(y)
        ]
        slopes.append(f(t + node * h, state))
    error = [
        h * sum(w * k[i] for w, k in zip(ERROR_WEIGHTS, slopes, strict=True))
        for i in range(len(y))
    ]
    return state, error, slopes[-1]


def integrate_adaptive(
    f: Rhs,
    t: float,
    y: Sequence[float],
    t_end: float,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    h: float = 1e-2,
) -> Trajectory:
    """Integrate y' = f(t, y) forward from t to t_end."""
    state = list(y)
    run = Trajectory([t], [state], 0, 1)
    slope = f(t, state)
    while t < t_end:
        h = min(h, t_end - t)
        if t + h == t:
            raise StepSizeUnderflow(f"step {h:.3e} vanishes at t = {t!r}; is the problem stiff?")
        trial, error, last = dopri_step(f, t, state, h, slope)
        run.evaluations += 6
        norm = scaled_norm(error, state, trial, rtol, atol)
        if norm <= 1.0:
            t = t_end if h == t_end - t else t + h
            state, slope = trial, last
            run.times.append(t)
            run.states.append(state)
        else:
            run.rejected += 1
        factor = SAFETY * norm**-0.2 if norm > 0 else MAX_FACTOR
        h *= min(MAX_FACTOR, max(MIN_FACTOR, factor))
    return run


if __name__ == "__main__":
    result = integrate_adaptive(lambda t, y: [y[1], -y[0]], 0.0, [1.0, 0.0], 2 * math.pi)
    print(len(result.times) - 1, result.rejected, result.evaluations, result.states[-1])
