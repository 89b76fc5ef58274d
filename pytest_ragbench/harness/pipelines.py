"""Which `rag_pipeline` the items of a session see: one, or the session is refused before anything is searched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pytest

FIXTURE = "rag_pipeline"

MISSING_PIPELINE = """\
no pipeline to measure: define the fixture rag_pipeline in conftest.py, for example

    import pytest

    @pytest.fixture(scope="session")
    def rag_pipeline():
        return my_retriever  # anything with .search(question, **overrides), or a callable"""


def refusal_of(items: Iterable[pytest.Item]) -> str | None:
    """Why the items of a run's cells cannot be measured, or None.

    A cell is searched once, whichever of its tests comes first. Tests that see different pipelines would be handed each
    other's rows.
    """
    first: tuple[pytest.Item, object] | None = None
    seen: dict[int, tuple[str, ...]] = {}  # of a test function, not of each of its items
    for item in items:
        info: Any = item._fixtureinfo  # type: ignore[attr-defined]  # noqa: SLF001 - pytest has no public name for it
        if id(info) not in seen:
            seen[id(info)] = tuple(_behind(info.name2fixturedefs, FIXTURE))
        if not _is_defined(info.name2fixturedefs):
            return MISSING_PIPELINE
        indices = item.callspec.indices  # type: ignore[attr-defined]
        told = tuple((id(info.name2fixturedefs[name][-1]), indices.get(name)) for name in seen[id(info)])
        if first is None:
            first = item, told
        elif told != first[1]:
            return _several(first[0], item)
    return None


def _is_defined(definitions: Mapping[str, Sequence[Any]]) -> bool:
    """Whether there is a pipeline other than ours, which only explains itself."""
    found = definitions.get(FIXTURE, ())
    return bool(found) and not found[-1].func.__module__.startswith("pytest_ragbench.")


def _behind(definitions: Mapping[str, Sequence[Any]], name: str) -> Iterator[str]:
    """The fixture, and every one that it asks for."""
    waiting, known = [name], {name}
    while waiting:
        name = waiting.pop()
        if name in definitions:
            yield name
            asked = {other for definition in definitions[name] for other in definition.argnames} - known
            known |= asked
            waiting += sorted(asked)


def _several(one: pytest.Item, other: pytest.Item) -> str:
    return (
        f"one run measures one pipeline, but {one.nodeid} and {other.nodeid} see different ones: their fixture "
        f"{FIXTURE}, or one that it asks for, is defined or parametrized differently; run them apart, each with its "
        "path, or make the variants configurations of one pipeline"
    )
