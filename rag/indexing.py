"""The parts of the index on disk: from what each is made, and so when it is stale; other modules fill it."""

from __future__ import annotations

import platform
import unicodedata
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, TypeVar

from rag import corpus as corpora
from rag.cache import DiskCache
from rag.errors import NothingToIndexError
from rag.scanning import scan
from rag.text import TOKENIZERS, TOKENIZERS_VERSION, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rag.corpus import Corpus
    from rag.embedding import TokenCache
    from rag.graph.model import Graph
    from rag.hnsw import Hnsw
    from rag.hype import Questions
    from rag.models import Model
    from rag.options import Settings
    from rag.progress import Progress
    from rag.records import Finding
    from rag.sparse import Bm25
    from rag.stages import Encoder, Llm
    from rag.store import Store
    from rag.text import Tokenizer

T = TypeVar("T")

READERS_VERSION = "4"
"""Raised when a reader or the chunker changes what it makes of a file."""


class Indexer:
    """Opens the parts of one index, building what is missing or stale.

    Args:
        settings: What is indexed, and how.
        root: The project's folder, to which relative paths refer.
        store: Where the parts lie.
        progress: Where builds say how far they are.
    """

    def __init__(self, settings: Settings, root: Path, store: Store, progress: Progress) -> None:
        self._settings = settings
        self._root = root
        self._corpus = root / settings.corpus
        self._embeddings = DiskCache(root / settings.state / "cache" / "embeddings.sqlite")
        self._tokens = DiskCache(root / settings.state / "cache" / "tokens.sqlite")
        self._completions = DiskCache(root / settings.state / "cache" / "completions.sqlite")
        self._store = store
        self._progress = progress
        self._files: dict[str, tuple[Path, str]] = {}  # as they were when the chunks were opened

    @property
    def folder(self) -> Path:
        """Where the corpus lies."""
        return self._corpus

    @property
    def pointers(self) -> Path | None:
        """The sidecar that says what generated documents cite."""
        return None if self._settings.pointers is None else self._root / self._settings.pointers

    def chunks(self) -> Corpus:
        """Read the corpus.

        Raises:
            NothingToIndexError: The folder is missing or holds no text.
            ReaderMissingError: A file's format needs a package that is not installed.
            StaleIndexError: The index does not fit and must not be built.
        """
        files, findings = scan(self._corpus)
        self._files = files
        chunking = self._settings.chunking
        packages = ", ".join(f"{package} {_version(package)}" for package in ("markdown-it-py", "pypdf"))
        sources = {name: sha for name, (_, sha) in files.items()} | {
            "chunking.mode": chunking.mode,
            "chunking.max_chars": str(chunking.max_chars),
            "labels": digest([rule.model_dump() for rule in self._settings.labels]),
            "readers": f"{READERS_VERSION} ({packages}, Python {platform.python_version()})",
        }
        part = self._store.open("chunks", sources, lambda folder: self._read(folder, files, findings))
        return corpora.load(part.folder, part.facts)

    def sparse(self, corpus: Corpus) -> Bm25:
        """The sparse lane's matrix.

        Raises:
            NothingToIndexError: No chunk holds a word.
        """
        name = self._settings.tokenizer
        index = self._bm25("sparse", corpus.digest, f"{name} ({TOKENIZERS_VERSION}", corpus.texts, TOKENIZERS[name])
        if index.terms == 0:
            raise NothingToIndexError(f"nothing to index: no chunk below {self._corpus} holds a word")
        return index

    def code(self, corpus: Corpus) -> Bm25:
        """The code lane's matrix, over the chunks of `rag.code.code_positions` alone; without any it has no term."""
        from rag.code import TOKENIZER, TOKENIZER_VERSION, code_positions

        texts = [corpus.chunks[position].indexed_text for position in code_positions(corpus.chunks)]
        version = f"code ({TOKENIZER_VERSION} over {TOKENIZERS_VERSION}"
        return self._bm25("code", digest(texts), version, texts, TOKENIZER)

    def _bm25(self, name: str, chunks: str, tokenizer: str, texts: Sequence[str], tokenize: Tokenizer) -> Bm25:
        from rag.sparse import EPSILON, K1, B, Bm25

        def build(folder: Path) -> Mapping[str, Any]:
            with self._progress.stage("tokenising", len(texts)) as advance:
                index = Bm25.build(_ticking(advance, (tokenize(text) for text in texts)))
            index.save(folder)
            return {"terms": index.terms}

        sources = {
            "chunks": chunks,
            "tokenizer": f"{tokenizer}, Unicode {unicodedata.unidata_version})",
            "bm25": f"{K1} {B} {EPSILON}",
        }
        return Bm25.load(self._store.open(name, sources, build).folder)

    def vectors(
        self, corpus: Corpus, model: Model, encoder: Callable[[], Encoder]
    ) -> tuple[NDArray[np.float32], Mapping[str, Any]]:
        """The dense lane's vectors, `(n_chunks, dimension)`, and `{"dimension", "truncated", "limit"}`.

        They are mapped into memory, so that processes on one machine share them.
        """
        import numpy as np

        texts = corpus.texts

        def build(folder: Path) -> Mapping[str, Any]:
            reader, with_tokens = encoder(), self._settings.search.rerank == "late-interaction"
            made = self._encode(texts, model, reader, with_tokens=with_tokens)
            np.save(folder / "vectors.npy", made)
            truncated = sum(length > reader.limit for length in reader.lengths(texts))
            if truncated:
                self._progress.say(
                    f"{truncated:,} of {len(texts):,} chunks are longer than the {reader.limit} word pieces that "
                    f"{model.name} reads: the dense lane cannot find what only their ends hold"
                )
            return {"dimension": int(made.shape[1]), "truncated": truncated, "limit": reader.limit}

        sources = {"chunks": corpus.digest, "model": model.digest}
        part = self._store.open("vectors", sources, build)
        return np.asarray(np.load(part.folder / "vectors.npy", mmap_mode="r")), part.facts

    def tokens(self, corpus: Corpus, model: Model, encoder: Callable[[], Encoder]) -> TokenCache:
        """Late interaction's token vectors; those of small corpora are all there when this returns.

        They stay in the cache's file, from which a search reads those of its pool: no process holds them all.
        """
        from rag.embedding import TokenCache

        small = len(corpus.chunks) <= self._settings.token_index_to
        # Beyond the index's size, what a search encodes is kept for others only where caches are on.
        cache = TokenCache(self._tokens if small or self._settings.caches else None, model.digest)
        if small:
            texts = corpus.texts

            def build(_: Path) -> Mapping[str, Any]:
                self._encode(texts, model, encoder(), with_tokens=True)
                if cache.missing(texts):
                    self._progress.say("the token vectors could not be kept: each search will encode its passages")
                return {"texts": len(set(texts))}

            sources = {"chunks": corpus.digest, "model": model.digest}
            self._store.open("tokens", sources, build, holds=lambda: not cache.missing(texts))
        return cache

    def _encode(
        self, texts: Sequence[str], model: Model, encoder: Encoder, *, with_tokens: bool
    ) -> NDArray[np.float32]:
        from rag.embedding import TokenCache, VectorCache, encode_all

        small = len(texts) <= self._settings.token_index_to
        vectors = VectorCache(self._embeddings, model.digest)
        tokens = TokenCache(self._tokens, model.digest) if with_tokens and small else None
        with self._progress.stage("embedding", len(set(texts))) as advance:
            return encode_all(texts, encoder, vectors, tokens, advance, self._settings.batch_size)

    def hype(self, corpus: Corpus, model: Model, encoder: Callable[[], Encoder], llm: Llm) -> Questions:
        """Hypothetical questions of every chunk.

        Raises:
            QuestionsMissingError: The language model has none for some chunk; what it has is kept.
        """
        import numpy as np

        from rag.hype import SYSTEM, USER, Questions, write_questions

        def build(folder: Path) -> Mapping[str, Any]:
            with self._progress.stage("writing hypothetical questions", len(corpus.chunks)) as advance:
                written = write_questions(corpus.chunks, llm, self._completions, advance)
            texts = [text for own in written for text in own]
            np.save(folder / "vectors.npy", self._encode(texts, model, encoder(), with_tokens=False))
            np.save(folder / "owners.npy", np.repeat(np.arange(len(written)), [len(own) for own in written]))
            return {"questions": len(texts)}

        sources = {
            "chunks": corpus.digest,
            "model": model.digest,
            "language model": f"{llm.model} ({llm.source})",
            "prompt": digest([SYSTEM, USER]),
        }
        folder = self._store.open("hype", sources, build).folder
        return Questions(np.asarray(np.load(folder / "vectors.npy", mmap_mode="r")), np.load(folder / "owners.npy"))

    def hnsw(self, corpus: Corpus, model: Model, vectors: NDArray[np.float32]) -> tuple[Hnsw, Mapping[str, Any]]:
        """The approximate index, and `{"recall@10"}` against exact search."""
        from rag.hnsw import EF_CONSTRUCTION, SEED, Hnsw, M

        def build(folder: Path) -> Mapping[str, Any]:
            Hnsw.build(vectors).save(folder / "graph.bin")
            kept = Hnsw.load(folder / "graph.bin", vectors.shape[1])  # hnswlib says nothing of a full disk
            return {"recall@10": round(kept.recall(vectors), 6)}

        parameters = f"M={M} ef_construction={EF_CONSTRUCTION} seed={SEED} hnswlib {_version('hnswlib')}"
        sources = {"chunks": corpus.digest, "model": model.digest, "hnsw": parameters}
        part = self._store.open("hnsw", sources, build)
        return Hnsw.load(part.folder / "graph.bin", vectors.shape[1]), part.facts

    def graph(self, corpus: Corpus) -> Graph:
        """What canvases and links connect, from the files as they were when the chunks were opened.

        Raises:
            RagError: A file has changed since.
        """
        from rag.graph.edges import LINKING, VERSION, build
        from rag.graph.model import Graph

        files = self._files or scan(self._corpus)[0]
        linking = {name: file for name, file in files.items() if name.lower().endswith(LINKING)}

        def connect(folder: Path) -> Mapping[str, Any]:
            with self._progress.stage("linking", len(linking)) as advance:
                texts = ((name, corpora.content(name, *file)) for name, file in _ticking(advance, linking.items()))
                graph = build(texts, files, corpus.chunks)
            graph.save(folder)
            return graph.counts

        sources = {name: sha for name, (_, sha) in linking.items()} | {
            "names": digest(sorted(files)),
            "chunks": corpus.digest,
            "graph": f"{VERSION} ({TOKENIZERS_VERSION}, Unicode {unicodedata.unidata_version})",
        }
        part = self._store.open("graph", sources, connect)
        return Graph.load(part.folder, (chunk.file for chunk in corpus.chunks))

    def _read(self, folder: Path, files: Mapping[str, tuple[Path, str]], findings: list[Finding]) -> Mapping[str, Any]:
        with self._progress.stage("reading", len(files)) as advance:
            named = _ticking(advance, files.items())
            return corpora.build(folder, self._corpus, named, findings, self._settings)


def _ticking(advance: Callable[[int], object], items: Iterable[T]) -> Iterator[T]:
    for item in items:
        yield item
        advance(1)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
