"""Single values of foreign objects, read by duck typing: a field, a page number, a score, plain JSON.

Decides what each kind of value may look like; which fields make up a chunk or a result is for the modules above.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import operator
import os
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from pytest_ragbench.errors import PipelineError

MAX_DEPTH = 40
"""Nesting of an extra beyond which it is refused; a structure that holds itself reaches it too."""

MAX_BITS = 1_024
"""Size of a whole number beyond which it is refused: it fits no float, and Python's JSON stops at 4,300 digits."""


def get(holder: Any, name: str) -> Any:
    """The entry `name` of a mapping, or the attribute of an object; None when it is absent or a method."""
    is_mapping = type(holder) is dict or isinstance(holder, Mapping)  # the first is far cheaper, and the usual case
    value = holder.get(name) if is_mapping else getattr(holder, name, None)
    return None if callable(value) else value


def first(holder: Any, names: Iterable[str]) -> Any:
    """The first of `names` that the holder has with a value other than None and the empty text."""
    return next((value for name in names if (value := get(holder, name)) not in (None, "")), None)


def clean_text(text: str) -> str:
    r"""`text` as it can be written in UTF-8: a lone surrogate becomes its visible escape (`\udce9`)."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def as_text(value: Any, what: str) -> str:
    """A text or a path as text.

    Raises:
        PipelineError: It is neither.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, os.PathLike):
        return clean_text(os.fsdecode(value))
    raise PipelineError(f"{what} must be text, found {describe(value)}")


def as_name(value: Any) -> str | None:
    """An identifier as text: numbers and UUIDs by `str`; None, the empty text and NaN (a table's gap) are none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return clean_text(str(value)) or None


def describe(value: Any) -> str:
    """A value for a message: its type and the start of its repr, which may fail."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything, and the message must still be shown
        return f"a {type(value).__name__}"
    return f"a {type(value).__name__}: {clean_text(shown[:80])}{'…' if len(shown) > 80 else ''}"


def is_number(value: Any) -> bool:
    """Whether a value serves as a score: int, float, Decimal, a numpy or tensor scalar; neither bool nor text."""
    return not isinstance(value, (bool, str, bytes)) and hasattr(value, "__float__")


def as_score(value: Any, what: str) -> float | None:
    """A score as a float; None, NaN and infinities become None, since they order nothing.

    Raises:
        PipelineError: It is no number.
    """
    if value is None:
        return None
    if not is_number(value):
        raise PipelineError(f"{what} must be a number, found {describe(value)}")
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise PipelineError(f"{what} must be one number, found {describe(value)}") from error
    return score if math.isfinite(score) else None


def as_whole(value: int, what: str) -> int:
    """A whole number that every reader of JSON can take.

    Raises:
        PipelineError: It has more than `MAX_BITS` bits.
    """
    if value.bit_length() > MAX_BITS:
        raise PipelineError(f"{what} is a whole number of {value.bit_length():,} bits; give it as text")
    return int(value)


def as_page(value: Any, what: str) -> int | None:
    """A whole number, also written as `3.0`, `numpy.int64(3)` or `"3"`; NaN is None (a missing cell of a table).

    Raises:
        PipelineError: It is no whole number.
    """
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if value.is_integer():
            return as_whole(int(value), what)
    if isinstance(value, str) and len(value) < 100 and value.strip().isdecimal():
        return as_whole(int(value), what)
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return as_whole(operator.index(value), what)
    raise PipelineError(f"{what} must be a whole number, found {describe(value)}")


def as_pages(value: Any, what: str) -> tuple[int, int] | None:
    """An inclusive range of physical pages, counted from 1: `5`, `[5]` or `[5, 7]`.

    Raises:
        PipelineError: It is no such range.
    """
    if value is None:
        return None
    bounds = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else [value]
    numbers = [as_page(bound, what) for bound in bounds[:3]]
    if not numbers or numbers[0] is None:
        return None
    start, end = numbers[0], numbers[-1]
    if len(numbers) > 2 or end is None or start < 1 or end < start:
        raise PipelineError(f"{what} must be [first, last], counted from 1, found {describe(value)}")
    return start, end


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A value as strict JSON: numpy, Decimal, dates, paths, enums, dataclasses and models become plain; NaN is null.

    Raises:
        PipelineError: Something in it has no JSON form, or it holds itself; the message names the place.
    """
    if depth > MAX_DEPTH:
        raise PipelineError(f"{what} is nested more than {MAX_DEPTH} deep, or holds itself; report less of it")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value, what, depth + 1)
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return as_whole(value, what)
    if isinstance(value, (os.PathLike, date)):
        return clean_text(os.fspath(value) if isinstance(value, os.PathLike) else value.isoformat())
    return _plain_compound(value, what, depth)


def _plain_compound(value: Any, what: str, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {clean_text(str(key)): plain(item, f"{what}.{key}", depth + 1) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name), f"{what}.{field.name}", depth + 1)
            for field in dataclasses.fields(value)
        }
    for dump in ("model_dump", "tolist"):  # pydantic models; numpy arrays and scalars, tensors
        if callable(method := getattr(value, dump, None)):
            return plain(method(), what, depth + 1)
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item, what, depth + 1) for item in value), key=repr)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [plain(item, f"{what}[{index}]", depth + 1) for index, item in enumerate(value)]
    if is_number(value):
        return as_score(value, what)
    raise PipelineError(f"{what} has no JSON form: found {describe(value)}; report texts, numbers, lists or mappings")
