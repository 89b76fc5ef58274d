"""One reader a file format, picked by suffix. A file that no reader can take is listed and stops nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from rag.errors import ReaderMissingError
from rag.loaders.canvas import read_canvas
from rag.loaders.code import read_python
from rag.loaders.collection import read_collection
from rag.loaders.markdown import read_markdown
from rag.loaders.notebook import read_notebook
from rag.loaders.pdf import read_pdf
from rag.records import Document, Finding

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


def read(file: str, data: bytes) -> list[Document]:
    """The documents of a file; none for formats that are not read.

    Raises:
        ReaderMissingError: Its format needs a package that is not installed.
    """
    reader = reader_for(file)
    try:
        return [] if reader is None else reader(file, data)
    except ImportError as error:
        raise ReaderMissingError(
            f"reading {file} needs a package that is not installed ({error}): pip install {error.name}"
        ) from None
    except Exception as error:  # noqa: BLE001 a hostile file may break any parser, and must not cost the others
        return [Document(file, findings=(Finding(file, "failed", f"{type(error).__name__}: {error}"),))]
