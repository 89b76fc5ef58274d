"""What configurations, experiments and factors may be called, and the marker a name goes by."""

from __future__ import annotations

import re

_NAME = re.compile(r"-?[A-Za-z0-9][A-Za-z0-9_.:+-]*")
_FACTOR = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# Words of a `-m` expression: a marker of this name could never be selected.
_OPERATORS = frozenset({"and", "or", "not"})


def marker_name(name: str) -> str:
    """The name as a marker and in node ids: `:` becomes `.`, a leading `-` becomes `no-`.

    pytest cuts a registered marker at a colon, and argparse takes `-m -rerank` for an option.
    """
    dotted = name.replace(":", ".")
    return f"no-{dotted[1:]}" if dotted.startswith("-") else dotted


def check_name(name: str) -> str | None:
    """A complaint about the name of a configuration or an experiment, or None."""
    if not _NAME.fullmatch(name):
        return "bad name: one `-` at most, a letter or a digit, then ASCII letters, digits, `_`, `.`, `:`, `+` and `-`"
    if name in _OPERATORS:
        return f"bad name: `{name}` is a word of `-m` expressions"
    return None


def check_factor_name(name: str) -> str | None:
    """A complaint about the name of a factor, or None; arms such as `F:sparse+dense` are made of these names."""
    if not _FACTOR.fullmatch(name):
        return "bad name: ASCII letters, digits, `_`, `.` and `-`, a letter or digit first (`+` and `:` join factors)"
    if name == "none":
        return "bad name: `F:none` is the arm without factors"
    return None
