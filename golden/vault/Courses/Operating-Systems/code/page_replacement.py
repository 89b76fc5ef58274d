"""Count page faults for FIFO, LRU, Clock and the optimal policy.

All simulators start with empty frames, so the first touch of every page is a
compulsory fault and is counted.
"""

from collections import OrderedDict, deque


def fifo_faults(refs, frames):
    """Evict the page that was loaded first, whatever happened to it since."""
    resident = set()
    queue = deque()
    faults = 0
    for page in refs:
        if page in resident:
            continue
        faults += 1
        if len(resident) == frames:
            resident.remove(queue.popleft())
        resident.add(page)
        queue.append(page)
    return faults


def lru_faults(refs, frames):
    """Evict the page whose last use lies furthest in the past."""
    order = OrderedDict()
    faults = 0
    for page in refs:
        if page in order:
            order.move_to_end(page)
            continue
        faults += 1
        if len(order) == frames:
            order.popitem(last=False)
        order[page] = True
    return faults


def clock_faults(refs, frames):
    """Second chance on a ring: a set reference bit is cleared, not evicted.

    A freshly loaded page gets its reference bit set, and the hand then moves
    one frame past it.
    """
    ring = [None] * frames
    bit = [0] * frames
    hand = 0
    faults = 0
    for page in refs:
        if page in ring:
            bit[ring.index(page)] = 1
            continue
        faults += 1
        while ring[hand] is not None and bit[hand] == 1:
            bit[hand] = 0
            hand = (hand + 1) % frames
        ring[hand] = page
        bit[hand] = 1
        hand = (hand + 1) % frames
    return faults


def optimal_faults(refs, frames):
    """Evict the page whose next use is furthest in the future (Belady)."""
    resident = []
    faults = 0
    for now, page in enumerate(refs):
        if page in resident:
            continue
        faults += 1
        if len(resident) == frames:
            rest = refs[now + 1:]
            victim = max(
                resident,
                key=lambda p: rest.index(p) if p in rest else len(refs),
            )
            resident.remove(victim)
        resident.append(page)
    return faults


def belady_anomaly_pairs(refs, max_frames):
    """Return the (n, n + 1) frame counts where FIFO gets worse with memory."""
    counts = [fifo_faults(refs, n) for n in range(1, max_frames + 1)]
    return [
        (n, n + 1)
        for n in range(1, max_frames)
        if counts[n] > counts[n - 1]
    ]


POLICIES = {
    "fifo": fifo_faults,
    "lru": lru_faults,
    "clock": clock_faults,
    "optimal": optimal_faults,
}


if __name__ == "__main__":
    lecture = [2, 1, 3, 4, 1, 0, 4, 1, 4, 0, 2, 4, 3, 0]
    for name, policy in POLICIES.items():
        print(f"{name:8s}", [policy(lecture, n) for n in (3, 4, 5)])
