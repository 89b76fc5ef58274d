"""Document ids of foreign collections as file names of locators, and back.

A locator's file must stay below the corpus root on every platform; an id of a collection may be any text. The rule is a
function of the id alone, so an id has the same file in a set, a corpus and a run.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from pytest_ragbench.questions.locators import check_file

_NEVER = re.compile(r"[%\x00-\x1f\x7f]")
_UNSAFE = re.compile(r"[./\\:\s]")
_BOM = "\ufeff"
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@lru_cache(maxsize=65_536)
def document_file(document: str) -> str:
    r"""The file that stands for a document id.

    The id itself, with `%` and control characters percent-encoded (`%25`, `%00`). Where that would be no path below a
    root (absolute, a drive, a `..` segment, only dots or white space), `.`, `/`, `\\`, `:` and white space are encoded
    as well: `../secret` is `%2E%2E%2Fsecret`. Different ids have different files.
    """
    encoded = _NEVER.sub(_percent, document)
    return encoded if check_file(encoded) is None else _UNSAFE.sub(_percent, encoded)


def document_id(file: str) -> str:
    """The document id that `document_file` was given."""
    return unquote(file)


def check_id(value: object) -> str | None:
    """A complaint about the id of a query or a document as read from a file, or None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'is the number {value}; ids are text, write "{value}"'
    if not isinstance(value, str):
        return "must be text"
    if not value or value.isspace():
        return "is empty; give every record an id"
    if value.startswith(_BOM):
        return "begins with a byte order mark, which no other file can hold there; remove it"
    if _SURROGATE.search(value):
        return "holds half of a surrogate pair, which is no character"
    return None


def check_text(value: object) -> str | None:
    """A complaint about a text as read from a file, or None; an empty text is one."""
    if not isinstance(value, str):
        return "must be text"
    return "holds half of a surrogate pair, which is no character" if _SURROGATE.search(value) else None


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
