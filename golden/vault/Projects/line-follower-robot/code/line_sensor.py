"""Position of a dark line under a bar of eight reflectance sensors."""

PITCH_MM = 9.5
OFFSETS = [(i - 3.5) * PITCH_MM for i in range(8)]


def calibrate(samples):
    """Return per-sensor (low, high) from rows of raw readings."""
    columns = list(zip(*samples))
    return [(min(column), max(column)) for column in columns]


def normalise(raw, limits):
    """Scale each reading to 0..1 between its own low and high."""
    scaled = []
    for value, (low, high) in zip(raw, limits):
        span = high - low
        scaled.append(0.0 if span == 0 else min(1.0, max(0.0, (value - low) / span)))
    return scaled


class LineTracker:
    """Weighted mean of the sensor offsets, with a memory for a lost line."""

    def __init__(self, floor=0.12, lost_sum=0.6):
        self.floor = floor
        self.lost_sum = lost_sum
        self.position = 0.0

    def locate(self, darkness):
        """Return (position in mm, visible).

        Readings below `floor` count as noise.  If the rest sums to less than
        `lost_sum`, the line is lost and the position jumps to the end of the
        bar on the side where it was seen last.
        """
        weights = [d if d >= self.floor else 0.0 for d in darkness]
        total = sum(weights)
        if total < self.lost_sum:
            self.position = OFFSETS[-1] if self.position > 0 else OFFSETS[0]
            return self.position, False
        self.position = sum(w * x for w, x in zip(weights, OFFSETS)) / total
        return self.position, True


def is_crossing(darkness, threshold=0.7, needed=6):
    """True over a crossing line, when at least `needed` sensors are dark."""
    return sum(d > threshold for d in darkness) >= needed


if __name__ == "__main__":
    tracker = LineTracker()
    print(OFFSETS)
    print(tracker.locate([0, 0, 0.05, 0.1, 0.4, 0.9, 0.3, 0]))
    print(tracker.locate([0.1, 0.1, 0, 0, 0, 0, 0, 0]))
