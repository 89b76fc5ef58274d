"""The prose of docs/validity.md, with the numbers it tells. Tables and their order are left to `page`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.validity.counting import BATCH, CONFIDENCE, EFFECTS, STEPS
from benchmarks.validity.laws import FILE_SIZE, ICC, LAWS
from benchmarks.validity.results import place, promised, rate, short
from pytest_ragbench.statistics.verdicts import LEVEL, fewest_differing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.validity.counting import Effort, Null, Share
    from benchmarks.validity.results import Results

COMMAND = """```sh
tox run -e validity -- --write    # or: python -m benchmarks.validity --write
```"""

COVERAGE = (
    "How often the 95 % interval holds the truth: the mean of an arm, and the difference of two arms of equal "
    "means. **Bold** falls short of 95 % by more than two Monte Carlo standard errors. *Promised* is what the "
    "percentile method gives the mean of n normal values, by arithmetic: P(|t| ≤ 1.96 √((n - 1) / n)) with n - 1 "
    "degrees of freedom (Hesterberg, *What teachers should know about the bootstrap*, Am. Stat. 69:4, 2015). "
    "Discrete scores lie about it, now above, now below: intervals of rates oscillate with n and the rate (Brown, "
    "Cai and DasGupta, *Interval estimation for a binomial proportion*, Stat. Sci. 16:2, 2001). Differences that "
    "are mostly zero are covered more often, since a set that shows none gives the interval [0, 0], which holds a "
    "true zero."
)

WIDER = (
    "The same intervals, taken between the quantiles of a higher level: Hesterberg's *expanded percentile*, whose "
    "tails are Φ(-√(n / (n - 1)) t) with t the quantile of Student's t with n - 1 degrees of freedom and n the number "
    "of files. For normal values that is Student's interval. It mends no skew, and it cannot reach beyond the least "
    "and the largest resampled mean: with three files the plain interval reaches them already, so nothing changes "
    "there. A run takes the plain percentiles, as the tables above do; whether a difference is `real` does not rest on "
    "the interval alone, but on the sign-flip test as well. **Bold** as above."
)

FALSE_REAL = (
    f"Arms of equal means. *One comparison*: called `real` on its own. *Ladder*: some of {STEPS} steps called "
    "`real`, as the verdicts stand, and with the adjusted p of its family at most 5 % as well. Where fewer than "
    f"{fewest_differing()} files differ nothing can be called `real`. Lopsided arms may not be swapped, so that "
    "nothing bounds their rate."
)

POWER = (
    "How often a true difference is called `real` (one comparison, not adjusted), and the median of the minimal "
    "detectable effect that the report prints, where the difference is the one named: power is near 80 % where it "
    "equals the effect. A dash: no comparison had a spread."
)


def opening(effort: Effort) -> list[str]:
    """How the page comes about."""
    intro = (
        "Question sets are drawn from laws whose true means and differences are known, and the statistics of a run "
        "(`pytest_ragbench.statistics`) are asked about them: how often an interval holds the truth, how often arms of "
        "equal means are called `real`, how often a true effect is. One command makes this page; without `--write` it "
        "prints it:"
    )
    how_many = (
        f"Every rate is of {effort.replicates:,} replicates (seed {effort.seed}) and stands with its Monte Carlo "
        f"standard error. Intervals and sign-flip tests take {effort.resamples:,} resamples; a run takes 10,000 "
        f"unless set. {BATCH} replicates at a time share theirs, which adds less than a tenth to the errors."
    )
    return [intro, COMMAND, how_many]


def in_short(results: Results) -> list[str]:
    """What the tables come to, an entry of a list each."""
    alone = results.at_null(clustered=False)
    return [
        *(_span([one for one in alone if one.law.regular and one.questions.n == n]) for n in results.effort.sizes),
        _ladders(results),
        _files(results),
        _wider(results),
        _skewed(alone),
        *(_enough(results, effect) for effect in EFFECTS),
    ]


def _span(here: list[Null]) -> str:
    n = here[0].questions.n
    named = [
        (share, f"the {what} of {one.law.name}")
        for one in here
        for share, what in ((one.mean, "mean"), (one.difference, "difference"))
    ]
    lowest, name = min(named, key=lambda pair: pair[0].value)
    means, differences = _range(one.mean for one in here), _range(one.difference for one in here)
    text = f"**n = {n}**, independent, regular laws: means are covered {means} of the time, differences {differences}"
    ideal = f"the method itself promises {100 * promised(n):.1f} %"
    many = sum(short(share) for share, _ in named)
    if not many:
        return f"{text}; all within two Monte Carlo standard errors of 95 %, or above ({ideal})."
    return (
        f"{text}; short of 95 % by more than two Monte Carlo standard errors: {many} of {len(named)} rates, at worst "
        f"by {100 * (CONFIDENCE - lowest.value):.1f} ± {100 * lowest.error:.1f} points, {name} ({ideal})."
    )


def _ladders(results: Results) -> str:
    held = [(one.ladder, one) for one in results.nulls if one.ladder is not None]
    worst, where = max(held, key=lambda pair: pair[0].value)
    free = max((one.unadjusted for one in results.nulls if one.unadjusted is not None), key=lambda share: share.value)
    over = sum(share.value > LEVEL + 2 * share.error for share, _ in held)
    return (
        f"**A false `real` in a ladder of {STEPS} steps**, adjusted by Holm: in at most {rate(worst)} of the ladders "
        f"({place(where)}), over all laws whose arms may be swapped, sizes and structures; {over} of {len(held)} rates "
        f"exceed 5 % by more than two standard errors. Not adjusted, up to {rate(free)} of the ladders hold one."
    )


def _files(results: Results) -> str:
    together = results.at_null(clustered=True)
    told = "; ".join(
        f"{files} files {_range(one.mean for one in together if one.questions.count == files)}"
        for files in dict.fromkeys(one.questions.count for one in together)
    )
    return (
        "**Files that correlate cost coverage**, since what counts is their number. How often a mean is covered: "
        f"{told}. With few files an interval is too narrow, whatever n is; more questions about the same files do not "
        "mend that."
    )


def _wider(results: Results) -> str:
    """What the expanded percentile would cover, beside what the plain one does, for the regular laws."""
    told = []
    for n in results.effort.sizes[:2]:
        for clustered, where in ((False, "independent"), (True, "in files")):
            here = [one for one in results.at_null(clustered=clustered) if one.law.regular and one.questions.n == n]
            told.append(
                f"n = {n} {where}, means {_range(one.wider_mean for one in here)} (plain: "
                f"{_range(one.mean for one in here)}), differences {_range(one.wider_difference for one in here)} "
                f"({_range(one.difference for one in here)})"
            )
    return (
        f"**Wider intervals would cover more**, though not all: {'; '.join(told)}. A run does not widen its intervals: "
        "read one that rests on few files as too narrow."
    )


def _skewed(alone: list[Null]) -> str:
    easy, uneven = ([one for one in alone if one.law is law] for law in LAWS if not law.regular)
    first, last = easy[0].questions.n, easy[-1].questions.n
    return (
        f"**Skew costs more.** A hit rate of 0.95 is covered {rate(easy[0].mean)} of the time at n = {first} and "
        f"{rate(easy[-1].mean)} at n = {last}: all questions are hits in {100 * 0.95**first:.0f} % of the sets of "
        f"{first}, and the interval is then a point. Where one arm wins a little often and loses much seldom, the "
        f"difference is covered {rate(uneven[0].difference)} at n = {first} and {rate(uneven[-1].difference)} at n = "
        f"{last}, and equal means are called `real` {rate(uneven[0].single)} and {rate(uneven[-1].single)} of the "
        "time: for few questions of that sort neither the interval nor the test is to be trusted."
    )


def _enough(results: Results, effect: float) -> str:
    told, largest, reached = [], results.effort.sizes[-1], False
    for clustered in (False, True):
        for law in (law for law in LAWS if law.regular):
            mine = [one for one in results.at_effects(law.name, clustered=clustered) if one.effect == effect]
            found = next((str(one.questions.n) for one in mine if one.real.value >= 0.8), None)
            told.append(f"{law.name} {'in files' if clustered else 'independent'}: {found or f'above {largest}'}")
            reached = reached or found is not None
    if not reached:
        return f"**An effect of {effect:.2f}** is found four times in five by no n up to {largest}."
    return (
        f"**An effect of {effect:.2f}** is found four times in five from this n on, of those tried: {'; '.join(told)}."
    )


def _range(shares: Iterable[Share]) -> str:
    values = sorted(100 * share.value for share in shares)
    return f"{values[0]:.1f} to {values[-1]:.1f} %"


def structures(files: Sequence[tuple[int, int]]) -> str:
    """How laws become question sets; `files` holds each n with its number of files."""
    sizes = ", ".join(f"{count} for n = {n}" for n, count in files)
    return (
        f"A ladder is a chain of {STEPS + 1} arms, each drawn from the one before by the law's conditional shares, "
        "so that all have the same mean. An effect is put in by weighting every pair of scores by exp(θ · "
        "difference), θ such that the means differ by exactly that. *Independent*: every question has a file of its "
        f"own. *In files*: {FILE_SIZE} questions a file, the last with what is left ({sizes}); with probability "
        f"√{ICC} a question takes the scores that its file drew, so that means and differences have an intraclass "
        f"correlation of {ICC}."
    )
