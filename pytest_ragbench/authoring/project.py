"""Where a project keeps its sets, configurations and corpus: pytest's ini file, read without pytest."""

from __future__ import annotations

import configparser
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ragbench.errors import UsageError
from pytest_ragbench.questions.loading import shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping

# File name to the sections in which pytest looks for its settings, in pytest's order of precedence.
_INI_FILES = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool", "pytest"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
DEFAULTS = {
    "rag_sets": "golden/sets",
    "rag_configs_file": "golden/configs.yaml",
    "rag_runs_dir": ".ragbench/runs",
    "rag_baselines": "baselines",
}


@dataclass(frozen=True, slots=True)
class Project:
    """A project's root and its `rag_*` ini keys.

    Attributes:
        root: The folder of the ini file, or the working directory where there is none.
        values: Ini keys as written.
    """

    root: Path
    values: Mapping[str, str] = field(default_factory=dict)

    def path(self, name: str) -> Path | None:
        """The path that an ini key names, relative to the root, or its default, or None."""
        text = self.values.get(name) or DEFAULTS.get(name)
        if text is None:
            return None
        try:
            # Ini files are UTF-8; the locale may spell names on disk otherwise.
            return self.root / Path(os.fsdecode(text.encode())).expanduser()
        except RuntimeError:  # `~nobody` has no home
            raise UsageError(f"{name} = {text}: there is no such home folder; write the path out") from None

    def is_set(self, name: str) -> bool:
        """Whether the ini file names a path for a key; a default may be missing, a named one may not."""
        return bool(self.values.get(name))

    def shown(self, path: Path) -> str:
        """A path as messages write it: below the root without the root, so that they read as in a pytest session."""
        absolute = path.absolute()
        return shown_path(absolute.relative_to(self.root) if absolute.is_relative_to(self.root) else path)


def find_project(start: Path) -> Project:
    """The project that a folder belongs to: the nearest ini file with a pytest section, upwards.

    Without one the nearest `pyproject.toml` marks the root, as for pytest, else the folder is the project.

    Raises:
        UsageError: An ini file on the way is damaged.
    """
    start = start.absolute()
    marked: Path | None = None
    for folder in (start, *start.parents):
        for name, section in _INI_FILES.items():
            file = folder / name
            if not file.is_file():
                continue
            if (values := _read(file, section)) is not None:
                return Project(folder, values)
            if name == "pyproject.toml" and marked is None:
                marked = folder
    return Project(marked or start)


def own_ini_file(folder: Path) -> tuple[Path, Mapping[str, str]] | None:
    """The ini file of a folder, as pytest would choose it, and its `rag_*` keys.

    Raises:
        UsageError: It is damaged.
    """
    present = [folder / name for name in _INI_FILES if (folder / name).is_file()]
    read = {file: _read(file, _INI_FILES[file.name]) for file in present}
    chosen = next((file for file in present if read[file] is not None), present[0] if present else None)
    return None if chosen is None else (chosen, read[chosen] or {})


def _read(file: Path, section: tuple[str, ...]) -> dict[str, str] | None:
    """The `rag_*` keys of an ini file, or None where it holds no pytest section."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        found = _toml_section(text, section) if file.suffix == ".toml" else _ini_section(text, section[0])
    except (OSError, ValueError, configparser.Error) as error:
        raise UsageError(f"{shown_path(file)}: cannot be read: {str(error).splitlines()[0]}") from None
    if found is None:
        return {} if file.name in ("pytest.ini", ".pytest.ini") else None
    return {name: str(value) for name, value in found.items() if name.startswith("rag_")}


def _toml_section(text: str, section: tuple[str, ...]) -> dict[str, Any] | None:
    table: Any = tomllib.loads(text)
    for name in section:
        table = table.get(name) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        return None
    options = table.get("ini_options", {})
    return {**table, **options} if isinstance(options, dict) else table


def _ini_section(text: str, section: str) -> dict[str, Any] | None:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return dict(parser[section]) if parser.has_section(section) else None
