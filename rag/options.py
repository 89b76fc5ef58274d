"""What a search may be told (`Options`) and what a pipeline is made of (`Settings`): types, ranges, defaults."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rag.errors import OptionError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Depth = Annotated[int, Field(ge=1, le=10_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Options(_Strict):
    """The overrides of one search; the defaults are those of `config.yaml`.

    Attributes:
        sparse: Whether BM25 searches.
        dense: Whether the embedding lane searches.
        dense_search: `exact`, `hnsw`, or `auto` (hnsw from `Settings.hnsw_from` chunks on).
        rerank: What reorders the fused list.
        top_k: Length of the final list.
        sparse_pool: How many chunks BM25 hands on.
        dense_pool: How many chunks the embedding lane hands on.
        rerank_pool: How many of the fused list are reranked; the rest follows in its order.
        rrf_k: The constant of reciprocal rank fusion.
        max_per_file: At most so many chunks of one file in the final list, or None.
        fuse_rerank: Whether late interaction's order is fused with the order it was given.
    """

    sparse: bool = True
    dense: bool = True
    dense_search: Literal["exact", "hnsw", "auto"] = "auto"
    rerank: Literal["none", "late-interaction", "cross-encoder"] = "late-interaction"
    top_k: Depth = 10
    sparse_pool: Depth = 100
    dense_pool: Depth = 100
    rerank_pool: Depth = 30
    rrf_k: Annotated[int, Field(ge=1, le=1_000)] = 60
    max_per_file: Depth | None = None
    fuse_rerank: bool = True

    @model_validator(mode="after")
    def _agree(self) -> Options:
        if not (self.sparse or self.dense):
            raise ValueError("no lane is on: set sparse or dense to true")
        for lane, on, pool in (("sparse", self.sparse, self.sparse_pool), ("dense", self.dense, self.dense_pool)):
            if on and self.top_k > pool:
                raise ValueError(f"top_k {self.top_k} is more than {lane}_pool {pool} can give: raise {lane}_pool")
        return self


class Chunking(_Strict):
    """How documents are cut.

    Attributes:
        mode: `passages` keeps chunks within a section, page or definition; `whole` makes one chunk of a document.
        max_chars: Upper bound of a chunk's length in mode `passages`.
    """

    mode: Literal["passages", "whole"] = "passages"
    max_chars: Annotated[int, Field(ge=100, le=100_000)] = 700


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
        inner = model.model_fields[str(part)].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return sorted(model.model_fields)
