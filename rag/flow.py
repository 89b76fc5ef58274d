"""One search from question to result: which stages run, in which order, and what they report.

Each stage is a module of its own; what is off or has nothing to do is not made, does not run and reports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag.cutoff import cut
from rag.fusion import fuse
from rag.options import SEARCHING
from rag.ranking import Same, shown
from rag.records import Chunk, Ranking, SearchResult
from rag.rerank import Reranked, rerank
from rag.stages import Request, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rag.cache import Memo, Meter
    from rag.corpus import Corpus
    from rag.decompose import Parts
    from rag.generated import Routed
    from rag.options import Options
    from rag.routing import Route, Router
    from rag.stages import Gold, Lane, Oracle


@dataclass(slots=True)
class Asked:
    """What is searched for.

    Attributes:
        question: The question as it came.
        parts: The question, then its sub-queries.
        draft: What the dense lanes search with in place of the question, or None.
    """

    question: str
    parts: tuple[str, ...]
    draft: str | None = None

    @property
    def drafted(self) -> str:
        """The draft, else the question."""
        return self.question if self.draft is None else self.draft


@dataclass(slots=True)
class Report:
    """What a search says of itself, collected on the way."""

    stages: dict[str, Ranking] = field(default_factory=dict)
    route: dict[str, Any] | None = None
    walk: dict[str, Any] | None = None
    gate: dict[str, Any] | None = None
    hyde_cache: str | None = None
    decomposed: dict[str, Any] | None = None


class Flow:
    """One search.

    Args:
        query: The question, not blank.
        options: What it was told.
        corpus: The chunks.
        stage: Opens a part of the assembly by name.
        meter: The bill.
        memo: What was reported before, for what is reported again.
        oracle: What is known of golden questions, for the probes.
    """

    def __init__(
        self,
        query: str,
        options: Options,
        corpus: Corpus,
        stage: Callable[[str], Any],
        meter: Meter,
        memo: Memo,
        oracle: Oracle | None,
    ) -> None:
        self._query = query
        self._options = options
        self._corpus = corpus
        self._stage = stage
        self._meter = meter
        self._memo = memo
        self._gold: Gold | None = None if oracle is None or options.oracle == "none" else oracle(query)
        self._report = Report()

    def run(self) -> SearchResult:
        """Search, rank and report."""
        asked = self._ask()
        route = self._route()
        found = self._retrieve(asked, route)
        self._report.stages.update(found)
        ranking = self._pool(self._fuse(found), route)
        chunks = self._finish(ranking)
        return self._result(chunks, tuple(found))

    def _ask(self) -> Asked:
        """The question, its parts and its draft; an LLM that cannot answer fails the search."""
        options, meter = self._options, self._meter
        asked = Asked(self._query, (self._query,))
        if options.decompose:
            parts: Parts = self._stage("decompose").split(self._query, options.sub_queries, meter)
            self._report.decomposed = parts.told()
            asked.parts = (self._query, *parts.kept)
        if options.dense and options.oracle == "hyde":
            from rag.oracle import passage

            with meter.timed("oracle"):
                asked.draft = passage(self._gold, self._corpus.chunks)
        elif options.dense and options.hyde:
            asked.draft, self._report.hyde_cache = self._stage("hyde").draft(self._query, meter)
        return asked

    def _route(self) -> Route | None:
        """What the question names, where routing is on in either of its mechanisms."""
        options = self._options
        if not (options.scope_lanes or options.metadata_boost or options.oracle == "scope"):
            return None
        router: Router = self._stage("router")
        if options.oracle == "scope":
            with self._meter.timed("routing"):
                route = router.given(self._gold.course if self._gold else "")
        else:
            route = self._meter.stage("routing", (self._query,), lambda: router.route(self._query))
        self._report.route = route.told()
        return route

    def _retrieve(self, asked: Asked, route: Route | None) -> dict[str, Ranking]:
        """What each lane that is on finds, in the order in which fusion sees them."""
        options = self._options
        found: dict[str, Ranking] = {}
        everywhere = self._everywhere()
        for number, part in enumerate(asked.parts):
            suffix = f"#{number}" if number else ""
            for lane, pool, text in self._lanes(part, part if number else asked.drafted):
                found[lane + suffix] = self._search(lane, Request(text, pool, options, everywhere))
        scope = self._scope(route, everywhere)
        if scope is not None:
            for name in SEARCHING:
                if getattr(options, name):
                    text = asked.drafted if name == "dense" else asked.question
                    found[f"scope-{name}"] = self._search(name, Request(text, options.scope_pool, options, scope))
        if options.routed:
            found["routed"] = self._routed(asked, found)
        return found

    def _lanes(self, part: str, drafted: str) -> list[tuple[str, int, str]]:
        """(lane, pool, text) of every lane that searches for one part of the question."""
        options = self._options
        code = self._code(part) if options.code_lanes else ""
        lanes = [
            ("sparse", options.sparse, options.sparse_pool, part),
            ("dense", options.dense, options.dense_pool, drafted),
            ("hashing", options.hashing, options.hashing_pool, part),
            ("overlap", options.overlap, options.overlap_pool, part),
            ("trigrams", options.trigrams, options.trigrams_pool, part),
            ("code", bool(code), options.code_pool, code),
            ("hype", options.hype, options.hype_pool, part),
            ("omnisearch", options.omnisearch, options.omnisearch_pool, part),
        ]
        return [(lane, pool, text) for lane, on, pool, text in lanes if on]

    def _search(self, lane: str, request: Request) -> Ranking:
        opened: Lane = self._stage(lane)
        return opened.search(request, self._meter)

    def _code(self, text: str) -> str:
        """What the code lane is asked: under the preset, what in the text looks like code, if anything does."""
        if not self._options.code_preset:
            return text
        from rag.code import code_words

        return " ".join(code_words(text))

    def _everywhere(self) -> Scope | None:
        """All chunks, or the primary ones where generated chunks are kept out."""
        if self._options.generated_mode == "off":
            return None
        primary: Scope | None = self._stage("primary")
        return primary

    def _scope(self, route: Route | None, everywhere: Scope | None) -> Scope | None:
        """Where the scoped lanes search; None where the question names nothing, or they are off."""
        if route is None or not (self._options.scope_lanes or self._options.oracle == "scope"):
            return None
        router: Router = self._stage("router")
        name = everywhere.name if everywhere else ""
        scope = self._meter.stage("routing", (route, name), lambda: router.scope(route, everywhere))
        if scope is not None and self._report.route is not None:
            self._report.route["scope"] = scope.name
        return scope

    def _routed(self, asked: Asked, found: Mapping[str, Ranking]) -> Ranking:
        """The primary pages that generated chunks cite which the lanes would find if these competed."""
        options, pointers = self._options, self._stage("pointers")
        lanes = (("sparse", asked.question, options.sparse_pool), ("dense", asked.drafted, options.dense_pool))
        competing = [
            self._search(name, Request(text, pool, options)) for name, text, pool in lanes if getattr(options, name)
        ]
        with self._meter.timed("routed"):
            routed: Routed = pointers.follow(competing, options.rrf_k)
            known = {position for ranking in found.values() for position, _ in ranking}
            counts = routed.told(new=sum(position not in known for position, _ in routed.ranking))
            self._report.route = {**(self._report.route or {}), **counts}
        return routed.ranking

    def _fuse(self, found: Mapping[str, Ranking]) -> Ranking:
        if len(found) == 1:
            return next(iter(found.values()))
        rankings, k = list(found.values()), self._options.rrf_k
        fused = self._meter.stage("fusion", (k, *map(Same, rankings)), lambda: fuse(rankings, k))
        self._report.stages["fusion"] = fused
        return fused

    def _pool(self, ranking: Ranking, route: Route | None) -> Ranking:
        """The order in which the reranker is given its pool; what routing raises never enters or leaves it."""
        options = self._options
        if route is not None and options.metadata_boost:
            ranking = self._boost(ranking, route)
            self._report.stages["boost"] = ranking
        if options.oracle == "pool" and self._gold is not None:
            from rag.oracle import inject

            with self._meter.timed("oracle"):
                ranking = inject(ranking, self._gold, self._corpus.chunks, options.rerank_pool)
            self._report.stages["oracle"] = ranking
        return ranking

    def _boost(self, ranking: Ranking, route: Route) -> Ranking:
        pool, weight, k = self._options.rerank_pool, self._options.boost_weight, self._options.rrf_k
        router: Router = self._stage("router")
        alone = "fusion" not in self._report.stages  # one lane alone: its cosines may be negative

        def raised() -> Ranking:
            head = fuse([ranking[:pool]], k) if alone else ranking[:pool]
            return router.boost(head, route, self._corpus.chunks, weight) + ranking[pool:]

        return self._meter.stage("boost", (Same(ranking), route, pool, weight, k, alone), raised)

    def _finish(self, ranking: Ranking) -> tuple[Chunk, ...]:
        """Walk, rerank, cut, gate, widen: from the pool to what is returned."""
        options, chunks = self._options, self._corpus.chunks
        reranked = Reranked(ranking, {})
        if options.rerank != "none":
            reranked = self._rerank(ranking)
            self._report.stages["rerank"] = reranked.ranking
        with self._meter.timed("cut"):
            final = cut(reranked.ranking, chunks, options.top_k, options.max_per_file)
        self._report.stages["cut"] = final
        if options.gate != "none":
            final = self._gate(final, reranked.scores)
            self._report.stages["gate"] = final
        return self._texts(final)

    def _rerank(self, ranking: Ranking) -> Reranked:
        options, chunks = self._options, self._corpus.chunks
        if options.oracle == "rerank" and self._gold is not None:
            from rag.oracle import perfect

            with self._meter.timed("oracle"):
                return Reranked(perfect(ranking, self._gold, chunks, options.rerank_pool), {})
        reranker = self._stage(options.rerank)
        request = Request(self._query, options.rerank_pool, options)
        if options.walk == "none":
            return rerank(request, ranking, chunks, reranker, self._meter)
        from rag.graph.joining import told, with_walk

        walked = self._stage(f"walk-{options.walk}").walk(ranking, request, self._everywhere(), self._meter)
        joined = with_walk(ranking, walked, options, fused="fusion" in self._report.stages)
        self._report.stages["walk"] = joined
        pool = options.rerank_pool + len(walked.steps)
        both = rerank(replace(request, pool=pool), joined, chunks, reranker, self._meter)
        own = rerank(request, ranking, chunks, reranker, self._meter.aside())
        self._report.walk = told(walked, cut(own.ranking, chunks, options.top_k, options.max_per_file), chunks)
        return both

    def _gate(self, final: Ranking, scores: Mapping[int, float]) -> Ranking:
        from rag.gate import judge

        options, chunks = self._options, self._corpus.chunks
        if options.gate == "laya":
            texts = [chunks[position].indexed_text for position, _ in final]
            with self._meter.billed_as("rerank", "gate") as meter:
                found = self._stage("laya").scores(self._query, texts, meter)
            scores = {position: score for (position, _), score in zip(final, found, strict=True)}
        with self._meter.timed("gate"):
            judged = judge(final, scores, float(options.gate_threshold or 0.0))
        self._report.gate = judged.told(chunks, options)
        return judged.kept

    def _texts(self, final: Ranking) -> tuple[Chunk, ...]:
        options = self._options
        chunks = self._shown(final)
        if not (options.parent_context or options.neighbor_context):
            return chunks
        from rag.context import widen

        with self._meter.timed("context"):
            return widen(chunks, [position for position, _ in final], self._corpus.chunks, options)

    def _result(self, chunks: tuple[Chunk, ...], lanes: tuple[str, ...]) -> SearchResult:
        meter, report = self._meter, self._report
        return SearchResult(
            chunks=chunks,
            timings={**meter.timings, "search": sum(meter.timings.values())},
            lanes_run=lanes,
            cold=meter.cold,
            cached=tuple(meter.cached),
            stages={name: self._shown(part) for name, part in report.stages.items()},
            hyde_cache=report.hyde_cache,
            decomposed=report.decomposed,
            gate=report.gate,
            walk=report.walk,
            route=report.route,
        )

    def _shown(self, ranking: Ranking) -> tuple[Chunk, ...]:
        return shown(ranking, self._corpus.chunks, self._memo)
