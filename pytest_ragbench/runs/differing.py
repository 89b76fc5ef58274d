"""What was not alike in runs that asked the same, from their records: in words where a value alone says nothing.

A digest tells that something differs and not what. Where the records know what, that is said, and the digest is left
out; where they know nothing better, it stands there shortened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ragbench import canonical
from pytest_ragbench.runs.comparable import some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_ragbench.questions.model import Question

DIGEST = "_digest"
"""A key `x_digest` says no more than `x` where both are there."""

OF_PIPELINE = "pipeline: "

NOT_ASKED = "questions that none of these runs asked: new, gone or changed ones of another split, suite or domain"
NOT_MEASURED = (
    "in configurations that not all of them measured, in experiments, factors or the warm-up: see the history of "
    "configs.yaml"
)


def differences(
    runs: Sequence[Mapping[str, Any]], questions: Sequence[Sequence[Question]] = ()
) -> list[dict[str, Any]]:
    """What was not alike in comparable runs.

    Args:
        runs: `run.json` of each.
        questions: What each asked, where that is to be looked at: alike but for notes and reviews.

    Returns:
        `what`; `values`, one for each run, None where it is not known; and `said`: the difference in words where
        the values are digests or lists, else None.
    """
    told = [dict(_facts(run)) for run in runs]
    names = dict.fromkeys(name for facts in told for name in facts)
    columns = {name: [facts.get(name) for facts in told] for name in names}
    differing = {name: values for name, values in columns.items() if _unlike(values)}
    explained = {name for name in differing if name.removesuffix(DIGEST) in differing.keys() - {name}}
    if "language model: model" in differing:
        explained.add("language model: answers")
    words = _Words(runs, questions, differing)
    return [
        {"what": name, "values": values, "said": words.of(name)}
        for name, values in differing.items()
        if name not in explained
    ]


def unknown(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What no run tells of itself, though it may well have differed: `commit`, `index`, `pipeline`."""
    tellers: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "commit": lambda run: run["git"]["sha"],
        "index": lambda run: run["index"],
        "pipeline": lambda run: run["pipeline"],
    }
    return [name for name, tell in tellers.items() if all(tell(run) is None for run in runs)]


def _unlike(values: Sequence[Any]) -> bool:
    return len({canonical.dumps(value) for value in values}) > 1


def _facts(run: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "commit", run["git"]["sha"]
    yield "uncommitted changes", run["git"]["dirty"]
    yield "question sets", run["questions_digest"]
    yield "measured configurations", sorted(entry["name"] for entry in run["configurations"])
    yield "declared configurations", run["config_digest"]
    yield from _leaves("index", run["index"])
    for key, value in sorted((run["pipeline"] or {}).items()):
        if key != "index":
            yield from _leaves(f"{OF_PIPELINE}{key}", value)
    llm = run["llm"] or {}
    yield "language model: model", llm.get("model")
    yield "language model: answers", llm.get("digest")
    yield "clusters", (run["bootstrap"] or {}).get("cluster")
    yield "confidence of its intervals", (run["bootstrap"] or {}).get("confidence")
    for key, value in sorted(run["versions"].items()):
        yield f"version: {key}", value


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A mapping key by key, `pipeline: settings.pool`, so that what differs in it is seen."""
    if not isinstance(value, dict) or not value:
        yield name, value
        return
    for key, inner in sorted(value.items()):
        yield from _leaves(f"{name}{'.' if ':' in name else ': '}{key}", inner)


def _keys(one: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys in which some mapping is not like the first."""
    keys = sorted({key for mapping in (one, *others) for key in mapping})
    return [key for key in keys if _unlike([mapping.get(key) for mapping in (one, *others)])]


class _Words:
    """The differences that values do not tell."""

    def __init__(
        self,
        runs: Sequence[Mapping[str, Any]],
        questions: Sequence[Sequence[Question]],
        differing: Mapping[str, Sequence[Any]],
    ) -> None:
        self._runs = runs
        self._questions = questions
        self._differing = differing

    def of(self, name: str) -> str | None:
        """A difference in words, or None where its values tell it."""
        tellers: dict[str, Callable[[], str | None]] = {
            "question sets": self._sets,
            "measured configurations": self._measured,
            "declared configurations": self._declared,
            "index": self._index,
            "language model: answers": self._answers,
        }
        known = None not in self._differing[name]
        return tellers[name]() if known and name in tellers else None

    def _sets(self) -> str:
        known = [*self._reviews(), *self._left_out()]
        return "; ".join([*known, f"anything else is in {NOT_ASKED}"] if known else [f"in {NOT_ASKED}"])

    def _reviews(self) -> Iterator[str]:
        """Questions of which notes, sources or reviews changed: nothing else of them can have."""
        if not self._questions:
            return
        first, *others = ({question.id: question for question in asked} for asked in self._questions)
        changed = sorted({name for asked in others for name, question in asked.items() if question != first.get(name)})
        if changed:
            yield f"notes or reviews of {some(changed)}, on which no score depends"

    def _left_out(self) -> Iterator[str]:
        counts = [run["left_out"] for run in self._runs]
        for reason in sorted({reason for count in counts for reason in count}):
            found = [count.get(reason, 0) for count in counts]
            if len(set(found)) > 1:
                yield f"{reason} questions: {', then '.join(map(str, found))}"

    def _measured(self) -> str:
        """Configurations that some run lacks: by their names they have no partner there."""
        names = [dict.fromkeys(entry["name"] for entry in run["configurations"]) for run in self._runs]
        shared = set(names[0]).intersection(*names[1:])
        alone = [
            f"{name} ({run['run_id']})"
            for run, mine in zip(self._runs, names, strict=True)
            for name in mine
            if name not in shared
        ]
        return f"not in every run: {some(alone)}"

    def _declared(self) -> str:
        changed = [*self._overrides()]
        return "; ".join(changed) if changed else f"those that these runs share are alike; it is {NOT_MEASURED}"

    def _overrides(self) -> Iterator[str]:
        """Configurations of one name that are not the same, and of which overrides."""
        first, *others = ({entry["name"]: entry for entry in run["configurations"]} for run in self._runs)
        for key, words in (("overrides", "other overrides"), ("factors", "other factors"), ("pairs", "other partners")):
            changed = []
            for name, mine in first.items():
                theirs = [
                    other[name][key] for other in others if name in other and _unlike([mine[key], other[name][key]])
                ]
                if theirs:
                    odd = _keys(mine[key], theirs) if key == "overrides" else []
                    changed.append(f"{name} ({', '.join(odd)})" if odd else name)
            if changed:
                yield f"{words}: {some(changed)}"

    def _index(self) -> str | None:
        """What the pipeline tells beside another fingerprint; None where nothing, and the fingerprint has to do."""
        beside = [name.removeprefix(OF_PIPELINE) for name in self._differing if name.startswith(OF_PIPELINE)]
        return f"another one; of what the pipeline tells, {some(beside)} differ too" if beside else None

    def _answers(self) -> str:
        stores = dict.fromkeys(str((run["llm"] or {}).get("store")) for run in self._runs)
        label = (self._runs[0]["llm"] or {}).get("model")
        return f"other answers under the label {label}: the store {' or '.join(stores)} has changed"
