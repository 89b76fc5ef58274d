"""Spares this package's modules pytest's rewriting of asserts: none has one, and its loader takes half again as long.

pytest marks every module of an installed plugin for it. A session that measures loads a hundred of them.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    import pytest

PACKAGE = __name__.partition(".")[0]


class _OwnModules:
    """A finder of `sys.meta_path` that finds what lies in this package, as Python does."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of that name, or None where another finder is to look for it."""
        return PathFinder.find_spec(name, path, target) if name.startswith(f"{PACKAGE}.") else None


def load_plainly(config: pytest.Config) -> None:
    """Find modules of this package ahead of pytest's loader, and behind whatever stands ahead of that, to the end."""
    finders: list[Any] = sys.meta_path
    hook = config.pluginmanager.rewrite_hook
    asked = any(isinstance(finder, _OwnModules) for finder in finders)
    if hook in finders and not asked:  # there is no hook under --assert=plain
        finder = _OwnModules()
        finders.insert(finders.index(hook), finder)
        config.add_cleanup(lambda: _take_away(finder))


def _take_away(finder: _OwnModules) -> None:
    finders: list[Any] = sys.meta_path
    if finder in finders:
        finders.remove(finder)
