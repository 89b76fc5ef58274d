"""Code as words: the terms of identifiers, which questions look like code, and a BM25 lane over code and notebooks."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from rag.records import Scored
from rag.sparse import Sparse
from rag.stages import Scope
from rag.text import JOINERS, unicode_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rag.cache import Lazy, Meter
    from rag.records import Chunk, Ranking
    from rag.sparse import Bm25
    from rag.stages import Request
    from rag.text import Tokenizer

KINDS = frozenset({"code", "notebook"})
"""Labels of documents that are code whatever their name: a collection's records have no suffix."""

SUFFIXES = frozenset({".ipynb", ".py"})
"""Endings of files that are code whatever they are labelled."""

TOKENIZER_VERSION = "1"
"""Raised when `code_tokens` changes what it makes of a text."""


class _Shapes(dict[int, str]):
    """Code point to one letter that says how the character may stand in an identifier; filled as characters occur."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "_.":
            shape = character
        elif character.isupper() or character.istitle():
            shape = "U"
        elif character.isdecimal():
            shape = "d"
        elif character.isalnum() or unicodedata.category(character).startswith("M"):
            shape = "l"  # letters of scripts without case too, and the marks that cling to a letter
        else:
            shape = " "
        self[code] = shape
        return shape


_SHAPES = _Shapes()
# These read shapes, not characters, so that they hold in every script.
_NAME = re.compile(r"[Ul_][Uld_]*(?:\.[Ul_][Uld_]*)*|d[Uld_]*(?:\.d[Uld_]*)*")
_PART = re.compile(r"U+(?!l)|Ul+|l+|d+")


def code_tokens(text: str) -> list[str]:
    """Terms of a text in which an identifier counts as a whole and by its parts, lower-cased; operators are dropped.

    `np.HTTPServer2` gives `np.httpserver2`, `np`, `httpserver2`, `http`, `server`, `2`. A number stays whole. Words of
    prose are those of `unicode_tokens`, so that scripts without spaces give pairs.
    """
    if not text.isascii():
        text = "".join(character for character in unicodedata.normalize("NFKC", text) if character not in JOINERS)
    shapes = text.translate(_SHAPES)
    return [term for name in _NAME.finditer(shapes) for term in _terms(text, shapes, *name.span())]


TOKENIZER: Tokenizer = code_tokens


def _terms(text: str, shapes: str, start: int, end: int) -> Iterator[str]:
    """A name's terms: dotted names first as they stand, then each name between the dots, then its parts."""
    if shapes[start] == "d":
        yield text[start:end].casefold()
        return
    if "." in shapes[start:end]:
        yield text[start:end].casefold()
    for name in shapes[start:end].split("."):
        stop = start + len(name)
        parts = [text[start + part.start() : start + part.end()] for part in _PART.finditer(name)]
        if parts and parts[0] != text[start:stop]:
            yield text[start:stop].casefold()
        for part in parts:
            yield from (part.lower(),) if part.isascii() else unicode_tokens(part)
        start = stop + 1


