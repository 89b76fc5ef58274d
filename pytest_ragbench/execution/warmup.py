"""Discarded searches before anything is timed: one for each distinct value of the keys that a project declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.execution.cell import error_text, is_failure, search

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ragbench.configurations.model import Configuration
    from pytest_ragbench.questions.model import Question


def warm_up(
    pipeline: Any, question: Question, configurations: Iterable[Configuration], keys: Sequence[str]
) -> tuple[str, ...]:
    """Search once, discarding the result, for each distinct value of each warm-up key; without keys, not at all.

    A search that brings a new value for several keys serves them all. What it raises is kept as text: the measured
    search of that configuration will raise it again and give the error row.

    Returns:
        What was warmed, in order: `rerank=cross-encoder`, or `rerank=cross-encoder (failed: OSError: ...)`.
    """
    seen: set[tuple[str, str]] = set()
    warmed: list[str] = []
    for configuration in configurations:
        values = {(key, _shown(configuration, key)) for key in keys}
        if not configuration.searches or values <= seen:
            continue
        new = ", ".join(f"{key}={value}" for key, value in sorted(values - seen))
        seen |= values
        try:
            search(pipeline, question.text, configuration)
        except BaseException as error:  # a warm-up decides nothing; the measured search will report it
            if not is_failure(error):
                raise
            new += f" (failed: {error_text(error)})"
        warmed.append(new)
    return tuple(warmed)


def _shown(configuration: Configuration, key: str) -> str:
    """The value as canonical text; a key that is not set is a value of its own, the pipeline's default."""
    if key not in configuration.overrides:
        return "(default)"
    value = configuration.overrides[key]
    return value if isinstance(value, str) else canonical.dumps(value)
