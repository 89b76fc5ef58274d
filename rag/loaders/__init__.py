"""One reader a file format. `reader_for` picks it by suffix; a reader takes a name and bytes, and never raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from rag.loaders.canvas import read_canvas
from rag.loaders.code import read_python
from rag.loaders.collection import read_collection
from rag.loaders.markdown import read_markdown
from rag.loaders.notebook import read_notebook
from rag.loaders.pdf import read_pdf
from rag.records import Document

Reader = Callable[[str, bytes], list[Document]]
"""Takes the path below the corpus root and the content; a file that cannot be read gives a document with findings."""

_READERS: dict[str, Reader] = {
    ".canvas": read_canvas,
    ".ipynb": read_notebook,
    ".markdown": read_markdown,
    ".md": read_markdown,
    ".pdf": read_pdf,
    ".py": read_python,
}


def reader_for(file: str) -> Reader | None:
    """The reader of a file, or None for formats that are not read."""
    path = PurePosixPath(file)
    if path.name == "corpus.jsonl":
        return read_collection
    return _READERS.get(path.suffix.lower())
