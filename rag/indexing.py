"""Reading composed: a folder of documents, through readers and chunking, into the parts of the index on disk."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.cache import DiskCache
from rag.chunking import chunk
from rag.errors import NothingToIndexError, RagError
from rag.loaders import reader_for
from rag.records import Chunk, Document, Finding
from rag.text import TOKENIZERS, digest, digest_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray
    from tqdm import tqdm

    from rag.embedding import TokenCache
    from rag.hnsw import Hnsw
    from rag.models import Model
    from rag.options import Settings
    from rag.sparse import Bm25
    from rag.stages import Encoder
    from rag.store import Part, Store

READERS_VERSION = "1"
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
        quiet: Whether no progress is shown; it is shown on terminals only.
    """

    def __init__(self, settings: Settings, root: Path, store: Store, *, quiet: bool = False) -> None:
        self._settings = settings
        self._corpus = root / settings.corpus
        self._embeddings = DiskCache(root / settings.state / "cache" / "embeddings.sqlite")
        self._tokens = DiskCache(root / settings.state / "cache" / "tokens.sqlite")
        self._store = store
        self._quiet = quiet

    def chunks(self) -> Corpus:
        """Read the corpus.

        Raises:
            NothingToIndexError: The folder is missing or holds no text.
            StaleIndexError: The index does not fit and must not be built.
        """
        files, findings = scan(self._corpus)
        chunking = self._settings.chunking
        sources = {name: sha for name, (_, sha) in files.items()} | {
            "chunking.mode": chunking.mode,
            "chunking.max_chars": str(chunking.max_chars),
            "readers": f"{READERS_VERSION} (pypdf {_version('pypdf')}, Python {platform.python_version()})",
        }
        part = self._store.open("chunks", sources, lambda folder: self._read(folder, files, findings))
        return _load(part)

    def sparse(self, corpus: Corpus) -> Bm25:
        """The sparse lane's matrix."""
        from rag.sparse import EPSILON, K1, B, Bm25

        tokenize = TOKENIZERS[self._settings.tokenizer]

        def build(folder: Path) -> Mapping[str, Any]:
            with self._progress("tokenising", len(corpus.chunks)) as bar:
                index = Bm25.build(_ticking(bar, (tokenize(chunk.indexed_text) for chunk in corpus.chunks)))
            if index.terms == 0:
                raise NothingToIndexError(f"nothing to index: no chunk below {self._corpus} holds a word")
            index.save(folder)
            return {"terms": index.terms}

        sources = {"chunks": corpus.digest, "tokenizer": self._settings.tokenizer, "bm25": f"{K1} {B} {EPSILON}"}
        return Bm25.load(self._store.open("sparse", sources, build).folder)

    def vectors(self, corpus: Corpus, model: Model, encoder: Encoder) -> tuple[NDArray[np.float32], Mapping[str, Any]]:
        """The dense lane's vectors, `(n_chunks, dimension)`, and `{"dimension", "truncated", "limit"}`."""
        import numpy as np

        texts = [chunk.indexed_text for chunk in corpus.chunks]

        def build(folder: Path) -> Mapping[str, Any]:
            made = self._encode(texts, model, encoder, with_tokens=self._settings.search.rerank == "late-interaction")
            np.save(folder / "vectors.npy", made)
            truncated = sum(length > encoder.limit for length in encoder.lengths(texts))
            return {"dimension": int(made.shape[1]), "truncated": truncated, "limit": encoder.limit}

        sources = {"chunks": corpus.digest, "model": model.digest}
        part = self._store.open("vectors", sources, build)
        return np.load(part.folder / "vectors.npy"), part.facts

    def tokens(self, corpus: Corpus, model: Model, encoder: Callable[[], Encoder]) -> TokenCache:
        """Late interaction's token vectors; those of small corpora are all there when this returns."""
        from rag.embedding import TokenCache

        if len(corpus.chunks) <= self._settings.token_index_to:
            texts = [chunk.indexed_text for chunk in corpus.chunks]

            def build(_: Path) -> Mapping[str, Any]:
                self._encode(texts, model, encoder(), with_tokens=True)
                return {"texts": len(set(texts))}

            self._store.open("tokens", {"chunks": corpus.digest, "model": model.digest}, build)
        return TokenCache(self._tokens, model.digest)

    def _encode(self, texts: list[str], model: Model, encoder: Encoder, *, with_tokens: bool) -> NDArray[np.float32]:
        from rag.embedding import TokenCache, VectorCache, encode_all

        small = len(texts) <= self._settings.token_index_to
        vectors = VectorCache(self._embeddings, model.digest)
        tokens = TokenCache(self._tokens, model.digest) if with_tokens and small else None
        with self._progress("embedding", len(set(texts))) as bar:
            return encode_all(texts, encoder, vectors, tokens, bar.update, self._settings.batch_size)

    def hnsw(self, corpus: Corpus, model: Model, vectors: NDArray[np.float32]) -> tuple[Hnsw, Mapping[str, Any]]:
        """The approximate index, and `{"recall@10"}` against exact search."""
        from rag.hnsw import EF_CONSTRUCTION, SEED, Hnsw, M

        def build(folder: Path) -> Mapping[str, Any]:
            graph = Hnsw.build(vectors)
            graph.save(folder / "graph.bin")
            return {"recall@10": round(graph.recall(vectors), 6)}

        parameters = f"M={M} ef_construction={EF_CONSTRUCTION} seed={SEED} {_version('hnswlib')}"
        sources = {"chunks": corpus.digest, "model": model.digest, "hnsw": parameters}
        part = self._store.open("hnsw", sources, build)
        return Hnsw.load(part.folder / "graph.bin", vectors.shape[1]), part.facts

    def _read(self, folder: Path, files: Mapping[str, tuple[Path, str]], findings: list[Finding]) -> Mapping[str, Any]:
        chunks: list[Chunk] = []
        found = list(findings)
        with self._progress("reading", len(files)) as bar:
            for name, (path, sha) in _ticking(bar, files.items()):
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

    def _progress(self, what: str, total: int) -> tqdm[Any]:
        from tqdm import tqdm

        hidden = self._quiet or not sys.stderr.isatty()
        return tqdm(total=total, desc=f"rag: {what}", file=sys.stderr, disable=hidden, leave=False)


