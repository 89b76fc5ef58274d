"""Strict JSON with positions: what `canonical.loads` refuses is refused here with the path, line and column."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

from pytest_ragbench import canonical
from pytest_ragbench.errors import RecordError

_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<string>"(?:[^"\\]|\\.)*")|(?P<constant>NaN|-?Infinity)'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<open>\{)|(?P<close>\})",
    re.DOTALL,
)


def parse(text: str, path: str, line: int | None = None) -> Any:
    """Parse one JSON text.

    Args:
        text: The text: a whole file, or one line of a file.
        path: The file as it should be named.
        line: 1-based line where a single line is parsed; None for a whole file.

    Raises:
        RecordError: It is no strict JSON; the message begins `path:line:column:`.
    """
    try:
        return canonical.loads(text)
    except json.JSONDecodeError as error:
        message = "it is empty" if not text.strip() else f"this is no JSON ({error.msg})"
        offset = error.pos
    except ValueError as error:
        offset, message = _refused(text) or (0, str(error))
    before = text[:offset]
    row = before.count("\n") + 1 if line is None else line
    raise RecordError(f"{path}:{row}:{offset - before.rfind(chr(10))}: {message}")


def parse_object(text: str, path: str, line: int | None = None) -> dict[str, Any]:
    """Parse one JSON object.

    Raises:
        RecordError: It is no strict JSON, or something other than an object.
    """
    value = parse(text, path, line)
    if not isinstance(value, dict):
        found = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}.get(type(value), "a number")
        raise RecordError(f"{path}:{line or 1}:1: this must be an object, found {found}")
    return value


def _refused(text: str) -> tuple[int, str] | None:
    """Where syntactically sound JSON breaks the stricter rules, and how. Only files already refused come here."""
    keys: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        kind, found = token.lastgroup, token.group()
        if kind == "open":
            keys.append(set())
        elif kind == "close" and keys:
            keys.pop()
        elif kind == "key" and keys:
            if (name := json.loads(found)) in keys[-1]:
                return token.start(), f"the key {name!r} stands twice in one object"
            keys[-1].add(name)
        elif kind in {"constant", "number"} and (complaint := _number_complaint(found)):
            return token.start(), complaint
    return None


def _number_complaint(found: str) -> str | None:
    if found.endswith(("NaN", "Infinity")):
        return f"{found} is not JSON"
    digits = found.lstrip("-")
    if digits.isdecimal():
        limit = sys.get_int_max_str_digits()
        return f"a whole number of {len(digits)} digits is too long" if 0 < limit < len(digits) else None
    return f"{found[:40]} is too large for a number" if math.isinf(float(found)) else None