# Of the text around identifiers, what only looks like some: addresses, formulas, scripts that set no spaces.
_OTHER = re.compile(
    r"https?://\S+|www\.\S+|(?<!\S)\S+@\S+|\$\$.*?\$\$|\$[^$\n]+\$|\\[A-Za-z]+(?:_\w+|_\{[^}]*\})?|[\u2e80-\ud7ff\uf900-\ufaff]",
    re.DOTALL | re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`\n]+)`")
# f(), open("x") and sort(key=...), std::sort; not sin(x), P(A) or file(s).
_CALL = re.compile(r"\b(?:([^\W\d]\w*)\(\)|([^\W\d]\w{2,})\([^()\n]*(?:[\"']|\w=)|(\w+(?:::\w+)+))")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
# A letter, or a Greek one spelled out, with its index is a symbol: K_p, h_fg, omega_n.
_SYMBOL = re.compile(
    r"(?:[^\W\d_]|(?i:alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|rho|sigma|tau|phi|chi|psi|omega))"
    r"_[^\W_]{1,3}"
)
_SNAKE = re.compile(r"\w*[^\W_]_+[^\W_]\w*|__\w+__")
_PRIVATE = re.compile(r"_[^\W_]\w*(?<!_)")
# Not a unit (mmHg, kWh), an iPhone, macOS, an mRNA or a gene (polI).
_CAMEL = re.compile(r"(?!\w*(?:OS|[DR]NAs?)$)(?:[a-z]{3,}[A-Z]\w|[a-z]{2}[A-Z][a-z]{2})\w*")
# Not the plural of an abbreviation (PDFs), a PhD, NumPy, DECnet or MacDonald.
_PASCAL = re.compile(
    r"(?!(?:Fitz|Mac|Van|Von)[A-Z])(?:[A-Z][a-z]{2,}|[A-Z]{3,}|[A-Z]{2}(?=[A-Z][a-z]{4}))(?:[A-Z][a-z]{2,}\d*)+"
)
_PROPER = re.compile(
    "BitTorrent|FaceTime|FireWire|GitHub|JavaScript|LabView|LibreOffice|LinkedIn|MathWorks|OpenOffice|PowerPoint|"
    "SharePoint|SolidWorks|SQLite|StackOverflow|TensorFlow|TypeScript|WhatsApp|WordPress|YouTube"
)
_CODE_FILE = re.compile(
    "bash|cc?|cfg|cpp|cs|css|go|h|hpp|html|ini|ipynb|java|jl|jsx?|json|kt|lua|php|pl|ps1|pyi?|rb|rs|scala|sh|sql|swift|"
    "toml|tsx?|ya?ml",
    re.IGNORECASE,
)
_OTHER_FILE = re.compile(
    "canvas|com|csv|docx?|edu|gov|jpe?g|markdown|md|net|org|pdf|png|pptx?|svg|txt|xlsx?", re.IGNORECASE
)


def code_words(text: str) -> tuple[str, ...]:
    """What in a question names something of a program: text in backticks, calls, code files and identifiers.

    An identifier shows by an inner underscore, inner capitals or dots between names. Prose does not: abbreviations,
    numbers, symbols with an index, addresses, names of notes, products with a capital inside.
    """
    found = [quoted for quoted in _QUOTED.findall(text) if quoted.strip()]
    text = _OTHER.sub(" ", _QUOTED.sub(" ", text))
    found += [name for call in _CALL.findall(text) for name in call if name]
    names = [name for run in re.findall(r"[\w.]+", text) if (name := run.strip("."))]
    emphasis = any(name.endswith("_") for name in names)  # _a phrase in italics_ begins like a private name
    found += [name for name in names if (_is_dotted(name) if "." in name else _is_identifier(name, emphasis))]
    return tuple(dict.fromkeys(found))


def looks_like_code(text: str) -> bool:
    """Whether a question names something of a program."""
    return bool(code_words(text))


def _is_dotted(name: str) -> bool:
    """A code file, or names joined by dots; not `e.g`, `3.14`, `E.coli`, `example.com`, `notes.md`, `end.Next`."""
    parts = name.split(".")
    last = parts[-1]
    if _OTHER_FILE.fullmatch(last):
        return False
    if _CODE_FILE.fullmatch(last) and len(name) > 3:
        return True
    if not all(_IDENTIFIER.fullmatch(part) for part in parts):
        return False
    if any(_is_identifier(part) for part in parts):
        return True
    if min(map(len, parts)) == 1:  # x.shape
        return len(parts) == 2 and len(last) > 2 and name[0].islower()
    return not last[0].isupper()


def _is_identifier(name: str, emphasis: bool = False) -> bool:
    if _SYMBOL.fullmatch(name) or _PROPER.fullmatch(name):
        return False
    if _PRIVATE.fullmatch(name) and not emphasis:
        return True
    return any(pattern.fullmatch(name) for pattern in (_SNAKE, _CAMEL, _PASCAL))


def code_positions(chunks: Sequence[Chunk]) -> NDArray[np.intp]:
    """Positions of the chunks of code and notebooks, ascending; a document counts by its label or by its name."""
    found = [position for position, chunk in enumerate(chunks) if _is_code(chunk)]
    return np.array(found, dtype=np.intp)


def _is_code(chunk: Chunk) -> bool:
    return chunk.labels.kind in KINDS or PurePosixPath(chunk.file).suffix.lower() in SUFFIXES


class CodeLane:
    """BM25 by identifiers over the chunks of code and notebooks; in a corpus without any it finds nothing.

    Args:
        index: The matrix over those chunks alone.
        tokenize: Makes terms of a question as they were made of the chunks.
        chunks: All chunks.
        key: Their digest, for the cache.
    """

    def __init__(self, index: Lazy[Bm25], tokenize: Tokenizer, chunks: Sequence[Chunk], key: str) -> None:
        self._positions = code_positions(chunks)
        self._lane = Sparse(index, tokenize, key, name="code")

    def search(self, request: Request, meter: Meter) -> Ranking:
        """The best chunks by their positions in the whole index; none for a text without an indexed term."""
        if len(self._positions) == 0:
            return ()
        scope = request.scope
        if scope is not None:
            scope = Scope(scope.name, np.flatnonzero(np.isin(self._positions, scope.positions)))
        found = self._lane.search(replace(request, scope=scope), meter)
        return tuple(Scored(int(self._positions[position]), score) for position, score in found)
