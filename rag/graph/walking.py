"""Walks the graph from what a search found and from what its question names, and hands on what only edges lead to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag.cache import Lazy, Memo, Meter
from rag.graph.seeding import NameIndex, Weights
from rag.records import Chunk, Ranking, Scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag.graph.model import Graph, Place
    from rag.stages import Request, Scope

Edges = Literal["drawn", "e1e4"]

DECAY = 0.5
"""What a hop leaves of a weight; a link that stands elsewhere in the note than the walk does costs as much again."""

SOFTENING = 5
"""How little the first seeds stand out: the r-th weighs (1 + 5) / (r + 5)."""

A_PLACE = 3
"""At most so many chunks of one place, those that fit the question; the k-th of them weighs the k-th part."""

FAN_OUT = 500
"""At most so many places are looked at in one hop, the weightiest: what is linked with everything says little."""


class Step(NamedTuple):
    """How a chunk came in.

    Attributes:
        position: The chunk.
        edge: The sort of the last edge, `E1` to `E4`.
        hop: How many edges lead to it from the seed.
        origin: The seed.
    """

    position: int
    edge: str
    hop: int
    origin: int


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk brought.

    Attributes:
        ranking: The chunks that it adds, best first.
        steps: How each of them came in, in the same order.
        query_seeds: The chunks from which it started because the question names them, beside the search's own.
    """

    ranking: Ranking
    steps: tuple[Step, ...]
    query_seeds: tuple[int, ...]


class Walk:
    """Follows edges in both directions.

    Args:
        graph: The graph of the corpus.
        edges: `drawn` follows E1 alone, `e1e4` all four sorts.
        chunks: The corpus, in index order.
    """

    def __init__(self, graph: Lazy[Graph], edges: Edges, chunks: Sequence[Chunk]) -> None:
        self._graph = graph
        self._edges = edges
        self._chunks = chunks
        self._names: Lazy[NameIndex] = Lazy(lambda: NameIndex(graph.get(Meter(Memo(1)))))
        self._within: dict[str, frozenset[int]] = {}

    def walk(self, ranking: Ranking, request: Request, everywhere: Scope | None, meter: Meter) -> Walked:
        """What edges lead to from the first hits of a ranking and from what the question names.

        A chunk that is in the rerank pool already is no addition, and none is added twice.

        Args:
            ranking: What the search found.
            request: The question and the options.
            everywhere: Where a walk may go; None for anywhere.
            meter: The bill.
        """
        options = request.options
        pool = tuple(position for position, _ in ranking[: options.rerank_pool])
        seeds = tuple(position for position, _ in ranking[: options.walk_seeds])
        limits = (options.walk_hops, options.walk_query_seeds, options.walk_pool)
        key = (self._edges, request.text, seeds, pool, limits, everywhere.name if everywhere else "")
        return meter.stage("walk", key, lambda: self._walk(request, seeds, frozenset(pool), everywhere, meter))

    def _walk(
        self, request: Request, seeds: Sequence[int], pool: frozenset[int], everywhere: Scope | None, meter: Meter
    ) -> Walked:
        options = request.options
        graph = self._graph.get(meter)
        trail = _Trail(graph, self._chunks, request, every=self._edges == "e1e4", within=self._allowed(everywhere))
        seeds = [seed for seed in seeds if trail.may(seed)]
        named = trail.named(self._names.get(meter), seeds) if options.walk_query_seeds else ()
        for start in (seeds, named):
            for rank, seed in enumerate(start, start=1):
                trail.follow(seed, (1 + SOFTENING) / (rank + SOFTENING))
        fresh = ((score, step) for score, step in trail.found.values() if step.position not in pool)
        best = sorted(fresh, key=lambda item: (-item[0], item[1].position))[: options.walk_pool]
        ranking = tuple(Scored(step.position, score) for score, step in best)
        return Walked(ranking, tuple(step for _, step in best), tuple(named))

    def _allowed(self, everywhere: Scope | None) -> frozenset[int] | None:
        if everywhere is None:
            return None
        if everywhere.name not in self._within:
            self._within[everywhere.name] = frozenset(everywhere.positions.tolist())
        return self._within[everywhere.name]


