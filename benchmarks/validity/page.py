"""Sets the counts out as docs/validity.md: which tables, in which order. The prose is `words`'."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from benchmarks.validity import words
from benchmarks.validity.counting import EFFECTS, STEPS, expanded
from benchmarks.validity.laws import FILE_SIZE, ICC, LAWS, Questions
from benchmarks.validity.results import promised, rate, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.validity.counting import Null, Share
    from benchmarks.validity.results import Results

WIDTH = 128


def render(results: Results) -> str:
    """The page."""
    intro, command, how_many = words.opening(results.effort)
    files = [(n, Questions(n, clustered=True).count) for n in results.effort.sizes]
    parts = [
        "# How often intervals and verdicts are right",
        paragraph(intro),
        command,
        paragraph(how_many),
        "## In short",
        "\n".join(paragraph(line, "- ") for line in words.in_short(results)),
        "## What is drawn",
        laws(),
        paragraph(words.structures(files)),
        "## Coverage",
        paragraph(words.COVERAGE),
        *_both(results, coverage),
        "## Wider intervals",
        paragraph(words.WIDER),
        *_both(results, wider),
        "## False `real`",
        paragraph(words.FALSE_REAL),
        *_both(results, false_real),
        "## Power",
        paragraph(words.POWER),
        *_both(results, powers),
    ]
    return "\n\n".join(parts) + "\n"


def paragraph(text: str, mark: str = "") -> str:
    """Prose in lines; those after the first stand below the text of a list's entry."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A table of Markdown; the first `left` columns to the left, numbers to the right."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def laws() -> str:
    """The laws, a row each."""
    rows = [
        (
            law.name,
            f"{law.mean:.4f}",
            "yes" if law.exchangeable else "no",
            "yes" if law.regular else "no: skewed",
            law.about,
        )
        for law in LAWS
    ]
    return table(("law", "mean", "arms may be swapped", "regular", "what it stands for"), rows, left=5)


def coverage(results: Results, *, clustered: bool) -> str:
    """Rows: n; columns: mean and difference of each law."""
    rows = []
    for n, here in _by_size(results, clustered=clustered):
        second = str(here[0].questions.count) if clustered else f"{100 * promised(n):.1f} %"
        rows.append([str(n), second, *(_covered(share) for one in here for share in (one.mean, one.difference))])
    return table(["n", "files" if clustered else "promised", *_COVERED], rows)


def wider(results: Results, *, clustered: bool) -> str:
    """As `coverage`, of the expanded percentile intervals."""
    rows = []
    for n, here in _by_size(results, clustered=clustered):
        level = f"{100 * expanded(here[0].questions.count):.2f} %"
        shares = (share for one in here for share in (one.wider_mean, one.wider_difference))
        rows.append([str(n), level, *map(_covered, shares)])
    return table(["n", "level taken", *_COVERED], rows)


_COVERED = tuple(f"{law.name}: {what}" for law in LAWS for what in ("mean", "difference"))


def _by_size(results: Results, *, clustered: bool) -> Iterator[tuple[int, list[Null]]]:
    for n in results.effort.sizes:
        yield n, [one for one in results.nulls if one.questions == Questions(n, clustered)]


def _covered(share: Share) -> str:
    return f"**{rate(share)}**" if short(share) else rate(share)


def false_real(results: Results, *, clustered: bool) -> str:
    """Rows: law and n; columns: one comparison, ladder, ladder with Holm."""
    rows = [false_real_row(one) for one in results.at_null(clustered=clustered)]
    return table(("law", "n", "one comparison", f"ladder of {STEPS}", "ladder, Holm"), rows)


def false_real_row(one: Null) -> list[str]:
    """One law and n."""
    shares = (one.single, one.unadjusted, one.ladder)
    return [one.law.name, str(one.questions.n), *("-" if share is None else rate(share) for share in shares)]


def powers(results: Results, *, clustered: bool) -> str:
    """Rows: law and n; columns: power at each effect, and the detectable effect at the middle one."""
    middle = EFFECTS[len(EFFECTS) // 2]
    rows = []
    for law in (law for law in LAWS if law.regular):
        mine = results.at_effects(law.name, clustered=clustered)
        for n in results.effort.sizes:
            here = {one.effect: one for one in mine if one.questions.n == n}
            mde = here[middle].mde
            rates = [rate(here[effect].real) for effect in EFFECTS]
            rows.append([law.name, str(n), *rates, "-" if mde is None else f"{mde:.3f}"])
    return table(("law", "n", *(f"effect {effect:.2f}" for effect in EFFECTS), f"median `mde` at {middle:.2f}"), rows)


def _both(results: Results, make: Callable[..., str]) -> list[str]:
    return [
        "### Independent questions",
        make(results, clustered=False),
        f"### In files of {FILE_SIZE}, intraclass correlation {ICC}",
        make(results, clustered=True),
    ]
