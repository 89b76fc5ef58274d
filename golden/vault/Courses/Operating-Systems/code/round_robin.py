"""Round-robin and shortest-job-first schedulers on a list of CPU bursts.

A job is a tuple (name, arrival, burst), with times in milliseconds.
"""

from collections import deque


def simulate_round_robin(jobs, quantum, switch_cost=0):
    """Return (finish_times, gantt, switches) for a round-robin queue.

    A job that arrives exactly when a slice ends enters the queue BEFORE the
    preempted job.  `switch_cost` is paid whenever the CPU changes job.
    """
    pending = deque(sorted(jobs, key=lambda job: job[1]))
    left = {name: burst for name, _, burst in jobs}
    ready = deque()
    gantt, finish = [], {}
    now, switches, previous = 0, 0, None

    def admit(until):
        while pending and pending[0][1] <= until:
            ready.append(pending.popleft()[0])

    admit(now)
    while ready or pending:
        if not ready:
            now = pending[0][1]
            admit(now)
        name = ready.popleft()
        if previous is not None and name != previous:
            now += switch_cost
            switches += 1
        run = min(quantum, left[name])
        gantt.append((name, now, now + run))
        now += run
        left[name] -= run
        admit(now)
        if left[name]:
            ready.append(name)
        else:
            finish[name] = now
        previous = name
    return finish, gantt, switches


def simulate_sjf(jobs):
    """Non-preemptive shortest job first; ties go to the earlier arrival."""
    waiting = sorted(jobs, key=lambda job: job[1])
    now, finish = 0, {}
    while waiting:
        arrived = [job for job in waiting if job[1] <= now]
        if not arrived:
            now = waiting[0][1]
            continue
        job = min(arrived, key=lambda j: (j[2], j[1]))
        now += job[2]
        finish[job[0]] = now
        waiting.remove(job)
    return finish


def turnaround_and_waiting(jobs, finish):
    """Return (mean turnaround, mean waiting) for a finished schedule."""
    turnaround = [finish[name] - arrival for name, arrival, _ in jobs]
    waiting = [t - burst for t, (_, _, burst) in zip(turnaround, jobs)]
    return sum(turnaround) / len(jobs), sum(waiting) / len(jobs)


def cpu_efficiency(quantum, switch_cost):
    """Share of time spent on useful work when every slice is used up."""
    return quantum / (quantum + switch_cost)


if __name__ == "__main__":
    batch = [("A", 0, 7), ("B", 1, 4), ("C", 3, 9), ("D", 5, 2)]
    for q in (2, 3, 4, 100):
        ends, chart, count = simulate_round_robin(batch, q)
        print(q, ends, count, turnaround_and_waiting(batch, ends))
        print("   ", chart)
    print("sjf", simulate_sjf(batch),
          turnaround_and_waiting(batch, simulate_sjf(batch)))
