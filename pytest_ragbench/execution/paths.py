"""File names of foreign retrievers, made relative to the corpus: loaders report absolute paths, gold sources do not."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ragbench.contract import Chunk
from pytest_ragbench.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable

REMEMBERED = 65_536
"""File names of which it is kept what they are below a folder."""


def below(chunk: Chunk, root: str) -> Chunk:
    """The chunk with its file relative to the corpus folder `root`, when it lies below it; else unchanged."""
    file = _below(root)[chunk.file]
    if file == chunk.file:
        return chunk
    return Chunk(file, chunk.pages, chunk.heading, chunk.id, chunk.score, chunk.text)


def all_relative(chunks: Iterable[Chunk], root: str) -> bool:
    """Whether `below` would change none of the chunks."""
    files = [chunk.file for chunk in chunks]
    return files == list(map(_below(root).__getitem__, files))


def _relative(file: str, root: str) -> str:
    """`/home/me/notes/a.md` and, seen from `/home/me`, `notes/a.md` are `a.md` below `/home/me/notes`.

    A relative name that exists below the corpus as it stands is one already; what no system takes for a path stays.
    """
    given, folder = Path(file), Path(root)
    try:
        if not given.is_absolute() and ((folder / given).exists() or not given.exists()):
            return file
        # As written first: a link inside the corpus may lead out of it.
        for path, base in ((given.absolute(), folder.absolute()), (given.resolve(), folder.resolve())):
            if path.is_relative_to(base) and ".." not in path.relative_to(base).parts:
                return path.relative_to(base).as_posix()
    except (OSError, ValueError):
        return file
    return file


@lru_cache(maxsize=16)
def _below(root: str) -> Remembered:
    """File to what it is below a folder: the disk is looked at, and every row names some."""
    return Remembered(lambda file: _relative(file, root), most=REMEMBERED)


def forget() -> None:
    """Look at the disk anew: what a relative name means depends on the working directory too."""
    _below.cache_clear()
