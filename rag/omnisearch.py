"""A live scan: which files hold the question's words as they are on disk now, whatever the index remembers of them."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from rag.loaders import read, reader_for
from rag.records import Scored
from rag.scanning import scan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from rag.cache import Meter
    from rag.records import Chunk, Document, Ranking
    from rag.stages import Request
    from rag.text import Tokenizer


class Omnisearch:
    """Finds files by their words, and the chunks of the index that belong to them.

    It reads every text file again at every search and keeps nothing: a file that was changed is found by its new words,
    one that was deleted is not found. What it returns are chunks all the same: a file that is new, and a passage that
    came since the index was built, have none.

    Args:
        folder: The corpus as it is now.
        chunks: All chunks of the index.
        tokenize: Makes terms of questions, files and chunks.
    """

    def __init__(self, folder: Path, chunks: Sequence[Chunk], tokenize: Tokenizer) -> None:
        self._folder = folder
        self._tokenize = tokenize
        self._chunks = chunks
        self._positions: dict[str, list[int]] = {}
        for position, chunk in enumerate(chunks):
            self._positions.setdefault(chunk.file, []).append(position)

    def search(self, request: Request, meter: Meter) -> Ranking:
        """The best chunk of each file, the best file first; then the second of each, and so on.

        A file is the better the more of the question's terms it holds, then the more often it holds them; so is a chunk
        within its file, whose score is the number of terms that it holds. Chunks without a term are left out.
        """
        with meter.timed("omnisearch"):
            terms = frozenset(self._tokenize(request.text))
            within = None if request.scope is None else frozenset(request.scope.positions.tolist())
            files = (self._holding(file, terms, within) for file in self._files(terms))
            held = list(itertools.islice(filter(None, files), request.pool))
            rounds = itertools.chain.from_iterable(itertools.zip_longest(*held))
            return tuple(itertools.islice((scored for scored in rounds if scored is not None), request.pool))

    def _files(self, terms: Collection[str]) -> list[str]:
        """Documents that hold a term and have chunks, best first; ties by name."""
        if not terms:
            return []
        counts: dict[str, Counter[str]] = {}
        for document in self._documents():
            if document.file in self._positions:
                counts.setdefault(document.file, Counter()).update(self._counted(_text(document), terms))
        return sorted((file for file, held in counts.items() if held), key=lambda file: (*_rank(counts[file]), file))

    def _documents(self) -> Iterator[Document]:
        files, _ = scan(self._folder, _is_text)
        for name, (path, _) in files.items():
            with suppress(OSError):  # gone since the scan began
                yield from read(name, path.read_bytes())

    def _holding(self, file: str, terms: Collection[str], within: Collection[int] | None) -> list[Scored]:
        """The file's chunks that hold a term, best first; ties by position."""
        counts = {
            position: self._counted(self._chunks[position].indexed_text, terms)
            for position in self._positions[file]
            if within is None or position in within
        }
        best = sorted((position for position, held in counts.items() if held), key=lambda at: (*_rank(counts[at]), at))
        return [Scored(position, float(len(counts[position]))) for position in best]

    def _counted(self, text: str, terms: Collection[str]) -> Counter[str]:
        return Counter(token for token in self._tokenize(text) if token in terms)


def _rank(held: Counter[str]) -> tuple[int, int]:
    return -len(held), -held.total()


def _is_text(name: str) -> bool:
    """Whether a file is read in a moment; a book of a thousand pages is not."""
    return reader_for(name) is not None and not name.lower().endswith(".pdf")


def _text(document: Document) -> str:
    parts = [document.title]
    for passage in document.passages:
        parts += [*passage.heading, *passage.blocks]
    return "\n".join(parts)
