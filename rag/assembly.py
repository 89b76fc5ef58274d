"""What a pipeline is made of: each stage by name, made when a search first needs it. `flow` decides their order.

A stage of one's own takes the place of another by handing `RagPipeline` another table; a new one needs an option too.
"""

from __future__ import annotations

import importlib.util
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag.cache import DiskCache, Lazy, Memo, Meter, PairScores
from rag.errors import ModelMissingError, QuestionsMissingError
from rag.models import Model, find
from rag.text import TOKENIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rag.corpus import Corpus
    from rag.cross_encoder import PairModel
    from rag.decompose import Decompose
    from rag.embedding import QuestionVectors
    from rag.generated import Pointers
    from rag.graph.model import Graph
    from rag.graph.walking import Walk
    from rag.hyde import Hyde
    from rag.hype import Questions
    from rag.indexing import Indexer
    from rag.laya import Checkpoint
    from rag.options import Settings
    from rag.routing import Router
    from rag.sparse import Bm25
    from rag.stages import Encoder, Lane, Llm, Neighbours, Reranker, Scope


class Assembly:
    """The parts of one pipeline; each is opened once.

    Args:
        settings: What `config.yaml` says.
        indexer: Opens the parts of the index.
        root: The project's folder, to which relative paths refer.
        encoder: Loads the embedding model.
        pair_model: Loads the cross-encoder.
        llm: The language model, or None.

    Attributes:
        settings: What `config.yaml` says.
        indexer: Opens the parts of the index.
        llm: The language model, or None.
        corpus: The chunks.
        encoder: The embedding model.
        pair_model: The cross-encoder.
        graph: What canvases and links connect.
        facts: What opened parts of the index say of themselves.
    """

    def __init__(
        self,
        settings: Settings,
        indexer: Indexer,
        root: Path,
        encoder: Callable[[Model], Encoder] | None,
        pair_model: Callable[[Model], PairModel] | None,
        llm: Llm | None = None,
    ) -> None:
        self.settings = settings
        self.indexer = indexer
        self._root = root
        self.llm = llm
        self.facts: dict[str, Mapping[str, Any]] = {}
        self.corpus: Lazy[Corpus] = Lazy(indexer.chunks)
        self.encoder: Lazy[Encoder] = Lazy(lambda: (encoder or self._load_encoder)(self.model))
        self.graph: Lazy[Graph] = Lazy(self._open_graph)
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

    @cached_property
    def laya(self) -> Checkpoint:
        """Laya's checkpoint.

        Raises:
            ModelMissingError: The package or the checkpoint is not on this machine.
        """
        from rag.laya import checkpoint

        path = self.settings.laya
        return checkpoint(None if path is None else str(self._root / Path(path).expanduser()))

    @cached_property
    def questions(self) -> QuestionVectors:
        """The vectors of questions, which outlive the process where caches are on."""
        from rag.embedding import QuestionVectors

        return QuestionVectors(self.encoder, self.model.digest, self.disk("questions"))

    @cached_property
    def pairs(self) -> PairScores:
        """Every reranker's scores; each keeps its own apart by its name, version and model."""
        return PairScores(self.disk("pairs")) if self.settings.caches else PairScores(capacity=0)

    def _open_graph(self) -> Graph:
        graph = self.indexer.graph(opened(self.corpus))
        self.facts["graph"] = graph.counts
        return graph

    def disk(self, name: str) -> DiskCache | None:
        """A cache on disk, shared by every process; None where caches are off."""
        return (
            DiskCache(self._root / self.settings.state / "cache" / f"{name}.sqlite") if self.settings.caches else None
        )

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
        found, parts.facts["vectors"] = parts.indexer.vectors(corpus, parts.model, lambda: opened(parts.encoder))
        return found

    def open_graph() -> Neighbours:
        need("hnswlib", "approximate search")
        graph, parts.facts["hnsw"] = parts.indexer.hnsw(corpus, parts.model, opened(vectors))
        return graph

    vectors = Lazy(open_vectors)
    key = (corpus.digest, parts.model.digest)
    return Dense(vectors, Lazy(open_graph), parts.questions, key, parts.settings.hnsw_from)


def late_interaction(parts: Assembly) -> Reranker:
    """MaxSim over the token vectors of the embedding model."""
    from rag.late_interaction import LateInteraction

    corpus = opened(parts.corpus)
    passages = Lazy(lambda: parts.indexer.tokens(corpus, parts.model, lambda: opened(parts.encoder)))
    return LateInteraction(parts.encoder, parts.questions, passages, parts.model.digest, parts.pairs)


def cross_encoder(parts: Assembly) -> Reranker:
    """A model that reads question and passage together; its scores outlive the process."""
    from rag.cross_encoder import CrossEncoderRerank

    return CrossEncoderRerank(parts.pair_model, parts.cross_encoder.digest, parts.pairs)


def code_lane(parts: Assembly) -> Lane:
    """BM25 over the identifiers of code and notebooks."""
    from rag.code import TOKENIZER, CodeLane

    corpus = opened(parts.corpus)
    index: Lazy[Bm25] = Lazy(lambda: parts.indexer.code(corpus))
    return CodeLane(index, TOKENIZER, corpus.chunks, corpus.digest)


