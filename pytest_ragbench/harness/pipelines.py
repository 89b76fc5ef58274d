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
    first: tuple[pytest.Item, dict[str, Any]] | None = None
    seen: dict[int, dict[str, object]] = {}  # of a test function, not of each of its items
    for item in items:
        info: Any = item._fixtureinfo  # type: ignore[attr-defined]  # noqa: SLF001 - pytest has no public name for it
        if not _is_defined(info.name2fixturedefs):
            return MISSING_PIPELINE
        if id(info) not in seen:
            seen[id(info)] = dict(_behind(info.name2fixturedefs, FIXTURE))
        given: Mapping[str, Any] = item.callspec.params  # type: ignore[attr-defined]
        told = {name: (source, given.get(name)) for name, source in seen[id(info)].items()}
        if first is None:
            first = item, told
        elif not _alike(told, first[1]):
            return _several(first[0], item)
    return None


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    try:
        return bool(one == other)  # what is the same object is not asked whether it is equal
    except Exception:  # noqa: BLE001 - values of parameters compare as they like, as arrays do
        return False


def _is_defined(definitions: Mapping[str, Sequence[Any]]) -> bool:
    """Whether there is a pipeline other than ours, which only explains itself."""
    found = definitions.get(FIXTURE, ())
    return bool(found) and not found[-1].func.__module__.startswith("pytest_ragbench.")


def _behind(definitions: Mapping[str, Sequence[Any]], name: str) -> Iterator[tuple[str, object]]:
    """The fixture, and every one that it asks for, each with the functions that make it.

    A function that several modules import is one; a method may read its own object, and so is none but itself. Of a
    fixture that overrides another, the other counts where it asks for it.
    """
    waiting, known = [name], {name}
    while waiting:
        name = waiting.pop()
        made = []
        for definition in reversed(definitions.get(name, ())):
            made.append(definition if hasattr(definition.func, "__self__") else definition.func)
            asked = set(definition.argnames)
            waiting += sorted(asked - known)
            known |= asked
            if name not in asked:
                break
        yield name, tuple(made)


def _several(one: pytest.Item, other: pytest.Item) -> str:
    return (
        f"one run measures one pipeline, but {one.nodeid} and {other.nodeid} see different ones: their fixture "
        f"{FIXTURE}, or one that it asks for, is defined or parametrized differently; run them apart, each by its "
        "path or by -k, or make the variants configurations of one pipeline"
    )
