"""Whether every gold source names exactly one passage of the corpus, and what text stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.authoring.corpus import PAGELESS, Corpus, Unread, kind_of_file
from pytest_ragbench.authoring.headings import fold_headings, heading_text
from pytest_ragbench.canonical import fold_path
from pytest_ragbench.questions.locators import HEADING_SEPARATOR, write_heading

if TYPE_CHECKING:
    from pytest_ragbench.authoring.headings import Outline
    from pytest_ragbench.errors import Problem
    from pytest_ragbench.questions.loading import Record
    from pytest_ragbench.questions.model import Locator
    from pytest_ragbench.questions.strict_yaml import Path

MAX_PAGES = 10
"""A longer page range is warned about: it names a chapter rather than a passage."""


class Locating:
    """The locators of one question, looked up in a corpus.

    Attributes:
        errors: Locators that name nothing, something outside, or several things.
        warnings: Locators that are wide or that name several like headings.
        unread: Locators that could not be checked.
        passages: Text of every passage that could be read.
        complete: Whether every passage could be read.
    """

    def __init__(self, record: Record, corpus: Corpus) -> None:
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []
        self.passages: list[str] = []
        self.unread: list[Problem] = []
        self.complete = True
        self._record = record
        self._corpus = corpus
        for index, source in enumerate(record.question.gold):
            self._look_up(source.locator, ("gold", index))
            for position, other in enumerate(source.alternatives):
                self._look_up(other, ("gold", index, "alternatives", position))

    def _error(self, path: Path, message: str, code: str) -> None:
        self.complete = False
        self.errors.append(self._record.problem(path, message, code))

    def _look_up(self, locator: Locator, path: Path) -> None:
        found = self._corpus.find(locator.file)
        if len(found) > 1:
            names = " and ".join(repr(name) for name in found)
            message = f"{names} are one file to a locator (case and Unicode form are folded); rename one of them"
            self._error((*path, "file"), message, "locator-ambiguous")
        elif found:
            self._look_into(found[0], locator, path)
        elif fold_path(locator.file) in self._corpus.outside:
            message = f"{locator.file!r} is a symbolic link that leaves the corpus root; it is not read"
            self._error((*path, "file"), message, "gold-file-outside")
        else:
            near = self._corpus.near(locator.file)
            hint = f"; did you mean {near!r}?" if near else ""
            message = f"the corpus has no file {locator.file!r}{hint}"
            self._error((*path, "file"), message, "gold-file-missing")

    def _look_into(self, file: str, locator: Locator, path: Path) -> None:
        outline = self._corpus.outline(file) if locator.heading else None
        if locator.pages is not None:
            self._pages(file, locator.pages, (*path, "pages"))
        if outline is not None:
            self._heading(file, outline, locator, (*path, "heading"))
        elif locator.heading and locator.pages is None:
            # A heading in a notebook, a canvas or code stands for the whole file there.
            self._keep(self._corpus.text(file), (*path, "heading"))
        elif locator.pages is None:
            # A whole file: that it exists is all there is to check, so an unknown kind of file is no finding.
            text = self._corpus.text(file)
            if isinstance(text, Unread):
                self.complete = False
            else:
                self.passages.append(text)

    def _keep(self, text: str | Unread, path: Path) -> None:
        if isinstance(text, Unread):
            self.complete = False
            self.unread.append(self._record.problem(path, f"not checked: {text.reason}", "not-checked"))
        else:
            self.passages.append(text)

    def _pages(self, file: str, pages: tuple[int, int], path: Path) -> None:
        first, last = pages
        if kind_of_file(file) in PAGELESS:
            message = f"{file!r} has no physical pages, so no chunk of it can satisfy the range; name a heading"
            self._error(path, message, "locator-empty")
            return
        count = self._corpus.page_count(file)
        if isinstance(count, Unread):
            self._keep(count, path)
            return
        if last > count:
            self._error(path, f"{file!r} has {count} pages, but the range ends at {last}", "locator-empty")
            return
        if last - first + 1 > MAX_PAGES:
            message = f"the range spans {last - first + 1} pages; a source of more than {MAX_PAGES} is hard to miss"
            self.warnings.append(self._record.problem(path, message, "wide-pages"))
        texts = [self._corpus.page_text(file, page) for page in range(first, last + 1)]
        unread = next((text for text in texts if isinstance(text, Unread)), None)
        if unread is None and not any(str(text).strip() for text in texts):
            unread = Unread("these pages hold no text layer (a scan?)")
        self._keep(unread or "\n".join(map(str, texts)), path)

    def _heading(self, file: str, outline: Outline, locator: Locator, path: Path) -> None:
        found = outline.by_path.get(fold_headings(locator.heading), ())
        if self._written_as_text(path):
            self._check_separator(file, outline, locator, path)
        if not found:
            hint = self._near_heading(outline, locator)
            self._error(path, f"{file!r} has no such heading{hint}", "locator-empty")
            return
        if len(found) > 1:
            lines = ", ".join(str(section.line) for section in found)
            message = (
                f"{file!r} has this heading {len(found)} times (lines {lines}); a chunk of any satisfies the source"
            )
            self.warnings.append(self._record.problem(path, message, "repeated-heading"))
        text = "\n".join(section.text for section in found)
        if text.strip():
            self.passages.append(text)
        else:
            self._error(path, f"nothing stands below this heading in {file!r}", "locator-empty")

    def _written_as_text(self, path: Path) -> bool:
        value: object = self._record.raw
        for part in path:
            value = value[part]  # type: ignore[index]
        return isinstance(value, str)

    def _check_separator(self, file: str, outline: Outline, locator: Locator, path: Path) -> None:
        """Text that reads as two paths, because a heading itself holds ` > `, must be written as a list."""
        readings = outline.by_text.get(heading_text(locator.heading), ())
        if len({fold_headings(section.path) for section in readings}) > 1:
            lists = " or ".join(dict.fromkeys(str(list(section.path)) for section in readings))
            message = f"names two headings of {file!r}, since one of them holds `{HEADING_SEPARATOR}`; write {lists}"
            self._error(path, message, "locator-ambiguous")

    def _near_heading(self, outline: Outline, locator: Locator) -> str:
        """A hint at the heading that may be meant: it holds the separator, has a parent, or is spelled alike."""
        text = heading_text(locator.heading)
        if text in outline.by_text:
            return f"; it has {list(outline.by_text[text][0].path)}, to be written as that list"
        deeper = next((key for key in outline.by_text if key.endswith(f"{HEADING_SEPARATOR}{text}")), None)
        near = deeper or self._corpus.alike(text, outline.by_text, 0.6)
        return f"; did you mean {write_heading(outline.by_text[near][0].path)!r}?" if near else ""