def scan(corpus: Path) -> tuple[dict[str, tuple[Path, str]], list[Finding]]:
    """Files that have a reader, by their path below the corpus, with path and sha256; and what was passed over.

    Hidden files and folders are not looked at. A link that leads out of the corpus is not followed. Content counts,
    times do not.

    Raises:
        NothingToIndexError: The corpus is no folder.
    """
    if not corpus.is_dir():
        raise NothingToIndexError(f"nothing to index: the corpus {corpus} is no folder; set `corpus` in the settings")
    files: dict[str, tuple[Path, str]] = {}
    findings: list[Finding] = []
    for path in sorted(_walk(corpus), key=lambda path: path.relative_to(corpus).as_posix()):
        name = path.relative_to(corpus).as_posix()
        shown = name.encode("utf-8", "backslashreplace").decode()
        if reader_for(name) is None:
            continue
        if shown != name:
            findings.append(Finding(shown, "skipped", "its name is not UTF-8"))
        elif not path.resolve().is_relative_to(corpus.resolve()):
            findings.append(Finding(name, "skipped", "a link out of the corpus"))
        else:
            try:
                files[name] = (path, digest_bytes(path.read_bytes()))
            except OSError as error:
                findings.append(Finding(name, "failed", f"cannot be read: {error.strerror}"))
    return files, findings


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _documents(name: str, path: Path, sha: str) -> list[Document]:
    data = path.read_bytes()
    if digest_bytes(data) != sha:
        raise RagError(f"{name} changed while it was read; start again")
    reader = reader_for(name)
    return [] if reader is None else reader(name, data)


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


def _ticking(bar: tqdm[Any], items: Any) -> Iterator[Any]:
    for item in items:
        yield item
        bar.update()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
