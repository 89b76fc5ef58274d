"""One mapping of one YAML file against its schema: all problems of reading it, or the record and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_ragbench.errors import InputError, Problem
from pytest_ragbench.questions.border import Place, flaw_problems, schema_problems
from pytest_ragbench.questions.scalars import kind_of
from pytest_ragbench.questions.strict_yaml import Document, YamlMapping, decode, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

Model = TypeVar("Model", bound=BaseModel)


def read_mapping(
    data: bytes, shown: str, model: type[Model], what: str, keys: Sequence[str]
) -> tuple[YamlMapping, Model]:
    """Read a file that is one mapping; an empty one is an empty mapping.

    Args:
        data: The file.
        shown: What messages write for its path.
        model: Its schema.
        what: What it holds, as `configurations`, for the message about a file that is no mapping.
        keys: Some of its keys, for the same.

    Raises:
        InputError: With all problems.
    """
    place = Place(shown, None, None)
    text, flaw = decode(data)
    document = parse(text) if flaw is None else Document(flaws=[flaw])
    problems = flaw_problems(document.flaws, place)
    if any(known.code in ("not-utf8", "yaml-syntax", "too-deep") for known in document.flaws):
        raise InputError(problems)
    root = YamlMapping(1) if document.root is None else document.root
    if not isinstance(root, YamlMapping):
        named = " and ".join(f"`{key}`" for key in keys)
        message = f"{what} are a mapping with keys as {named}, but this is {kind_of(root)}"
        raise InputError([*problems, Problem(shown, 1, None, None, message, "no-mapping")])
    try:
        record = model.model_validate(root)
    except ValidationError as error:
        problems += schema_problems(error, root, model, place, [known.path for known in document.flaws])
        raise InputError(problems) from None
    if problems:
        raise InputError(problems)
    return root, record
