"""Every question with its scores, its gold and its rankings, as much of it as a page can hold.

All questions are listed. The rankings of two configurations stand in the page itself; those of others are data for its
script, for as many configurations as `RANKS_KEPT` allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.html.rendering import CELL_CHARACTERS
from pytest_ragbench.reports.model import Block, Sentences, Table
from pytest_ragbench.reports.question import asked, row_blocks, without_empty
from pytest_ragbench.reports.text import cell_text, cut, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Question
    from pytest_ragbench.reports.question import Texts
    from pytest_ragbench.reports.view import RunView

    CellKey = tuple[str, str]

DEPTH = 10
"""Ranks shown of a ranking, beside later ones that satisfy a source."""

TEXT_CHARACTERS = 90
"""Start of a chunk's text."""

QUESTION_CHARACTERS = 400
"""Length at which a question's text is cut in the list; opened, it shows more."""

OPENING = 600
"""Questions that open; of more, those on which the two configurations differ most, then the lowest scores."""

RANKS_KEPT = 40_000
"""Ranks that are kept for the script, over all questions and configurations."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which configurations the list can show.

    Attributes:
        names: Those whose rankings are kept, in the run's order.
        first, second: Positions in `names` of the two that stand side by side; `second` is None where there is one.
    """

    names: tuple[str, ...]
    first: int
    second: int | None

    @property
    def pair(self) -> tuple[str, ...]:
        """The names of the two, or of the one."""
        return tuple(self.names[at] for at in (self.first, self.second) if at is not None)


