"""PDF: one passage a physical page, counted from 1. What cannot be read, and pages without text, are listed."""

from __future__ import annotations

import io
import logging
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag.records import Document, Finding, Passage
from rag.text import clean

if TYPE_CHECKING:
    from pypdf import PdfReader

_HEADER_WITHIN = 1024  # bytes; what viewers accept
_BLANK_LINES = re.compile(r"\n[ \t]*\n+")


def read_pdf(file: str, data: bytes) -> list[Document]:
    """One document; an encrypted file with an empty user password is read."""
    title = PurePosixPath(file).stem
    if not data:
        return [Document(file, title, findings=(Finding(file, "failed", "0 bytes"),))]
    if b"%PDF-" not in data[:_HEADER_WITHIN]:
        return [Document(file, title, findings=(Finding(file, "failed", "no PDF: it lacks the %PDF- header"),))]
    try:
        return [_read(file, _open(data))]
    except ImportError:
        raise  # a reader that is not installed is no fault of the file
    except Exception as error:  # noqa: BLE001 a damaged file makes pypdf raise nearly anything
        reason = str(error).strip() or "damaged"
        return [Document(file, title, findings=(Finding(file, "failed", f"{type(error).__name__}: {reason}"),))]


def _open(data: bytes) -> PdfReader:
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError

    # pypdf logs each oddity of a file; what matters of them is listed as findings.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise FileNotDecryptedError("it asks for a password")
    return reader


def _read(file: str, reader: PdfReader) -> Document:
    passages: list[Passage] = []
    blank: list[int] = []
    findings: list[Finding] = []
    for number, page in enumerate(reader.pages, start=1):
        try:
            blocks = _blocks(clean(page.extract_text()))
        except Exception as error:  # noqa: BLE001 one bad page must not cost the others
            findings.append(Finding(file, "failed-page", f"page {number}: {type(error).__name__}: {error}"))
            continue
        if blocks:
            passages.append(Passage(blocks, pages=(number, number)))
        else:
            blank.append(number)
    if blank:
        which = ", ".join(map(str, blank))
        findings.append(Finding(file, "no-text", f"no text on page{'s' if len(blank) > 1 else ''} {which}"))
    elif not passages and not findings:
        findings.append(Finding(file, "failed", "no pages"))
    return Document(file, _title(reader) or PurePosixPath(file).stem, tuple(passages), findings=tuple(findings))


def _blocks(text: str) -> tuple[str, ...]:
    return tuple(block.strip() for block in _BLANK_LINES.split(text) if block.strip())


def _title(reader: PdfReader) -> str:
    metadata = reader.metadata
    return clean(str(metadata.title)).strip() if metadata is not None and metadata.title else ""
