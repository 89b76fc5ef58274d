"""What a search may be told (`Options`) and what a pipeline is made of (`Settings`): types, ranges, defaults."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag.errors import OptionError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Depth = Annotated[int, Field(ge=1, le=10_000)]

SEARCHING = ("sparse", "dense", "hashing", "overlap", "trigrams")
"""Lanes over all chunks: a search needs one of them, and each also searches inside a scope."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Options(_Strict):
    """The overrides of one search; the defaults are those of `config.yaml`.

    Attributes:
        sparse: Whether BM25 searches.
        dense: Whether the embedding lane searches.
        hashing: Whether the lane of hashed words searches, which needs no model.
        overlap: Whether the lane of common words searches.
        trigrams: Whether the lane of common pieces of words searches.
        dense_search: `exact`, `hnsw`, or `auto` (hnsw from `Settings.hnsw_from` chunks on).
        scope_lanes: Whether the lanes that are on also search inside the course or area that the question names.
        metadata_boost: Whether chunks whose course, area or kind the question names move up within the rerank pool.
        boost_weight: By what share of its fused score a chunk is raised when everything named agrees.
        code_lanes: Whether BM25 over identifiers searches code and notebooks.
        code_preset: Whether that lane is asked what looks like code in a question, and not at all where nothing does.
        hyde: Whether the dense lanes search with a drafted answer in place of the question.
        decompose: Whether the question's parts are searched as well.
        sub_queries: At most so many parts.
        rerank: What reorders the fused list.
        gate: Whose score a relevance gate judges by after the rerank: the reranker's (`rerank-score`) or Laya's.
        gate_threshold: What a chunk needs to pass.
        gate_scorer: The scorer that the threshold was set for; it must be the one whose score is judged.
        walk: Which edges a graph walk follows from what was found: `drawn` (canvas edges) or `e1e4` (all four sorts).
        walk_hops: At most so many edges from a seed.
        walk_seeds: How many of the search's hits the walk starts from.
        walk_query_seeds: How many further seeds the walk looks up by the question itself.
        walk_pool: At most so many chunks come from the walk.
        generated_mode: Generated chunks compete (`off`), stay out (`drop`), or lead to what they cite (`route`).
        routed: Whether the pages that generated hits cite join the fusion; needs `generated_mode: route`.
        parent_context: Whether a result's text is its whole section.
        neighbor_context: Whether a result's text has the chunks before and after it.
        hype: Whether the lane over hypothetical questions searches.
        omnisearch: Whether the vault's files are scanned as they are now.
        oracle: A probe that uses the gold: `pool` adds it to the rerank pool, `rerank` orders the pool by it, `scope`
            routes to its course, `hyde` drafts with its text.
        top_k: Length of the final list.
        sparse_pool: How many chunks BM25 hands on.
        dense_pool: How many chunks the embedding lane hands on.
        hashing_pool: How many chunks the lane of hashed words hands on.
        overlap_pool: How many chunks the lane of common words hands on.
        trigrams_pool: How many chunks the lane of common pieces of words hands on.
        scope_pool: How many each lane hands on inside the scope.
        code_pool: How many the code lane hands on.
        hype_pool: How many the lane over hypothetical questions hands on.
        omnisearch_pool: How many the live scan hands on.
        rerank_pool: How many of the fused list are reranked; the rest follows in its order.
        rrf_k: The constant of reciprocal rank fusion.
        max_per_file: At most so many chunks of one file in the final list, or None.
        fuse_rerank: Whether late interaction's order is fused with the order it was given.
    """

    sparse: bool = True
    dense: bool = True
    hashing: bool = False
    overlap: bool = False
    trigrams: bool = False
    dense_search: Literal["exact", "hnsw", "auto"] = "auto"
    scope_lanes: bool = False
    metadata_boost: bool = False
    boost_weight: Annotated[float, Field(ge=0.0, le=10.0)] = 0.1
    code_lanes: bool = False
    code_preset: bool = False
    hyde: bool = False
    decompose: bool = False
    sub_queries: Annotated[int, Field(ge=1, le=8)] = 3
    rerank: Literal["none", "late-interaction", "cross-encoder", "laya"] = "late-interaction"
    gate: Literal["none", "rerank-score", "laya"] = "none"
    gate_threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    gate_scorer: Literal["late-interaction", "cross-encoder", "laya"] | None = None
    walk: Literal["none", "drawn", "e1e4"] = "none"
    walk_hops: Annotated[int, Field(ge=1, le=4)] = 2
    walk_seeds: Annotated[int, Field(ge=0, le=100)] = 5
    walk_query_seeds: Annotated[int, Field(ge=0, le=100)] = 3
    walk_pool: Depth = 20
    generated_mode: Literal["off", "drop", "route"] = "off"
    routed: bool = False
    parent_context: bool = False
    neighbor_context: bool = False
    hype: bool = False
    omnisearch: bool = False
    oracle: Literal["none", "pool", "rerank", "scope", "hyde"] = "none"
    top_k: Depth = 10
    sparse_pool: Depth = 100
    dense_pool: Depth = 100
    hashing_pool: Depth = 100
    overlap_pool: Depth = 100
    trigrams_pool: Depth = 100
    scope_pool: Depth = 50
    code_pool: Depth = 50
    hype_pool: Depth = 50
    omnisearch_pool: Depth = 50
    rerank_pool: Depth = 30
    rrf_k: Annotated[int, Field(ge=1, le=1_000)] = 60
    max_per_file: Depth | None = None
    fuse_rerank: bool = True

    @model_validator(mode="after")
    def _agree(self) -> Options:
        on = [lane for lane in SEARCHING if getattr(self, lane)]
        if not on:
            raise ValueError(f"no lane is on: set {', '.join(SEARCHING[:-1])} or {SEARCHING[-1]} to true")
        for lane in on:
            pool = getattr(self, f"{lane}_pool")
            if self.top_k > pool:
                raise ValueError(f"top_k {self.top_k} is more than {lane}_pool {pool} can give: raise {lane}_pool")
        for wrong, remedy in self._contradictions():
            if wrong:
                raise ValueError(remedy)
        return self

    def _contradictions(self) -> Iterator[tuple[bool, str]]:
        yield self.code_preset and not self.code_lanes, "code_preset aims the code lane: set code_lanes to true too"
        yield (
            self.routed and self.generated_mode != "route",
            "routed follows generated hits: set generated_mode to route too",
        )
        yield (
            self.routed and not (self.sparse or self.dense),
            "routed follows what sparse and dense would find: set one of them to true too",
        )
        yield (
            self.generated_mode == "route" and not self.routed,
            "generated_mode route needs the routed lane: set routed to true too",
        )
        yield (
            self.walk != "none" and self.rerank == "none",
            "a walk's chunks and the search's need one judge: set rerank to other than none",
        )
        yield (
            self.oracle in ("pool", "rerank") and self.rerank == "none",
            f"oracle {self.oracle} probes the rerank: set rerank to other than none",
        )
        yield (
            self.oracle == "rerank" and self.walk != "none",
            "oracle rerank orders the search's own pool: set walk to none",
        )
        yield self.oracle == "hyde" and not self.dense, "oracle hyde drafts for the dense lane: set dense to true too"
        yield from self._gate_contradictions()

    def _gate_contradictions(self) -> Iterator[tuple[bool, str]]:
        """A threshold means nothing without the scale it was set on: logits, cosines and probabilities differ."""
        if self.gate == "none":
            return
        judged = self.rerank if self.gate == "rerank-score" else "laya"
        yield judged == "none", "gate rerank-score judges by the reranker: set rerank to other than none"
        yield (
            self.oracle == "rerank" and self.gate == "rerank-score",
            "oracle rerank orders without scores, which gate rerank-score would judge: set gate to another",
        )
        yield self.gate_threshold is None, "a gate needs gate_threshold"
        yield (
            self.gate_scorer != judged,
            f"gate_threshold was set for {self.gate_scorer or 'no scorer'} but judges {judged}: set gate_scorer to it",
        )