@dataclass(frozen=True, slots=True)
class Side:
    """One configuration's answer to one question."""

    configuration: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One question of the list.

    Attributes:
        question: The question.
        text: Its text, cut.
        scores: The metric under each of the pair; a number, None where it has none, or a word.
        asked: Its facts, gold and nuggets; empty where it does not open.
        sides: The answers of the pair; empty where it does not open.
    """

    question: Question
    text: str
    scores: tuple[float | str | None, ...]
    asked: tuple[Block, ...]
    sides: tuple[Side, ...]

    @property
    def difference(self) -> float | None:
        """The second's score minus the first's."""
        first, second = self.scores if len(self.scores) == 2 else (None, None)
        return second - first if isinstance(first, float) and isinstance(second, float) else None


@dataclass(frozen=True, slots=True)
class Note:
    """What the list leaves out, and the command that prints it.

    Attributes:
        text: What is here.
        command: To be typed.
        prints: What the command prints, as in `any`.
    """

    text: str
    command: str
    prints: str


@dataclass(frozen=True, slots=True)
class QuestionList:
    """All questions of a run, and what a script needs to show other configurations than the pair."""

    metric: str
    choice: Choice
    entries: tuple[Entry, ...]
    data: Mapping[str, Any]
    notes: tuple[Note, ...]


def choose(view: RunView, questions: int) -> Choice | None:
    """The configurations whose rankings a page of so many questions keeps, and the two that it shows.

    Shown are the one with the highest main metric and what it was paired with; kept are as many as `RANKS_KEPT` allows,
    those with the highest main metric. None for a run without configurations.
    """
    known = view.names or tuple(entry["name"] for entry in view.run.get("configurations") or ())
    if not known:
        return None
    best = view.leading(1)[0] if view.names else known[-1]
    partners = [other for name, other in view.pairs if name == best and other in known]
    against = next((name for name in (*partners, *known) if name != best), None)
    opening = min(questions, OPENING) or 1
    room = max(2, 2 + RANKS_KEPT // (opening * min(view.k, DEPTH)))
    ranked = dict.fromkeys((best, *((against,) if against else ()), *view.leading(len(view.names)), *known))
    kept = set(list(ranked)[:room])
    names = tuple(name for name in known if name in kept)
    if against is None:
        return Choice(names, names.index(best), None)
    return Choice(names, names.index(against), names.index(best))


def list_questions(
    view: RunView,
    choice: Choice,
    questions: Sequence[Question],
    rows: Mapping[CellKey, Mapping[str, Any]],
    texts: Texts,
) -> QuestionList:
    """The list of a run's questions.

    Args:
        view: The run.
        choice: From `choose`.
        questions: The planned questions, by id.
        rows: Rows of the chosen configurations.
        texts: As `build_question` takes them.
    """
    metric = view.metrics[0] if view.metrics else f"ndcg@{view.k}"
    scores = {q.id: tuple(_score(rows.get((q.id, name)), metric) for name in choice.names) for q in questions}
    opening = _opening(questions, choice, scores)
    data = _Data()
    entries = []
    for question in questions:
        opens = question.id in opening
        shown = {name: _blocks(rows.get((question.id, name)), texts, view.k) for name in choice.names if opens}
        entries.append(
            Entry(
                question,
                cut(question.text, QUESTION_CHARACTERS),
                tuple(scores[question.id][choice.names.index(name)] for name in choice.pair),
                _asked(question) if opens else (),
                tuple(Side(name, shown[name]) for name in choice.pair if opens),
            )
        )
        data.add(scores[question.id], [() if name in choice.pair else shown.get(name, ()) for name in choice.names])
    notes = tuple(_notes(view, choice, len(questions), len(opening)))
    return QuestionList(metric, choice, tuple(entries), data.told(metric, choice), notes)


def _asked(question: Question) -> tuple[Block, ...]:
    """Facts, gold and nuggets; the text itself only where the list has cut it."""
    text, *blocks = asked(question).blocks
    if len(question.text) > QUESTION_CHARACTERS:
        blocks.insert(0, text)
    return tuple(without_empty(block) if isinstance(block, Table) else block for block in blocks)


def _score(row: Mapping[str, Any] | None, metric: str) -> float | str | None:
    if row is None:
        return "not run"
    if row.get("error") is not None:
        return "error"
    value = (row.get("metrics") or {}).get(metric)
    return None if value is None else float(value)


def _blocks(row: Mapping[str, Any] | None, texts: Texts, k: int) -> tuple[Block, ...]:
    if row is None:
        return (Sentences("This question has no row under this configuration."),)
    return tuple(row_blocks(row, texts, k, characters=TEXT_CHARACTERS, depth=DEPTH))


def _opening(
    questions: Sequence[Question], choice: Choice, scores: Mapping[str, Sequence[float | str | None]]
) -> frozenset[str]:
    """Ids of the questions that open: all, or those on which the pair differs most, the lowest scores first."""

    def rank(question: Question) -> tuple[float, float, str]:
        values = [scores[question.id][choice.names.index(name)] for name in choice.pair]
        numbers = [value for value in values if isinstance(value, float)]
        if len(numbers) < len(values):
            return (-2.0 if "error" in values else 0.0), 0.0, question.id
        return min(numbers) - max(numbers), min(numbers), question.id

    return frozenset(question.id for question in sorted(questions, key=rank)[:OPENING])


def _notes(view: RunView, choice: Choice, questions: int, opening: int) -> Iterator[Note]:
    command = f"ragbench show {view.run['run_id']} --question ID"
    all_names = view.names or choice.names
    if len(choice.names) < len(all_names):
        yield Note(
            f"Rankings of {len(choice.names)} of the {len(all_names)} configurations are in this page, those with the "
            "highest main metric among them.",
            command,
            "all",
        )
    if opening < questions:
        differing = "" if choice.second is None else "those on which the two configurations differ most, then "
        yield Note(
            f"{opening:,} of the {questions:,} questions open here: {differing}those that score lowest.",
            command,
            "any",
        )


class _Data:
    """What the script reads: texts once each, and for each question its scores and other configurations' blocks."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._heads: dict[tuple[tuple[str, bool], ...], int] = {}
        self._questions: list[list[Any]] = []

    def add(self, scores: Sequence[float | str | None], sides: Sequence[Sequence[Block]]) -> None:
        """One question, in the order of the list."""
        shown = [round(score, 6) if isinstance(score, float) else score for score in scores]
        self._questions.append([shown, [[self._block(block) for block in side] for side in sides]])

    def told(self, metric: str, choice: Choice) -> dict[str, Any]:
        """The whole, as JSON holds it."""
        return {
            "metric": visible(metric),
            "names": [visible(cut(name, CELL_CHARACTERS)) for name in choice.names],
            "pair": [at for at in (choice.first, choice.second) if at is not None],
            "heads": [[list(column) for column in head] for head in self._heads],
            "texts": list(self._texts),
            "questions": self._questions,
        }

    def _block(self, block: Block) -> int | list[Any]:
        """A sentence as its number; a table as its head's number and rows of numbers of texts, -1 for an empty cell."""
        match block:
            case Sentences():
                return self._text(block.text)
            case Table():
                head = tuple((visible(column.title), column.numeric) for column in block.columns)
                number = self._heads.setdefault(head, len(self._heads))
                return [
                    number,
                    [[self._text(cut(cell_text(cell), CELL_CHARACTERS)) for cell in row] for row in block.rows],
                ]
        raise TypeError(f"{type(block).__name__}: no row of a question tells such a block")

    def _text(self, text: str) -> int:
        return -1 if text == "" else self._texts.setdefault(visible(text), len(self._texts))