def hype_lane(parts: Assembly) -> Lane:
    """Embeddings of hypothetical questions, which an LLM wrote for each chunk."""
    from rag.hype import Hype

    corpus = opened(parts.corpus)

    def open_questions() -> Questions:
        return parts.indexer.hype(corpus, parts.model, lambda: opened(parts.encoder), language_model(parts))

    # Asked again by every search, a build that was refused would ask the language model for every chunk each time.
    questions = Lazy(open_questions, refusal=QuestionsMissingError)
    return Hype(questions, parts.questions, (corpus.digest, parts.model.digest))


def hashing_lane(parts: Assembly) -> Lane:
    """Words hashed into buckets; made in memory when it is opened, since that takes less than reading it would."""
    from rag.hashing import HashedTexts, Hashing, features

    corpus, tokenize = opened(parts.corpus), TOKENIZERS[parts.settings.tokenizer]
    return Hashing(
        Lazy(lambda: HashedTexts(features(text, tokenize) for text in corpus.texts)), tokenize, corpus.digest
    )


def overlap_lane(parts: Assembly, name: Literal["overlap", "trigrams"]) -> Lane:
    """Common words, or common pieces of words; made in memory as well."""
    from rag.overlap import FeatureSets, Overlap, jaccard, overlap_coefficient, trigrams, words

    corpus, tokenize = opened(parts.corpus), TOKENIZERS[parts.settings.tokenizer]
    features, measure = (words, jaccard) if name == "overlap" else (trigrams, overlap_coefficient)
    index = Lazy(lambda: FeatureSets(features(text, tokenize) for text in corpus.texts))
    return Overlap(index, features, measure, tokenize, corpus.digest, name)


def omnisearch_lane(parts: Assembly) -> Lane:
    """A scan of the vault as it is now."""
    from rag.omnisearch import Omnisearch

    return Omnisearch(parts.indexer.folder, opened(parts.corpus).chunks, TOKENIZERS[parts.settings.tokenizer])


def laya(parts: Assembly) -> Reranker:
    """Laya's P(relevant)."""
    from rag.laya import LayaRerank

    return LayaRerank(parts.laya, parts.settings, parts.pairs)


def router(parts: Assembly) -> Router:
    """Finds the course, area or kind that a question names."""
    from rag.routing import Router

    return Router(opened(parts.corpus).chunks)


def primary(parts: Assembly) -> Scope | None:
    """The chunks that no machine wrote; None where no machine wrote any."""
    from rag.generated import primary as scope

    return scope(opened(parts.corpus).chunks)


def pointers(parts: Assembly) -> Pointers:
    """Follows generated chunks to the pages that they cite."""
    from rag.generated import Pointers

    return Pointers.load(parts.indexer.pointers, parts.indexer.folder, opened(parts.corpus).chunks)


def walk(parts: Assembly, edges: Literal["drawn", "e1e4"]) -> Walk:
    """Follows edges from what was found."""
    from rag.graph.walking import Walk

    return Walk(parts.graph, edges, opened(parts.corpus).chunks)


def hyde(parts: Assembly) -> Hyde:
    """Drafts answers, each once."""
    from rag.hyde import Hyde

    return Hyde(language_model(parts), parts.disk("completions"))


def decompose(parts: Assembly) -> Decompose:
    """Splits questions, each once."""
    from rag.decompose import Decompose

    return Decompose(language_model(parts), parts.disk("completions"))


def language_model(parts: Assembly) -> Llm:
    """The language model.

    Raises:
        ModelMissingError: There is none.
    """
    if parts.llm is None:
        raise ModelMissingError(NO_LLM)
    return parts.llm


NO_LLM = "hyde, decompose and hype need a language model: run with --rag-llm=replay:FILE, or hand RagPipeline an llm"

LANES: Mapping[str, Callable[[Assembly], Lane]] = {
    "sparse": sparse_lane,
    "dense": dense_lane,
    "hashing": hashing_lane,
    "overlap": lambda parts: overlap_lane(parts, "overlap"),
    "trigrams": lambda parts: overlap_lane(parts, "trigrams"),
    "code": code_lane,
    "hype": hype_lane,
    "omnisearch": omnisearch_lane,
}
"""Lane -> its maker, in the order in which fusion sees them."""

RERANKERS: Mapping[str, Callable[[Assembly], Reranker]] = {
    "late-interaction": late_interaction,
    "cross-encoder": cross_encoder,
    "laya": laya,
}
"""Value of the option `rerank` -> its maker."""

PARTS: Mapping[str, Callable[[Assembly], Any]] = {
    "router": router,
    "primary": primary,
    "pointers": pointers,
    "walk-drawn": lambda parts: walk(parts, "drawn"),
    "walk-e1e4": lambda parts: walk(parts, "e1e4"),
    "hyde": hyde,
    "decompose": decompose,
}
"""Every other part that a search opens by name -> its maker."""


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
