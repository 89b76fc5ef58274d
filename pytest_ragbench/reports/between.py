"""Run against run: what is compared and what differs, a sentence and rows for each pair, the questions that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
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
from pytest_ragbench.reports.text import cell_text, cut, plural, probability, signed
from pytest_ragbench.reports.view import difference
from pytest_ragbench.statistics.verdicts import WORDS, level_of, meanings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PAIRS_SHOWN = 12
"""Sentences, and tables of changed questions."""

ROWS_SHOWN = 60
CHANGED_SHOWN = 10
"""Questions of one pair; `--json` has all of them."""

FEW_PAIRS = 3
"""Up to so many, the changed questions stand in the summary of a session."""

VALUE_CHARACTERS = 40

_WORDS: Mapping[str, str] = {str(verdict): words for verdict, words in WORDS.items()}
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
        Section("In words", (Bullets(tuple(_sentences(found))),)),
        *_table(found),
        *_by_suite(found),
        *(_changed(found, pair) for pair in _moved(found)[:PAIRS_SHOWN]),
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
    errored = [(pair, sum(pair["errored"])) for pair in found["comparisons"] if sum(pair["errored"])]
    bullets.extend(
        f"{_name(found, pair)}: {plural(count, 'failed search', 'failed searches')}, out of the pairs."
        for pair, count in errored
    )
    return Section("What is compared", (Bullets(tuple(bullets)),))


def _run(run: Mapping[str, Any]) -> str:
    sha = run["git"]["sha"]
    commit = f"commit {sha[:12]}" if sha else "no commit"
    return f"{run['run_id']}, {commit}{', with changes' if run['git']['dirty'] else ''}, started {run['started_at']}"


def _differing(found: Mapping[str, Any]) -> Iterator[Section]:
    """What else was not alike in the runs: the candidates for a cause."""
    blocks: list[Block] = []
    if found["differences"]:
        columns = (Column("what", numeric=False), *(Column(run["run_id"], numeric=False) for run in found["runs"]))
        rows = [(row["what"], *map(_value, row["values"])) for row in found["differences"]]
        blocks.append(Table(columns, tuple(rows)))
    overrides = [
        (_name(found, pair), key, _value(old), _value(new))
        for pair in found["comparisons"]
        for key, (old, new) in pair["overrides"].items()
    ]
    if overrides:
        columns = tuple(Column(title, numeric=False) for title in ("configuration", "override", "old", "new"))
        blocks.append(Table(columns, tuple(overrides), keys=2))
    if any(run["git"]["dirty"] for run in found["runs"]):
        blocks.append(Sentences("A run with changes measured a working tree that its commit alone does not tell."))
    elif not blocks:
        blocks.append(
            Sentences("Nothing that the records tell: commit, index, pipeline, configurations and versions agree.")
        )
    yield Section("What differs", tuple(blocks))


def _value(value: Any) -> str:
    if value is None:
        return "not known"
    return cut(value if isinstance(value, str) else canonical.dumps(value), VALUE_CHARACTERS)


def _main(found: Mapping[str, Any]) -> str:
    return f"ndcg@{found['k']}"


def _name(found: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    """A pair as a row calls it: with the old configuration where it has another name, and its run among several."""
    name = str(pair["configuration"])
    if pair["other"] != name:
        name = f"{name} (old: {pair['other']})"
    return f"{name} in {pair['run']}" if len(found["runs"]) > 2 else name


def _sentences(found: Mapping[str, Any]) -> Iterator[str]:
    pairs = found["comparisons"]
    main, level = _main(found), level_of(found["bootstrap"]["confidence"])
    if len(pairs) > PAIRS_SHOWN:  # those that say something first
        pairs = sorted(pairs, key=lambda pair: pair["metrics"][main]["verdict"] != "real")
    for pair in pairs[:PAIRS_SHOWN]:
        yield _sentence(_name(found, pair), pair, main, level)
    if len(pairs) > PAIRS_SHOWN:
        yield f"{len(pairs) - PAIRS_SHOWN:,} more pairs stand below and in the output of --json."


def _sentence(name: str, pair: Mapping[str, Any], main: str, level: float) -> str:
    entry = pair["metrics"][main]
    if entry["delta"] is None:
        return f"{name}: no question was scored in both runs."
    if pair["same_rankings"]:
        return f"{name} ranked exactly as in {pair['against']} on every question."
    numbers = (
        f"{main} {entry['before']:.3f} to {entry['after']:.3f}, {cell_text(difference(entry))}; "
        f"{entry['won']:,} won, {entry['lost']:,} lost, {entry['tied']:,} tied"
    )
    if entry["verdict"] == "real":
        held = entry["p_holm"] is None or entry["p_holm"] <= level
        better = "better" if entry["delta"] > 0 else "worse"
        said = f"is {better}" if held else f"seems to be {better} (not once adjusted)"
        return f"{name} {said}: {numbers}; p {probability(entry['p_sign_flip'])}."
    mde = f"; a difference below {entry['mde']:.3f} may go unseen" if entry["mde"] is not None else ""
    return f"{name}, {_WORDS[entry['verdict']]}: {numbers}{mde}."


def _moved(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The pairs that did not rank alike; of the others the sentence says all there is."""
    return [pair for pair in found["comparisons"] if not pair["same_rankings"]]