class _Stand(NamedTuple):
    """Where a walk stands: at a place, or (None) at its seed, on some of its chunks."""

    place: int | None
    chosen: tuple[int, ...]
    weight: float


class _Trail:
    """One walk, seed after seed.

    Attributes:
        found: Each chunk that was come to, with its best score and how it was come to.
    """

    def __init__(
        self, graph: Graph, chunks: Sequence[Chunk], request: Request, *, every: bool, within: frozenset[int] | None
    ) -> None:
        self._graph = graph
        self._chunks = chunks
        self._options = request.options
        self._every = every
        self._within = within
        self._weights = Weights(graph.frequencies, len(chunks), request.text)
        self._overlaps: dict[int, float] = {}
        self.found: dict[int, tuple[float, Step]] = {}

    def may(self, position: int) -> bool:
        """Whether a walk may go there."""
        return self._within is None or position in self._within

    def named(self, names: NameIndex, seeds: Sequence[int]) -> list[int]:
        """Further seeds: of each place that the question names, the chunk that fits it best and leads on."""
        most = self._options.walk_query_seeds
        found: list[int] = []
        for positions in names.said(self._weights, most):
            leading = (position for position in self._by_overlap(positions) if self._leads_on(position))
            seed = next(leading, None)
            if seed is not None and seed not in seeds and seed not in found:
                found.append(seed)
            if len(found) == most:
                break
        return found

    def follow(self, seed: int, weight: float) -> None:
        """Walk from one seed; a walk never comes back to a place where it has been."""
        been = set(self._graph.homes(seed))
        stands = [_Stand(None, (seed,), weight)]
        for hop in range(1, self._options.walk_hops + 1):
            reached = self._reach(stands, been)
            been.update(reached)
            stands = []
            for place, (left, edge) in reached.items():
                chosen = self._choose(self._graph.places[place])
                if chosen or not self._graph.places[place].positions:
                    stands.append(_Stand(place, chosen, left))
                for rank, position in enumerate(chosen, start=1):
                    if position != seed:
                        self._offer(Step(position, edge, hop, seed), left / rank)
            stands = sorted(stands, key=self._promise)[: self._options.walk_pool]

    def _reach(self, stands: Sequence[_Stand], been: set[int]) -> dict[int, tuple[float, str]]:
        """The places one hop on, each with the weight that is left and the sort of the edge: its best one."""
        reached: dict[int, tuple[float, str]] = {}
        for stand in stands:
            for step in self._graph.steps(stand.place, stand.chosen, every=self._every):
                left = stand.weight * (DECAY if step.near else DECAY * DECAY)
                if step.place not in been and left > reached.get(step.place, (0.0, ""))[0]:
                    reached[step.place] = (left, step.sort)
        return dict(sorted(reached.items(), key=lambda item: (-item[1][0], item[0]))[:FAN_OUT])

    def _choose(self, place: Place) -> tuple[int, ...]:
        """The chunks of a place that fit the question, best first; before them, the first of a part that is named."""
        within = [position for position in place.positions if self.may(position)]
        first = within[:1] if place.part else []
        return tuple(dict.fromkeys([*first, *self._by_overlap(within)]))[:A_PLACE]

    def _offer(self, step: Step, left: float) -> None:
        score = round(left * (1.0 + self._overlap(step.position)), 12)
        if step.position not in self.found or score > self.found[step.position][0]:
            self.found[step.position] = (score, step)

    def _promise(self, stand: _Stand) -> tuple[float, int]:
        best = max((self._overlap(position) for position in stand.chosen), default=0.0)
        return -round(stand.weight * (1.0 + best), 12), -1 if stand.place is None else stand.place

    def _leads_on(self, position: int) -> bool:
        return self.may(position) and any(True for _ in self._graph.steps(None, (position,), every=self._every))

    def _by_overlap(self, positions: Sequence[int]) -> list[int]:
        return sorted(positions, key=lambda position: (-self._overlap(position), position))

    def _overlap(self, position: int) -> float:
        if position not in self._overlaps:
            self._overlaps[position] = round(self._weights.overlap(self._chunks[position].indexed_text), 12)
        return self._overlaps[position]
