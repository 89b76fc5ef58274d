"""Run against run: what is compared and what differs, a sentence and rows for each pair, the questions that changed."""

from __future__ import annotations

import re
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.reports.between_words import (
    PAIRS_SHOWN,
    few,
    listed,
    main_metric,
    moved,
    pair_name,
    sentences,
)
from pytest_ragbench.reports.model import (
    Block,
    Bullets,
    Cell,
    Column,
    Number,
    Probability,
    Report,
    Section,
    Sentences,
    Table,
)
from pytest_ragbench.reports.text import DIAG, VERDICT_WORDS, cut, plural, signed
from pytest_ragbench.reports.view import difference
from pytest_ragbench.statistics.verdicts import WORDS, level_of, meanings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROWS_SHOWN = 60
CHANGED_SHOWN = 10
"""Questions of one pair; `--json` has all of them."""

FEW_PAIRS = 3
"""Up to so many, the changed questions stand in the summary of a session."""

VALUE_CHARACTERS = 40
BEFORE_PARTING = 8
DIGEST_CHARACTERS = 12

OF_A_RUN = ("commit", "index", "pipeline", "configurations", "versions")
"""What a record tells of its run, where it is known."""

NOT_KNOWN = "not known"
"""In place of a value that a record does not have."""

NOT_SET = "not set"
"""In place of an override that a configuration does not have."""

_DIGEST = re.compile(r"[0-9a-f]{32,}")
"""A commit or a digest: its beginning tells it apart, and the whole tells no more."""

_NUMBERS = ("before", "after", "difference", "won", "lost", "tied")
_TESTS = (Column("p sign-flip"), Column("p Holm"), Column("p McNemar"), Column("detectable"), Column("n"))


def build_between(found: Mapping[str, Any]) -> Report:
    """The report of a comparison of runs.

    Args:
        found: What `runs.comparing` gives; `ragbench compare --json` prints the same.
    """
    sections = [
        _compared(found),
        *_differing(found),
        Section("In words", (Bullets(tuple(sentences(found))),)),
        *_table(found),
        *_by_suite(found),
        *(_changed(found, pair) for pair in moved(found)[:PAIRS_SHOWN]),
    ]
    return Report(f"Comparison with {found['runs'][0]['run_id']}", tuple(sections))


def _compared(found: Mapping[str, Any]) -> Section:
    old, *new = found["runs"]
    bullets = [f"Old: {_run(old)}.", *(f"New: {_run(run)}." for run in new)]
    bullets.append(
        f"Split {found['split']}, {plural(found['questions'], 'question')}, the same in all of them; rankings cut at "
        f"{found['k']}. A difference is new minus old, paired by question over the questions that both scored."
    )
    if found["sealed"]:
        looks = max((run["ledger"] or {}).get("count", 0) for run in found["runs"])
        bullets.append(
            f"{plural(found['sealed'], 'question')} of the sealed test split, marked (sealed) below: this reads what "
            f"was measured and is no look; the split was opened {plural(looks, 'time')}."
        )
    if any(run["run_id"] == old["run_id"] for run in new):
        bullets.append("Old and new are one and the same record, which cannot differ from itself.")
    bullets.extend(_failed(found, pair) for pair in found["comparisons"] if any(pair["errored"]))
    return Section("What is compared", (Bullets(tuple(bullets)),))


