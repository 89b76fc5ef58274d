"""Reading notes: front matter, headings and wikilinks, without any YAML library.

Only the subset that I write myself is understood: `key: value`, `key: [a, b]`
and block lists with `- item`.  Everything else raises FrontMatterError, which
is better than half-reading it.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

WIKILINK = re.compile(r"!?\[\[([^\]|#\n]*)(?:#([^\]|\n]+))?(?:\|[^\]\n]+)?\]\]")
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.M | re.S)
INLINE_CODE = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*$", re.M)


class FrontMatterError(ValueError):
    """Front matter outside of the subset; the message carries the line."""


@dataclass
class Note:
    """One Markdown file. `links` are pairs (target, heading or None)."""

    path: Path
    meta: dict
    body: str
    headings: list = field(default_factory=list)
    links: list = field(default_factory=list)

    @property
    def name(self):
        return self.path.stem


def blank_code(text):
    """Replace code by spaces of equal length, so that offsets stay valid.

    Since version 0.3: before that, `[[1, 2], [3, 4]]` in a code block counted
    as a link to a note called `1, 2], [3, 4`.
    """
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group())
    return INLINE_CODE.sub(spaces, FENCE.sub(spaces, text))


def split_front_matter(text):
    """Return (meta, body); a note without front matter has an empty meta."""
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---\n", 3)
    if end < 0:
        raise FrontMatterError("line 1: front matter is never closed")
    return parse_meta(text[4:end + 1]), text[end + 5:]


def parse_meta(block):
    """Parse the lines between the two `---`."""
    meta, current = {}, None
    for number, line in enumerate(block.splitlines(), start=2):
        if not line.strip():
            continue
        if line.startswith(("\t", " \t")):
            raise FrontMatterError(f"line {number}: tab used for indentation")
        item = re.match(r"\s*-\s+(.*)", line)
        if item and current is not None and isinstance(meta[current], list):
            meta[current].append(unquote(item.group(1)))
            continue
        pair = re.match(r"([A-Za-z_][\w-]*):(?:\s+(.*))?$", line)
        if not pair:
            raise FrontMatterError(f"line {number}: cannot read {line.strip()!r}")
        current, value = pair.group(1), (pair.group(2) or "").strip()
        if current in meta:
            raise FrontMatterError(f"line {number}: key '{current}' stands twice")
        if value.startswith("[") and value.endswith("]"):
            meta[current] = [unquote(v) for v in value[1:-1].split(",") if v.strip()]
        else:
            meta[current] = unquote(value) if value else []
    return meta


def unquote(value):
    """Strip blanks and one pair of quotes."""
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def read_note(path):
    """Load a note; headings and links are taken from outside of code only."""
    text = Path(path).read_text(encoding="utf-8")
    meta, body = split_front_matter(text)
    visible = blank_code(body)
    return Note(Path(path), meta, body,
                headings=[m.group(2) for m in HEADING.finditer(visible)],
                links=[(m.group(1).strip(), m.group(2)) for m in WIKILINK.finditer(visible)])


def walk_notes(vault):
    """All notes of the vault in a stable order; hidden folders are skipped."""
    root = Path(vault)
    for path in sorted(root.rglob("*.md")):
        if not any(part.startswith(".") for part in path.relative_to(root).parts):
            yield path


if __name__ == "__main__":
    sample = "---\ntitle: 'A: test'\ntags: [x, y]\n---\n# T\n`[[no]]` but [[yes#Part|alias]]\n"
    meta, body = split_front_matter(sample)
    print(meta, [m.groups() for m in WIKILINK.finditer(blank_code(body))])