class Chunking(_Strict):
    """How documents are cut.

    Attributes:
        mode: `passages` keeps chunks within a section, page or definition; `whole` makes one chunk of a document.
        max_chars: Upper bound of a chunk's length in mode `passages`.
    """

    mode: Literal["passages", "whole"] = "passages"
    max_chars: Annotated[int, Field(ge=100, le=100_000)] = 700


class LabelRule(_Strict):
    """What a path says of its document, where the document does not say it itself.

    Attributes:
        path: A regular expression, matched from the path's start; its named groups (`course`, `area`) are labels.
        course: The course, where no group names it.
        area: The area, where no group names it.
        kind: The sort of document.
    """

    path: str
    course: str = ""
    area: str = ""
    kind: str = ""

    @field_validator("path")
    @classmethod
    def _compiles(cls, path: str) -> str:
        try:
            groups = re.compile(path).groupindex
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"is no regular expression: {error}") from None
        for group in groups:
            if group not in ("course", "area"):
                raise ValueError(f"has a group {group!r}; its groups may be named course and area")
        return path


class Graph(_Strict):
    """The graph of canvases and links.

    Attributes:
        enabled: Whether a search walks where its options do not say.
        edge_types: Sorts of edges to which every walk is limited, or None. A search that asks for a walk is refused
            under a limit: it would measure something else than its name says.
    """

    enabled: bool = False
    edge_types: Annotated[tuple[str, ...], Field(strict=False)] | None = None


