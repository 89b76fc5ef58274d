"""Jupyter notebooks of formats 3 and 4: the source of their cells. Outputs and attachments are left out."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

from rag.records import Document, Finding, Passage
from rag.text import clean


def read_notebook(file: str, data: bytes) -> list[Document]:
    """One document with one passage, a block a cell; its heading path is the file's own name."""
    name = PurePosixPath(file).name
    if not data.strip():
        return [Document(file, name, findings=(Finding(file, "empty", "an empty file"),))]
    try:
        cells = _cells(json.loads(data.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        return [Document(file, name, findings=(Finding(file, "failed", f"no notebook: {error}"),))]
    blocks = tuple(block for block in (clean(_source(cell)).strip("\n").rstrip() for cell in cells) if block.strip())
    if not blocks:
        return [Document(file, name, findings=(Finding(file, "empty", "no cell holds text"),))]
    return [Document(file, name, (Passage(blocks, (name,)),))]


def _cells(notebook: Any) -> list[dict[str, Any]]:
    """Cells of format 4, or of format 3's worksheets.

    Raises:
        ValueError: It has neither.
    """
    if not isinstance(notebook, dict):
        raise ValueError(f"expected an object, found {type(notebook).__name__}")  # noqa: TRY004 the file is wrong
    if isinstance(notebook.get("cells"), list):
        cells = notebook["cells"]
    elif isinstance(notebook.get("worksheets"), list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet.get("cells"), list) for cell in sheet["cells"]]
    else:
        raise ValueError("it has no `cells` and no `worksheets`")  # noqa: TRY004 as above
    return [cell for cell in cells if isinstance(cell, dict)]


def _source(cell: dict[str, Any]) -> str:
    """A cell's text; format 3 calls that of a code cell `input`, and has cells that are headings."""
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    if cell.get("cell_type") == "heading":
        level = cell.get("level", 1)
        return f"{'#' * (level if isinstance(level, int) else 1)} {text}"
    return text
