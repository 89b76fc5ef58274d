"""Build golden/vault/Books/<name>.pdf from every golden/books/<name>.md.

`python -m golden.books.build` writes the PDFs, `--check` compares them with the committed ones.
The bytes never vary: the date and producer are fixed, the file id is a hash of the content, only
built-in core fonts are named (none embedded) and streams stay uncompressed (no zlib dependence).

A source is Markdown: `title` and `subtitle` between two `---` lines, then `# Chapter`, `## Section`,
`### Subsection`, paragraphs, items, pipe tables and code blocks. Two more things may be asked for:

- `# Preface {front}`, before every other chapter, makes a chapter of front matter (its sections are
  plain `## Section`). It stands between the title and the contents, these pages are printed as i, ii,
  iii, ..., and the first chapter after them begins at a printed page 1. The footer, the contents and the
  /PageLabels of the PDF give the printed numbers. Without it the title page counts as 1.
- `noise: ocr` between the `---` lines prints the book as if a scan of it had been recognised: letters
  taken for others (rn/m, l/1/I, O/0), broken ligatures, words hyphenated at line ends, spaces dropped or
  doubled, the running head in the middle of the text, some pages worse than others. The source and
  the title stay clean, and the noise of a page depends on its number and its text only.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast

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
HEADINGS = {"front": (20, 10.0), "h1": (20, 10.0), "h2": (14, 7.5), "h3": (11, 6.0)}  # kind: (points, mm)
TRANSLITERATED = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u00a0", "''\"\"--- ")
ITEM = re.compile(r"(-|\d+\.) +\S")
ENDS_PROSE = re.compile(rf"#|```|\||$|{ITEM.pattern}")
BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)(.+?)(?<=\S)\*\*(?![\w*])")
CONFUSIONS = {  # what is printed: what a recogniser may see; a figure never becomes another figure
    "rn": ("m",), "m": ("rn",), "ffi": ("f fi", "ff i"), "fi": ("f i", "fl"), "fl": ("f l", "fi"), "ff": ("f f",),
    "cl": ("d",), "d": ("cl",), "l": ("1", "I"), "I": ("l", "1"), "1": ("l", "I"), "O": ("0",), "0": ("O",),
    "e": ("c",), "c": ("e",), "h": ("b",), "w": ("vv",), "S": ("5",), "5": ("S",),
}  # fmt: skip
CONFUSED = re.compile("|".join(CONFUSIONS))
SPACE = re.compile(r"(?<=\S) (?=\S)")  # a space between words, not the gap between columns
BREAKS = re.compile(r"(?<=[a-z]{2}[aeiou])(?=[b-dfgk-nprstv][aeiou][a-z])|(?<=[aeiou][lmnrs])(?=[b-dfgkpt][aeiou])")


class BookError(Exception):
    """A source file that cannot be typeset; the message names the file and the line."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}:{line}: {problem}")


@dataclass(frozen=True)
class Block:
    """One typeset unit: front, h1, h2, h3, text, item, or mono (its lines are kept as they are)."""

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
    if meta.get("noise", "ocr") != "ocr":
        raise BookError(path, 1, f"noise is {meta['noise']!r}, and the only one is 'ocr'")
    blocks = list(parse_blocks(path, lines, start))
    if not blocks or blocks[0].kind not in ("front", "h1"):
        raise BookError(path, start + 1, "the text must begin with a '# Chapter' heading")
    chapters = [block.kind for block in blocks if block.kind in ("front", "h1")]
    if chapters != sorted(chapters) or "h1" not in chapters:
        raise BookError(path, start + 1, "{front} chapters must come first, and a chapter must follow them")
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
    if match[1] == "#" and (title := match[2].removesuffix(" {front}")) != match[2]:
        return Block("front", (title,))
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


class Noise:
    """Damages printed lines; each page starts it anew, so that no page depends on another."""

    def __init__(self) -> None:
        self.random = Random()  # noqa: S311 noise; only its random() is used, whose sequence never changes
        self.rate = 0.0

    def start_page(self, number: int) -> None:
        """Forget the page before; one page in six is a bad one."""
        self.random.seed(number)
        self.rate = 0.12 if self.chance(1 / 6) else 0.05

    def chance(self, probability: float) -> bool:
        """Whether an event of this probability happens now."""
        return self.random.random() < probability

    def line(self, text: str) -> str:
        """The line as it was recognised."""
        text = CONFUSED.sub(lambda m: self.confusion(m[0]) if self.chance(self.rate) else m[0], text)
        return SPACE.sub(lambda _: " " if not self.chance(self.rate / 4) else "  " if self.chance(0.5) else "", text)

    def confusion(self, printed: str) -> str:
        """What was seen in place of the printed characters."""
        seen = CONFUSIONS[printed]
        return seen[int(self.random.random() * len(seen))]


