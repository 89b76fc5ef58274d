"""Means with intervals: the main table, groups of questions, document-level twins, hops, and what was not scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.questions.suites import WHOLE_FILE
from pytest_ragbench.reports.model import (
    Bullets,
    Cell,
    Column,
    Estimate,
    Intervals,
    Mark,
    Number,
    Section,
    Sentences,
    Share,
    Table,
)
from pytest_ragbench.reports.text import DIAG, plural
from pytest_ragbench.reports.view import MANY_CONFIGURATIONS, RunView, estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GROUPS = (
    ("by_suite", "suite"),
    ("by_tier", "tier"),
    ("by_domain", "domain"),
    ("by_difficulty", "difficulty"),
    ("by_strategy", "strategy"),
)
FEW_CONFIGURATIONS = 3
"""Up to so many, the suites stand in the summary of a session: they are what someone who works on one arm looks at."""

TIED_NAMED = 10
"""Up to so many configurations whose top scores tied are named; of more there is the range."""

CHARTED = 14
"""Configurations in a chart; above, those with the highest main metric."""

FEWEST_MISSED = 3
"""Questions of which no file must have been found for the names to be suspected."""

FEW_CLUSTERS = 25
"""Clusters below which an interval is said to be too narrow; docs/validity.md has how often such hold the mean."""

_CONFIGURATION = Column("configuration", numeric=False)


def main_table(view: RunView) -> Iterator[Section]:
    """Every configuration's headline metrics."""
    if not view.names:
        return
    columns = (_CONFIGURATION, Column("scored/planned"), *(Column(metric) for metric in view.metrics))
    rows = tuple(
        (name, _scored(view.results[name]), *(estimate(_overall(view, name).get(m)) for m in view.metrics))
        for name in view.names
    )
    yield Section("Results", (*_chart(view), Table(columns, rows), Sentences(_intervals(view)), *_counts(view)))


def _chart(view: RunView) -> Iterator[Intervals]:
    """The main metric of every configuration, or of those where it is highest."""
    if not view.metrics or len(view.names) < 2:
        return
    metric = view.metrics[0]
    names = view.names if len(view.names) <= CHARTED else view.leading(CHARTED)
    found = {name: estimate(_overall(view, name).get(metric)) for name in names}
    marks = tuple(Mark(name, cell) for name, cell in found.items() if isinstance(cell, Estimate))
    if not marks:  # every search failed
        return
    note = "Intervals that overlap say nothing about a difference: the comparisons are paired by question."
    if len(names) < len(view.names):
        note = f"The {len(names)} of {len(view.names)} configurations where it is highest. {note}"
    yield Intervals(f"Mean {metric} of each configuration, with its interval", metric, note, marks)


def _overall(view: RunView, name: str) -> Mapping[str, Any]:
    return view.results[name].get("overall") or {}


def _scored(result: Mapping[str, Any]) -> Cell:
    rows = result.get("rows") or {}
    return Share(rows.get("scored", 0), sum(rows.values())) if rows else None


def _intervals(view: RunView) -> str:
    sets: list[Mapping[str, Any]] = [found for name in view.names if (found := view.results[name].get("set"))]
    size = max(sets, key=lambda one: int(one["n"]), default=None)  # errors may have left an arm with fewer, or none
    bootstrap = view.run.get("bootstrap") or {}
    text = "In brackets: intervals"
    if bootstrap:
        clustered = "clusters (the file of a question's first required source)"
        drawn = clustered if bootstrap["cluster"] == "file" else "questions"
        level, resamples = bootstrap["confidence"] * 100, bootstrap["resamples"]
        text = f"In brackets: {level:g} % percentile intervals from {resamples:,} resamples of {drawn}"
        text += f", seed {bootstrap['seed']}"
    if size:
        most = "" if all(one == size for one in sets) else "at most "
        text += f"; {most}{plural(size['n'], 'question')} in {plural(size['clusters'], 'cluster')}"
        if size.get("effective_n"):
            text += f", worth at least {size['effective_n']:.1f} independent ones"
        text += _few(int(size["clusters"]), int(size["n"]))
    return text + ". A question without gold counts in no mean."


