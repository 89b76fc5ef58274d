"""Wikilinks: where they stand in a text, and which file and which part of it each one means."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rag.records import Chunk

_LINK = re.compile(r"(?<!\\)\[\[([^\[\]\n]{1,500})\]\]")
_PAGE = re.compile(r"(?:^|&)page=(\d{1,9})(?:&|$)")
_MARKUP = re.compile(r"[\W_]+")
NOTES = (".md", ".markdown")
_ATTACHMENTS = frozenset({".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"}) | frozenset(
    {".3gp", ".flac", ".m4a", ".mkv", ".mov", ".mp3", ".mp4", ".ogg", ".ogv", ".wav", ".webm"}
)


class Target(NamedTuple):
    """What a link means.

    Attributes:
        file: The file, or None where there is none of that name.
        part: What follows the first `#`: headings, a block's mark or a page; empty for the whole file.
    """

    file: str | None
    part: str = ""


def links_in(text: str) -> list[str]:
    """What stands between the double brackets of each wikilink or embed, in order."""
    return _LINK.findall(text)


class Names:
    """Finds files by what links call them.

    Args:
        files: Every file of the vault that is read, below its root.
    """

    def __init__(self, files: Iterable[str]) -> None:
        self._by_name: dict[str, list[tuple[str, bool]]] = {}
        for file in sorted(files):
            name = PurePosixPath(file).name
            self._by_name.setdefault(_folded(name), []).append((file, False))
            for suffix in NOTES:
                if name.lower().endswith(suffix) and len(name) > len(suffix):
                    self._by_name.setdefault(_folded(name[: -len(suffix)]), []).append((file, True))

    def find(self, name: str, source: str) -> str | None:
        """The file that a link in `source` calls `name`, or None.

        A note needs no suffix; case and Unicode form do not count. `./` and `../` start at the source's folder. Any
        other name may be the end of a path. Of several files: the one in the source's own folder, else the one in
        fewest folders, else one spelled exactly so, else the first by path.
        """
        folder = posixpath.dirname(source)
        if name.startswith(("./", "../")):
            wanted, whole = posixpath.normpath(posixpath.join(folder, name)), True
        else:
            wanted, whole = name.strip("/"), name.startswith("/")
        fold = _folded(wanted)
        found = [
            (posixpath.dirname(file) != folder, file.count("/"), not self._exact(file, wanted), bare, file)
            for file, bare in self._by_name.get(fold.rpartition("/")[2], ())
            if _ends(_folded(_without_suffix(file) if bare else file), fold, whole=whole)
        ]
        return min(found)[-1] if found else None

    @staticmethod
    def _exact(file: str, wanted: str) -> bool:
        return file.endswith(wanted) or _without_suffix(file).endswith(wanted)

    def resolve(self, link: str, source: str) -> Target:
        r"""What a link in `source` means: `name#part|alias`, where `#part` and `|alias` may be absent.

        Names may hold `|` and `#`, and a table needs `\|` for `|`: the longest name that exists counts. A link
        without a name means its own file.
        """
        link = link.replace("\\|", "|").strip()
        for at in [len(link), *reversed(_places(link, "|"))]:
            written = link[:at]
            for cut in [len(written), *reversed(_places(written, "#"))]:
                name = written[:cut].strip()
                if name and (file := self.find(name, source)) is not None:
                    return Target(file, written[cut + 1 :].partition("|")[0])
        name, _, part = link.partition("|")[0].partition("#")
        return Target(None if name.strip() else source, part)


def names_of(chunk: Chunk, *, begins: bool) -> Iterator[str]:
    """What people call the place where a chunk stands.

    Its file, its title and the heading above it; of a canvas node its groups, and the first line where it `begins`.
    """
    name = PurePosixPath(chunk.file)
    yield name.stem
    if chunk.title and chunk.title != name.name:
        yield chunk.title
    if chunk.anchor:
        yield from chunk.heading[1:]
        if begins:
            yield chunk.text.split("\n")[0].lstrip("# ")
    elif chunk.heading and chunk.heading[-1] != name.name:
        yield chunk.heading[-1]


def is_attachment(link: str) -> bool:
    """Whether a link names an image, sound or film, which no reader takes: nothing is missing where it leads."""
    name = link.replace("\\|", "|").partition("|")[0].partition("#")[0]
    return PurePosixPath(name.strip().lower()).suffix in _ATTACHMENTS


def page_of(part: str) -> int | None:
    """The page that a link's part names, or None."""
    page = _PAGE.search(part)
    return None if page is None else int(page[1])


def part_of(chunks: Sequence[tuple[int, Chunk]], part: str) -> tuple[int, ...] | None:
    """Positions of a file's chunks that a link's part narrows it to; None where the file has no such part.

    A heading stands for its section with all that lies below it; `#A#B` is a B below an A; punctuation and case do not
    count, and of two equal headings the first is meant. `#^mark` is the block that ends with the mark, `#page=3` of a
    book that page.
    """
    if (number := page_of(part)) is not None and any(chunk.pages for _, chunk in chunks):
        found = [at for at, chunk in chunks if chunk.pages and chunk.pages[0] <= number <= chunk.pages[1]]
        return tuple(found) or None
    if part.startswith("^"):
        mark = re.compile(rf"(?:^|\s){re.escape(part.strip())}\s*$", re.MULTILINE)
        return tuple(at for at, chunk in chunks if mark.search(chunk.text)) or None
    wanted = [_plain(heading) for heading in part.split("#") if _plain(heading)]
    prefix = next((path for _, chunk in chunks if (path := _prefix(chunk.heading, wanted))), None)
    if prefix is None:
        return None
    return tuple(at for at, chunk in chunks if chunk.heading[: len(prefix)] == prefix)


def _prefix(heading: tuple[str, ...], wanted: list[str]) -> tuple[str, ...] | None:
    """The heading path up to where all that is wanted has been passed, in order."""
    left = iter(wanted)
    following = next(left, None)
    for depth, text in enumerate(heading, start=1):
        if following is not None and _plain(text) == following:
            following = next(left, None)
            if following is None:
                return heading[:depth]
    return None


def _places(text: str, character: str) -> list[int]:
    return [at for at, found in enumerate(text) if found == character]


def _ends(file: str, wanted: str, *, whole: bool) -> bool:
    return file == wanted or (not whole and file.endswith(f"/{wanted}"))


def _without_suffix(file: str) -> str:
    return next((file[: -len(suffix)] for suffix in NOTES if file.lower().endswith(suffix)), file)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _plain(text: str) -> str:
    return _MARKUP.sub(" ", _folded(text)).strip()
