"""A verdict as a comment on a pull request: GitHub-flavoured Markdown that fits, notifies nobody and links nowhere.

Every text from outside stands in `<code>`, where GitHub looks for no mention, issue or commit. What does not fit is cut
at whole rows, the longest parts first, and counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ragbench.reports.markdown import escape
from pytest_ragbench.reports.text import cut, plural, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_ragbench.gates.model import Flip, GateLine, Refusal, Verdict

LIMIT = 65_536
"""Longest comment that GitHub takes. Characters there, bytes of UTF-8 here, so that no way of counting exceeds it."""

TEXT_CHARACTERS = 200
"""Length at which the text of a question is cut, with a mark."""

NOTE_CHARACTERS = 300
"""Length at which a note is cut, with a mark."""

IN_WORDS = 3
"""Failing numbers told in the first sentence."""

_WORDS = {"passed": "passed", "failed": "failed", "refused": "refused to judge"}
_GROUPS = {"domain": "By domain", "suite": "By suite", "difficulty": "By difficulty"}
_AT = re.compile(r"(?<!\w)@|@(?=[\w.-]*[^\W\d_])")
"""An at sign that may begin a mention or stand in an address; that of `recall@10` does not."""

_MARKER = re.compile(r"[^\w.]+")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the comment that can lose rows from its end; `head` and `tail` stay."""

    head: str
    rows: tuple[str, ...]
    tail: str = ""

    def fitted(self, limit: int) -> str:
        """The whole part, or as many rows as fit `limit` bytes with the number of those left out."""
        whole = "\n".join((self.head, *self.rows)) + self.tail
        if _size(whole) <= limit:
            return whole
        left = limit - _size(self.head + self.tail + _more(len(self.rows)))
        kept = 0
        for row in self.rows:
            left -= _size(row) + 1
            if left < 0:
                break
            kept += 1
        return "\n".join((self.head, *self.rows[:kept])) + _more(len(self.rows) - kept) + self.tail

    def size(self) -> int:
        """Bytes of the whole part."""
        return _size(self.fitted(1 << 60))


def marker(key: str) -> str:
    """The invisible first line, by which the comment of one check is found again and replaced."""
    return f"<!-- pytest-ragbench: {_MARKER.sub('-', key).strip('-')} -->"


def render_comment(
    verdict: Verdict,
    *,
    texts: Mapping[str, str],
    run: Mapping[str, str],
    key: str = "gate",
    limit: int = LIMIT,
) -> str:
    """The comment's text, with a final newline.

    Args:
        verdict: What the gate found.
        texts: Question id to its text, for the questions that changed.
        run: Facts of the run to tell at the end, name to value, as `commit`.
        key: Tells the comments of several checks apart; part of the marker.
        limit: Most bytes of UTF-8.

    Returns:
        Marker, verdict in words, what was refused, the table of what is gated, the questions that changed, and folded
        tables by domain, suite and difficulty. Rows that fail come first, then the worst regressions.
    """
    opening = "\n\n".join((marker(key), f"## Retrieval gate: {_WORDS[verdict.status]}", *_opening(verdict)))
    closing = "\n\n".join(_closing(verdict, run))
    parts = [*_tables(verdict), *_flips(verdict.flips, texts)]
    room = limit - _size(opening) - _size(closing) - 2 * (len(parts) + 2)
    caps = _caps([part.size() for part in parts], room)
    shown = (part.fitted(cap) for part, cap in zip(parts, caps, strict=True))
    return "\n\n".join((opening, *shown, closing)) + "\n"


def _opening(verdict: Verdict) -> Iterator[str]:
    if verdict.status == "refused":
        yield "The run was not judged. What stands in the way, and what mends it:"
        yield "\n".join(map(_refused, verdict.refusals))
        return
    gated = [line for line in verdict.lines if line.judged]
    failing = verdict.failures
    if failing:
        worst = [_in_words(line) for line in _ordered(failing)[:IN_WORDS]]
        more = ["…"] if len(failing) > IN_WORDS else []
        yield f"{len(failing)} of {plural(len(gated), 'gated number')} fail: {'; '.join(worst + more)}."
    else:
        against = "the floors" if verdict.baseline is None else f"the floors and the baseline {_code(verdict.baseline)}"
        yield f"{plural(len(gated), 'gated number')} held against {against}."
    if verdict.notes:
        yield "\n".join(f"- {_plain(cut(note, NOTE_CHARACTERS))}" for note in verdict.notes)


def _refused(refusal: Refusal) -> str:
    return (
        f"- {_plain(refusal.what)}: found {_code(refusal.found)}, expected {_code(refusal.expected)}; "
        f"{_code(refusal.remedy)}"
    )


