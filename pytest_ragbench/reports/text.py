"""Raw values as text that is safe to show: control characters visible, long texts cut with a mark, cells formatted."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from pytest_ragbench.reports.model import Cell, Estimate, Milliseconds, Number, Probability, Share
from pytest_ragbench.statistics.verdicts import LEVEL, WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

VERDICT_WORDS: Mapping[str, str] = {str(verdict): words for verdict, words in WORDS.items()}
"""What a verdict of a summary is called."""

DIAG = "diag: fewer than 30 scored questions, a diagnostic and not a result."

_ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "×": "x", "→": "->", "≥": ">=", "≤": "<="})  # noqa: RUF001
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """`text` on one line with nothing hidden in it.

    C0 controls become their control pictures (a line feed is `␊`); other controls, marks that turn the writing
    direction, zero-width and unassigned characters become `⟨U+202E⟩`.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if unicodedata.category(character) in _INVISIBLE:
        return f"⟨U+{code:04X}⟩"
    return character


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of a text, then a mark that says how long it was."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [cut: {len(text):,} characters]"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 search`, `2 searches`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def look_sentence(look: int, level: float) -> str:
    """How a look at the test split is judged under alpha spending, without a full stop."""
    formula = f"6 x {LEVEL:g} / (pi^2 x {look}^2) = {level:.4g}"
    return f"Alpha spending: look {look} is judged at {formula}, its intervals have {100 * (1 - level):.6g} %"


def encodable(text: str, encoding: str | None) -> str:
    r"""`text` as a stream of that encoding can show it: dashes and dots in ASCII, anything else as `\u2026`."""
    name = encoding or "utf-8"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(name, "backslashreplace").decode(name)
    except LookupError:
        return encodable(text, "ascii")
    return text


def cell_text(cell: Cell) -> str:  # noqa: PLR0911 - one line for each kind of cell
    """A cell as plain text, not escaped."""
    match cell:
        case Number():
            return f"{cell.value:.{cell.digits}f}"
        case Estimate():
            return _estimate(cell)
        case Share():
            return f"{cell.part}/{cell.whole}"
        case Probability():
            return probability(cell.value)
        case Milliseconds():
            return milliseconds(cell.value)
    if cell is None:
        return ""
    return f"{cell:,}" if isinstance(cell, int) else cell


def probability(value: float) -> str:
    """A p-value with four decimals; smaller ones as `<0.0001`, never as 0."""
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def milliseconds(value: float) -> str:
    """Milliseconds with as many decimals as their size deserves."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def signed(value: float) -> str:
    """A difference with its sign; one that rounds to nothing has none."""
    text = f"{value:+.3f}"
    return "0.000" if text in {"+0.000", "-0.000"} else text


def _estimate(cell: Estimate) -> str:
    show = signed if cell.signed else "{:.3f}".format
    if cell.low is None or cell.high is None:
        return show(cell.mean)
    return f"{show(cell.mean)} [{show(cell.low)}, {show(cell.high)}]"
