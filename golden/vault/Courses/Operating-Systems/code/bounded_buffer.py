"""A bounded buffer (producer/consumer) with one lock and two conditions."""

import threading
import time


class BufferClosed(Exception):
    """Raised by get() when the buffer is closed and drained."""


class BoundedBuffer:
    """FIFO of at most `capacity` items, safe for many threads.

    Both conditions share ONE lock: `not_full` is where producers sleep and
    `not_empty` is where consumers sleep.  Each wait() stands in a while loop,
    because a woken thread must test the predicate again.
    """

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self._items = []
        self._closed = False
        self._lock = threading.Lock()
        self._not_full = threading.Condition(self._lock)
        self._not_empty = threading.Condition(self._lock)
        self.high_water = 0

    def put(self, item, timeout=None):
        """Append an item; return False if no slot came free in `timeout` s."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._not_full:
            while len(self._items) >= self.capacity and not self._closed:
                remaining = None
                if deadline is not None:
                    remaining = deadline - time.monotonic()
                    if remaining <= 0:
                        return False
                self._not_full.wait(remaining)
            if self._closed:
                raise BufferClosed("put() on a closed buffer")
            self._items.append(item)
            self.high_water = max(self.high_water, len(self._items))
            self._not_empty.notify()
            return True

    def get(self):
        """Remove and return the oldest item; raise BufferClosed at the end."""
        with self._not_empty:
            while not self._items and not self._closed:
                self._not_empty.wait()
            if not self._items:
                raise BufferClosed("buffer closed and empty")
            item = self._items.pop(0)
            self._not_full.notify()
            return item

    def close(self):
        """Refuse new items and wake EVERY sleeper, not only one of them."""
        with self._lock:
            self._closed = True
            self._not_full.notify_all()
            self._not_empty.notify_all()


def run_producers_and_consumers(capacity, producers, consumers, per_producer):
    """Push numbers through a buffer; return (sum received, high water mark)."""
    buffer = BoundedBuffer(capacity)
    totals = [0] * consumers

    def produce(base):
        for i in range(per_producer):
            buffer.put(base + i)

    def consume(slot):
        while True:
            try:
                totals[slot] += buffer.get()
            except BufferClosed:
                return

    makers = [
        threading.Thread(target=produce, args=(k * per_producer,))
        for k in range(producers)
    ]
    takers = [
        threading.Thread(target=consume, args=(k,)) for k in range(consumers)
    ]
    for thread in makers + takers:
        thread.start()
    for thread in makers:
        thread.join()
    buffer.close()
    for thread in takers:
        thread.join()
    return sum(totals), buffer.high_water


if __name__ == "__main__":
    print(run_producers_and_consumers(4, producers=3, consumers=2, per_producer=500))
