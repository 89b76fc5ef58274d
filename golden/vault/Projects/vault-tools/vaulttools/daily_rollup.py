"""One page for the weekly review: decisions, failures and open tasks of a week.

A week runs from Saturday to Friday, since the review is on Friday at 14:00.
"""

import re
from datetime import date, timedelta
from pathlib import Path

from .notes import blank_code, read_note

OPEN_TASK = re.compile(r"^\s*- \[ \] (.+)$", re.M)
DONE_TASK = re.compile(r"^\s*- \[[xX]\] (.+)$", re.M)
FRIDAY = 4


class RollupError(ValueError):
    """The week cannot be rolled up."""


def week_of(day):
    """The seven days, Saturday to Friday, that contain `day`."""
    last = day + timedelta(days=(FRIDAY - day.weekday()) % 7)
    return [last - timedelta(days=k) for k in range(6, -1, -1)]


def sections(body):
    """Map the level-two headings of a note to their text, in order."""
    parts = re.split(r"^## +(.+?)\s*$", body, flags=re.M)
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))


def roll_up(vault, day, headings):
    """Markdown of the week; days without a note are named at the end."""
    found, open_tasks, missing = {h: [] for h in headings}, [], []
    for current in week_of(day):
        path = Path(vault) / "Daily" / f"{current.isoformat()}.md"
        if not path.exists():
            missing.append(f"{current:%a %d %b}")
            continue
        note = read_note(path)
        for title, text in sections(note.body).items():
            for wanted in headings:
                if title.lower().startswith(wanted.lower()) and wanted != "Todo":
                    found[wanted].append(f"- [[{note.name}]]: {first_sentence(text)}")
        open_tasks += [f"- [ ] {task} ([[{note.name}]])"
                       for task in OPEN_TASK.findall(blank_code(note.body))]
    if len(missing) == 7:
        raise RollupError(f"no daily note between {week_of(day)[0]} and {week_of(day)[-1]}")
    lines = [f"# Week up to {week_of(day)[-1].isoformat()}"]
    for wanted in headings:
        items = open_tasks if wanted == "Todo" else found[wanted]
        lines += ["", f"## {wanted} ({len(items)})", *items]
    return "\n".join([*lines, "", f"No note: {', '.join(missing) or 'none'}"])


def first_sentence(text):
    """Up to the first full stop that really ends a sentence.

    The word before it needs two letters, so `e.g.` is passed over; a capital
    letter, a link or code must follow, so `approx. 5` is passed over as well.
    """
    flat = " ".join(text.split())
    match = re.search(r"^.*?\w{2,}[\])`*]*[.!?](?=\s+[A-Z\[`]|$)", flat)
    return match.group() if match else flat


def task_balance(vault, first, last):
    """(opened and still open, done) over the notes of a span of days."""
    still, done, day = 0, 0, first
    while day <= last:
        path = Path(vault) / "Daily" / f"{day.isoformat()}.md"
        if path.exists():
            body = read_note(path).body
            still += len(OPEN_TASK.findall(body))
            done += len(DONE_TASK.findall(body))
        day += timedelta(days=1)
    return still, done


if __name__ == "__main__":
    print([f"{d:%a %d}" for d in week_of(date(2026, 11, 16))])
    print(first_sentence("One change for each run, e.g. Kp. Yesterday we changed two."))