def _failed(found: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    """Which questions are no pairs, and in which run their search failed."""
    sides = zip((pair["against"], pair["run"]), pair["failed"], strict=True)
    where = ", ".join(f"{few(ids)} in {run}" for run, ids in sides if ids)
    count = plural(found["questions"] - pair["answered"], "question")
    return f"{pair_name(found, pair)}: {count} of {found['questions']:,} not compared, the search failed: {where}."


def _run(run: Mapping[str, Any]) -> str:
    sha = run["git"]["sha"]
    commit = f"commit {sha[:12]}" if sha else "no commit"
    return f"{run['run_id']}, {commit}{', with changes' if run['git']['dirty'] else ''}, started {run['started_at']}"


def _differing(found: Mapping[str, Any]) -> Iterator[Section]:
    """What else was not alike in the runs: the candidates for a cause."""
    blocks: list[Block] = []
    rows = [(row["what"], *_values(row["values"], NOT_KNOWN)) for row in found["differences"] if row["said"] is None]
    if rows:
        columns = (Column("what", numeric=False), *(Column(run["run_id"], numeric=False) for run in found["runs"]))
        blocks.append(Table(columns, tuple(rows)))
    overrides = [
        (pair_name(found, pair), key, *_values(values, NOT_SET))
        for pair in found["comparisons"]
        for key, values in pair["overrides"].items()
    ]
    if overrides:
        columns = tuple(Column(title, numeric=False) for title in ("configuration", "override", "old", "new"))
        blocks.append(Table(columns, tuple(overrides), keys=2))
    if said := [f"{row['what']}: {row['said']}." for row in found["differences"] if row["said"] is not None]:
        blocks.append(Bullets(tuple(said)))
    if any(run["git"]["dirty"] for run in found["runs"]):
        blocks.append(Sentences("A run with changes measured a working tree that its commit alone does not tell."))
    elif not blocks:
        told = [name for name in OF_A_RUN if name not in found["unknown"]]
        blocks.append(Sentences(f"Nothing that the records tell: {listed(told)} agree."))
    if found["unknown"]:
        blocks.append(
            Sentences(f"No record tells its {listed(found['unknown'], 'or')}: there may be a difference unseen.")
        )
    yield Section("What differs", tuple(blocks))


def _values(values: Sequence[Any], absent: str) -> list[str]:
    """Values side by side; of long ones what begins shortly before they part, so that no two look alike."""
    texts = [absent if value is None else _value(value) for value in values]
    if all(len(text) <= VALUE_CHARACTERS for text in texts):
        return texts
    start = max(0, len(_shared([text for text in texts if text != absent])) - BEFORE_PARTING)
    return [
        text if text == absent else cut(f"{'…' if start else ''}{text[start:]}", VALUE_CHARACTERS) for text in texts
    ]


def _shared(texts: list[str]) -> str:
    """What all of them begin with."""
    return commonprefix(texts)  # noqa: RUF071 - character by character is what is meant


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else canonical.dumps(value)
    return text[:DIGEST_CHARACTERS] if _DIGEST.fullmatch(text) else text


def _table(found: Mapping[str, Any]) -> Iterator[Section]:
    pairs = moved(found)
    if not pairs:
        return
    metrics = [main_metric(found), f"recall@{found['k']}", f"complete@{found['k']}", *_hits(found)]
    if len(pairs) * len(metrics) > ROWS_SHOWN:
        metrics = metrics[:1]
    shown = pairs[:ROWS_SHOWN]
    rows = [_row(pair_name(found, pair), metric, pair["metrics"][metric]) for pair in shown for metric in metrics]
    leading = (Column("configuration", numeric=False), Column("metric", numeric=False))
    columns = (*leading, *map(Column, _NUMBERS), Column("verdict", numeric=False), *_TESTS)
    blocks: list[Block] = [Sentences(_family(found)), Table(columns, tuple(rows), keys=2)]
    if len(pairs) > ROWS_SHOWN:
        blocks.append(Sentences(f"{len(pairs) - ROWS_SHOWN:,} more pairs stand in the output of --json."))
    used = {str(row["metrics"][metric]["verdict"]) for row in shown for metric in metrics}
    told = meanings(level_of(found["bootstrap"]["confidence"])).items()
    blocks.append(Bullets(tuple(f"{WORDS[verdict]}: {meaning}." for verdict, meaning in told if verdict in used)))
    yield Section("New against old", tuple(blocks))


def _hits(found: Mapping[str, Any]) -> list[str]:
    return [name for name in ("hit@1",) if any(name in pair["metrics"] for pair in found["comparisons"])]


def _family(found: Mapping[str, Any]) -> str:
    bootstrap, main = found["bootstrap"], main_metric(found)
    count = sum(
        pair["metrics"][main]["n"] > 0 for pair in found["comparisons"]
    )  # a pair that shares none tests nothing
    drawn = (
        "clusters (the file of a question's first required source)" if bootstrap["cluster"] == "file" else "questions"
    )
    text = (
        f"In brackets: {bootstrap['confidence'] * 100:.6g} % percentile intervals from {bootstrap['resamples']:,} "
        f"resamples of {drawn}, seed {bootstrap['seed']}"
    )
    if count > 1:
        chance = count * level_of(bootstrap["confidence"])
        text += f". {count:,} pairs: about {chance:.2g} would look real by chance alone, so p Holm is beside p"
    return text + "."


def _row(name: str, metric: str, entry: Mapping[str, Any]) -> tuple[Cell, ...]:
    return (
        name,
        metric,
        *(_number(entry[key]) for key in ("before", "after")),
        difference(entry),
        *(entry[key] for key in ("won", "lost", "tied")),
        VERDICT_WORDS[entry["verdict"]],
        *(_probability(entry[key]) for key in ("p_sign_flip", "p_holm", "p_mcnemar")),
        _number(entry["mde"]) if entry["verdict"] != "real" else None,
        entry["n"],
    )


def _number(value: float | None) -> Cell:
    return None if value is None else Number(value)


def _probability(value: float | None) -> Cell:
    return None if value is None else Probability(value)


def _by_suite(found: Mapping[str, Any]) -> Iterator[Section]:
    """The main metric's difference suite by suite: where a change comes from."""
    pairs = moved(found)[:PAIRS_SHOWN]
    rows = [
        (
            pair_name(found, pair),
            f"{suite} (diag)" if entry["diag"] else suite,
            *(_number(entry[key]) for key in ("before", "after")),
            difference(entry),
            *(entry[key] for key in ("won", "lost", "tied")),
            VERDICT_WORDS[entry["verdict"]],
            *(_probability(entry[key]) for key in ("p_sign_flip", "p_holm")),
            entry["n"],
        )
        for pair in pairs
        for suite, entry in pair["by_suite"].items()
        if entry["won"] or entry["lost"]
    ]
    if not rows:
        return
    leading = (Column("configuration", numeric=False), Column("suite", numeric=False))
    columns = (*leading, *map(Column, _NUMBERS), Column("verdict", numeric=False), *_TESTS[:2], Column("n"))
    blocks: list[Block] = [*_suites_tested(found, pairs), Table(columns, tuple(rows), keys=2)]
    if len(rows) < sum(len(pair["by_suite"]) for pair in pairs):
        blocks.append(Sentences("In a suite that is not shown every question scored as before."))
    if any(entry["diag"] for pair in pairs for entry in pair["by_suite"].values()):
        blocks.append(Sentences(DIAG))
    yield Section(f"By suite: {main_metric(found)}", tuple(blocks), detail=len(pairs) > FEW_PAIRS)


def _suites_tested(found: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]]) -> Iterator[Sentences]:
    """How many chances for a difference that is none the suites are, where there is more than one."""
    most = max(len(pair["by_suite"]) for pair in pairs)
    if most > 1:
        chance = most * level_of(found["bootstrap"]["confidence"])
        yield Sentences(
            f"{most} suites: about {chance:.2g} would look real by chance alone, so p Holm, over the suites of a pair, "
            "is beside p."
        )


def _changed(found: Mapping[str, Any], pair: Mapping[str, Any]) -> Section:
    changed: Sequence[Mapping[str, Any]] = pair["changed"]
    title = f"Questions that changed most: {pair_name(found, pair)}"
    detail = len(found["comparisons"]) > FEW_PAIRS
    if not changed:
        return Section(title, (Sentences(f"None changed in {main_metric(found)}."),), detail=detail)
    columns = (
        Column("question", numeric=False),
        Column("suite", numeric=False),
        Column("before"),
        Column("after"),
        Column("change"),
        Column("text", numeric=False),
    )
    rows = [
        (
            f"{row['question']} (sealed)" if row["sealed"] else str(row["question"]),
            row["suite"],
            Number(row["before"]),
            Number(row["after"]),
            signed(row["delta"]),
            row["text"],
        )
        for row in changed[:CHANGED_SHOWN]
    ]
    more = f"; {len(changed) - CHANGED_SHOWN:,} more in the output of --json" if len(changed) > CHANGED_SHOWN else ""
    sentence = f"{plural(len(changed), 'question')} changed in {main_metric(found)}{more}."
    return Section(title, (Sentences(sentence), Table(columns, tuple(rows))), detail=detail)
