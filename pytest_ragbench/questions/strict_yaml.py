"""YAML as values with line numbers, read from the parser's events.

Refused here: what makes a file mean something its author does not see (duplicate keys, aliases, tags, merge keys, keys
that are no text, several documents, other encodings, deep nesting). What the values mean is left to the schemas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

from pytest_ragbench.questions.scalars import Ambiguous, kind_of, read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_DEPTH = 32
"""Deepest nesting that is read; a question set needs five levels."""

# The C parser where PyYAML was built with libyaml, which is ten times faster; the events are the same.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlMapping(dict[str, Any]):
    """A mapping and where it stands.

    Attributes:
        line: 1-based line of its first key.
        lines: Key to the line of the key.
        raw: Key to the text of an unquoted scalar that is no text.
        cut: Keys whose unquoted text is followed by a comment on its line.
    """

    __slots__ = ("cut", "line", "lines", "raw")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[Any, int] = {}
        self.raw: dict[Any, str] = {}
        self.cut: set[Any] = set()


class YamlList(list[Any]):
    """A list and where it stands; `lines`, `raw` and `cut` go by index."""

    __slots__ = ("cut", "line", "lines", "raw")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[Any, int] = {}
        self.raw: dict[Any, str] = {}
        self.cut: set[Any] = set()


Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that is wrong with the YAML itself, at a path below the root."""

    line: int | None
    path: Path
    message: str
    code: str


@dataclass(slots=True)
class Document:
    """What a file holds.

    Attributes:
        root: `YamlMapping`, `YamlList`, a scalar, or None where there is nothing but comments.
        flaws: Everything that is wrong with the YAML; `root` then holds what could be read.
    """

    root: Any = None
    flaws: list[Flaw] = field(default_factory=list)


