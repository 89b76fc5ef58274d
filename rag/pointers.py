"""`python -m rag.pointers`: writes down what generated documents cite, for `generated_mode: route`.

A note cites what its front matter lists as `generated_from` and what it links to, a canvas the files that it shows and
what its texts link to. Who cites a generated document cites what that one cites.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import RagError
from rag.generated import COMMAND, SCHEMA_VERSION, Sidecar, Target, fingerprint, generated_files
from rag.graph.links import Names, is_attachment, links_in, page_of, part_of
from rag.indexing import Indexer
from rag.loaders.canvas import link_of, open_board, text_of
from rag.loaders.markdown import front_matter, prose
from rag.options import load_settings
from rag.progress import Progress
from rag.scanning import scan
from rag.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rag.records import Chunk

PACKAGE = Path(__file__).resolve().parent


def collect(folder: Path, files: Iterable[str], chunks: Sequence[Chunk]) -> tuple[Sidecar, list[str]]:
    """What the generated documents cite, and complaints about citations that lead nowhere.

    Args:
        folder: The corpus.
        files: Every file of it that is read.
        chunks: What was read.

    Raises:
        RagError: A generated document is not as it was indexed.
    """
    reader = _Citations(files, chunks)
    try:
        cited = {file: reader.of(file, (folder / file).read_bytes()) for file in generated_files(chunks)}
    except (OSError, ValueError) as error:
        raise RagError(f"a generated document changed while it was read ({error}); start again") from None
    pointers = {file: _primary(file, cited) for file in cited}
    sidecar = Sidecar(schema_version=SCHEMA_VERSION, fingerprint=fingerprint(folder, chunks), pointers=pointers)
    return sidecar, reader.complaints


class _Citations:
    """Finds what links mean.

    Args:
        files: Every file of the corpus.
        chunks: What was read.
    """

    def __init__(self, files: Iterable[str], chunks: Sequence[Chunk]) -> None:
        self._names = Names(files)
        self._in_file: dict[str, list[tuple[int, Chunk]]] = {}
        for position, chunk in enumerate(chunks):
            self._in_file.setdefault(chunk.file, []).append((position, chunk))
        self.complaints: list[str] = []

    def of(self, file: str, data: bytes) -> list[Target]:
        """What a document cites, each once, in its order."""
        found = _on_board(data) if file.lower().endswith(".canvas") else _in_note(data)
        links = dict.fromkeys(link.strip() for link in found if link.strip() and not is_attachment(link))
        return list(dict.fromkeys(self._target(link, file) for link in links))

    def _target(self, link: str, source: str) -> Target:
        target = self._names.resolve(link, source)
        if target.file is None:
            self.complaints.append(f"{source} cites {link!r}, of which there is no file")
            return Target(file=link.partition("|")[0].partition("#")[0].strip() or link)
        if not target.part:
            return Target(file=target.file)
        chunks = self._in_file.get(target.file, [])
        positions, page = part_of(chunks, target.part), page_of(target.part)
        if positions is None:
            self.complaints.append(f"{source} cites {link!r}, and {target.file} has no such part")
        if page and any(chunk.pages for _, chunk in chunks):
            return Target(file=target.file, pages=(page, page))
        headings = [chunk.heading for position, chunk in chunks if position in (positions or ())]
        return Target(file=target.file, heading=_common(headings))


def _common(headings: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The path that all of them begin with: of a section's chunks the section's own."""
    common = headings[0] if headings else ()
    for heading in headings:
        while heading[: len(common)] != common:
            common = common[:-1]
    return common


def _in_note(data: bytes) -> Iterator[str]:
    listed = front_matter(data).get("generated_from")
    for entry in listed if isinstance(listed, list) else [listed]:
        if isinstance(entry, str):
            yield from links_in(entry) or [entry]
    yield from links_in(prose(data))


def _on_board(data: bytes) -> Iterator[str]:
    for node in open_board(data).nodes:
        if node.get("type") == "file":
            yield link_of(node)
        yield from links_in(prose(text_of(node).encode()))


def _primary(file: str, cited: Mapping[str, Sequence[Target]]) -> tuple[Target, ...]:
    """What a document cites, each once; in place of a generated one, what that one cites."""
    found: dict[Target, None] = {}
    opened, left = {file}, [iter(cited[file])]
    while left:
        target = next(left[-1], None)
        if target is None:
            left.pop()
        elif target.file not in cited:
            found[target] = None
        elif target.file not in opened:  # two may cite each other, and many ways may lead to one
            opened.add(target.file)
            left.append(iter(cited[target.file]))
    return tuple(found)


def render(sidecar: Sidecar) -> str:
    """The sidecar as its file holds it."""
    body = sidecar.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file so that whoever reads it sees the old or the new one, and no half.

    Raises:
        RagError: It cannot be written.
    """
    try:
        _write(path, text)
    except OSError as error:
        raise RagError(f"{path} cannot be written: {error.strerror or error}") from None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)  # noqa: PTH101 a temporary file is its owner's alone
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 when the sidecar is written or up to date, 1 when it is not."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write down what generated documents cite.")
    parser.add_argument("--config", type=Path, default=PACKAGE / "config.yaml", help="the settings (%(default)s)")
    parser.add_argument(
        "--root", type=Path, default=PACKAGE.parent, help="folder to which their paths refer (%(default)s)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file is out of date")
    options = parser.parse_args(arguments)
    try:
        return _run(options.config, options.root, check=options.check)
    except RagError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 1


def _run(config: Path, root: Path, *, check: bool) -> int:
    settings = load_settings(config)
    folder, progress = root / settings.corpus, Progress()
    store = Store(root / settings.state / "index", refuse=settings.stale == "refuse", progress=progress)
    chunks = Indexer(settings, root, store, progress).chunks().chunks
    if not generated_files(chunks):
        print("no document is generated: no pointers are needed")
        return 0
    if settings.pointers is None:
        raise RagError(f"{config} names no file for them: set `pointers`")
    path = root / settings.pointers
    sidecar, complaints = collect(folder, scan(folder)[0], chunks)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    text = render(sidecar)
    if not check:
        write(path, text)
    elif not path.is_file() or path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n") != text:
        print(f"{path} is out of date: run `{COMMAND}`", file=sys.stderr)
        return 1
    places = len({target for targets in sidecar.pointers.values() for target in targets})
    print(f"{path}: {len(sidecar.pointers)} generated documents cite {places} places")
    return 0


if __name__ == "__main__":
    sys.exit(main())
