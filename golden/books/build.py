"""Build golden/vault/Books/<name>.pdf from every golden/books/<name>.md.

`python -m golden.books.build` writes the PDFs, `--check` compares them with the committed ones.
The bytes never vary: the date and producer are fixed, the file id is a hash of the content, only
built-in core fonts are named (none embedded) and streams stay uncompressed (no zlib dependence).
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fpdf import FPDF

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOURCES = Path(__file__).resolve().parent
TARGETS = SOURCES.parent / "vault" / "Books"
PAGE_SIZE = (170.0, 240.0)  # mm
MARGIN = 20.0  # mm; leaves a text block 130 mm wide
MONO_COLUMNS = 76  # 8 pt Courier characters that fit on a line of the text block
MONO_HEIGHT = 4.0
TEXT_HEIGHT = 5.2
TITLE_COLUMNS = 64  # longest heading that leaves room for its number in the contents
HEADINGS = {"h1": (20, 10.0), "h2": (14, 7.5), "h3": (11, 6.0)}  # kind: (points, mm)
TRANSLITERATED = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u00a0", "''\"\"--- ")
ITEM = re.compile(r"(-|\d+\.) +\S")
ENDS_PROSE = re.compile(rf"#|```|\||$|{ITEM.pattern}")
BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)(.+?)(?<=\S)\*\*(?![\w*])")


class BookError(Exception):
    """A source file that cannot be typeset; the message names the file and the line."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")


