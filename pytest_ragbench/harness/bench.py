"""What one process knows of a bench session: questions, configurations, the plan of cells. It runs nothing."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_ragbench.configurations.loading import load_catalogue
from pytest_ragbench.configurations.selection import select
from pytest_ragbench.errors import UsageError
from pytest_ragbench.harness import expressions
from pytest_ragbench.harness.cells import Cell, CellFinder, cross
from pytest_ragbench.metrics.measures import metric_names
from pytest_ragbench.questions.loading import load_questions
from pytest_ragbench.questions.suites import TIERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ragbench.configurations.model import Catalogue, Configuration, Experiment
    from pytest_ragbench.harness.settings import Settings
    from pytest_ragbench.questions.loading import QuestionSet
    from pytest_ragbench.questions.model import Question


@dataclass
class Bench:
    """The questions and configurations of a session, and which cells it plans.

    Attributes:
        settings: What was asked for.
        questions: Every question of the sets.
        catalogue: Every configuration and experiment declared.
        names: Experiments and configurations as they were asked for.
        configurations: Those of this session, in order.
        experiments: The families among them.
        split: `dev`, `test` or `all`: the questions that are planned.
        typed_ids: Node ids typed on the command line.
    """

    settings: Settings
    questions: QuestionSet
    catalogue: Catalogue
    names: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    experiments: tuple[Experiment, ...]
    split: str
    typed_ids: tuple[str, ...] = ()

    @cached_property
    def unsplit(self) -> bool:
        """Whether nobody has split the set: it then runs as dev."""
        return all(question.split is None for question in self.questions.questions)

    @cached_property
    def generated(self) -> tuple[Question, ...]:
        """The questions that become items: those asked for, of either split; sealing comes after selection."""
        others = (question for question in self._runnable if not self.plans(question))
        return tuple(sorted([*self.planned, *others], key=lambda question: question.id))

    @property
    def _runnable(self) -> list[Question]:
        chosen = [question for question in self._asked_for if not question.rejected]
        return [question for question in chosen if self.unsplit or question.split is not None]

    @cached_property
    def left_out(self) -> dict[str, int]:
        """How many of the questions asked for never run, and why."""
        rejected = sum(question.rejected for question in self._asked_for)
        unsplit = sum(question.split is None and not question.rejected for question in self._asked_for)
        return {"rejected": rejected, "unsplit": 0 if self.unsplit else unsplit}

    @cached_property
    def _asked_for(self) -> list[Question]:
        suites, domains = self.settings.suites, self.settings.domains
        return [
            question
            for question in self.questions.questions
            if (not suites or question.suite in suites) and (not domains or question.domain in domains)
        ]

    def plans(self, question: Question) -> bool:
        """Whether the session's split includes the question."""
        return self.split in ("all", question.split or "dev")

    @cached_property
    def whole(self) -> tuple[Question, ...]:
        """The questions of the run, by id, those of its other shards included."""
        return tuple([question for question in self._runnable if self.plans(question)][: self.settings.limit])

    @cached_property
    def planned(self) -> tuple[Question, ...]:
        """The questions of the run, by id; of a shard, its part."""
        shard = self.settings.shard
        return self.whole if shard is None else shard.part(self.whole)

    @property
    def shard_fact(self) -> dict[str, int] | None:
        """What `run.json` says of the shard."""
        shard = self.settings.shard
        if shard is None:
            return None
        return {"index": shard.index, "of": shard.of, "questions": len(self.whole)}

    @cached_property
    def planned_cells(self) -> tuple[Cell, ...]:
        """The cells of the run, one question's side by side."""
        return cross(self.planned, self.configurations)

    @cached_property
    def finder(self) -> CellFinder:
        """The way from a node id to its cell."""
        return CellFinder(self.questions.questions, self.catalogue.configurations)

    @cached_property
    def parameters(self) -> list[object]:
        """One `pytest.param` a cell, shared by all tests that ask for `rag_row`; cells of a kind share their marks."""
        marks_of: dict[tuple[str, str, str, bool], tuple[pytest.MarkDecorator, ...]] = {}
        parameters: list[object] = []
        for cell in cross(self.generated, self.configurations):
            labels = (cell.configuration.marker, cell.question.suite, cell.question.tier, cell.sealed)
            marks = marks_of.get(labels)
            if marks is None:
                names = ["ragbench", *labels[:3], *(["sealed"] if cell.sealed else [])]
                marks = marks_of[labels] = tuple(getattr(pytest.mark, name) for name in names)
            parameters.append(pytest.param(cell, id=cell.id, marks=marks))
        return parameters

    @property
    def split_note(self) -> list[str]:
        """The sentence that a set without any split needs."""
        return ["no question is split yet: all run as dev"] if self.unsplit and self.generated else []

    def notes(self) -> list[str]:
        """What the header says of the questions that do not run; a report counts them from `left_out`."""
        notes = self.split_note
        unsplit = "without a split; `ragbench split` fills it in"
        for reason, text in (("rejected", "rejected by review"), ("unsplit", unsplit)):
            if count := self.left_out.get(reason, 0):
                notes.append(f"{count} {'question is' if count == 1 else 'questions are'} left out: {text}")
        return notes

    def marker_lines(self) -> list[str]:
        """Every marker with its explanation, for registration."""
        lines = ["ragbench: a cell of the bench: one golden question under one configuration"]
        lines.append("sealed: a question of the test split; it runs only with --unseal-test")
        lines.extend(f"{c.marker}: configuration {c.name}" for c in self.catalogue.configurations.values())
        lines.extend(f"{suite}: questions of the suite {suite}" for suite in self.suites)
        lines.extend(f"{tier}: questions of tier {tier}" for tier in TIERS)
        return lines

    @cached_property
    def suites(self) -> tuple[str, ...]:
        """Names of the suites that have questions, sorted."""
        return tuple(sorted({question.suite for question in self.questions.questions}))


