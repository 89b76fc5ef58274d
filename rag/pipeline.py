"""The pipeline: settings in, `search` out. It alone decides in which order stages run, and what a search reports."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag.assembly import LANES, RERANKERS, Assembly, need, opened
from rag.cache import Memo, Meter
from rag.cutoff import cut
from rag.errors import ModelMissingError
from rag.fusion import fuse
from rag.indexing import Corpus, Indexer
from rag.options import Settings, load_settings, with_overrides
from rag.progress import Progress
from rag.records import Chunk, Ranking, SearchResult
from rag.rerank import rerank
from rag.stages import Request
from rag.store import Store
from rag.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rag.cross_encoder import PairModel
    from rag.models import Model
    from rag.stages import Encoder, Lane, Reranker

_REMEMBERED = 4_000  # stage results kept in memory


class RagPipeline:
    """A corpus that can be searched. Nothing is read, built or loaded before a search needs it.

    Args:
        settings: What `config.yaml` says.
        root: The project's folder, to which relative paths refer.
        quiet: Whether builds say nothing.
        around: A context in which builds run, for hosts that capture output.
        encoder: Loads the embedding model; the default is sentence-transformers.
        pair_model: Loads the cross-encoder; the default is sentence-transformers.
        lanes: Makers of the lanes by the option that switches each on.
        rerankers: Makers of the rerankers by their value of the option `rerank`.
    """

    def __init__(
        self,
        settings: Settings,
        root: Path,
        *,
        quiet: bool = False,
        around: Callable[[], AbstractContextManager[Any]] = nullcontext,
        encoder: Callable[[Model], Encoder] | None = None,
        pair_model: Callable[[Model], PairModel] | None = None,
        lanes: Mapping[str, Callable[[Assembly], Lane]] = LANES,
        rerankers: Mapping[str, Callable[[Assembly], Reranker]] = RERANKERS,
    ) -> None:
        self.settings = settings
        state = root / settings.state
        progress = Progress(quiet=quiet)
        store = Store(state / "index", refuse=settings.stale == "refuse", progress=progress, around=around)
        self._parts = Assembly(settings, Indexer(settings, root, store, progress), state / "cache", encoder, pair_model)
        self._memo = Memo(_REMEMBERED)
        self._makers: dict[str, Callable[[Assembly], Any]] = {**lanes, **rerankers}
        self._lanes = tuple(lanes)
        self._opened: dict[str, Any] = {}

    def search(self, query: str, /, **overrides: Any) -> SearchResult:
        """Rank chunks for a question; a blank question is never searched and gives an empty ranking.

        Raises:
            OptionError: An override is unknown, out of range, or asks for something that is not installed.
            RagError: The corpus holds nothing, or its index is stale and must not be rebuilt.
        """
        options = with_overrides(self.settings.search, overrides)
        if not query.strip():
            return SearchResult(())
        meter = Meter(self._memo)
        corpus = self._parts.corpus.get(meter)
        request = Request(query, options)
        found = self._retrieve(request, meter)
        stages = dict(found)
        ranking = next(iter(found.values()))
        if len(found) > 1:
            with meter.timed("fusion"):
                ranking = stages["fusion"] = fuse(list(found.values()), options.rrf_k)
        if options.rerank != "none":
            reranker: Reranker = self._stage(options.rerank, meter)
            ranking = stages["rerank"] = rerank(request, ranking, corpus.chunks, reranker, meter)
        with meter.timed("cut"):
            ranking = stages["cut"] = cut(ranking, corpus.chunks, options.top_k, options.max_per_file)
            chunks = _chunks(ranking, corpus)
        return SearchResult(
            chunks=chunks,
            timings={**meter.timings, "search": sum(meter.timings.values())},
            lanes_run=tuple(found),
            cold=meter.cold,
            cached=tuple(meter.cached),
            stages={name: _chunks(part, corpus) for name, part in stages.items()},
        )

    def _retrieve(self, request: Request, meter: Meter) -> dict[str, Ranking]:
        """What each lane that is on finds, in the order in which fusion sees them."""
        on = [name for name in self._lanes if getattr(request.options, name)]
        return {name: self._stage(name, meter).search(request, meter) for name in on}

    def _stage(self, name: str, meter: Meter) -> Any:
        """A lane or reranker, made when a search first uses it: that imports its libraries and may hash its model."""
        if name not in self._opened:
            with meter.loading():
                self._opened[name] = self._makers[name](self._parts)
        return self._opened[name]

    def check_overrides(self, **overrides: Any) -> None:
        """Refuse overrides that no search could honour, before the first one.

        Raises:
            OptionError: As `search` would.
        """
        options = with_overrides(self.settings.search, overrides)
        if options.dense or options.rerank != "none":
            need("sentence-transformers", "a dense lane or reranker")
        if options.dense or options.rerank == "late-interaction":
            _ = self._parts.model
        if options.dense and options.dense_search == "hnsw":
            need("hnswlib", "dense_search 'hnsw'")
        if options.rerank == "cross-encoder":
            _ = self._parts.cross_encoder

    def warm(self, **overrides: Any) -> None:
        """Build and load what a search with these overrides needs.

        Raises:
            OptionError: As `search` would.
            RagError: As `search` would.
        """
        self.check_overrides(**overrides)
        # The words of a chunk find that chunk in every lane, so that rerankers are loaded too.
        self.search(opened(self._parts.corpus).chunks[0].indexed_text[:200], **overrides)

    def describe(self) -> dict[str, Any]:
        """What this pipeline is, as strict JSON. Reads the corpus; loads no model.

        `index` changes with the chunks, the findings, the embedding model or its dimension, and with nothing else.
        """
        corpus = opened(self._parts.corpus)
        try:
            model: Model | None = self._parts.model
        except ModelMissingError:
            model = None
        identity = [model.digest, model.dimension] if model else None
        return {
            "config_digest": digest(self.settings.model_dump(exclude={"state", "threads", "stale"})),
            "index": digest([corpus.digest, corpus.counts, identity]),
            "chunks": len(corpus.chunks),
            "files": corpus.files,
            "failed": corpus.counts.get("failed", 0),
            "findings": corpus.counts,
            "model": self.settings.model,
            "model_digest": model.digest if model else None,
            "k": self.settings.search.top_k,
        }

    def stats(self) -> dict[str, Mapping[str, Any]]:
        """What the parts of the index that have been opened say of themselves.

        `vectors`: dimension, how many chunks are longer than the model reads. `hnsw`: recall@10 against exact search.
        """
        return {name: dict(facts) for name, facts in sorted(self._parts.facts.items())}


def from_config(path: Path, root: Path, **arguments: Any) -> RagPipeline:
    """The pipeline that a `config.yaml` describes; `arguments` go to `RagPipeline`.

    Raises:
        SettingsError: The file cannot be read, or a value in it is wrong.
    """
    return RagPipeline(load_settings(path), root, **arguments)


def _chunks(ranking: Ranking, corpus: Corpus) -> tuple[Chunk, ...]:
    return tuple(replace(corpus.chunks[position], score=score) for position, score in ranking)
