"""When is a paper card due?  An SM-2-like rule, in whole calendar days.

The cards themselves stay on paper; the deck file only knows their numbers
(`C-0147`).  Differences from the published SM-2: grades 0..3 instead of 0..5,
intervals are capped, and nothing may be scheduled past the eve of the exam.
"""

import json
import os
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

AGAIN, HARD, GOOD, EASY = range(4)
EASE_STEP = {AGAIN: -0.20, HARD: -0.15, GOOD: 0.0, EASY: 0.10}
FIRST_INTERVAL = 1
SECOND_INTERVAL = 6
LEECH_LAPSES = 6


class DeckError(Exception):
    """The deck file cannot be used as it is."""


@dataclass
class CardState:
    """Everything that is remembered about one card."""

    number: str
    ease: float
    interval: int = 0
    repetitions: int = 0
    lapses: int = 0
    due: str = ""

    @property
    def is_leech(self):
        """Missed so often that the card, not the student, is at fault."""
        return self.lapses >= LEECH_LAPSES


def review(card, grade, today, config):
    """Return the state after a review with a grade from AGAIN to EASY.

    Interval ladder without errors at ease 2.5: 1, 6, 15, 38, 95 days.
    """
    if grade not in EASE_STEP:
        raise ValueError(f"grade {grade!r} is not in 0..3")
    ease = max(config.get("flashcards.easeFloor"), round(card.ease + EASE_STEP[grade], 2))
    if grade == AGAIN:
        repetitions, interval, lapses = 0, FIRST_INTERVAL, card.lapses + 1
    else:
        repetitions, lapses = card.repetitions + 1, card.lapses
        if repetitions == 1:
            interval = FIRST_INTERVAL
        elif repetitions == 2:
            interval = SECOND_INTERVAL
        elif grade == HARD:
            interval = max(card.interval + 1, int(card.interval * 1.2 + 0.5))
        else:
            interval = int(card.interval * ease + 0.5)
    interval = min(interval, config.get("flashcards.maxInterval"))
    due = clampToExam(today + timedelta(days=interval), today, config)
    return CardState(card.number, ease, interval, repetitions, lapses, due.isoformat())


def clampToExam(due, today, config):
    """Pull a due date back to the day before the exam; afterwards do nothing.

    The name is camelCase since the status-bar plugin calls its twin the same.
    """
    eve = date.fromisoformat(config.get("flashcards.examDate")) - timedelta(days=1)
    return eve if today < eve < due else due


def due_cards(deck, today):
    """Cards to be looked at, longest overdue first, leeches at the very end."""
    ready = [card for card in deck if card.due <= today.isoformat()]
    return sorted(ready, key=lambda card: (card.is_leech, card.due, card.number))


def load_deck(path):
    """Read the deck; numbers must be unique."""
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise DeckError(f"{path}: {error}; restore the last copy, do not delete it") from None
    deck = [CardState(**row) for row in rows]
    numbers = [card.number for card in deck]
    twice = sorted({n for n in numbers if numbers.count(n) > 1})
    if twice:
        raise DeckError(f"card numbers stand twice: {', '.join(twice)}")
    return deck


def save_deck(deck, path):
    """Replace the deck file so that a crash leaves the old one or the new one."""
    path = Path(path)
    temporary = path.with_suffix(".tmp")
    with open(temporary, "w", encoding="utf-8") as handle:
        json.dump([asdict(card) for card in deck], handle, indent=1)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


if __name__ == "__main__":
    from .config import DEFAULTS, VaultConfig

    config, day = VaultConfig(DEFAULTS), date(2026, 9, 1)
    card = CardState("C-0001", 2.5)
    for _ in range(5):
        card = review(card, GOOD, day, config)
        print(card.interval, card.due)
        day += timedelta(days=card.interval)
