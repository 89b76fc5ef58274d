"""Locators as their author writes them: heading paths, page ranges, file paths below the corpus root.

Pure text rules for the borders. Whether a retrieved chunk satisfies a locator is decided in `metrics.relevance`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADING_SEPARATOR = " > "
"""Between the components of a heading path written as text; a list holds headings that contain it."""

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def split_heading(value: str | Sequence[str]) -> tuple[str, ...]:
    """Components of a heading path, outermost first: text splits at ` > `, a list is taken as it is."""
    return tuple(value.split(HEADING_SEPARATOR)) if isinstance(value, str) else tuple(value)


def write_heading(path: Sequence[str]) -> str | list[str]:
    """A heading path as a set writes it: text where text splits into the same path, else a list."""
    text = HEADING_SEPARATOR.join(path)
    return text if split_heading(text) == tuple(path) else list(path)


def check_file(path: str) -> str | None:
    r"""A complaint about the file of a locator, or None.

    The path stays as written; it must be relative and stay below the corpus root on every platform.
    """
    slashed = path.replace("\\", "/")
    segments = slashed.split("/")
    if _CONTROL.search(path):
        return "holds a control character; no file of a corpus is named so"
    if not path.strip() or all(segment in ("", ".") for segment in segments):
        return "names no file"
    if slashed.startswith("/") or _DRIVE.match(slashed):
        return "is absolute, so it lies outside the corpus root; write the path below the root"
    if ".." in segments:
        return "has a `..` segment and could lie outside the corpus root; write the plain path below the root"
    return None


def check_pages(value: Any) -> str | None:
    """A complaint about a page range as written, or None: `[212, 213]` is inclusive, `[5]` means `[5, 5]`."""
    if type(value) is int and value > 0:
        return f"must be a list; write [{value}]"
    if not isinstance(value, list | tuple) or len(value) not in (1, 2):
        return "must be a list of one or two page numbers, as [5] or [212, 213]; without pages, leave the key out"
    if any(type(page) is not int for page in value):
        return "must hold whole numbers without quotes, as [212, 213]"
    first, last = value[0], value[-1]
    if first < 1:
        return f"pages are physical pages counted from 1, but the range starts at {first}"
    return f"the range runs backwards, from {first} to {last}" if last < first else None