def decode(data: bytes) -> tuple[str, Flaw | None]:
    """Text of a UTF-8 file, byte order mark dropped, or an empty text and what is wrong."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data[:4]:
        return "", Flaw(1, (), "the file is UTF-16 or UTF-32; save it as UTF-8", "not-utf8")
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        return "", Flaw(line, (), message, "not-utf8")


def events(text: str) -> Iterator[Any]:
    """PyYAML's events of `text`.

    Raises:
        yaml.YAMLError: The text is no YAML.
    """
    parser = _Parser(text)
    try:
        yield from iter(parser.get_event, None)  # None stands behind the last one
    finally:
        parser.dispose()


def parse(text: str) -> Document:
    """Read one document; never raises for what the text holds."""
    builder = _Builder(text)
    try:
        builder.build(events(text))
    except yaml.YAMLError as error:
        builder.document.flaws.append(_syntax_flaw(error, text))
    return builder.finished()


def _syntax_flaw(error: yaml.YAMLError, text: str) -> Flaw:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if isinstance(position, int) else None
        reason = getattr(error, "reason", None) or str(error)
        return Flaw(
            line, (), f"{reason}; remove the character or write it as an escape in double quotes", "yaml-syntax"
        )
    lines = _BREAK.split(text)
    source = lines[mark.line] if mark.line < len(lines) else ""
    indent = source[: len(source) - len(source.lstrip())]
    if "\t" in indent:
        return Flaw(mark.line + 1, (), "the line is indented with a tab; YAML wants spaces", "yaml-syntax")
    said = " ".join(part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part)
    remedy = next((advice for words, advice in _REMEDIES if words in said), "check quotes, brackets and indentation")
    return Flaw(mark.line + 1, (), f"no valid YAML at column {mark.column + 1}: {said}; {remedy}", "yaml-syntax")


_REMEDIES = (
    ("mapping values are not allowed", "quote text that holds `: `"),
    ("cannot start any token", "quote text that begins with `@`, `%` or a backtick"),
    ("unexpected end of stream", "close the quote"),
)


class _Builder:
    """Builds the values of one document from events; a stack instead of recursion, so depth cannot crash it."""

    def __init__(self, text: str) -> None:
        self.document = Document()
        self._stack: list[YamlMapping | YamlList] = []
        self._path: list[str | int] = []
        # The key whose value comes next, for each open mapping; `_NO_KEY` where a key comes next.
        self._keys: list[Any] = []
        self._documents = 0
        # Depth at which a key that is a list or a mapping began; its content is skipped.
        self._skip_from: int | None = None
        self._depth = 0
        self._comments = _commented_lines(text)
        self._stopped = False

    def build(self, events: Iterable[Any]) -> None:
        """Take the events, until reading on is pointless."""
        for event in events:
            handler = self._HANDLERS.get(type(event))
            if handler is not None:
                handler(self, event)
            if self._stopped:
                break

    def finished(self) -> Document:
        """The document; what was still open when reading stopped is cut off, so that nobody complains about its end."""
        if len(self._stack) > 1 and self._stack[0]:
            container = self._stack[0]
            container.pop() if isinstance(container, YamlList) else container.popitem()
        return self.document

    def _start_document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            self._flaw(event, "a second document begins here; put everything into one", "several-documents")
            self._stopped = True

    def _flaw(self, event: Any, message: str, code: str, *path: str | int) -> None:
        at = (*self._path, *path)
        self.document.flaws.append(Flaw(event.start_mark.line + 1, at, message, code))

    def _open(self, event: Any) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"nested deeper than {MAX_DEPTH} levels; no field is"
            self.document.flaws.append(Flaw(event.start_mark.line + 1, tuple(self._path[:1]), message, "too-deep"))
            self._stopped = True
        if self._skip_from is not None:
            return
        line = event.start_mark.line + 1
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if self._stack and self._keys[-1] is _NO_KEY:
            kind = "a mapping" if is_mapping else "a list"
            self._flaw(event, f"{kind} stands where a key must stand; keys are text", "non-text-key")
            self._skip_from = self._depth
            return
        container: YamlMapping | YamlList = YamlMapping(line) if is_mapping else YamlList(line)
        self._node(event, container)
        self._stack.append(container)
        self._keys.append(_NO_KEY if is_mapping else 0)

    def _close(self, _event: Any) -> None:
        self._depth -= 1
        if self._skip_from is not None:
            if self._depth < self._skip_from:
                self._skip_from = None
                self._keys[-1] = _DROPPED
            return
        self._stack.pop()
        self._keys.pop()
        if self._path:
            self._path.pop()
        self._advance()

    def _alias(self, event: Any) -> None:
        if self._skip_from is not None:
            return
        message = f"`*{event.anchor}` is an alias; write the value out, or quote text that begins with `*`"
        if self._stack and self._keys[-1] is _NO_KEY:
            self._flaw(event, message, "alias")
            self._keys[-1] = _DROPPED
            return
        self._flaw(event, message, "alias", *self._key_path())
        self._store(None, event)
        self._advance()

    def _key_path(self) -> tuple[str | int, ...]:
        return () if not self._stack or self._keys[-1] is _DROPPED else (self._keys[-1],)

    def _node(self, event: Any, value: Any) -> None:
        """Store a value under the current key, and complain about its anchor or tag."""
        path = self._key_path()
        if event.anchor is not None:
            text = f"`&{event.anchor}` is an anchor; write the value out, or quote text that begins with `&`"
            self._flaw(event, text, "alias", *path)
        if event.tag is not None:
            text = f"the tag `{event.tag}` is refused; a value is what it looks like, quote it to make it text"
            self._flaw(event, text, "tag", *path)
        self._store(value, event)
        if isinstance(value, YamlMapping | YamlList) and self._stack:
            self._path.append(path[0] if path else "?")

    def _store(self, value: Any, event: Any) -> None:
        if not self._stack:
            self.document.root = value
            return
        container, key = self._stack[-1], self._keys[-1]
        if isinstance(container, YamlList):
            container.append(value)
            container.lines[key] = event.start_mark.line + 1
        elif key is not _DROPPED:
            container[key] = value

    def _advance(self) -> None:
        if self._stack:
            self._keys[-1] = self._keys[-1] + 1 if isinstance(self._stack[-1], YamlList) else _NO_KEY

    def _scalar(self, event: Any) -> None:
        if self._skip_from is not None:
            return
        plain = not event.style and event.tag is None
        value = read_plain(event.value) if plain else event.value
        if self._stack and self._keys[-1] is _NO_KEY:
            self._key(event, value)
            return
        if event.anchor is None and event.tag is None:
            self._store(value, event)
        else:
            self._node(event, value)
        if plain and self._stack and self._keys[-1] is not _DROPPED:
            if type(value) is not str:
                self._stack[-1].raw[self._keys[-1]] = event.value
            elif self._comments and self._is_cut(event.end_mark):
                self._stack[-1].cut.add(self._keys[-1])
        self._advance()

    def _is_cut(self, end: Any) -> bool:
        line = self._comments.get(end.line)
        return line is not None and _COMMENT.match(line, end.column) is not None

    def _key(self, event: Any, value: Any) -> None:
        container = self._stack[-1]
        if event.anchor is not None or event.tag is not None:
            self._flaw(event, "a key has no anchor and no tag", "alias" if event.anchor is not None else "tag")
        if not isinstance(value, str):
            merge = isinstance(value, Ambiguous) and value.kind == "merge key"
            said = "merge keys are refused; write the fields out" if merge else "quote it if it is meant, or rename it"
            self._flaw(event, f"the key `{event.value}` is read as {kind_of(value)}; {said}", "non-text-key")
            self._keys[-1] = _DROPPED
            return
        if value in container:
            first = container.lines[value]
            message = f"the key stands twice in one mapping, first on line {first}; remove one"
            self._flaw(event, message, "duplicate-key", value)
        if not container.lines:
            container.line = event.start_mark.line + 1
        # The first one keeps its value: the flaw refuses the file anyway, and later findings name the first.
        duplicate = value in container
        container.lines.setdefault(value, event.start_mark.line + 1)
        self._keys[-1] = _DROPPED if duplicate else value

    # Of the class: a builder that held its own methods would hold itself, and all that it built, until a collection.
    _HANDLERS: ClassVar[dict[type, Callable[[_Builder, Any], None]]] = {
        yaml.ScalarEvent: _scalar,
        yaml.MappingStartEvent: _open,
        yaml.SequenceStartEvent: _open,
        yaml.MappingEndEvent: _close,
        yaml.SequenceEndEvent: _close,
        yaml.AliasEvent: _alias,
        yaml.DocumentStartEvent: _start_document,
    }


_NO_KEY = object()
_DROPPED = object()
_COMMENT = re.compile(r"[ \t]+#")
# What ends a line to YAML 1.1, by which its marks count.
_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


def _commented_lines(text: str) -> dict[int, str]:
    """0-based number to text of every line that holds ` #`; whether it is a comment depends on what precedes it."""
    if " #" not in text and "\t#" not in text:
        return {}
    return {number: line for number, line in enumerate(_BREAK.split(text)) if "#" in line}
