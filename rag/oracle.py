"""Probes that know the gold: what a layer would give if the one before it, or it itself, were perfect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.records import Scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.records import Chunk, Ranking
    from rag.stages import Gold

PER_SOURCE = 3
"""How many chunks of a missing source enter the pool: a source of many pages must not fill it."""


def passage(gold: Gold | None, chunks: Sequence[Chunk]) -> str | None:
    """The draft that knows the answer: of each required source the first chunk, as it is indexed; None without gold."""
    if gold is None or not gold.sources:
        return None
    found: list[str] = []
    left = set(range(gold.sources))
    for chunk in chunks:
        if covered := gold.satisfied(chunk) & left:
            found.append(chunk.indexed_text)
            left -= covered
        if not left:
            break
    return "\n\n".join(found) or None


def inject(ranking: Ranking, gold: Gold, chunks: Sequence[Chunk], pool: int) -> Ranking:
    """The ranking with chunks of every required source among its first `pool`.

    What is missing there comes in at its head, as lanes that cannot miss would hand it on: where a reranker's order is
    fused with the one it was given, what stands at the end of the pool could never reach a short final list. It is a
    few chunks a source, those that lie behind the pool first, then by position. As many others leave, from the end of
    the pool, and follow right behind it; none that a required source needs.
    """
    head, rest = list(ranking[:pool]), ranking[pool:]
    satisfied = {at: gold.satisfied(chunks[at]) for at, _ in head}
    missing = set(range(gold.sources)).difference(*satisfied.values())
    if not missing:
        return ranking
    coming = _coming(rest, gold, chunks, missing)
    staying, leaving = _make_room(head, satisfied, len(coming), pool)
    coming = coming[: pool - len(staying)]
    highest = max((score for _, score in staying), default=0.0)
    entered = [Scored(position, highest) for position in coming]
    behind = [scored for scored in rest if scored.position not in set(coming)]
    return (*entered, *staying, *leaving, *behind)


def _coming(rest: Ranking, gold: Gold, chunks: Sequence[Chunk], missing: set[int]) -> list[int]:
    """Positions that bring in what is missing: the first of every source, then the second, then the third."""
    ranks = {position: rank for rank, (position, _) in enumerate(rest)}
    found: dict[int, list[int]] = {source: [] for source in sorted(missing)}
    for position, chunk in enumerate(chunks):
        for source in gold.satisfied(chunk) & missing:
            found[source].append(position)
    for positions in found.values():
        positions.sort(key=lambda position: (ranks.get(position, len(rest)), position))
    turns = (positions[turn] for turn in range(PER_SOURCE) for positions in found.values() if turn < len(positions))
    return list(dict.fromkeys(turns))


def _make_room(
    head: list[Scored], satisfied: dict[int, frozenset[int]], wanted: int, pool: int
) -> tuple[list[Scored], list[Scored]]:
    """Who stays in the pool and who leaves it: from its end, and none that satisfies a required source."""
    spare = [scored for scored in head if not satisfied[scored.position]]
    over = max(0, len(head) + wanted - pool)
    leaving = spare[len(spare) - min(over, len(spare)) :]
    gone = {scored.position for scored in leaving}
    return [scored for scored in head if scored.position not in gone], leaving


def perfect(ranking: Ranking, gold: Gold, chunks: Sequence[Chunk], pool: int) -> Ranking:
    """The first `pool` in the order of a reranker that cannot err; what lies behind it follows as it was.

    First, one after the other, the chunk that brings the fewest new required sources, but at least one: a rank earns
    one gain however many it satisfies, so that a source a rank is worth more than all of them in one. Then what else
    satisfies a required source, then the rest, each in the order of the pool.

    It bounds what counts required sources by chunk. Measures by document, of optional gold or of texts may be higher
    in another order.
    """
    left = list(ranking[:pool])
    satisfied = {at: gold.satisfied(chunks[at]) for at, _ in left}
    best: list[Scored] = []
    known: set[int] = set()
    while gaining := [scored for scored in left if satisfied[scored.position] - known]:
        chosen = min(gaining, key=lambda scored: len(satisfied[scored.position] - known))
        known |= satisfied[chosen.position]
        left.remove(chosen)
        best.append(chosen)
    others = sorted(left, key=lambda scored: not satisfied[scored.position])
    return (*best, *others, *ranking[pool:])