@dataclass(frozen=True)
class Block:
    """One typeset unit: h1, h2, h3, text, item, or mono (its lines are kept as they are)."""

    kind: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines joined, without the inline markers of code spans and bold text."""
        spans = " ".join(self.lines).split("`")
        return "".join(s if i % 2 else BOLD.sub(r"\1", s) for i, s in enumerate(spans))


def read_lines(path: Path) -> list[str]:
    """The lines of a source in printable Latin-1, which is all that the core fonts can show."""
    lines = path.read_text(encoding="utf-8").translate(TRANSLITERATED).split("\n")
    for number, line in enumerate(lines, 1):
        if bad := re.search(r"[^ -~\xa1-\xac\xae-\xff]", line):
            raise BookError(path, number, f"character {bad[0]!r} is not printable Latin-1")
    return [*(line.rstrip() for line in lines), ""]


def parse(path: Path) -> tuple[dict[str, str], list[Block]]:
    """The front matter and the blocks of one source file."""
    lines = read_lines(path)
    if lines[0] != "---" or "---" not in lines[1:]:
        raise BookError(path, 1, "no front matter between two --- lines")
    start = lines.index("---", 1) + 1
    meta = {k.strip(): v.strip("\"' ") for k, _, v in (line.partition(":") for line in lines[1 : start - 1])}
    if not meta.get("title") or not meta.get("subtitle"):
        raise BookError(path, 1, "front matter needs a title and a subtitle")
    blocks = list(parse_blocks(path, lines, start))
    if not blocks or blocks[0].kind != "h1":
        raise BookError(path, start + 1, "the text must begin with a '# Chapter' heading")
    return meta, blocks


def parse_blocks(path: Path, lines: Sequence[str], at: int) -> Iterator[Block]:
    """Split the lines from index `at` on into blocks."""
    while at < len(lines):
        line, number = lines[at], at + 1
        if not line:
            at += 1
        elif line.startswith("```"):
            if "```" not in lines[number:]:
                raise BookError(path, number, "code block is never closed")
            at = lines.index("```", number) + 1
            yield mono(path, number + 1, lines[number : at - 1])
        elif line.startswith("#"):
            yield heading(path, number, line)
            at += 1
        elif line.startswith("|"):
            at = next(i for i in range(at, len(lines)) if not lines[i].startswith("|"))
            yield table(path, number, lines[number - 1 : at])
        else:
            at = next(i for i in range(number, len(lines)) if ENDS_PROSE.match(lines[i]))
            yield Block("item" if ITEM.match(line) else "text", tuple(part.strip() for part in lines[number - 1 : at]))


def heading(path: Path, number: int, line: str) -> Block:
    """A chapter, section or subsection heading."""
    if not (match := re.fullmatch(r"(#{1,3}) (\S.*)", line)) or len(match[2]) > TITLE_COLUMNS:
        raise BookError(path, number, f"not #, ## or ### and up to {TITLE_COLUMNS} characters")
    return Block(f"h{len(match[1])}", (match[2],))


def mono(path: Path, number: int, lines: Sequence[str]) -> Block:
    """A fixed-width block whose lines must fit on the page."""
    for offset, line in enumerate(lines):
        if len(line) > MONO_COLUMNS:
            raise BookError(path, number + offset, f"line is over {MONO_COLUMNS} characters")
    return Block("mono", tuple(lines))


def table(path: Path, number: int, lines: Sequence[str]) -> Block:
    """A pipe table as aligned fixed-width text."""
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    if len(rows) < 2 or set("".join(rows[1])) - set("-:") or len({len(row) for row in rows}) > 1:
        raise BookError(path, number, "table needs a |---| second line and rows of equal length")
    body = [rows[0], *rows[2:]]
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    padded = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in body]
    return mono(path, number, [padded[0], "  ".join("-" * n for n in widths), *padded[1:]])


class Typesetter(FPDF):
    """Lays out a book with given contents; printed page numbers count the title page as 1."""

    def __init__(self, meta: dict[str, str], contents: Sequence[tuple[Block, int]]) -> None:
        super().__init__(unit="mm", format=PAGE_SIZE)
        self.running_head = ""
        self.entries: list[tuple[Block, int]] = []
        self.set_compression(False)
        self.set_creation_date(datetime(2024, 1, 1, tzinfo=UTC))
        self.set_producer("golden.books.build")
        self.set_title(meta["title"])
        self.set_margin(MARGIN)
        self.set_auto_page_break(auto=True, margin=MARGIN)
        self.front_matter(meta, contents)

    def header(self) -> None:
        """Print the chapter name at the top of every page but the title page."""
        if self.page_no() > 1:
            self.set_y(11)
            self.set_font("Helvetica", "I", 9)
            self.cell(0, 5, self.running_head, border="B")
            self.set_y(MARGIN)

    def footer(self) -> None:
        """Print the page number at the bottom of every page but the title page."""
        if self.page_no() > 1:
            self.set_y(-14)
            self.set_font("Helvetica", "", 9)
            self.cell(0, 5, str(self.page_no()), align="C")

    def paragraph(self, text: str, height: float, align: str = "L") -> None:
        """Print wrapped text and go to the left end of the next line."""
        self.multi_cell(0, height, text, align=align, new_x="LMARGIN", new_y="NEXT")

    def keep(self, height: float) -> None:
        """Go to a new page unless the given height, if any page has it, is left on this one."""
        if height < self.eph and self.will_page_break(height):
            self.add_page()

    def mono_lines(self, lines: Sequence[str]) -> None:
        """Print fixed-width lines, one cell each so that every space survives."""
        self.set_font("Courier", "", 8)
        for line in lines:
            self.cell(0, MONO_HEIGHT, line, new_x="LMARGIN", new_y="NEXT")

    def front_matter(self, meta: dict[str, str], contents: Sequence[tuple[Block, int]]) -> None:
        """Print the title page, then the contents, one line for each chapter and section."""
        self.add_page()
        self.set_y(80)
        self.set_font("Helvetica", "B", 26)
        self.paragraph(meta["title"], 13, "C")
        self.set_font("Helvetica", "", 14)
        self.paragraph(meta["subtitle"], 9, "C")
        self.running_head = "Contents"
        self.add_page()
        for block, page in contents:
            title = block.text if block.kind == "h1" else f"  {block.text}"
            self.mono_lines([f"{title} ".ljust(MONO_COLUMNS - 5, ".") + f" {page:3d}"])

    def block(self, block: Block) -> None:
        """Print one block of the text."""
        if block.kind in HEADINGS:
            self.block_heading(block)
        elif block.kind == "mono":
            self.keep(len(block.lines) * MONO_HEIGHT)
            self.mono_lines(block.lines)
        else:
            self.set_font("Times", "", 11)
            self.keep(2 * TEXT_HEIGHT)
            self.paragraph(block.text, TEXT_HEIGHT)
        self.ln(1 if block.kind == "item" else 2.5)

    def block_heading(self, block: Block) -> None:
        """Print a heading, with a chapter on a new page, and note its page for the contents."""
        points, height = HEADINGS[block.kind]
        if block.kind == "h1":
            self.running_head = block.text
            self.add_page()
        self.keep(height + 4 * TEXT_HEIGHT)
        if block.kind != "h3":
            self.entries.append((block, self.page_no()))
        self.set_font("Helvetica", "B", points)
        self.paragraph(block.text, height)


def build(path: Path) -> bytes:
    """The PDF of one source; the first of two passes only finds the page of each heading."""
    meta, blocks = parse(path)
    contents = [(block, 0) for block in blocks if block.kind in ("h1", "h2")]
    for _ in range(2):
        pdf = Typesetter(meta, contents)
        for block in blocks:
            pdf.block(block)
        contents = pdf.entries
    return bytes(pdf.output())


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the PDF of every source."""
    parser = argparse.ArgumentParser(description="Build the PDF books of the vault.")
    parser.add_argument("--check", action="store_true", help="exit 1 if a PDF is out of date")
    check: bool = parser.parse_args(argv).check
    problems: list[object] = []
    for source in sorted(SOURCES.glob("*.md")):
        target = TARGETS / f"{source.stem}.pdf"
        try:
            data = build(source)
            if not check:
                target.write_bytes(data)
            elif target.read_bytes() != data:
                problems.append(f"{target}: differs from what {source.name} builds")
        except (BookError, OSError) as error:
            problems.append(error)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
