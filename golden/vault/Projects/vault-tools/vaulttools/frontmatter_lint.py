"""Lint rules for front matter. Each rule has a number, so that it can be quoted.

FM01  title missing                FM05  course does not match the folder
FM02  kind missing or unknown      FM06  date differs from the file name (daily)
FM03  too many tags                FM07  generated note without its sources
FM04  tag not in lower-kebab       FM08  first heading differs from the title
"""

import re
from datetime import date

KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
ACRONYM = re.compile(r"[A-Z0-9]{2,6}")
RULES = {}


def rule(code):
    """Register a rule: a generator of messages for (note, file, config)."""
    def register(function):
        RULES[code] = function
        return function
    return register


@rule("FM01")
def has_title(note, file, config):
    if not note.meta.get("title"):
        yield "title is missing"


@rule("FM02")
def known_kind(note, file, config):
    kind = note.meta.get("kind")
    if kind not in config.get("frontMatter.kinds"):
        yield f"kind is {kind!r}, expected one of {', '.join(config.get('frontMatter.kinds'))}"


@rule("FM03")
def tag_count(note, file, config):
    tags, limit = note.meta.get("tags", []), config.get("frontMatter.maxTags")
    if len(tags) > limit:
        yield f"{len(tags)} tags, at most {limit} help me to find anything"


@rule("FM04")
def tag_shape(note, file, config):
    """Acronyms such as `LMTD` or `SHR` stay as they are printed in the book."""
    for tag in note.meta.get("tags", []):
        if not KEBAB.fullmatch(tag) and not ACRONYM.fullmatch(tag):
            yield f"tag '{tag}' should be '{to_kebab(tag)}'"


@rule("FM05")
def course_folder(note, file, config):
    parts = file.split("/")
    course = note.meta.get("course")
    if parts[0] == "Courses" and course != parts[1]:
        yield f"course is {course!r}, folder is {parts[1]!r}"


@rule("FM06")
def daily_date(note, file, config):
    if note.meta.get("kind") != "daily":
        return
    stem = note.name
    try:
        date.fromisoformat(stem)
    except ValueError:
        yield f"daily note '{stem}' is not named YYYY-MM-DD"
        return
    if note.meta.get("date") != stem:
        yield f"date is {note.meta.get('date')!r}, file is {stem}"


@rule("FM07")
def generated_sources(note, file, config):
    """A summary made by a model must say what it was made from."""
    if note.meta.get("generated") == "true" and not note.meta.get("generated_from"):
        yield "generated: true, but generated_from is empty"


@rule("FM08")
def heading_is_title(note, file, config):
    if note.headings and note.meta.get("title") and note.headings[0] != note.meta["title"]:
        yield f"first heading is {note.headings[0]!r}"


def to_kebab(tag):
    """`PhaseMargin`, `phase_margin` and `phase.margin` become `phase-margin`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", tag)
    return re.sub(r"[\s_.-]+", "-", spaced).strip("-").lower()


def lint(notes, config, silenced=()):
    """Yield (file, code, message) for a mapping file -> Note."""
    for file in sorted(notes):
        for code in sorted(RULES):
            if code not in silenced:
                for message in RULES[code](notes[file], file, config):
                    yield file, code, message


if __name__ == "__main__":
    print([to_kebab(t) for t in ("PhaseMargin", "phase_margin", "phase.margin", "ZOH")])