def _table(found: Mapping[str, Any]) -> Iterator[Section]:
    pairs = _moved(found)
    if not pairs:
        return
    metrics = [_main(found), f"recall@{found['k']}", f"complete@{found['k']}", *_hits(found)]
    if len(pairs) * len(metrics) > ROWS_SHOWN:
        metrics = metrics[:1]
    shown = pairs[:ROWS_SHOWN]
    rows = [_row(_name(found, pair), metric, pair["metrics"][metric]) for pair in shown for metric in metrics]
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
    bootstrap, count = found["bootstrap"], len(found["comparisons"])
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
        _WORDS[entry["verdict"]],
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
    pairs = _moved(found)[:PAIRS_SHOWN]
    rows = [
        (
            _name(found, pair),
            f"{suite} (diag)" if entry["diag"] else suite,
            *(_number(entry[key]) for key in ("before", "after")),
            difference(entry),
            *(entry[key] for key in ("won", "lost", "tied")),
            _WORDS[entry["verdict"]],
            entry["n"],
        )
        for pair in pairs
        for suite, entry in pair["by_suite"].items()
        if entry["won"] or entry["lost"]
    ]
    if not rows:
        return
    leading = (Column("configuration", numeric=False), Column("suite", numeric=False))
    columns = (*leading, *map(Column, _NUMBERS), Column("verdict", numeric=False), Column("n"))
    blocks: list[Block] = [Table(columns, tuple(rows), keys=2)]
    if len(rows) < sum(len(pair["by_suite"]) for pair in pairs):
        blocks.append(Sentences("In a suite that is not shown every question scored as before."))
    if any(entry["diag"] for pair in pairs for entry in pair["by_suite"].values()):
        blocks.append(Sentences("diag: fewer than 30 scored questions, a diagnostic and not a result."))
    yield Section(f"By suite: {_main(found)}", tuple(blocks), detail=len(pairs) > FEW_PAIRS)


def _changed(found: Mapping[str, Any], pair: Mapping[str, Any]) -> Section:
    changed: Sequence[Mapping[str, Any]] = pair["changed"]
    title = f"Questions that changed most: {_name(found, pair)}"
    detail = len(found["comparisons"]) > FEW_PAIRS
    if not changed:
        return Section(title, (Sentences(f"None changed in {_main(found)}."),), detail=detail)
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
    sentence = f"{plural(len(changed), 'question')} changed in {_main(found)}{more}."
    return Section(title, (Sentences(sentence), Table(columns, tuple(rows))), detail=detail)
