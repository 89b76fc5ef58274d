"""One question under the microscope: its gold, and what each configuration ranked beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.metrics.catalogue import DOCUMENT_PREFIX, metric_names
from pytest_ragbench.reports.model import Block, Bullets, Cell, Column, Number, Report, Section, Sentences, Table
from pytest_ragbench.reports.text import cut, plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Locator, Question

    Texts = Mapping[tuple[str, str, str | None], str]

TEXT_CHARACTERS = 60
"""Start of a chunk's text beside its place."""

TITLE_CHARACTERS = 60
"""Of the question, which stands below whole."""

_GOLD = (
    Column("gold"),
    Column("source", numeric=False),
    Column("required", numeric=False),
    Column("hop"),
)
_RANKING = (
    Column("rank"),
    Column("source", numeric=False),
    Column("gold", numeric=False),
    Column("score"),
    Column("text", numeric=False),
)


def build_question(question: Question, rows: Sequence[Mapping[str, Any]], texts: Texts, k: int = 10) -> Report:
    """The ranked lists of one question.

    Args:
        question: With its gold.
        rows: Its rows, in the order of the configurations.
        texts: (chunk id, file, digest of the text, or None for any) to the text, where the record has it.
        k: Depth of the rankings.
    """
    sections = [asked(question), *(Section(row["configuration"], tuple(row_blocks(row, texts, k))) for row in rows)]
    return Report(f"{question.id}: {cut(question.text, TITLE_CHARACTERS)}", tuple(sections))


def place(file: str, pages: Sequence[int] | None, heading: Sequence[str]) -> str:
    """A source on one line: `book.pdf p. 4-5, Ch 4 > Bisection`."""
    parts = [file]
    if pages:
        parts.append(f"p. {pages[0]}" if pages[0] == pages[-1] else f"p. {pages[0]}-{pages[-1]}")
    shown = " ".join(parts)
    return f"{shown}, {' > '.join(heading)}" if heading else shown


def asked(question: Question) -> Section:
    """The question with its facts, its gold and its nuggets."""
    facts = [question.suite, question.tier, f"split {question.split or 'none'}"]
    facts += [] if question.answerable else ["unanswerable"]
    blocks: list[Block] = [Sentences(cut(question.text, 2_000)), Sentences(", ".join(facts) + ".")]
    if question.gold:
        rows = tuple(
            (
                index,
                " or ".join(_locator(locator) for locator in source.locators),
                "yes" if source.required else "optional",
                source.hop,
            )
            for index, source in enumerate(question.gold)
        )
        blocks.append(Table(_GOLD, rows))
    if question.nuggets:
        blocks += [Sentences("A right answer says:"), Bullets(question.nuggets)]
    return Section("Question", tuple(blocks))


def _locator(locator: Locator) -> str:
    return place(locator.file, locator.pages, locator.heading)


def row_blocks(
    row: Mapping[str, Any], texts: Texts, k: int, *, characters: int = TEXT_CHARACTERS, depth: int | None = None
) -> Iterator[Block]:
    """What one configuration did with a question: its metrics, what it reported, its ranking.

    Args:
        row: The row.
        texts: As above.
        k: Depth of the rankings.
        characters: Length of the start of each chunk's text.
        depth: Ranks shown, beside later ones that satisfy a source; all of them when None.
    """
    if row.get("error") is not None:
        yield Sentences(f"The search failed: {cut(str(row['error']), 500)}")
        return
    metrics = row.get("metrics") or {}
    names = [name for name in metric_names(k) if not name.startswith(DOCUMENT_PREFIX) and metrics.get(name) is not None]
    shown = [f"{name} {metrics[name]:.3f}" for name in names]
    if shown:
        yield Sentences(f"{', '.join(shown)}.")
    yield from _reported(row)
    if not row.get("ranking"):
        yield Sentences("The ranking is empty.")
        return
    ranking = [entry for entry in row["ranking"] if depth is None or entry["rank"] <= depth or entry.get("matches")]
    yield without_empty(Table(_RANKING, tuple(_ranked(entry, texts, characters) for entry in ranking), keys=1))
    if len(ranking) < len(row["ranking"]):
        yield Sentences(f"{plural(len(row['ranking']) - len(ranking), 'more rank')} not shown.")


def _reported(row: Mapping[str, Any]) -> Iterator[Block]:
    """Where sources were lost, what a gate removed, what a walk found and where routing led, a sentence each."""
    if losses := row.get("losses"):
        charged = ", ".join(f"{loss['gold']} ({loss['layer']})" for loss in losses)
        yield Sentences(f"Lost: {charged}.")
    if (gate := row.get("gate")) is not None:
        lost = sorted({source for chunk in gate["removed"] for source in chunk["matches"]})
        text = f"The gate removed {plural(len(gate['removed']), 'chunk')}"
        text += f", among them what satisfies {', '.join(map(str, lost))}" if lost else ""
        if gate["confidence"] is not None and gate["threshold"] is not None:
            text += f"; confidence {gate['confidence']:.4g}, threshold {gate['threshold']:.4g}"
        yield Sentences(f"{text}.")
    if (walk := row.get("walk")) is not None:
        kept = sum(step["kept"] for step in walk["added"])
        text = f"The walk added {plural(len(walk['added']), 'chunk')}, {kept} of them in the ranking"
        text += f"; it alone found {', '.join(map(str, walk['found']))}" if walk["found"] else ""
        yield Sentences(f"{text}.")
    if (route := row.get("route")) is not None:
        said = [f"{key} {route[key]}" for key in ("course", "area", "kind", "scope", "expected") if route.get(key)]
        yield Sentences(f"Routing: {', '.join(said)}." if said else "Routing named nothing.")


def without_empty(table: Table) -> Table:
    """The table without the columns that say nothing: a pipeline need not give scores or texts."""
    kept = [index for index in range(len(table.columns)) if any(row[index] is not None for row in table.rows)]
    columns = tuple(table.columns[index] for index in kept)
    return Table(columns, tuple(tuple(row[index] for index in kept) for row in table.rows), table.keys)


def _ranked(entry: Mapping[str, Any], texts: Texts, characters: int) -> tuple[Cell, ...]:
    found: str | None = None
    if entry.get("matches"):
        found = f"satisfies {', '.join(map(str, entry['matches']))}"
    elif entry.get("doc_matches"):
        found = f"file of {', '.join(map(str, entry['doc_matches']))}"
    score = entry.get("score")
    return (
        entry["rank"],
        place(entry["file"], entry.get("pages"), entry.get("heading") or ()),
        found,
        None if score is None else Number(score, 4),
        _start(texts.get((entry["id"], entry["file"], entry.get("text_digest")), ""), characters) or None,
    )


def _start(text: str, characters: int) -> str:
    """The beginning of a passage on one line; the dots alone mark the cut, since the whole stands in the record."""
    words = " ".join(text[: 4 * characters].split())
    return words if len(words) <= characters else f"{words[: characters - 1]}…"
