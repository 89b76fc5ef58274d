"""What is asked of a pipeline besides searches: whether it knows its overrides, and what it says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ragbench.configurations.model import Configuration


def refuse_overrides(pipeline: Any, configurations: Iterable[Configuration]) -> None:
    """Let a pipeline that can check overrides do so, for every configuration, before anything is searched.

    Raises:
        UsageError: It refuses one; the text names the configuration.
    """
    check = getattr(pipeline, "check_overrides", None)
    if check is None:
        return
    for configuration in configurations:
        if not configuration.searches:
            continue
        try:
            check(**configuration.overrides)
        except Exception as error:
            raise UsageError(f"configuration {configuration.name}: {error}") from error


def describe(pipeline: Any) -> dict[str, Any] | None:
    """What the pipeline says of itself; None when it says nothing that strict JSON can hold."""
    method = getattr(pipeline, "describe", None)
    if not callable(method):
        return None
    try:
        said: dict[str, Any] = canonical.loads(canonical.dumps(dict(method())))
    except Exception:  # noqa: BLE001 - a description is optional, and a foreign one may fail in any way
        return None
    return said