def load(settings: Settings, *, markexpr: str = "", typed_ids: Iterable[str] = ()) -> Bench:
    """Read sets and configurations, and decide what the session runs.

    Raises:
        UsageError: Sets are missing or wrong, or a name is unknown; the text says what to do.
    """
    if not settings.sets.exists():
        raise UsageError(
            f"no question sets: {settings.sets} does not exist; write golden/sets/*.yaml, or say where they lie "
            f"with --rag-sets=PATH or the ini key rag_sets"
        )
    questions = load_questions(settings.sets, shown_as=settings.shown(settings.sets))
    if not questions.questions:
        raise UsageError(f"no question sets: {settings.sets} holds no question in *.yaml, *.yml or *.jsonl")
    suites = {question.suite for question in questions.questions}
    file = settings.configs_file if settings.configs_file.exists() else None
    catalogue = load_catalogue(file, reserved=suites, shown_as=settings.shown(settings.configs_file))
    _known("--rag-suites", settings.suites, suites)
    _known("--rag-domain", settings.domains, {q.domain for q in questions.questions if q.domain})
    typed = tuple(typed_ids)
    finder = CellFinder(questions.questions, catalogue.configurations)
    names = _default_names(settings, catalogue, markexpr, typed, finder)
    chosen = select(catalogue, names)
    for experiment in chosen.experiments:
        _measured(experiment, settings)
    return Bench(
        settings=settings,
        questions=questions,
        catalogue=catalogue,
        names=names,
        configurations=chosen.configurations,
        experiments=chosen.experiments,
        split=settings.split or _split_of(markexpr, finder, typed if settings.unseal else ()),
        typed_ids=typed,
    )


def _measured(experiment: Experiment, settings: Settings) -> None:
    """Raise for a metric that an experiment is declared to be judged by and no run measures."""
    known = metric_names(settings.k)
    for name in (*experiment.judged_by, *experiment.guarded_by):
        spelt = re.sub("@k$", f"@{settings.k}", name)
        if spelt not in known:
            near = difflib.get_close_matches(spelt, known, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(
                f"{settings.shown(settings.configs_file)}: experiments.{experiment.name}: no metric is called "
                f"{name!r}{hint} (known: {', '.join(known)})"
            )


def respell(catalogue: Catalogue, markexpr: str) -> str:
    """`-m` with configuration names in their marker form."""
    return expressions.rewrite(markexpr, {c.name: c.marker for c in catalogue.configurations.values()})


def _default_names(
    settings: Settings, catalogue: Catalogue, markexpr: str, typed: tuple[str, ...], finder: CellFinder
) -> tuple[str, ...]:
    """Typed or ini names, else those that `-m` or node ids name, else the ladder, else the first configuration."""
    if settings.configs:
        return settings.configs
    markers = {c.marker: name for name, c in catalogue.configurations.items()}
    respelt = respell(catalogue, markexpr)
    named = [m for m in markers if expressions.turns_true(respelt, m, false=markers.keys() - {m})]
    if named:
        return tuple(markers[marker] for marker in named)
    cells = [cell for node_id in typed if (cell := finder.find(node_id))]
    if cells:
        return tuple(dict.fromkeys(cell.configuration.name for cell in cells))
    return ("ladder",) if "ladder" in catalogue.experiments else (next(iter(catalogue.configurations)),)


def _split_of(markexpr: str, finder: CellFinder, typed: tuple[str, ...]) -> str:
    """`-m sealed` plans the test split; an expression that other items satisfy too plans both. So with node ids."""
    if expressions.turns_true(markexpr, "sealed"):
        return "all" if expressions.can_be_true(markexpr, false={"sealed"}) else "test"
    sealed = sum(cell.sealed for node_id in typed if (cell := finder.find(node_id)))
    return "dev" if not sealed else "test" if sealed == len(typed) else "all"


def _known(flag: str, typed: tuple[str, ...], known: set[str]) -> None:
    """Raise for a name that no question has, with the nearest one that some question has."""
    for name in typed:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{flag}: no question has {name!r}{hint} (known: {', '.join(sorted(known)) or 'none'})")
