"""One element of a ranking as a `Chunk`, whatever library it comes from; none of those libraries is imported.

Pages of foreign objects: LangChain's `page` counts from 0, `page_number` and LlamaIndex's `page_label` from 1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from pytest_ragbench.contract import Chunk
from pytest_ragbench.errors import PipelineError
from pytest_ragbench.execution.fields import (
    as_name,
    as_page,
    as_pages,
    as_score,
    as_text,
    describe,
    first,
    get,
    is_number,
)
from pytest_ragbench.questions.locators import split_heading

ACCEPTED = (
    "a Chunk, a mapping or object with `file`, a file name, a LangChain or Haystack Document, "
    "a LlamaIndex NodeWithScore, or a (document, score) pair"
)
LONGEST_NAME = 1_024
"""Characters beyond which a bare text is a passage, not a file name."""

_FILE_KEYS = ("file", "file_path", "path", "source", "file_name")
_TEXT_KEYS = ("page_content", "content", "text")
_HEADING_KEYS = ("heading", "headings", "heading_path")
_MARKDOWN_HEADING = re.compile(r"\s*#{1,6}[ \t]+([^\n]*)")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_HEADER_LEVELS = tuple(f"Header {level}" for level in range(1, 7))  # as LangChain's MarkdownHeaderTextSplitter is shown


def as_chunks(ranking: Any, where: str) -> tuple[Chunk, ...]:
    """Read a ranking; order and duplicates are kept.

    Raises:
        PipelineError: It has no order, is no list, or has an element that is no chunk.
    """
    if isinstance(ranking, (set, frozenset)):
        raise PipelineError(f"{where} is a {type(ranking).__name__}, which has no order; return a list, best first")
    is_list = isinstance(ranking, (list, tuple))
    if not is_list and (isinstance(ranking, (str, bytes, Mapping)) or not isinstance(ranking, Iterable)):
        raise PipelineError(f"{where} is {describe(ranking)}; it must be a list of ranked chunks: {ACCEPTED}")
    return tuple(
        [element if is_settled(element) else as_chunk(element, f"{where}[{at}]") for at, element in enumerate(ranking)]
    )


def as_chunk(element: Any, where: str) -> Chunk:
    """Read one element; `where` (`chunks[3]`) names it in messages.

    Raises:
        PipelineError: It is none of the accepted shapes, or a field of it is not what its name says.
    """
    if isinstance(element, Chunk):
        return _own(where, element.file, element.pages, element.heading, element.id, element.score, element.text)
    if isinstance(element, str) or (type(element) is not dict and isinstance(element, os.PathLike)):
        return _own(where, _file_name(element, where))
    return _from_foreign(element, where)


def _from_foreign(element: Any, where: str) -> Chunk:
    """Read a pair, a mapping or an object of another library, by the fields that it has."""
    if (pair := _as_pair(element)) is not None:
        return _with_score(as_chunk(pair[0], where), pair[1], where)
    if get(element, "file") is not None:
        return _from_own_fields(element, where)
    if get(element, "node") is not None:
        return _with_score(as_chunk(get(element, "node"), where), get(element, "score"), where)
    for name in ("metadata", "meta"):
        if isinstance(metadata := get(element, name), Mapping):
            return _from_document(element, metadata, where)
    keys = f" with the keys {', '.join(sorted(map(str, element)))[:200]}" if isinstance(element, Mapping) else ""
    raise PipelineError(f"{where} is {describe(element)}{keys}; accepted are {ACCEPTED}")


def is_settled(chunk: Any) -> bool:
    """Whether this is a chunk that checks would not change: the usual one of a pipeline that makes its own."""
    if type(chunk) is not Chunk:
        return False
    score = chunk.score
    return (
        bool(chunk.file)
        and chunk.pages is None
        and chunk.heading == ()
        and (score is None or (type(score) is float and isfinite(score)))
        and type(chunk.file) is type(chunk.id) is type(chunk.text) is str
        and chunk.file.isascii()
        and bool(chunk.id)
        and chunk.id.isascii()
        and chunk.text.isascii()
    )


def _file_name(element: Any, where: str) -> Any:
    """A bare text as a file name; a passage in its place would silently never match."""
    if isinstance(element, str) and (len(element) > LONGEST_NAME or "\n" in element):
        raise PipelineError(f"{where} is {describe(element)}, which is no file name; accepted are {ACCEPTED}")
    return element


def _as_pair(element: Any) -> tuple[Any, Any] | None:
    """A `(document, score)` pair, as `similarity_search_with_score` returns them."""
    if not isinstance(element, (tuple, list)) or len(element) != 2:
        return None
    document, score = element
    return None if is_number(document) or not (score is None or is_number(score)) else (document, score)


def _with_score(chunk: Chunk, score: Any, where: str) -> Chunk:
    return Chunk(chunk.file, chunk.pages, chunk.heading, chunk.id, as_score(score, f"{where}.score"), chunk.text)


def _from_own_fields(element: Any, where: str) -> Chunk:
    pages = get(element, "pages")
    if pages is None and get(element, "page") is not None:
        raise PipelineError(
            f"{where} has `page` but no `pages`; give `pages: [first, last]`, physical pages counted from 1"
        )
    heading, name, score, text = (get(element, field) for field in ("heading", "id", "score", "text"))
    return _own(where, get(element, "file"), pages, heading, name, score, text)


def _from_document(element: Any, metadata: Mapping[str, Any], where: str) -> Chunk:
    file = first(metadata, _FILE_KEYS)
    if file is None:
        known = ", ".join(sorted(map(str, metadata)))[:200] or "nothing"
        raise PipelineError(
            f"{where} is a {type(element).__name__} whose metadata names no file (found: {known}); "
            f"set one of {', '.join(_FILE_KEYS)}"
        )
    text = first(element, _TEXT_KEYS)
    if text is None and callable(content := getattr(element, "get_content", None)):
        text = content()
    pages, heading = _metadata_pages(element, metadata, where), _metadata_heading(metadata, text)
    return _own(where, file, pages, heading, first(element, ("id", "node_id", "id_")), get(element, "score"), text)


def _metadata_pages(element: Any, metadata: Mapping[str, Any], where: str) -> Any:
    if metadata.get("pages") is not None:
        return metadata["pages"]
    if metadata.get("page_number") is not None:
        return metadata["page_number"]
    if get(element, "page_content") is not None:  # LangChain: its `page_label` is the printed label, not a count
        page = metadata.get("page")
        index = None if page in (None, "") else as_page(page, f"{where}.metadata.page")
        return None if index is None else index + 1
    label = str(metadata.get("page_label", ""))
    return int(label) if label.isascii() and label.isdecimal() and int(label) > 0 else None


def _metadata_heading(metadata: Mapping[str, Any], text: Any) -> Any:
    if (heading := first(metadata, _HEADING_KEYS)) is not None:
        return heading
    levels = [metadata[level] for level in _HEADER_LEVELS if metadata.get(level)]
    if levels:
        return levels
    if isinstance(header := metadata.get("header"), str) and header:  # as Haystack's MarkdownHeaderSplitter has them
        parents = metadata.get("parent_headers")
        above = parents if isinstance(parents, (list, tuple)) else ()
        return [*(part for part in above if isinstance(part, str)), header]
    ancestors = metadata.get("header_path")  # LlamaIndex's MarkdownNodeParser writes /Chapter/ above the node's own
    if not isinstance(ancestors, str):
        return None
    path = [part for part in ancestors.split("/") if part]
    line = _MARKDOWN_HEADING.match(text) if isinstance(text, str) else None
    own = "" if line is None else _CLOSING.sub("", line[1].strip()).rstrip()
    return [*path, own] if own and path[-1:] != [own] else path


def _own(
    where: str,
    file: Any,
    pages: Any = None,
    heading: Any = None,
    name: Any = None,
    score: Any = None,
    text: Any = None,
) -> Chunk:
    """Check every field; nobody has checked those of a `Chunk` made by hand either."""
    if not (shown := _text(file, where, "file")):
        raise PipelineError(f"{where}.file is empty; every chunk must name its document")
    return Chunk(
        shown,
        None if pages is None else as_pages(pages, f"{where}.pages"),
        () if heading is None else _heading(heading, where),
        as_name(name),
        score if score is None or (type(score) is float and isfinite(score)) else as_score(score, f"{where}.score"),
        "" if text is None else _text(text, where, "text"),
    )


def _text(value: Any, where: str, field: str) -> str:
    """A text; the usual one is known at a glance, and no message is made for it."""
    return value if type(value) is str and value.isascii() else as_text(value, f"{where}.{field}")


def _heading(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return split_heading(_text(value, where, "heading")) if value else ()
    if isinstance(value, Sequence):
        return tuple([_text(part, where, "heading") for part in value if part not in (None, "")])
    raise PipelineError(f"{where}.heading must be text such as 'Ch 4 > Bisection' or a list, found {describe(value)}")
