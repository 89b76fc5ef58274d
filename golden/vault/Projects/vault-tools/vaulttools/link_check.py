"""Broken links, missing headings, colliding names, and notes without links."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from .notes import FrontMatterError, read_note, walk_notes


@dataclass(frozen=True)
class LinkProblem:
    """`code` is stable and can be silenced; `detail` is for people."""

    code: str
    file: str
    detail: str

    def __str__(self):
        return f"{self.file}: {self.code}: {self.detail}"


def normalise_heading(text):
    """Headings compare without case, back ticks, and doubled blanks."""
    return " ".join(text.replace("`", "").lower().split())


class LinkChecker:
    """Reads the whole vault once; every question is answered from memory."""

    def __init__(self, vault, config):
        self.vault = Path(vault)
        self.ignore = set(config.get("links.ignoreFolders"))
        self.check_headings = config.get("links.checkHeadings")
        self.notes, self.problems = {}, []
        self.by_name = defaultdict(list)
        for path in walk_notes(vault):
            file = path.relative_to(self.vault).as_posix()
            if file.split("/")[0] in self.ignore:
                continue
            try:
                note = read_note(path)
            except FrontMatterError as error:
                self.problems.append(LinkProblem("unreadable", file, str(error)))
                continue
            self.notes[file] = note
            self.by_name[note.name.lower()].append(file)

    def resolve(self, target):
        """Path of the note that a link means, or None.

        A target with a slash is a path from the root; otherwise the base name
        counts, without case, as it must be unique in the vault.
        """
        if "/" in target:
            file = target if target.endswith(".md") else target + ".md"
            return file if file in self.notes else None
        found = self.by_name.get(target.lower().removesuffix(".md"), [])
        return found[0] if len(found) == 1 else None

    def run(self):
        """All problems, sorted by file, then code."""
        problems = list(self.problems)
        for name, files in self.by_name.items():
            if len(files) > 1:
                problems.append(LinkProblem("name-collision", files[0],
                                            f"'{name}' is also {', '.join(files[1:])}"))
        for file, note in self.notes.items():
            problems += self._of_note(file, note)
        return sorted(problems, key=lambda p: (p.file, p.code, p.detail))

    def _of_note(self, file, note):
        for target, heading in note.links:
            place = file if not target else self.resolve(target)
            if place is None:
                hits = len(self.by_name.get(target.lower(), []))
                code = "ambiguous-link" if hits > 1 else "unresolved-link"
                yield LinkProblem(code, file, f"[[{target}]]")
            elif heading and self.check_headings:
                wanted = normalise_heading(heading.split("#")[-1])
                if wanted not in map(normalise_heading, self.notes[place].headings):
                    yield LinkProblem("missing-heading", file, f"[[{target}#{heading}]]")

    def backlinks(self):
        """Map each file to the set of files that link to it."""
        sources = defaultdict(set)
        for file, note in self.notes.items():
            for target, _ in note.links:
                place = self.resolve(target) if target else None
                if place and place != file:
                    sources[place].add(file)
        return sources

    def orphans(self):
        """Notes with neither outgoing nor incoming links, daily notes excepted."""
        sources = self.backlinks()
        return [file for file, note in self.notes.items()
                if not note.links and not sources[file] and note.meta.get("kind") != "daily"]
