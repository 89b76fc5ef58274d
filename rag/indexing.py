"""Reading composed: a folder of documents, through readers and chunking, into the parts of the index on disk."""

from __future__ import annotations

import json
import platform
import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, TypeVar

from rag.cache import DiskCache
from rag.chunking import chunk
from rag.errors import NothingToIndexError, RagError
from rag.loaders import read
from rag.records import Chunk, Document, Finding
from rag.scanning import scan
from rag.text import TOKENIZERS, TOKENIZERS_VERSION, digest, digest_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rag.embedding import TokenCache
    from rag.hnsw import Hnsw
    from rag.models import Model
    from rag.options import Settings
    from rag.progress import Progress
    from rag.sparse import Bm25
    from rag.stages import Encoder
    from rag.store import Part, Store

T = TypeVar("T")

READERS_VERSION = "2"
"""Raised when a reader or the chunker changes what it makes of a file."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The chunks of a folder, sorted by file, and what was found on the way.

    Attributes:
        chunks: In index order; a position in a ranking refers to it.
        digest: Over every chunk, its place and its text.
        files: How many files, or records of collections, gave a chunk.
        findings: What readers could not take as it was.
    """

    chunks: tuple[Chunk, ...]
    digest: str
    files: int
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Findings by kind."""
        return dict(sorted(Counter(finding.kind for finding in self.findings).items()))


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
        self._corpus = root / settings.corpus
        self._embeddings = DiskCache(root / settings.state / "cache" / "embeddings.sqlite")
        self._tokens = DiskCache(root / settings.state / "cache" / "tokens.sqlite")
        self._store = store
        self._progress = progress

    def chunks(self) -> Corpus:
        """Read the corpus.

        Raises:
            NothingToIndexError: The folder is missing or holds no text.
            ReaderMissingError: A file's format needs a package that is not installed.
            StaleIndexError: The index does not fit and must not be built.
        """
        files, findings = scan(self._corpus)
        chunking = self._settings.chunking
        packages = ", ".join(f"{package} {_version(package)}" for package in ("markdown-it-py", "pypdf"))
        sources = {name: sha for name, (_, sha) in files.items()} | {
            "chunking.mode": chunking.mode,
            "chunking.max_chars": str(chunking.max_chars),
            "readers": f"{READERS_VERSION} ({packages}, Python {platform.python_version()})",
        }
        part = self._store.open("chunks", sources, lambda folder: self._read(folder, files, findings))
        return _load(part)

    def sparse(self, corpus: Corpus) -> Bm25:
        """The sparse lane's matrix."""
        from rag.sparse import EPSILON, K1, B, Bm25

        tokenize = TOKENIZERS[self._settings.tokenizer]

        def build(folder: Path) -> Mapping[str, Any]:
            with self._progress.stage("tokenising", len(corpus.chunks)) as advance:
                index = Bm25.build(_ticking(advance, (tokenize(chunk.indexed_text) for chunk in corpus.chunks)))
            if index.terms == 0:
                raise NothingToIndexError(f"nothing to index: no chunk below {self._corpus} holds a word")
            index.save(folder)
            return {"terms": index.terms}

        version = f"{TOKENIZERS_VERSION}, Unicode {unicodedata.unidata_version}"
        sources = {
            "chunks": corpus.digest,
            "tokenizer": f"{self._settings.tokenizer} ({version})",
            "bm25": f"{K1} {B} {EPSILON}",
        }
        return Bm25.load(self._store.open("sparse", sources, build).folder)

    def vectors(self, corpus: Corpus, model: Model, encoder: Encoder) -> tuple[NDArray[np.float32], Mapping[str, Any]]:
        """The dense lane's vectors, `(n_chunks, dimension)`, and `{"dimension", "truncated", "limit"}`.

        They are mapped into memory, so that processes on one machine share them.
        """
        import numpy as np

        texts = _texts(corpus)

        def build(folder: Path) -> Mapping[str, Any]:
            made = self._encode(texts, model, encoder, with_tokens=self._settings.search.rerank == "late-interaction")
            np.save(folder / "vectors.npy", made)
            truncated = sum(length > encoder.limit for length in encoder.lengths(texts))
            if truncated:
                self._progress.say(
                    f"{truncated:,} of {len(texts):,} chunks are longer than the {encoder.limit} word pieces that "
                    f"{model.name} reads: the dense lane cannot find what only their ends hold"
                )
            return {"dimension": int(made.shape[1]), "truncated": truncated, "limit": encoder.limit}

        sources = {"chunks": corpus.digest, "model": model.digest}
        part = self._store.open("vectors", sources, build)
        return np.asarray(np.load(part.folder / "vectors.npy", mmap_mode="r")), part.facts

    def tokens(self, corpus: Corpus, model: Model, encoder: Callable[[], Encoder]) -> TokenCache:
        """Late interaction's token vectors; those of small corpora are all there when this returns.

        They stay in the cache's file, from which a search reads those of its pool: no process holds them all.
        """
        from rag.embedding import TokenCache

        cache = TokenCache(self._tokens, model.digest)
        if len(corpus.chunks) <= self._settings.token_index_to:
            texts = _texts(corpus)

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

    def _read(self, folder: Path, files: Mapping[str, tuple[Path, str]], findings: list[Finding]) -> Mapping[str, Any]:
        chunks: list[Chunk] = []
        found = list(findings)
        with self._progress.stage("reading", len(files)) as advance:
            for name, (path, sha) in _ticking(advance, files.items()):
                for document in _documents(name, path, sha):
                    found.extend(document.findings)
                    chunks.extend(chunk(document, self._settings.chunking))
        if not chunks:
            detail = "; ".join(f"{finding.file}: {finding.detail}" for finding in found[:3])
            raise NothingToIndexError(
                f"nothing to index: no file below {self._corpus} holds text" + (f" ({detail})" if detail else "")
            )
        chunks.sort(key=lambda item: item.file)  # stable: within a file, the order of its reader
        records = [_record(item) for item in chunks]
        lines = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
        (folder / "chunks.jsonl").write_text(lines, encoding="utf-8")
        return {
            "digest": digest(records),
            "files": len({item.file for item in chunks}),
            "findings": [asdict(finding) for finding in found],
        }


def _documents(name: str, path: Path, sha: str) -> list[Document]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RagError(f"{name} cannot be read any more ({error.strerror}); start again") from None
    if digest_bytes(data) != sha:
        raise RagError(f"{name} changed while it was read; start again")
    return read(name, data)


def _record(item: Chunk) -> list[Any]:
    return [item.id, item.file, item.text, item.pages, item.heading, item.title]


def _load(part: Part) -> Corpus:
    chunks = []
    with (part.folder / "chunks.jsonl").open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            name, file, text, pages, heading, title = json.loads(line)
            chunks.append(Chunk(name, file, text, tuple(pages) if pages else None, tuple(heading), title))
    facts = part.facts
    findings = tuple(Finding(**finding) for finding in facts["findings"])
    return Corpus(tuple(chunks), str(facts["digest"]), int(facts["files"]), findings)


def _texts(corpus: Corpus) -> list[str]:
    return [chunk.indexed_text for chunk in corpus.chunks]


def _ticking(advance: Callable[[int], object], items: Iterable[T]) -> Iterator[T]:
    for item in items:
        yield item
        advance(1)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
