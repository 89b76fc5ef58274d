"""The pipeline: settings in, `search` out. It alone composes stages; each stage is one module behind `rag.stages`."""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rag.cache import DiskCache, Lazy, Memo, Meter, PairScores
from rag.cutoff import cut
from rag.errors import ModelMissingError
from rag.fusion import fuse
from rag.indexing import Corpus, Indexer
from rag.models import Model, find
from rag.options import Options, Settings, load_settings, with_overrides
from rag.records import Chunk, Ranking, Scored, SearchResult
from rag.store import Store
from rag.text import TOKENIZERS, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rag.cross_encoder import PairModel
    from rag.sparse import Bm25
    from rag.stages import Encoder, Lane, Neighbours, Reranker

_REMEMBERED = 4_000  # stage results kept in memory
_RERANK_TIES = 1e-6


class RagPipeline:
    """A corpus that can be searched. Nothing is read, built or loaded before a search needs it.

    Args:
        settings: What `config.yaml` says.
        root: The project's folder, to which relative paths refer.
        quiet: Whether builds say nothing.
        around: A context in which builds run, for hosts that capture output.
        encoder: Loads the embedding model; the default is sentence-transformers.
        pair_model: Loads the cross-encoder; the default is sentence-transformers.
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
    ) -> None:
        self.settings = settings
        state = root / settings.state
        store = Store(state / "index", refuse=settings.stale == "refuse", quiet=quiet, around=around)
        self._indexer = Indexer(settings, root, store, quiet=quiet)
        self._memo = Memo(_REMEMBERED)
        self._cache = state / "cache"
        self._facts: dict[str, Mapping[str, Any]] = {}
        self._opened: dict[str, Any] = {}
        self.corpus: Lazy[Corpus] = Lazy(self._indexer.chunks)
        self.encoder: Lazy[Encoder] = Lazy(lambda: (encoder or self._load_encoder)(self.model))
        self.pair_model: Lazy[PairModel] = Lazy(lambda: (pair_model or self._load_pair_model)(self.cross_encoder))

    @cached_property
    def model(self) -> Model:
        """The embedding model.

        Raises:
            ModelMissingError: It is not on this machine.
        """
        return find(self.settings.model, "model")

    @cached_property
    def cross_encoder(self) -> Model:
        """The cross-encoder.

        Raises:
            ModelMissingError: None is configured, or it is not on this machine.
        """
        if self.settings.cross_encoder is None:
            raise ModelMissingError("rerank 'cross-encoder' needs weights: set cross_encoder to a name or a folder")
        return find(self.settings.cross_encoder, "cross_encoder")

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
        corpus = self.corpus.get(meter)
        found = {lane.name: lane.search(query, options, meter) for lane in self._lanes(options, meter)}
        stages = dict(found)
        ranking = next(iter(found.values()))
        if len(found) > 1:
            with meter.timed("fusion"):
                ranking = stages["fusion"] = fuse(list(found.values()), options.rrf_k)
        if options.rerank != "none":
            ranking = stages["rerank"] = self._rerank(query, ranking, options, meter)
        with meter.timed("cut"):
            ranking = stages["cut"] = cut(ranking, corpus.chunks, options.top_k, options.max_per_file)
        return SearchResult(
            chunks=_chunks(ranking, corpus),
            timings={**meter.timings, "search": sum(meter.timings.values())},
            lanes_run=tuple(found),
            cold=meter.cold,
            cached=tuple(meter.cached),
            stages={name: _chunks(part, corpus) for name, part in stages.items()},
        )

    def check_overrides(self, **overrides: Any) -> None:
        """Refuse overrides that no search could honour, before the first one.

        Raises:
            OptionError: As `search` would.
        """
        options = with_overrides(self.settings.search, overrides)
        if options.dense or options.rerank != "none":
            _need("sentence_transformers", "sentence-transformers", "a dense lane or reranker")
        if options.dense or options.rerank == "late-interaction":
            _ = self.model
        if options.dense and options.dense_search == "hnsw":
            _need("hnswlib", "hnswlib", "dense_search 'hnsw'")
        if options.rerank == "cross-encoder":
            _ = self.cross_encoder

    def warm(self, **overrides: Any) -> None:
        """Build and load what a search with these overrides needs.

        Raises:
            OptionError: As `search` would.
            RagError: As `search` would.
        """
        self.check_overrides(**overrides)
        # The words of a chunk find that chunk in every lane, so that rerankers are loaded too.
        self.search(self._read_corpus().chunks[0].indexed_text[:200], **overrides)

    def describe(self) -> dict[str, Any]:
        """What this pipeline is, as strict JSON. Reads the corpus; loads no model.

        `index` changes with the chunks, the findings, the embedding model or its dimension, and with nothing else.
        """
        corpus = self.corpus.get(Meter(self._memo))
        try:
            model: Model | None = self.model
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
        return {name: dict(facts) for name, facts in sorted(self._facts.items())}

    def _lanes(self, options: Options, meter: Meter) -> Sequence[Lane]:
        """The lanes that are on, in the order in which fusion sees them."""
        lanes: list[Lane] = []
        if options.sparse:
            lanes.append(self._once("sparse", self._sparse_lane, meter))
        if options.dense:
            lanes.append(self._once("dense", self._dense_lane, meter))
        return lanes

    def _once(self, name: str, make: Callable[[], Any], meter: Meter) -> Any:
        """A stage, made when a search first uses it: that imports its libraries and may hash its model."""
        if name not in self._opened:
            with meter.loading():
                self._opened[name] = make()
        return self._opened[name]

    def _read_corpus(self) -> Corpus:
        return self.corpus.get(Meter(self._memo))

    def _read_encoder(self) -> Encoder:
        return self.encoder.get(Meter(self._memo))

    def _sparse_lane(self) -> Lane:
        from rag.sparse import Sparse

        index: Lazy[Bm25] = Lazy(lambda: self._indexer.sparse(self._read_corpus()))
        return Sparse(index, TOKENIZERS[self.settings.tokenizer], self._read_corpus().digest)

    def _dense_lane(self) -> Lane:
        from rag.dense import Dense

        vectors: Lazy[NDArray[np.float32]] = Lazy(self._open_vectors)

        def graph() -> Neighbours:
            hnsw, facts = self._indexer.hnsw(self._read_corpus(), self.model, vectors.get(Meter(self._memo)))
            self._facts["hnsw"] = facts
            return hnsw

        key = (self._read_corpus().digest, self.model.digest)
        return Dense(vectors, Lazy(graph), self.encoder, key, self.settings.hnsw_from)

    def _open_vectors(self) -> NDArray[np.float32]:
        vectors, facts = self._indexer.vectors(self._read_corpus(), self.model, self._read_encoder())
        self._facts["vectors"] = facts
        return vectors

    def _reranker(self, mode: str) -> Reranker:
        if mode == "late-interaction":
            from rag.late_interaction import LateInteraction

            passages = Lazy(lambda: self._indexer.tokens(self._read_corpus(), self.model, self._read_encoder))
            return LateInteraction(self.encoder, passages, self.model.digest, PairScores())
        from rag.cross_encoder import CrossEncoderRerank

        pairs = PairScores(DiskCache(self._cache / "pairs.sqlite"))
        return CrossEncoderRerank(self.pair_model, self.cross_encoder.digest, pairs)

    def _rerank(self, query: str, ranking: Ranking, options: Options, meter: Meter) -> Ranking:
        """The head of the ranking in the reranker's order; the rest follows as it was."""
        import numpy as np

        from rag.ranking import order

        head, rest = ranking[: options.rerank_pool], ranking[options.rerank_pool :]
        reranker: Reranker = self._once(options.rerank, lambda: self._reranker(options.rerank), meter)
        chunks = self._read_corpus().chunks
        scores = reranker.scores(query, [chunks[scored.position].indexed_text for scored in head], meter)
        positions = np.array([scored.position for scored in head], dtype=np.intp)
        best = order(positions, np.array(scores, dtype=np.float64), _RERANK_TIES)
        reordered = tuple(Scored(int(positions[index]), scores[index]) for index in best)
        if options.rerank == "late-interaction" and options.fuse_rerank:
            reordered = fuse([head, reordered], options.rrf_k)
        return reordered + rest

    def _load_encoder(self, model: Model) -> Encoder:
        from rag.encoder import SentenceEncoder

        settings = self.settings
        return SentenceEncoder(model, device=settings.device, threads=settings.threads, batch_size=settings.batch_size)

    def _load_pair_model(self, model: Model) -> PairModel:
        from rag.cross_encoder import SentencePairs

        return SentencePairs(model, device=self.settings.device, threads=self.settings.threads)


def from_config(path: Path, root: Path, **arguments: Any) -> RagPipeline:
    """The pipeline that a `config.yaml` describes; `arguments` go to `RagPipeline`.

    Raises:
        SettingsError: The file cannot be read, or a value in it is wrong.
    """
    return RagPipeline(load_settings(path), root, **arguments)


def _chunks(ranking: Ranking, corpus: Corpus) -> tuple[Chunk, ...]:
    return tuple(replace(corpus.chunks[position], score=score) for position, score in ranking)


def _need(module: str, package: str, purpose: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ModelMissingError(f"{purpose} needs the package {package}, which is not installed: pip install {package}")
