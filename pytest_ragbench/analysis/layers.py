"""Which layer of a pipeline lost a required source, told from the rankings of its stages; for any names of stages.

Decides what each stage is (a lane, fusion, rerank, gate, cut-off, answer) and whom a loss is charged to; counting over
questions is left to `losses`. It imports nothing heavy: rows are charged where they are measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

NOT_INDEXED, NO_LANE, LANE = "not indexed", "not in any lane", "lane"
FUSION, RERANK, GATE, CUT_OFF, ANSWER = "fusion", "rerank", "gate", "cut-off", "answer"

LAYERS = (NOT_INDEXED, NO_LANE, FUSION, RERANK, GATE, CUT_OFF, ANSWER)
"""What a loss may be charged to, in the order in which a search passes them."""

STAGE_LAYERS = (LANE, FUSION, RERANK, GATE, CUT_OFF, ANSWER)
"""What a stage may be."""

_NAMES = tuple(
    (layer, re.compile(rf"\b(?:{words})"))
    for layer, words in (
        (RERANK, r"re ?rank|cross ?encod|late ?interact"),
        (GATE, r"gate[ds]?\b|gatekeep|threshold|abstain"),
        (
            CUT_OFF,  # `limited` as the first word alone: behind another it describes that one, as in `dense_limited`
            (
                r"(?:auto ?)?cut(?:s|ting|ter|offs?)?\b|top ?[kn]\b|top \d|limit(?:s|er|ing)?\b|(?<!\w )limited|trunc|"
                r"divers|mmr\b|de ?dup|per ?file\b|final"
            ),
        ),
        (ANSWER, r"answer(?:s|ed|ing|er)?\b|cite[ds]?\b|citation"),
        (FUSION, r"fus[ei]|rrf|merge|combin|aggregat|ensemble|pool|boost|walk|interleav"),
    )
)
"""Words, or their beginnings, that say what a stage is; the first that fits."""

_ANOTHER = r"(?:(?:re|cross|late|top) \w+|\w+)"
_BEFORE = re.compile(rf"\b(?:before|pre) {_ANOTHER}")
_AFTER = re.compile(rf"\b(?:after|post) {_ANOTHER}")

_WITHIN = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a capital begins a word: `LLM|Rerank`, `top|K`."""

_WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class Stage:
    """One reported ranking, held against the gold.

    Attributes:
        layer: One of `STAGE_LAYERS`.
        length: Chunks in it.
        ranks: Gold index to the first rank that satisfies it.
        judged: For a rerank: how far down it changed the order that it was given; what lies below it never judged.
    """

    layer: str
    length: int
    ranks: Mapping[int, int]
    judged: int | None = None


def stage_layers(names: Sequence[str], lanes: Collection[str]) -> dict[str, str]:
    """What each stage is, by the words of its name and by its place.

    A stage that is named in `lanes` is a lane, and one whose name begins with that of a lane and names no other and no
    step but a cut-off; where none is named there, also those before the first whose name says that it is something
    else. A name that says nothing is fusion before the rerank and a cut-off behind it.

    Args:
        names: Of the stages, in pipeline order.
        lanes: Names of the lanes that searched.
    """
    known = tuple(filter(None, map(_words, lanes)))
    found: dict[str, str] = {}
    searching, reranked = not any(name in lanes for name in names), False
    for name in names:
        words = _words(name)
        if name in lanes or _of_a_lane(words, known):
            found[name] = LANE
            continue
        told = _told(words)
        searching = searching and not told
        found[name] = LANE if searching else told or (CUT_OFF if reranked else FUSION)
        reranked = reranked or found[name] == RERANK
    return found


@lru_cache(maxsize=512)
def _words(name: str) -> str:
    """The words of a name in lower case with a blank between them: `QueryFusion-top10` is `query fusion top 10`."""
    return " ".join(_WORD.findall(_WITHIN.sub(" ", name))).lower()


@lru_cache(maxsize=512)
def _told(words: str) -> str:
    """The layer that the words say, or nothing.

    What stood before a step is not that step (`before_rerank`). What stands after one is the step, unless it says what
    else it is (`after_rerank`; `post_rerank_dedup`).
    """
    here = _BEFORE.sub("", words)
    return _layer_of(_AFTER.sub("", here)) or _layer_of(here)


def _layer_of(words: str) -> str:
    return next((layer for layer, known in _NAMES if known.search(words)), "")