def _few(clusters: int, questions: int) -> str:
    """What so few clusters mean for the intervals; nothing where they are enough, or the questions themselves few."""
    if clusters == 1 and questions > 1:
        return ". All are of one cluster, from which no interval can be told: its ends are the mean itself"
    if clusters < min(FEW_CLUSTERS, questions):
        return f". {clusters} clusters are few: intervals from so few are too narrow, however many questions there are"
    return ""


def _counts(view: RunView) -> Iterator[Bullets]:
    lines = []
    unanswerable = max(int(view.results[name].get("unanswerable") or 0) for name in view.names)
    if unanswerable:
        lines.append(f"{plural(unanswerable, 'unanswerable question')} ran, out of every mean.")
    for name in view.names:
        partners = view.results[name].get("inert") or ()
        if partners:
            lines.append(f"Inert: {name} ranked exactly as {', '.join(partners)} on every question.")
    lines.extend(_tied(view))
    lines.extend(_nowhere(view))
    if lines:
        yield Bullets(tuple(lines))


def _nowhere(view: RunView) -> Iterator[str]:
    """A word where no search of the run found the file of any source: mostly the names differ, not the retrieval.

    One question may be missed, and of a pipeline that reports stages or a gate their sections tell more.
    """
    entries = [_overall(view, name).get(f"doc_recall@{view.k}") or {} for name in view.names]
    missed = [entry["n"] for entry in entries if entry.get("mean") == 0.0]
    told = any(view.results[name].get(key) for name in view.names for key in ("losses", "gate"))
    if entries and len(missed) == len(entries) and max(missed) >= FEWEST_MISSED and not told:
        yield (
            "No search found any gold file. If something was ranked at all, hold a ranked file name against the gold's "
            f"(`ragbench show {view.run['run_id']} --question ID`): gold files are paths below the corpus, and where a "
            "retriever gives absolute ones, or begins elsewhere, the ini key rag_corpus must name the corpus folder."
        )


def _tied(view: RunView) -> Iterator[str]:
    found = {name: int(count) for name in view.names if (count := view.results[name].get("tied_top"))}
    if not found:
        return
    shown = [f"{name} in {plural(count, 'row')}" for name, count in found.items()]
    if len(found) > TIED_NAMED:
        worst, best = max(found, key=lambda name: found[name]), min(found, key=lambda name: found[name])
        shown = [f"{len(found)} of {len(view.names)} configurations"]
        shown.append(f"from {best} in {plural(found[best], 'row')} to {worst} in {plural(found[worst], 'row')}")
    yield (
        f"Tied top scores: the first two chunks have one score under {', '.join(shown)}; their order is then no "
        "judgment, and a scorer that ties often is saturated."
    )


def groups(view: RunView) -> Iterator[Section]:
    """The main metric by suite, tier and whatever else the questions carry."""
    for key, title in GROUPS if view.metrics else ():
        found = {name: view.results[name].get(key) or {} for name in view.names}
        labels = sorted({label for groups in found.values() for label in groups})
        if not labels or (len(labels) == 1 and key not in {"by_suite", "by_tier"}):
            continue
        metric = view.metrics[0]
        sizes = {label: _group_size(found, label) for label in labels}
        labels = [label for label in labels if sizes[label][0]] or labels  # a partial run leaves whole groups out
        blocks = [_cross(view, found, title, {label: _label(label, *sizes[label]) for label in labels})]
        notes = list(_group_notes(key, labels, any(diag for _, diag in sizes.values())))
        shown = (*blocks, *((Bullets(tuple(notes)),) if notes else ()))
        detail = key != "by_suite" or len(view.names) > FEW_CONFIGURATIONS
        yield Section(f"By {title}: {metric}", shown, detail=detail)


def _group_size(found: Mapping[str, Mapping[str, Any]], label: str) -> tuple[int, bool]:
    """Scored questions of a group under the configuration that scored most, and whether it is a diagnostic only."""
    entries = [groups[label] for groups in found.values() if label in groups]
    sets = [entry["_set"] for entry in entries if "_set" in entry]
    counts = [value["n"] for entry in entries for metric, value in entry.items() if metric != "_set"]
    return max((*(size["n"] for size in sets), *counts), default=0), any(size.get("diag") for size in sets)


