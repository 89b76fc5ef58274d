"""Lock table with multigranularity modes, a wait-for graph and two ways out of deadlock.

Requests never block here: `acquire` answers "granted" or "wait", so that a
schedule can be replayed step by step. Locks are kept until `release_all`
(strict two-phase locking). Waiting requests are served first come, first
served; only a conversion (a second request by a holder) may overtake the queue.
"""

from __future__ import annotations

from collections import defaultdict

COMPATIBLE = {
    "IS": {"IS", "IX", "S", "SIX"},
    "IX": {"IS", "IX"},
    "S": {"IS", "S"},
    "SIX": {"IS"},
    "X": set(),
}
STRENGTH = {"IS": 0, "IX": 1, "S": 1, "SIX": 2, "X": 3}


def join_modes(held: str, wanted: str) -> str:
    """The weakest mode that covers both, e.g. S and IX give SIX."""
    if {held, wanted} == {"S", "IX"}:
        return "SIX"
    return max(held, wanted, key=STRENGTH.__getitem__)


class LockManager:
    """Granted locks by item, and one waiting request at most for each transaction."""

    def __init__(self) -> None:
        self.granted: dict[str, dict[int, str]] = defaultdict(dict)
        self.queue: dict[str, list[tuple[int, str]]] = defaultdict(list)

    def _blockers(self, txn: int, item: str, mode: str) -> set[int]:
        """Who holds an incompatible lock, or waits with one ahead of this request."""
        holders = {t for t, m in self.granted[item].items() if t != txn and m not in COMPATIBLE[mode]}
        if txn in self.granted[item]:
            return holders
        for other, wanted in self.queue[item]:
            if other == txn:
                break
            if wanted not in COMPATIBLE[mode]:
                holders.add(other)
        return holders

    def acquire(self, txn: int, item: str, mode: str) -> str:
        """Ask for a lock; a holder's second request converts its mode."""
        mode = join_modes(self.granted[item].get(txn, mode), mode)
        if self._blockers(txn, item, mode):
            self.queue[item].append((txn, mode))
            return "wait"
        self.granted[item][txn] = mode
        return "granted"

    def wait_for_graph(self) -> dict[int, set[int]]:
        """Edges waiter -> transactions that stand in its way."""
        return {t: self._blockers(t, item, mode) for item, q in self.queue.items() for t, mode in q}

    def find_cycle(self) -> list[int]:
        """One cycle of the wait-for graph, or an empty list."""
        graph = self.wait_for_graph()

        def walk(txn: int, path: list[int]) -> list[int]:
            if txn in path:
                return path[path.index(txn):]
            for blocker in sorted(graph.get(txn, ())):
                if cycle := walk(blocker, [*path, txn]):
                    return cycle
            return []

        return next((c for start in sorted(graph) if (c := walk(start, []))), [])

    def choose_victim(self, cycle: list[int]) -> int:
        """The youngest (largest number) of a cycle, since it has done the least work."""
        return max(cycle)

    def release_all(self, txn: int) -> list[int]:
        """Commit or abort: drop every lock, then wake whom the queues allow, in order."""
        woken = []
        for item in list(self.granted):
            self.granted[item].pop(txn, None)
            self.queue[item] = [(t, m) for t, m in self.queue[item] if t != txn]
            for other, mode in list(self.queue[item]):
                if not self._blockers(other, item, mode):
                    self.queue[item].remove((other, mode))
                    self.granted[item][other] = mode
                    woken.append(other)
        return woken


def wait_die(requester: int, holder: int) -> str:
    """Older waits, younger dies; the smaller timestamp is the older one."""
    return "wait" if requester < holder else "die"


def wound_wait(requester: int, holder: int) -> str:
    """Older wounds (aborts) the holder, younger waits."""
    return "wound holder" if requester < holder else "wait"


if __name__ == "__main__":
    lm = LockManager()
    for step in [(1, "A", "X"), (2, "B", "X"), (3, "C", "S"), (1, "B", "S"), (2, "C", "X"), (3, "A", "S")]:
        print(*step, "->", lm.acquire(*step))
    cycle = lm.find_cycle()
    print("cycle", cycle, "victim", lm.choose_victim(cycle), "wakes", lm.release_all(lm.choose_victim(cycle)))