def _of_a_lane(words: str, lanes: Sequence[str]) -> bool:
    """Whether a name is that of a lane with more words behind: `dense_exact`; not `dense_rerank` or `sparse_dense`."""
    behind = (f"{words.removeprefix(lane)} " for lane in lanes if f"{words} ".startswith(f"{lane} "))
    return any(_told(rest) in ("", CUT_OFF) and not any(f" {other} " in rest for other in lanes) for rest in behind)


def charge(stages: Sequence[Stage], required: Collection[int], final: Collection[int], k: int) -> dict[int, str]:
    """Every required source that was lost, and the layer to which it is charged.

    A source is lost when the first k of the final ranking do not satisfy it, and by the *answer* when a stage `answer`
    is reported that lacks what the final ranking has. The loss lies at the stage behind the last one that had the
    source. There a gate, a fusion or an answer is charged itself. A rerank or a cut-off keeps the first so many: when
    the source stood among them it is charged itself, else whoever ranked it too low: the rerank where it judged the
    source, else the step behind the last ranking that had it high enough, a fusion mostly; and where none had, the
    cut-off, which ended too early.

    Args:
        stages: In pipeline order.
        required: Indexes of the required sources.
        final: Those that the final ranking, cut at k, satisfies.
        k: Depth of the final ranking.

    Returns:
        Gold index to one of `LAYERS` without `NOT_INDEXED`, which only an index can tell from `NO_LANE`.
    """
    lanes = [stage for stage in stages if stage.layer == LANE]
    steps = [stage for stage in stages if stage.layer not in (LANE, ANSWER)]
    answers = [stage for stage in stages if stage.layer == ANSWER]
    found: dict[int, str] = {}
    for source in sorted(required):
        if source in final:
            if answers and source not in answers[-1].ranks:
                found[source] = ANSWER
            continue
        found[source] = _charged(lanes, steps, source, k)
    return found


def _charged(lanes: Sequence[Stage], steps: Sequence[Stage], source: int, k: int) -> str:
    best = min((lane.ranks[source] for lane in lanes if source in lane.ranks), default=None)
    last = max((place for place, step in enumerate(steps) if source in step.ranks), default=-1)
    if last < 0 and best is None:
        return NO_LANE
    rank = steps[last].ranks[source] if last >= 0 else best or 0
    losing = steps[last + 1] if last + 1 < len(steps) else None
    before = steps[: last + 1]
    if losing is not None and losing.layer in (FUSION, GATE):
        return losing.layer
    if losing is not None and losing.layer == RERANK:  # it tells of its pool alone
        return RERANK if rank <= losing.length else _ended(best, before, source, losing.length)
    if rank <= k:
        return CUT_OFF  # by another rule than depth: so many of one file, say
    depth = k
    for place in range(last, -1, -1):
        if steps[place].layer == RERANK and source in steps[place].ranks:
            given = _rank_before(steps[:place], best, source)
            judged = steps[place].judged
            if judged is None or given is None or given <= judged:
                return RERANK
            depth, before = judged, steps[:place]
    return _ended(best, before, source, max(depth, k))


def _rank_before(steps: Sequence[Stage], best: int | None, source: int) -> int | None:
    """The rank at which a stage was given a source."""
    return next((step.ranks[source] for step in reversed(steps) if source in step.ranks), best)


def _ended(best: int | None, before: Sequence[Stage], source: int, depth: int) -> str:
    """Who moved a source below a depth: the step behind the last ranking that had it above; none had: the cut-off."""
    ranks = [best, *(step.ranks.get(source) for step in before)]  # the lanes, then each step: one place further on
    above = [place for place, rank in enumerate(ranks) if rank is not None and rank <= depth]
    return before[above[-1]].layer if above else CUT_OFF


def pool_ranks(stages: Mapping[str, Mapping[str, Any]]) -> dict[int, int]:
    """Gold index to its first rank in the pool: what a rerank is given, or what is cut where nothing reranks.

    That is the last fusion before the first rerank; without any, the best rank of the lanes.

    Args:
        stages: As a row has them: name to `step`, `layer`, `length` and `found`.
    """
    order = sorted(stages.values(), key=lambda stage: int(stage["step"]))
    reranks = [stage["step"] for stage in order if stage["layer"] == RERANK]
    given = [stage for stage in order if not reranks or stage["step"] < reranks[0]]
    fusions = [stage for stage in given if stage["layer"] == FUSION]
    best: dict[int, int] = {}
    for stage in fusions[-1:] or [stage for stage in given if stage["layer"] == LANE]:
        for source, rank in stage["found"]:
            best[source] = min(rank, best.get(source, rank))
    return best
