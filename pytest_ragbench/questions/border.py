"""From pydantic's errors to problems that name file, line, record, field, what was found and what to do.

Shared by every schema whose files people write; it knows YAML positions and no schema in particular.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from pytest_ragbench.errors import Problem
from pytest_ragbench.questions.scalars import kind_of
from pytest_ragbench.questions.strict_yaml import Flaw, Path, YamlList, YamlMapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN = 60


STRICT = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)
"""Of every schema of a file: no coercion, no unknown keys. Only the outermost one is built, when it first checks."""


def refusal(code: str, text: str) -> PydanticCustomError:
    """What a validator raises, with its message as it is shown; `_` in the code becomes `-`."""
    return PydanticCustomError(code, "{text}", {"text": text})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: the file as shown, the record's label, and its line where values carry none."""

    file: str
    record: str | None
    line: int | None

    def problem(self, line: int | None, path: Path, message: str, code: str) -> Problem:
        """A problem at a path within this record."""
        return Problem(self.file, line or self.line, self.record, write_path(path) or None, message, code)


def shown(value: Any) -> str:
    """A value as a message quotes it, cut where it is long."""
    if isinstance(value, dict | list | tuple):
        return kind_of(value)
    return cut(repr(value) if isinstance(value, str) else str(value))


def cut(text: str) -> str:
    """A text short enough for a message."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def write_path(path: Path) -> str:
    """`gold[0].pages` for `("gold", 0, "pages")`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if part.isprintable() else ascii(part)
            text += f".{name}" if text else name
    return text


def line_of(value: Any, path: Path) -> int | None:
    """Line of the deepest part of `path` that stands in the file, or None where values carry no lines."""
    line: int | None = getattr(value, "line", None)
    for part in path:
        if not isinstance(value, YamlMapping | YamlList):
            break
        line = value.lines.get(part, line)
        try:
            value = value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            break
    return line


def suggest(found: str, known: Sequence[str]) -> str:
    """`did you mean ...?` with the nearest name, else the list of known names."""
    near = difflib.get_close_matches(found.lower(), known, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else "known are " + ", ".join(f"`{name}`" for name in known)


def flaw_problems(flaws: Sequence[Flaw], place: Place, depth: int = 0) -> list[Problem]:
    """Flaws of the YAML as problems of one record; `depth` parts of their path lead to the record."""
    return [place.problem(flaw.line, flaw.path[depth:], flaw.message, flaw.code) for flaw in flaws]


def schema_problems(
    error: ValidationError, record: Any, model: type[BaseModel], place: Place, flawed: Sequence[Path] = ()
) -> list[Problem]:
    """Every finding of a schema, in the order of the file; paths in `flawed` were reported already."""
    problems = []
    for detail in error.errors(include_url=False, include_context=True):
        path = _real_path(detail["loc"], record)
        if any(path[: len(known)] == known for known in flawed if known):
            continue
        message, code = _explain(dict(detail), path, record, model)
        problems.append(place.problem(line_of(record, path), path, message, code))
    return sorted(problems, key=lambda problem: problem.line or 0)


def _real_path(loc: tuple[int | str, ...], record: Any) -> Path:
    """The location in the file.

    Without the `[key]` that pydantic adds for a key itself, as a file may have a key of that name; and without the
    position in a list where a schema took one record for a list of one.
    """
    if loc[-1:] == ("[key]",) and not _stands_in(record, loc):
        loc = loc[:-1]
    real: list[int | str] = []
    value = record
    for part in loc:
        if isinstance(part, int) and isinstance(value, dict):
            continue
        real.append(part)
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            value = None
    return tuple(real)


def _stands_in(value: Any, path: Path) -> bool:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


_WANTED = {
    "bool_type": "must be true or false, without quotes",
    "float_type": "must be a number, without quotes",
    "int_type": "must be a whole number, without quotes",
    "int_from_float": "must be a whole number, without a point",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
}


def _explain(detail: Mapping[str, Any], path: Path, record: Any, model: type[BaseModel]) -> tuple[str, str]:
    """Message and code of one of pydantic's findings."""
    kind, found = detail["type"], detail["input"]
    message, code = str(detail["msg"]), kind.replace("_", "-")
    if kind in _WANTED:
        message, code = f"{_WANTED[kind]}, found {_found(found, path, record)}", "wrong-type"
    elif kind == "string_type":
        message, code = _no_text(found, path, record)
    elif kind == "extra_forbidden":
        message, code = f"unknown field; {suggest(str(path[-1]), _known_fields(model, path[:-1]))}", "unknown-field"
    elif kind == "missing":
        message, code = "this field is required and missing", "missing-field"
    elif kind == "literal_error":
        message, code = _no_choice(detail, path, record), "bad-value"
    elif kind == "greater_than_equal":
        message, code = f"must be {detail['ctx']['ge']} or more, found {shown(found)}", "bad-value"
    elif kind == "too_short":
        message, code = "must not be empty", "bad-value"
    return message, code


def _no_choice(detail: Mapping[str, Any], path: Path, record: Any) -> str:
    known = [value.strip("'") for value in detail["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    found = detail["input"]
    near = difflib.get_close_matches(found.lower(), known, n=1) if isinstance(found, str) else []
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"must be one of {', '.join(known)}, found {_found(found, path, record)}{hint}"


def _found(value: Any, path: Path, record: Any) -> str:
    if isinstance(value, str):
        return f"the text {shown(value)}"
    if isinstance(value, dict | list | tuple):
        return kind_of(value)
    raw = raw_text(record, path)
    raw = raw if raw or value is None else str(value)
    return f"{kind_of(value)}, `{cut(raw)}`" if raw else kind_of(value)


def raw_text(record: Any, path: Path) -> str | None:
    """What stands in the file for an unquoted scalar that is no text."""
    value = record
    for depth, part in enumerate(path):
        if isinstance(value, YamlMapping | YamlList) and depth == len(path) - 1:
            return value.raw.get(part)
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return None


def _no_text(found: Any, path: Path, record: Any) -> tuple[str, str]:
    raw = raw_text(record, path)
    if raw:
        return f'unquoted `{cut(raw)}` is read as {kind_of(found)}; quote it: "{cut(raw)}"', "quote-text"
    if found is None:
        return "must be text, but nothing stands here", "quote-text"
    return f"must be text, found {_found(found, path, record)}", "wrong-type"


def _known_fields(model: type[BaseModel], path: Path) -> list[str]:
    """Fields of the model that a path leads to."""
    for part in path:
        if isinstance(part, int):
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        inner = _inner_model(annotation)
        if inner is not None:
            model = inner
    return list(model.model_fields)


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _inner_model(arg)) is not None), None)
