"""Discrete PID controller with filtered derivative and anti-windup.

The controller is the positional form, sampled with period Ts:

    P[k] = Kp * (b*r[k] - y[k])
    D[k] = Tf/(Tf+Ts) * D[k-1] - Kp*Td/(Tf+Ts) * (y[k] - y[k-1])
    I[k+1] = I[k] + Kp*Ts/Ti * e[k] + Ts/Tt * (u[k] - v[k])

v is the unsaturated command, u the command after the actuator limits and Tt
the tracking time constant of the back-calculation scheme. The derivative
acts on the measurement only, so a setpoint step gives no derivative kick.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt


@dataclass
class PidGains:
    """Gains of the ideal (ISA) form; Ti = inf switches the integral off."""

    kp: float
    ti: float = float("inf")
    td: float = 0.0
    setpoint_weight: float = 1.0
    derivative_filter_n: float = 10.0

    def default_tracking_time(self) -> float:
        """Rule of thumb: sqrt(Ti*Td) for PID, Ti/2 for PI."""
        if self.td > 0:
            return sqrt(self.ti * self.td)
        return self.ti / 2


@dataclass
class DiscretePid:
    gains: PidGains
    ts: float
    u_min: float = float("-inf")
    u_max: float = float("inf")
    tracking_time: float | None = None
    anti_windup: bool = True
    _integral: float = field(default=0.0, init=False)
    _derivative: float = field(default=0.0, init=False)
    _last_y: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.ts <= 0:
            raise ValueError("sample time must be positive, got %r" % self.ts)
        if self.u_min >= self.u_max:
            raise ValueError("u_min must be below u_max")
        if self.tracking_time is None:
            self.tracking_time = self.gains.default_tracking_time()

    def reset(self, integral: float = 0.0) -> None:
        """Forget the history; `integral` allows a bumpless start."""
        self._integral = integral
        self._derivative = 0.0
        self._last_y = None

    def update(self, setpoint: float, measurement: float) -> float:
        """One sample: return the saturated command u[k]."""
        g = self.gains
        if self._last_y is None:
            self._last_y = measurement
        error = setpoint - measurement
        p_term = g.kp * (g.setpoint_weight * setpoint - measurement)
        if g.td > 0:
            tf = g.td / g.derivative_filter_n
            self._derivative = (
                tf * self._derivative
                - g.kp * g.td * (measurement - self._last_y)
            ) / (tf + self.ts)
        v = p_term + self._integral + self._derivative
        u = min(self.u_max, max(self.u_min, v))
        self._integral += g.kp * self.ts / g.ti * error
        if self.anti_windup and self.tracking_time > 0:
            self._integral += self.ts / self.tracking_time * (u - v)
        self._last_y = measurement
        return u


def simulate_first_order(pid: DiscretePid, gain: float, tau: float,
                         setpoint: float, steps: int) -> list[float]:
    """Close the loop around gain/(tau*s+1) with exact ZOH stepping."""
    from math import exp

    a = exp(-pid.ts / tau)
    y, history = 0.0, []
    for _ in range(steps):
        u = pid.update(setpoint, y)
        y = a * y + gain * (1 - a) * u
        history.append(y)
    return history


if __name__ == "__main__":
    gains = PidGains(kp=4.0, ti=1.0)
    for flag in (False, True):
        loop = DiscretePid(gains, ts=0.05, u_min=-1.2, u_max=1.2,
                           anti_windup=flag)
        y = simulate_first_order(loop, gain=1.0, tau=2.0, setpoint=1.0,
                                 steps=400)
        print("anti-windup", flag, "peak %.3f final %.3f" % (max(y), y[-1]))
