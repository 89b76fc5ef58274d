"""Checked by mypy alone: the Python API as a user would write it, from names that the package exports."""

from __future__ import annotations

from typing import assert_type

from pytest_ragbench import Chunk, SearchResult, bisect_commits, gate, measure
from pytest_ragbench.api import Bisection, GoldSource, Locator, Question, RunRecord, Verdict, find_run, report


class Retriever:
    """A user's own."""

    def search(self, query: str, *, depth: int = 10) -> SearchResult:
        return SearchResult([Chunk("notes/a.md", text=query)][:depth])


def nightly() -> str:
    """Measure, judge, render."""
    questions = [Question("lex-0001", "What?", "lexical", "T1", gold=(GoldSource(Locator("notes/a.md")),))]
    run = measure(Retriever(), questions, {"shallow": {"depth": 1}, "deep": {"depth": 10}}, k=10)
    assert_type(run, RunRecord)
    verdict = gate(run, "baselines", floors=True)
    assert_type(verdict, Verdict)
    return report(find_run("last", run.folder.parent)) if verdict.status == "failed" else ""


def from_files() -> RunRecord:
    """Sets and configurations as pytest reads them; a callable is a pipeline too."""
    return measure(
        lambda query: [f"notes/{query[:1]}.md"], "golden/sets", "golden/configs.yaml", names=["ladder"], limit=10
    )


def first_bad() -> int | None:
    """Any sequence can be searched."""
    found = bisect_commits([1, 2, 3, 4], lambda commit: "good" if commit < 3 else "regressed")
    assert_type(found, Bisection[int])
    return found.first_bad
