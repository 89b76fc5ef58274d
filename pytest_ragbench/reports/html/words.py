"""What a report takes for known, for whoever reads one for the first time: its measures, intervals and verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ragbench.analysis.plan import CONFIDENCE
from pytest_ragbench.metrics.catalogue import measures
from pytest_ragbench.statistics.verdicts import WORDS, meanings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ragbench.reports.view import RunView


_PLAIN = {
    "ndcg": "How high the required sources stand: 1 when they lead the ranking, less further down, 0 without any.",
    "recall": "Share of a question's required sources that the ranking holds.",
    "hit": "1 when one of the first so many chunks satisfies a required source, else 0.",
    "mrr": "1 divided by the rank of the first chunk that satisfies a required source.",
    "complete": "1 when the ranking holds every required source, else 0.",
}
"""The headline measures in plain words; their exact definitions stand in the catalogue."""

LISTED = 20
"""Configurations told by their factors; of a factorial's dozens the names say it."""


def glossary(view: RunView) -> tuple[tuple[str, str], ...]:
    """Term to meaning, of the terms that this report uses."""
    return tuple(_terms(view))


def _terms(view: RunView) -> Iterator[tuple[str, str]]:
    known = {measure.name: measure for measure in measures(view.k)}
    for name in view.metrics:
        if (measure := known.get(name)) is not None:
            alone = " By the file alone." if measure.document else ""
            yield name, f"{_PLAIN.get(measure.stem, measure.definition)}{alone}"
    level = float((view.run.get("bootstrap") or {}).get("confidence") or CONFIDENCE)
    yield (
        "[low, high]",
        f"The interval in which the value lies with {100 * level:g} % confidence, over other questions.",
    )
    yield from _configurations(view)
    if not view.pairs:
        return
    yield "A against B", "A's value minus B's, question by question; above zero A is better."
    yield "adjusted", "The p-value once all comparisons of one experiment are taken together (Holm)."
    yield "inert", "Switched on, it changed no ranking of any question."
    for verdict, meaning in meanings(view.level).items():
        yield WORDS[verdict], f"{meaning[:1].upper()}{meaning[1:]}."


def _configurations(view: RunView) -> Iterator[tuple[str, str]]:
    """Each configuration with what is switched on in it, where the run knows its factors."""
    factors = {name: view.factors(name) for name in view.names}
    if any(factors.values()) and len(factors) <= LISTED:
        for name, on in factors.items():
            yield name, f"Configuration with {', '.join(on)}." if on else "Configuration with no factor switched on."
