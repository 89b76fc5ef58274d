"""The pipeline: settings in, `search` out; what it refuses beforehand, and what it says of itself.

In which order stages run, `flow` decides.
"""

from __future__ import annotations

import unicodedata
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rag.assembly import LANES, PARTS, RERANKERS, Assembly, language_model, need, opened
from rag.cache import Memo, Meter
from rag.errors import ModelMissingError, OptionError
from rag.flow import Flow
from rag.indexing import Indexer
from rag.options import Options, Settings, load_settings, with_overrides
from rag.progress import Progress
from rag.records import Chunk, SearchResult
from rag.store import Store
from rag.text import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rag.cross_encoder import PairModel
    from rag.models import Model
    from rag.stages import Encoder, Lane, Llm, Oracle, Reranker

_REMEMBERED = 2_000  # stage results kept in memory, up to some 25 kB each
_SHOWN = 20_000  # chunks of reported rankings kept in memory
_FILES = 65_536  # names of files kept folded


class RagPipeline:
    """A corpus that can be searched. Nothing is read, built or loaded before a search needs it.

    Args:
        settings: What `config.yaml` says.
        root: The project's folder, to which relative paths refer.
        quiet: Whether builds say nothing.
        around: A context in which builds run, for hosts that capture output.
        encoder: Loads the embedding model; the default is sentence-transformers.
        pair_model: Loads the cross-encoder; the default is sentence-transformers.
        llm: The language model of `hyde`, `decompose` and `hype`, or None.
        oracle: What is known of golden questions, for the probes, or None.
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
        llm: Llm | None = None,
        oracle: Oracle | None = None,
        lanes: Mapping[str, Callable[[Assembly], Lane]] = LANES,
        rerankers: Mapping[str, Callable[[Assembly], Reranker]] = RERANKERS,
    ) -> None:
        self.settings = settings
        state = root / settings.state
        progress = Progress(quiet=quiet)
        store = Store(state / "index", refuse=settings.stale == "refuse", progress=progress, around=around)
        indexer = Indexer(settings, root, store, progress)
        self._parts = Assembly(settings, indexer, root, encoder, pair_model, llm)
        self._oracle = oracle
        self._memo = Memo(_REMEMBERED if settings.caches else 0)
        self._shown = Memo(_SHOWN if settings.caches else 0)
        self._makers: dict[str, Callable[[Assembly], Any]] = {**PARTS, **lanes, **rerankers}
        self._opened: dict[str, Any] = {}

    @property
    def _defaults(self) -> Options:
        """What a search is told that says nothing."""
        search = self.settings.search
        if self.settings.graph.enabled and search.walk == "none":
            return search.model_copy(update={"walk": "e1e4"})
        return search

    def search(self, query: str, /, **overrides: Any) -> SearchResult:
        """Rank chunks for a question; a blank question is never searched and gives an empty ranking.

        Raises:
            OptionError: An override is unknown, out of range, or asks for something that is not installed.
            RagError: The corpus holds nothing, or its index is stale and must not be rebuilt.
        """
        options = with_overrides(self._defaults, overrides)
        if not query.strip():
            return SearchResult(())
        meter = Meter(self._memo)
        corpus = self._parts.corpus.get(meter)
        flow = Flow(query, options, corpus, lambda name: self._stage(name, meter), meter, self._shown, self._oracle)
        return flow.run()

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
        self._check(with_overrides(self._defaults, overrides))

    def _check(self, options: Options) -> None:
        """One line a requirement; nothing is loaded."""
        parts = self._parts
        if options.dense or options.hype or options.rerank in ("late-interaction", "cross-encoder"):
            need("sentence-transformers", "a dense lane or reranker")
        if options.dense or options.hype or options.rerank == "late-interaction":
            _ = parts.model
        if options.dense and options.dense_search == "hnsw":
            need("hnswlib", "dense_search 'hnsw'")
        if options.rerank == "cross-encoder":
            _ = parts.cross_encoder
        if "laya" in (options.rerank, options.gate):
            _ = parts.laya
        if (options.hyde and options.dense) or options.decompose or options.hype:
            language_model(parts)
        if options.generated_mode == "route":
            self._stage("pointers", Meter(self._memo))
        if options.walk != "none" and self.settings.graph.edge_types is not None:
            raise OptionError(
                f"graph.edge_types limits walks to {', '.join(self.settings.graph.edge_types)}, so that walk "
                f"{options.walk!r} would not measure what its name says: remove edge_types from the settings"
            )
        if options.oracle != "none" and self._oracle is None:
            raise OptionError(f"oracle {options.oracle!r} needs the gold: hand RagPipeline an oracle")

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

    def indexed_chunks(self, file: str, /) -> tuple[Chunk, ...]:
        """The chunks that the index holds of a file, whatever the case or Unicode form of its name."""
        wanted = _folded(file)
        return tuple(chunk for chunk in opened(self._parts.corpus).chunks if _folded(chunk.file) == wanted)

    def stats(self) -> dict[str, Mapping[str, Any]]:
        """What the parts of the index that have been opened say of themselves.

        `vectors`: dimension, how many chunks are longer than the model reads. `hnsw`: recall@10 against exact search.
        `graph`: edges of each sort, and what led nowhere.
        """
        return {name: dict(facts) for name, facts in sorted(self._parts.facts.items())}


@lru_cache(maxsize=_FILES)
def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def from_config(path: Path, root: Path, **arguments: Any) -> RagPipeline:
    """The pipeline that a `config.yaml` describes; `arguments` go to `RagPipeline`.

    Raises:
        SettingsError: The file cannot be read, or a value in it is wrong.
    """
    return RagPipeline(load_settings(path), root, **arguments)
