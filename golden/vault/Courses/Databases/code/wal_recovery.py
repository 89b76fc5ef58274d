"""ARIES restart in miniature: analysis, redo (repeating history), undo with CLRs.

A log is a list of `Record`; its LSN is 10 times its position, starting at 10.
Pages are `{page: [page_lsn, value]}` as they were found on disk after the crash.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Record:
    """kind: update, clr, commit, abort, end or checkpoint (with both tables in `tables`)."""

    kind: str
    txn: str = ""
    page: str = ""
    before: int = 0
    after: int = 0
    prev: int = 0  # LSN of the same transaction's previous record, 0 for none
    undo_next: int = 0  # only in a CLR: what to undo next
    tables: tuple[dict, dict] = ({}, {})


def at(log: list[Record], lsn: int) -> Record:
    """The record with this LSN."""
    return log[lsn // 10 - 1]


def analysis(log: list[Record]) -> tuple[dict[str, int], dict[str, int], set[str]]:
    """Losers (transaction -> last LSN), dirty page table (page -> recLSN) and winners without `end`."""
    marks = [i for i, r in enumerate(log) if r.kind == "checkpoint"]
    start = marks[-1] if marks else 0
    active, dirty = (dict(table) for table in log[start].tables)
    committed: set[str] = set()
    for i, r in enumerate(log[start:], start):
        lsn = 10 * (i + 1)
        if r.txn:
            active[r.txn] = lsn
        if r.kind in ("update", "clr"):
            dirty.setdefault(r.page, lsn)
        elif r.kind == "commit":
            committed.add(r.txn)
        elif r.kind == "end":
            active.pop(r.txn), committed.discard(r.txn)
    return {t: lsn for t, lsn in active.items() if t not in committed}, dirty, committed


def redo(log: list[Record], dirty: dict[str, int], pages: dict[str, list[int]]) -> list[int]:
    """Repeat history from the smallest recLSN; return the LSNs that were really applied."""
    applied = []
    for i in range(min(dirty.values(), default=10 * len(log) + 10) // 10 - 1, len(log)):
        r, lsn = log[i], 10 * (i + 1)
        if r.kind not in ("update", "clr") or r.page not in dirty or lsn < dirty[r.page]:
            continue  # these tests need no page read
        if pages[r.page][0] >= lsn:
            continue  # the page on disk already has the change
        pages[r.page] = [lsn, r.after]
        applied.append(lsn)
    return applied


def undo(log: list[Record], losers: dict[str, int], pages: dict[str, list[int]]) -> list[int]:
    """Roll all losers back together, largest LSN first; append a CLR for every update."""
    undone = []
    last = dict(losers)  # prev pointer of the next CLR
    todo = {t: lsn for t, lsn in losers.items() if lsn}
    while todo:
        txn = max(todo, key=todo.__getitem__)
        r, lsn = at(log, todo[txn]), todo[txn]
        if r.kind == "clr":
            todo[txn] = r.undo_next  # a CLR is never undone, it only says where to go on
        elif r.kind == "update":
            log.append(Record("clr", txn, r.page, after=r.before, prev=last[txn], undo_next=r.prev))
            last[txn] = 10 * len(log)
            pages[r.page] = [last[txn], r.before]
            undone.append(lsn)
            todo[txn] = r.prev
        else:
            todo[txn] = r.prev
        if not todo[txn]:
            log.append(Record("end", txn, prev=last[txn]))
            del todo[txn]
    return undone


def restart(log: list[Record], pages: dict[str, list[int]]) -> dict[str, object]:
    """Run the three passes and report what each of them did."""
    losers, dirty, winners = analysis(log)
    for txn in sorted(winners):
        log.append(Record("end", txn))
    return {"losers": losers, "dirty": dirty, "redone": redo(log, dirty, pages), "undone": undo(log, losers, pages)}


if __name__ == "__main__":
    demo = [
        Record("update", "T1", "P5", 100, 80),  # 10
        Record("update", "T2", "P3", 7, 9),  # 20
        Record("checkpoint", tables=({"T1": 10, "T2": 20}, {"P5": 10, "P3": 20})),  # 30
        Record("commit", "T1", prev=10),  # 40
        Record("update", "T2", "P5", 80, 60, 20),  # 50
        Record("update", "T3", "P1", 0, 1),  # 60
        Record("update", "T2", "P3", 9, 12, 50),  # 70
    ]
    disk = {"P1": [0, 0], "P3": [20, 9], "P5": [10, 80]}
    print(restart(demo, disk), disk, f"{len(demo)} records", sep="\n")
