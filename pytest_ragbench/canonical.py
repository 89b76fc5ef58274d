"""The one spelling of things that are compared: path and text keys, JSON bytes, digests, quantised numbers.

Whatever must be equal across machines, processes or runs goes through here; nothing else folds, rounds or dumps.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DECIMALS = 12
"""Decimal places of every number in `results`."""

QUANTUM_BITS = 41
"""Metric values are held as integers of 2**-41, so that sums of products are exact in float64 whatever the order.

The coarsest quantum that spoils no digit shown: two values, each off by at most half of it, differ from their true
difference by less than half of the last decimal place, so a mean of exactly 0.1 reads 0.1.
"""

TOLERANCE = 1e-9
"""The one tolerance: floors, deltas, zero width, ties of a sign-flip statistic."""


_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def fold_text(text: str) -> str:
    """Fold case and Unicode form: `NFC(casefold(NFC(text)))`."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def fold_path(path: str) -> str:
    r"""Fold a corpus path: `\` to `/`, empty and `.` segments dropped, then `fold_text`. Leading `/` and `..` stay."""
    text = path.replace("\\", "/")
    segments = [segment for segment in text.split("/") if segment not in ("", ".")]
    return fold_text(("/" if text.startswith("/") else "") + "/".join(segments))


def fold_heading(component: str) -> str:
    """Fold one component of a heading path: white space collapsed, then `fold_text`."""
    return fold_text(" ".join(component.split()))


def dumps(value: Any) -> str:
    """Compact strict JSON with sorted keys, for lines and digests.

    Raises:
        ValueError: A NaN or an infinity is in `value`.
    """
    return _COMPACT.encode(value)


def dumps_pretty(value: Any) -> str:
    """Indented strict JSON with sorted keys and a final newline, for files that people open."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return mapping


def loads(text: str) -> Any:
    """Parse strict JSON.

    Raises:
        ValueError: The text is no JSON, has a byte order mark, NaN, Infinity (also as 1e999), a duplicate key, an
            integer too long, or nesting too deep.
    """
    if text.startswith("\ufeff"):
        raise ValueError("it starts with a byte order mark; save it as UTF-8 without one")
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_no_duplicates)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def digest(value: Any) -> str:
    """sha256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value).encode("utf-8", "surrogatepass")).hexdigest()


def quantise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values as whole numbers of 2**-41, still float64; NaN stays NaN.

    Sums are exact up to 2**53: 4,096 unit values may be added in any order as they are, and four billion in the
    halves of `statistics.exact`.
    """
    import numpy as np

    return np.rint(values * float(1 << QUANTUM_BITS))


def number(value: float | None) -> float | None:
    """A number as it stands in `results`: 12 decimal places, no negative zero; None stays None."""
    if value is None:
        return None
    rounded = round(float(value), DECIMALS)
    return rounded + 0.0