class Settings(_Strict):
    """The shipped pipeline, as `config.yaml` writes it.

    Attributes:
        corpus: Folder of documents, below the project root or absolute.
        state: Folder for the index and the caches.
        stale: What happens when the stored index does not fit: `rebuild` or `refuse`.
        tokenizer: Of the sparse lane: `unicode` or `simple`.
        chunking: How documents are cut.
        model: Sentence-transformers model of the dense lane and of late interaction: name or path.
        cross_encoder: Cross-encoder for `rerank: cross-encoder`: name or path, or None.
        device: What torch computes on.
        threads: torch threads, or None for cores / workers.
        batch_size: Texts a model sees at once.
        hnsw_from: Chunks from which on `dense_search: auto` means hnsw.
        token_index_to: Chunks up to which the index holds late interaction's token vectors (about 100 kB a chunk);
            beyond, passages are encoded when they are first reranked.
        labels: What paths say of their documents; the first rule that matches counts.
        graph: The graph of canvases and links.
        pointers: The sidecar that says what generated documents cite, or None.
        laya: Folder of a checkpoint for `rerank: laya` and `gate: laya`, or None.
        caches: Whether anything that was computed for one search is kept for another.
        search: The defaults of `search`.
    """

    corpus: str = "corpus"
    state: str = ".ragbench"
    stale: Literal["rebuild", "refuse"] = "rebuild"
    tokenizer: Literal["unicode", "simple"] = "unicode"
    chunking: Chunking = Chunking()
    model: str = "all-MiniLM-L6-v2"
    cross_encoder: str | None = None
    device: str = "cpu"
    threads: Annotated[int, Field(ge=1, le=1_024)] | None = None
    batch_size: Annotated[int, Field(ge=1, le=4_096)] = 32
    hnsw_from: Annotated[int, Field(ge=1)] = 50_000
    token_index_to: Annotated[int, Field(ge=0)] = 5_000
    labels: Annotated[tuple[LabelRule, ...], Field(strict=False)] = ()
    graph: Graph = Graph()
    pointers: str | None = None
    laya: str | None = None
    caches: bool = True
    search: Options = Options()


def with_overrides(defaults: Options, overrides: Mapping[str, Any]) -> Options:
    """The defaults with overrides laid over them.

    Raises:
        OptionError: An override is unknown (with a suggestion), of a wrong type, out of range, or contradicts another.
    """
    if not overrides:
        return defaults
    try:
        return Options.model_validate(defaults.model_dump() | dict(overrides))
    except ValidationError as error:
        raise OptionError(_explain(error, Options)) from None


def load_settings(path: Path) -> Settings:
    """Read `config.yaml`.

    Raises:
        SettingsError: The file is missing, no YAML mapping, or has an unknown key or a bad value.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: cannot be read as YAML: {error}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: expected a mapping of settings, found {type(data).__name__}")
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_explain(error, Settings)}") from None


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    return "; ".join(_one(item, model) for item in error.errors(include_url=False))


def _one(item: Any, model: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in item["loc"] if not str(part).startswith(("function-", "constrained-")))
    if item["type"] == "extra_forbidden":
        known = _fields(model, item["loc"][:-1])
        close = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
        return f"unknown option {name!r}; {hint}"
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{name}={item['input']!r}: {message}" if name else message


def _fields(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    for part in path:
        if isinstance(part, int):  # the place in a list, whose items are of one model
            continue
        annotation = model.model_fields[str(part)].annotation
        inner = next(iter(get_args(annotation)), annotation)
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return sorted(model.model_fields)
