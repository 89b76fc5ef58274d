"""What a pipeline is made of: each stage by name, made when a search first needs it. `pipeline` decides their order.

A stage of one's own takes the place of another by handing `RagPipeline` another table; a new one needs an option too.
"""

from __future__ import annotations

import importlib.util
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rag.cache import DiskCache, Lazy, Memo, Meter, PairScores
from rag.errors import ModelMissingError
from rag.models import Model, find
from rag.text import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rag.cross_encoder import PairModel
    from rag.indexing import Corpus, Indexer
    from rag.options import Settings
    from rag.sparse import Bm25
    from rag.stages import Encoder, Lane, Neighbours, Reranker


class Assembly:
    """The parts of one pipeline; each is opened once.

    Args:
        settings: What `config.yaml` says.
        indexer: Opens the parts of the index.
        caches: Folder of the caches.
        encoder: Loads the embedding model.
        pair_model: Loads the cross-encoder.

    Attributes:
        corpus: The chunks.
        encoder: The embedding model.
        pair_model: The cross-encoder.
        facts: What opened parts of the index say of themselves.
    """

    def __init__(
        self,
        settings: Settings,
        indexer: Indexer,
        caches: Path,
        encoder: Callable[[Model], Encoder] | None,
        pair_model: Callable[[Model], PairModel] | None,
    ) -> None:
        self.settings = settings
        self.indexer = indexer
        self.caches = caches
        self.facts: dict[str, Mapping[str, Any]] = {}
        self.corpus: Lazy[Corpus] = Lazy(indexer.chunks)
        self.encoder: Lazy[Encoder] = Lazy(lambda: (encoder or self._load_encoder)(self.model))
        self.pair_model: Lazy[PairModel] = Lazy(lambda: (pair_model or self._load_pair_model)(self.cross_encoder))

    @cached_property
    def model(self) -> Model:
        """The embedding model's place and digest.

        Raises:
            ModelMissingError: It is not on this machine.
        """
        return find(self.settings.model, "model")

    @cached_property
    def cross_encoder(self) -> Model:
        """The cross-encoder's place and digest.

        Raises:
            ModelMissingError: None is configured, or it is not on this machine.
        """
        if self.settings.cross_encoder is None:
            raise ModelMissingError("rerank 'cross-encoder' needs weights: set cross_encoder to a name or a folder")
        return find(self.settings.cross_encoder, "cross_encoder")

    def _load_encoder(self, model: Model) -> Encoder:
        from rag.encoder import SentenceEncoder

        settings = self.settings
        return SentenceEncoder(model, device=settings.device, threads=settings.threads, batch_size=settings.batch_size)

    def _load_pair_model(self, model: Model) -> PairModel:
        from rag.cross_encoder import SentencePairs

        return SentencePairs(model, device=self.settings.device, threads=self.settings.threads)


def sparse_lane(parts: Assembly) -> Lane:
    """BM25."""
    from rag.sparse import Sparse

    corpus = opened(parts.corpus)
    index: Lazy[Bm25] = Lazy(lambda: parts.indexer.sparse(corpus))
    return Sparse(index, TOKENIZERS[parts.settings.tokenizer], corpus.digest)


def dense_lane(parts: Assembly) -> Lane:
    """The embedding lane, exact and approximate."""
    from rag.dense import Dense

    corpus = opened(parts.corpus)

    def open_vectors() -> NDArray[np.float32]:
        found, parts.facts["vectors"] = parts.indexer.vectors(corpus, parts.model, opened(parts.encoder))
        return found

    def open_graph() -> Neighbours:
        need("hnswlib", "approximate search")
        graph, parts.facts["hnsw"] = parts.indexer.hnsw(corpus, parts.model, opened(vectors))
        return graph

    vectors = Lazy(open_vectors)
    key = (corpus.digest, parts.model.digest)
    return Dense(vectors, Lazy(open_graph), parts.encoder, key, parts.settings.hnsw_from)


def late_interaction(parts: Assembly) -> Reranker:
    """MaxSim over the token vectors of the embedding model."""
    from rag.late_interaction import LateInteraction

    corpus = opened(parts.corpus)
    passages = Lazy(lambda: parts.indexer.tokens(corpus, parts.model, lambda: opened(parts.encoder)))
    return LateInteraction(parts.encoder, passages, parts.model.digest, PairScores())


def cross_encoder(parts: Assembly) -> Reranker:
    """A model that reads question and passage together; its scores outlive the process."""
    from rag.cross_encoder import CrossEncoderRerank

    pairs = PairScores(DiskCache(parts.caches / "pairs.sqlite"))
    return CrossEncoderRerank(parts.pair_model, parts.cross_encoder.digest, pairs)


LANES: Mapping[str, Callable[[Assembly], Lane]] = {"sparse": sparse_lane, "dense": dense_lane}
"""Option that switches a lane on -> its maker, in the order in which fusion sees them."""

RERANKERS: Mapping[str, Callable[[Assembly], Reranker]] = {
    "late-interaction": late_interaction,
    "cross-encoder": cross_encoder,
}
"""Value of the option `rerank` -> its maker."""


def opened(thing: Lazy[Any]) -> Any:
    """What is loaded while something else is: on that thing's bill."""
    return thing.get(Meter(Memo(1)))


def need(package: str, purpose: str) -> None:
    """Refuse by name where a package is absent; it is not imported.

    Raises:
        ModelMissingError: It is not installed.
    """
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise ModelMissingError(f"{purpose} needs the package {package}, which is not installed: pip install {package}")