def _in_words(line: GateLine) -> str:
    """A failing line in a few words: which number, and by how much it misses what."""
    name = f"{_plain(line.metric)} of {_plain(line.configuration)}"
    place = "" if line.scope == "overall" else f", {_scope(line.scope)},"
    noted = f" ({_plain(cut(line.note, NOTE_CHARACTERS))})" if line.note else ""
    if line.outcome == "below floor" and line.current is not None and line.floor is not None:
        return f"{name}{place} is {line.current:.3f}, below the floor {line.floor:.3f}{noted}"
    if line.outcome == "regressed" and line.delta is not None and line.allowed is not None:
        return f"{name}{place} fell by {-line.delta:.3f}, more than {line.allowed:.3f}{noted}"
    return f"{name}{place}: {line.outcome}"


def _tables(verdict: Verdict) -> Iterator[_Part]:
    judged = [line for line in verdict.lines if line.gated or line.scope == "overall"]
    if judged:
        yield _Part(_head(*_COLUMNS), tuple(map(_line, _ordered(judged))))
    for kind, title in _GROUPS.items():
        lines = [line for line in verdict.lines if line.scope.startswith(f"{kind}:")]
        if lines:
            failing = sum(line.failed for line in lines)
            told = f"{title}: {plural(len(lines), 'number')}" + (f", {failing} fail" if failing else "")
            head = f"<details><summary>{told}</summary>\n\n{_head(*_COLUMNS)}"
            yield _Part(head, tuple(map(_line, _ordered(lines))), "\n\n</details>")


_COLUMNS = ("configuration", "where", "metric", "baseline", "current", "delta", "floor", "may fall", "n", "verdict")


def _line(line: GateLine) -> str:
    told = f"**{line.outcome}**" if line.failed else line.outcome
    return _row(
        _plain(line.configuration),
        _scope(line.scope),
        _plain(line.metric),
        _number(line.baseline),
        _number(line.current),
        "" if line.delta is None else signed(line.delta),
        _number(line.floor),
        _number(line.allowed),
        f"{line.n:,}",
        f"{told}: {_plain(cut(line.note, NOTE_CHARACTERS))}" if line.note else told,
    )


def _flips(flips: Sequence[Flip], texts: Mapping[str, str]) -> Iterator[_Part]:
    """The questions that changed, the worst losses first."""
    if not flips:
        return
    ordered = sorted(flips, key=lambda flip: (flip.after - flip.before, flip.question, flip.configuration, flip.metric))
    lost = sum(flip.after < flip.before for flip in flips)
    told = f"Questions that changed: {lost:,} worse, {len(flips) - lost:,} better"
    head = _head("question", "configuration", "metric", "before", "after", "text")
    rows = (
        _row(
            _plain(flip.question),
            _plain(flip.configuration),
            _plain(flip.metric),
            _number(flip.before),
            _number(flip.after),
            _code(cut(texts.get(flip.question, ""), TEXT_CHARACTERS)),
        )
        for flip in ordered
    )
    yield _Part(f"<details><summary>{told}</summary>\n\n{head}", tuple(rows), "\n\n</details>")


def _closing(verdict: Verdict, run: Mapping[str, str]) -> Iterator[str]:
    if verdict.status == "failed" and verdict.baseline is not None:
        yield (
            "A fall that is meant becomes the new baseline by a reviewed change: run the same command with "
            "`--rag-update-baseline` and commit what it writes. A floor moves in `thresholds.yaml` alone."
        )
    yield f"<sub>{', '.join(f'{_plain(name)} {_code(value)}' for name, value in run.items())}</sub>"


def _ordered(lines: Iterable[GateLine]) -> list[GateLine]:
    """Failing lines, gated ones, the others; each by the fall, the worst first, and ties by name: one order."""
    return sorted(
        lines,
        key=lambda line: (
            not line.failed,
            not line.gated,
            0.0 if line.delta is None else line.delta,
            line.configuration,
            line.scope,
            line.metric,
        ),
    )


def _caps(sizes: Sequence[int], room: int) -> list[int]:
    """Shares of `room`: parts that need less than an equal share get what they need, the rest share what is left."""
    caps = [0] * len(sizes)
    left = max(room, 0)
    for done, index in enumerate(sorted(range(len(sizes)), key=lambda index: (sizes[index], index))):
        caps[index] = min(sizes[index], left // (len(sizes) - done))
        left -= caps[index]
    return caps


def _scope(scope: str) -> str:
    kind, _, name = scope.partition(":")
    return _plain(f"{kind} {name}") if name else _plain(scope)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _head(*names: str) -> str:
    return f"{_row(*names)}\n{_row(*('---' for _ in names))}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """A foreign text as it is: no markup, no mention, no link."""
    return f"<code>{_plain(text)}</code>" if text else ""


def _plain(text: str) -> str:
    """Our own words, with names from outside among them: as `escape`, and no address becomes a link."""
    return _AT.sub("&#64;<!-- -->", escape(text).replace("://", r"\://").replace("www.", r"www\."))


def _more(count: int) -> str:
    return f"\n\n{plural(count, 'more row')}, see report.md"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
