"""Holds a process of a probe to one commit: what would be imported from the user's tree comes from the worktree.

Runs at the start of every Python of a probe, before anything of the commit: pytest, xdist's workers, and what the
pipeline starts. As a pytest plugin it says at the end of a session which modules came from where, so that the isolation
is shown and not believed. It imports nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import site
import sys
import sysconfig
from functools import lru_cache
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ENVIRONMENT = "RAGBENCH_BISECT_PROBE"
"""Names the file that describes the probe."""

MEASURING = "pytest_ragbench"
"""The package that measures: that of the running bisect, whatever the commit holds under this name."""


class Probe(NamedTuple):
    """Where a probe runs; real paths.

    Attributes:
        trees: The user's working trees of the repository, longest first.
        worktree: The folder of the commit under test.
        package: The folder of the measuring package.
        shared: Paths of the user's tree that the commit was given on purpose.
        copies: Files of distributions that were installed from the user's tree and are no links to it.
    """

    trees: tuple[str, ...]
    worktree: str
    package: str
    shared: tuple[str, ...]
    copies: frozenset[str]

    def counterpart(self, path: str) -> str | None:
        """Where a file of the user's tree lies in the worktree, there or not; None for any other file."""
        real = os.path.realpath(path)
        if any(
            within(real, folder) for folder in (self.worktree, self.package, *self.shared, *_environment(self.trees))
        ):
            return None
        tree = next((tree for tree in self.trees if within(real, tree)), None)
        return None if tree is None else os.path.join(self.worktree, os.path.relpath(real, tree))  # noqa: PTH118


class Redirected:
    """A finder of `sys.meta_path` whose finds in the user's tree are taken from the worktree, or are none."""

    def __init__(self, finder: Any, probe: Probe) -> None:
        self._finder = finder
        self._probe = probe

    def __getattr__(self, name: str) -> Any:
        """Whatever else the finder offers, such as `find_distributions`."""
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """As the finder finds it, redirected."""
        spec: ModuleSpec | None = self._finder.find_spec(name, path, target)
        return None if spec is None else _redirected(spec, self._probe)


_isolated: Probe | None = None


def isolate() -> None:
    """Map the path of this process to the worktree, redirect its finders, and load the measuring package."""
    global _isolated  # noqa: PLW0603 - a process is isolated once
    file = os.environ.get(ENVIRONMENT)
    if _isolated is not None or not file:
        return
    told = json.loads(Path(file).read_text(encoding="utf-8"))
    probe = Probe(
        trees=tuple(told["trees"]),
        worktree=told["worktree"],
        package=told["package"],
        shared=tuple(told["shared"]),
        copies=frozenset(told["copies"]),
    )
    homes = ((entry, probe.counterpart(entry)) for entry in sys.path)
    # A folder that no commit has, as a tree of links, stays: what is found there is redirected by where it leads.
    sys.path[:] = dict.fromkeys(home if home and os.path.exists(home) else entry for entry, home in homes)  # noqa: PTH110
    plain = (BuiltinImporter, FrozenImporter)
    sys.meta_path[:] = [finder if finder in plain else Redirected(finder, probe) for finder in sys.meta_path]
    _load(MEASURING, os.path.join(probe.package, "__init__.py"))  # noqa: PTH118
    _isolated = probe


def run_shadowed(name: str) -> None:
    """Run the module that one of this folder stands before on the path, if there is one."""
    here = os.path.realpath(os.path.dirname(__file__))  # noqa: PTH120
    spec = PathFinder.find_spec(name, [entry for entry in sys.path if os.path.realpath(entry) != here])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


def pytest_sessionfinish(session: Any) -> None:
    """Say, beside the probe's description, which modules came from the worktree, and which from where they must not."""
    file = os.environ.get(ENVIRONMENT)
    if not file:
        return
    plugins = session.config.pluginmanager.get_plugins()
    modules = {**{getattr(plugin, "__name__", ""): plugin for plugin in plugins}, **sys.modules}
    report: dict[str, Any] = {"isolated": _isolated is not None, "own": [], "strays": []}
    if _isolated is not None:
        report["own"], report["strays"] = told_of(_files(modules), _isolated)
    Path(file).with_name(f"{os.getpid()}.json").write_text(json.dumps(report), encoding="utf-8")


def told_of(files: Iterable[tuple[str, str]], probe: Probe) -> tuple[list[str], list[list[str]]]:
    """Modules of the worktree by name, and those that did not come from where they must, with their file."""
    own: list[str] = []
    strays: list[list[str]] = []
    for name, file in files:
        real = os.path.realpath(file)
        if name.partition(".")[0] == MEASURING:
            if not within(real, probe.package):
                strays.append([name, file])
        elif within(real, probe.worktree):
            own.append(name)
        elif probe.counterpart(file) is not None or real in probe.copies:
            strays.append([name, file])
    return sorted(own), sorted(strays)


def _files(modules: dict[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, module in list(modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")  # a lazy module must not load for being asked
        if isinstance(file, str):
            found.append((name, file))
    return found


def _redirected(spec: ModuleSpec, probe: Probe) -> ModuleSpec | None:
    locations = spec.submodule_search_locations
    if spec.origin is not None and spec.has_location:
        home = probe.counterpart(spec.origin)
        if home is None:
            return spec
        if not os.path.isfile(home):  # noqa: PTH113
            return None
        inside = None if locations is None else [os.path.dirname(home)]  # noqa: PTH120
        return spec_from_file_location(spec.name, home, submodule_search_locations=inside)
    if locations is not None:  # a namespace package: folders without a file
        moved = [probe.counterpart(folder) or folder for folder in locations]
        if moved != list(locations):
            spec.submodule_search_locations = [folder for folder in moved if os.path.isdir(folder)]  # noqa: PTH112
            return spec if spec.submodule_search_locations else None
    return spec


def _load(name: str, file: str) -> None:
    spec = spec_from_file_location(name, file, submodule_search_locations=[os.path.dirname(file)])  # noqa: PTH120
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded", name=name, path=file)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)


@lru_cache(maxsize=8)
def _environment(trees: tuple[str, ...]) -> tuple[str, ...]:
    """Folders of the Python that runs: they may lie in the user's tree, as a `.venv` does, and are none of it."""
    paths = sysconfig.get_paths()
    found = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [*site.getsitepackages(), site.getusersitepackages()]
    # A whole environment below a tree is no part of it; one that holds the tree says nothing.
    found += [prefix for prefix in (sys.prefix, sys.base_prefix) if not any(within(tree, prefix) for tree in trees)]
    return tuple(map(os.path.realpath, found))


def within(path: str, folder: str) -> bool:
    """Whether a real path is a folder or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
