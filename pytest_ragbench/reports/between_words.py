"""Run against run in words: a sentence for each pair, and how pairs and lists of names are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench.reports.text import VERDICT_WORDS, cell_text, plural, probability
from pytest_ragbench.reports.view import difference
from pytest_ragbench.statistics.verdicts import fewest_differing, level_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PAIRS_SHOWN = 12
"""Sentences, and tables of changed questions."""

NAMES_SHOWN = 3


def main_metric(found: Mapping[str, Any]) -> str:
    """The metric by which pairs are judged."""
    return f"ndcg@{found['k']}"


def pair_name(found: Mapping[str, Any], pair: Mapping[str, Any]) -> str:
    """A pair as a row calls it: with the old configuration where it has another name, and its run among several."""
    name = str(pair["configuration"])
    if pair["other"] != name:
        name = f"{name} (old: {pair['other']})"
    return f"{name} in {pair['run']}" if len(found["runs"]) > 2 else name


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a, b and c`, of one name or more."""
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else names[0]


def few(names: Sequence[str], limit: int = NAMES_SHOWN) -> str:
    """`a, b and c`; of more than the limit the first, and how many more there are."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return listed(names)


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each pair that did not rank alike, what is real first where they are many; then those that did."""
    main, level = main_metric(found), level_of(found["bootstrap"]["confidence"])
    pairs = [pair for pair in found["comparisons"] if not unmoved(found, pair)]
    if len(pairs) > PAIRS_SHOWN:  # those that say something first
        pairs = sorted(pairs, key=lambda pair: pair["metrics"][main]["verdict"] != "real")
    for pair in pairs[:PAIRS_SHOWN]:
        yield _sentence(pair_name(found, pair), pair, main, level)
    if len(pairs) > PAIRS_SHOWN:
        yield f"{len(pairs) - PAIRS_SHOWN:,} more pairs stand below and in the output of --json."
    yield from _unmoved_sentences(found)


def unmoved(found: Mapping[str, Any], pair: Mapping[str, Any]) -> bool:
    """Whether both ranked alike whatever they answered; of such a pair one sentence says all there is."""
    return bool(pair["same_rankings"] and pair["metrics"][main_metric(found)]["n"])


def moved(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The pairs that share questions and did not rank alike; of the others the sentence says all there is."""
    main = main_metric(found)
    return [pair for pair in found["comparisons"] if pair["metrics"][main]["n"] and not unmoved(found, pair)]


def _unmoved_sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """The pairs that ranked alike, in one sentence for each two runs and number of questions that both answered."""
    groups: dict[tuple[str, str, int], list[str]] = {}
    for pair in found["comparisons"]:
        if unmoved(found, pair):
            groups.setdefault((pair["run"], pair["against"], pair["answered"]), []).append(pair_name(found, pair))
    for (_, against, answered), names in groups.items():
        where = "on every question"
        if answered < found["questions"]:
            where += f" that both answered ({answered:,} of {found['questions']:,})"
        yield f"{few(names, PAIRS_SHOWN)} ranked exactly as in {against} {where}."


def _sentence(name: str, pair: Mapping[str, Any], main: str, level: float) -> str:
    entry = pair["metrics"][main]
    if entry["delta"] is None:
        return f"{name}: no question was scored in both runs."
    numbers = (
        f"{main} {entry['before']:.3f} to {entry['after']:.3f}, {cell_text(difference(entry))}; "
        f"{entry['won']:,} won, {entry['lost']:,} lost, {entry['tied']:,} tied"
    )
    if entry["verdict"] == "real":
        held = entry["p_holm"] is None or entry["p_holm"] <= level
        better = "better" if entry["delta"] > 0 else "worse"
        said = f"is {better}" if held else f"seems to be {better} (not once adjusted)"
        return f"{name} {said}: {numbers}; p {probability(entry['p_sign_flip'])}."
    return f"{name}, {VERDICT_WORDS[entry['verdict']]}: {numbers}{_unproven(entry, level)}."


def _unproven(entry: Mapping[str, Any], level: float) -> str:
    """Why a difference that is not real may be there all the same."""
    if entry["verdict"] == "unresolvable":
        differing, fewest = plural(entry["differing"], "cluster"), fewest_differing(level)
        return f"; {differing} with a difference, and fewer than {fewest} cannot reach p {level:.4g}"
    return f"; a difference below {entry['mde']:.3f} may go unseen" if entry["mde"] is not None else ""
