"""PID controller of the line follower, with anti-windup by clamping.

The derivative acts on the measurement and not on the error, so that a step of
the setpoint gives no kick; it passes through a first-order low-pass filter.
"""


class PidController:
    """Discrete PID with a fixed sample time.

    kp, ki, kd    gains (output units per mm, per mm*s, per mm/s)
    dt            sample time in seconds
    limit         output is clipped to [-limit, +limit]
    tau           time constant of the derivative filter in seconds
    """

    def __init__(self, kp, ki, kd, dt, limit, tau=0.02):
        self.kp, self.ki, self.kd = kp, ki, kd
        self.dt, self.limit, self.tau = dt, limit, tau
        self.integral = 0.0
        self.slope = 0.0
        self.last = None

    def reset(self):
        """Forget the past; called when the line was lost for too long."""
        self.integral = 0.0
        self.slope = 0.0
        self.last = None

    def update(self, setpoint, measured):
        """Return the clipped output for one sample."""
        error = setpoint - measured
        if self.last is not None:
            raw = (measured - self.last) / self.dt
            alpha = self.dt / (self.tau + self.dt)
            self.slope += alpha * (raw - self.slope)
        self.last = measured
        candidate = self.integral + error * self.dt
        output = self.kp * error + self.ki * candidate - self.kd * self.slope
        saturated = abs(output) > self.limit
        if not saturated or output * error < 0:
            self.integral = candidate
        return max(-self.limit, min(self.limit, output))


def ziegler_nichols(ultimate_gain, period):
    """Return (kp, ki, kd) of the classic closed-loop PID rule."""
    kp = 0.6 * ultimate_gain
    return kp, kp / (period / 2), kp * period / 8


def wheel_speeds(base, correction, top):
    """Mix forward speed and correction; slow down rather than clip one side.

    If a wheel would exceed `top`, both are shifted down by the same amount,
    which keeps the difference (the turn rate) intact.
    """
    left, right = base + correction, base - correction
    excess = max(left, right) - top
    if excess > 0:
        left, right = left - excess, right - excess
    return left, right


if __name__ == "__main__":
    print(ziegler_nichols(7.5, 0.36))
    print(wheel_speeds(180, 90, 255))
    pid = PidController(2.0, 0.0, 0.05, dt=0.005, limit=120)
    print([round(pid.update(0, x), 2) for x in (0, 5, 10, 10, 10)])