class Typesetter(FPDF):
    """Lays out a book; `roman` numbers its pages i, ii, ... until the first chapter starts at 1."""

    def __init__(self, meta: dict[str, str], *, roman: bool) -> None:
        super().__init__(unit="mm", format=PAGE_SIZE)
        self.running_head = ""
        self.roman = roman
        self.noise = Noise() if meta.get("noise") else None
        self.entries: list[tuple[Block, str]] = []
        self.set_compression(False)
        self.set_creation_date(datetime(2024, 1, 1, tzinfo=UTC))
        self.set_producer("golden.books.build")
        self.set_title(meta["title"])
        self.set_margin(MARGIN)
        self.set_auto_page_break(auto=True, margin=MARGIN)
        self.title_page(meta)

    def header(self) -> None:
        """Print the chapter name at the top of every page but the title page."""
        if self.page_no() > 1:
            self.set_y(11)
            self.set_font("Helvetica", "I", 9)
            if self.noise:
                self.noise.start_page(self.page_no())
            self.cell(0, 5, self.seen(self.running_head), border="B")
            self.set_y(MARGIN)

    def footer(self) -> None:
        """Print the page number at the bottom of every page but the title page."""
        if self.page_no() > 1:
            self.set_y(-14)
            self.set_font("Helvetica", "", 9)
            self.cell(0, 5, self.get_page_label(), align="C")

    def seen(self, line: str) -> str:
        """A line as it is to be printed: without noise, the line itself."""
        return self.noise.line(line) if self.noise and self.page_no() > 1 else line

    def print_line(self, height: float, line: str) -> None:
        """Print one line and go to the left end of the next."""
        self.keep(height)  # so that a line that begins a page gets the noise of that page
        self.cell(0, height, self.seen(line), new_x="LMARGIN", new_y="NEXT")

    def paragraph(self, text: str, height: float, align: str = "L") -> None:
        """Print wrapped text and go to the left end of the next line."""
        if not self.noise or self.page_no() == 1:
            self.multi_cell(0, height, text, align=align, new_x="LMARGIN", new_y="NEXT")
            return
        rest = cast("list[str]", self.multi_cell(0, height, text, dry_run=True, output="LINES"))
        while rest:
            self.keep(height)
            line, *rest = rest
            if rest and self.noise.chance(0.5):
                line, rest[0] = self.hyphenated(line, rest[0])
            self.print_line(height, line)
            if rest and self.noise.chance(0.02):
                self.print_line(height, f"{self.get_page_label()} {self.running_head.upper()}")

    def hyphenated(self, line: str, after: str) -> tuple[str, str]:
        """The line with as much of the next line's first word as fits, and the rest of that line."""
        word = after.split(" ", 1)[0]
        for at in reversed([match.start() for match in BREAKS.finditer(word)]):
            if self.get_string_width(longer := f"{line} {word[:at]}-") <= self.epw:
                return longer, after[at:]
        return line, after

    def keep(self, height: float) -> None:
        """Go to a new page unless the given height, if any page has it, is left on this one."""
        if height < self.eph and self.will_page_break(height):
            self.add_page()

    def mono_lines(self, lines: Sequence[str]) -> None:
        """Print fixed-width lines, one cell each so that every space survives."""
        self.set_font("Courier", "", 8)
        for line in lines:
            self.print_line(MONO_HEIGHT, line)

    def title_page(self, meta: dict[str, str]) -> None:
        """Print the title page, which starts the roman numbers if there are any."""
        self.add_page(label_style="r" if self.roman else None)
        self.set_y(80)
        self.set_font("Helvetica", "B", 26)
        self.paragraph(meta["title"], 13, "C")
        self.set_font("Helvetica", "", 14)
        self.paragraph(meta["subtitle"], 9, "C")

    def contents(self, entries: Sequence[tuple[Block, str]]) -> None:
        """Print the contents, one line for each chapter and section with its printed page."""
        self.running_head = "Contents"
        self.add_page()
        for block, label in entries:
            title = f"  {block.text}" if block.kind == "h2" else block.text
            self.mono_lines([f"{title} ".ljust(MONO_COLUMNS - 5, ".") + f" {label:>3}"])

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
        if block.kind in ("front", "h1"):
            self.running_head = block.text
            first = self.roman and block.kind == "h1"
            self.add_page(label_style="D" if first else None)
            self.roman = self.roman and not first
        self.keep(height + 4 * TEXT_HEIGHT)
        if block.kind != "h3":
            self.entries.append((block, self.get_page_label()))
        self.set_font("Helvetica", "B", points)
        self.paragraph(block.text, height)


def build(path: Path) -> bytes:
    """The PDF of one source; the first of two passes only finds the printed page of each heading."""
    meta, blocks = parse(path)
    body = next(at for at, block in enumerate(blocks) if block.kind == "h1")
    entries = [(block, "") for block in blocks if block.kind in ("front", "h1", "h2")]
    for _ in range(2):
        pdf = Typesetter(meta, roman=body > 0)
        for block in blocks[:body]:
            pdf.block(block)
        pdf.contents(entries)
        for block in blocks[body:]:
            pdf.block(block)
        entries = pdf.entries
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
