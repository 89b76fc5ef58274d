"""Banker's algorithm: safety check and request check for several resources.

A state is described by `allocation` and `maximum` (one row per process) and
by `available` (one number per resource type).
"""


def need_matrix(maximum, allocation):
    """Return maximum minus allocation, the claim each process may still make."""
    return [
        [m - a for m, a in zip(max_row, alloc_row)]
        for max_row, alloc_row in zip(maximum, allocation)
    ]


def find_safe_sequence(available, maximum, allocation):
    """Return one safe order of process indices, or None if unsafe.

    The scan always restarts from process 0, so the answer is the safe
    sequence that is smallest in lexicographic order.
    """
    work = list(available)
    need = need_matrix(maximum, allocation)
    done = [False] * len(allocation)
    sequence = []
    while len(sequence) < len(allocation):
        for i, row in enumerate(need):
            if not done[i] and all(n <= w for n, w in zip(row, work)):
                work = [w + a for w, a in zip(work, allocation[i])]
                done[i] = True
                sequence.append(i)
                break
        else:
            return None
    return sequence


def grant_request(process, request, available, maximum, allocation):
    """Decide on a request; return (decision, detail).

    decision is "error" (claim exceeded), "wait" (not enough free units),
    "unsafe" (would leave no safe sequence) or "granted".
    """
    need = need_matrix(maximum, allocation)[process]
    if any(r > n for r, n in zip(request, need)):
        return "error", "request exceeds the declared maximum claim"
    if any(r > a for r, a in zip(request, available)):
        return "wait", "not enough free units right now"
    new_available = [a - r for a, r in zip(available, request)]
    new_allocation = [list(row) for row in allocation]
    new_allocation[process] = [
        a + r for a, r in zip(allocation[process], request)
    ]
    sequence = find_safe_sequence(new_available, maximum, new_allocation)
    if sequence is None:
        return "unsafe", "no process order can finish after this grant"
    return "granted", sequence


if __name__ == "__main__":
    alloc = [[0, 1, 0], [1, 2, 0], [0, 2, 0], [0, 0, 2]]
    maxi = [[1, 4, 1], [1, 2, 3], [2, 2, 3], [1, 0, 3]]
    avail = [2, 0, 2]
    print("need    ", need_matrix(maxi, alloc))
    print("sequence", find_safe_sequence(avail, maxi, alloc))
    for who, what in [(2, [1, 0, 1]), (2, [2, 0, 0]), (1, [0, 0, 2]),
                      (1, [1, 0, 0]), (0, [0, 1, 0])]:
        print(f"P{who} asks {what}:", grant_request(who, what, avail, maxi, alloc))