def _label(label: str, count: int, diag: bool) -> str:
    return f"{label} (n {count}, diag)" if diag else f"{label} (n {count})"


def _cross(view: RunView, found: Mapping[str, Mapping[str, Any]], title: str, labels: Mapping[str, str]) -> Table:
    """Groups as rows and configurations as columns, or the reverse where there are many configurations."""
    metric = view.metrics[0]

    def cell(name: str, label: str) -> Cell:
        return estimate((found[name].get(label) or {}).get(metric))

    if len(view.names) <= MANY_CONFIGURATIONS:
        columns = (Column(title, numeric=False), *(Column(name) for name in view.names))
        rows = [(shown, *(cell(name, label) for name in view.names)) for label, shown in labels.items()]
    else:
        columns = (_CONFIGURATION, *(Column(shown) for shown in labels.values()))
        rows = [(name, *(cell(name, label) for label in labels)) for name in view.names]
    return Table(columns, tuple(rows))


def _group_notes(key: str, labels: list[str], diag: bool) -> Iterator[str]:
    if key != "by_suite":
        return
    if diag:
        yield DIAG
    whole = [label for label in labels if label in WHOLE_FILE]
    if whole:
        yield (
            f"{' and '.join(whole)}: a heading locator in code, a notebook or a canvas matches the whole file, so "
            "chunk-level scores measure finding the file."
        )


def twins(view: RunView) -> Iterator[Section]:
    """Chunk-level metrics beside the same ones by file alone, and how many pages a matched chunk spans."""
    k = view.k
    stems = [stem for stem in (f"ndcg@{k}", f"recall@{k}", f"complete@{k}", "hit@5") if _both(view, stem)]
    if not stems:
        return
    columns = [_CONFIGURATION]
    for stem in stems:
        columns += [Column(stem), Column(f"doc_{stem}")]
    spans = {name: view.results[name].get("page_span") or {} for name in view.names}
    paged = any(span.get("max") is not None for span in spans.values())
    if paged:
        columns += [Column("pages, median"), Column("pages, max")]
    rows = []
    for name in view.names:
        means = [_mean(_overall(view, name).get(key)) for stem in stems for key in (stem, f"doc_{stem}")]
        span = (_number(spans[name].get("median"), 1), _number(spans[name].get("max"), 0)) if paged else ()
        rows.append((name, *means, *span))
    sentence = "Chunk level asks for the page or heading; document level (doc_) for the file alone."
    if paged:
        sentence += " Pages: how many a matched chunk spans; a chunk as long as a book finds every page."
    yield Section("Chunk and document level", (Table(tuple(columns), tuple(rows)), Sentences(sentence)), detail=True)


def _both(view: RunView, stem: str) -> bool:
    return any(stem in _overall(view, name) and f"doc_{stem}" in _overall(view, name) for name in view.names)


def _mean(entry: Mapping[str, Any] | None) -> Cell:
    return _number((entry or {}).get("mean"), 3)


def _number(value: float | None, digits: int) -> Cell:
    return None if value is None else Number(value, digits)


def hops(view: RunView) -> Iterator[Section]:
    """Recall of the required sources of each hop."""
    found = {name: view.results[name].get("by_hop") or {} for name in view.names}
    labels = sorted({hop for hops in found.values() for hop in hops}, key=lambda hop: (len(hop), hop))
    if not labels:
        return
    metrics = sorted({metric for hops in found.values() for entry in hops.values() for metric in entry})
    columns = (_CONFIGURATION, *(Column(f"hop {hop}, {metric}") for hop in labels for metric in metrics))
    rows = tuple(
        (name, *(estimate((found[name].get(hop) or {}).get(metric)) for hop in labels for metric in metrics))
        for name in view.names
    )
    sentence = "Required sources that carry a hop, found by the whole ranking."
    yield Section("Recall by hop", (Table(columns, rows), Sentences(sentence)), detail=True)
