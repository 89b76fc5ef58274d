"""Discarded searches: one for each distinct value of the declared keys."""

from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.execution.warmup import warm_up
from pytest_ragbench.questions.model import Question

QUESTION = Question("lex-0001", "what?", "lexical", "T1")


def arms(*overrides, searches=True):
    return [Configuration(f"R{n}", f"R{n}", values, searches=searches) for n, values in enumerate(overrides)]


class Recording:
    def __init__(self):
        self.calls = []

    def search(self, _query, **overrides):
        self.calls.append(overrides)
        if overrides.get("rerank") == "broken":
            raise OSError("no weights")
        if overrides.get("rerank") == "exits":
            raise SystemExit(3)
        return []


def warmed(configurations, keys):
    pipeline = Recording()
    return warm_up(pipeline, QUESTION, configurations, keys), pipeline.calls


def test_without_keys_nothing_is_searched():
    assert warmed(arms({"rerank": "a"}), ()) == ((), [])


def test_each_distinct_value_is_searched_once_and_an_absent_one_is_a_value():
    said, calls = warmed(arms({"rerank": "a"}, {"rerank": "b"}, {"rerank": "a", "k": 1}, {}), ("rerank",))
    assert said == ("rerank=a", "rerank=b", "rerank=(default)")
    assert len(calls) == 3


def test_one_search_serves_several_keys():
    said, calls = warmed(arms({"rerank": "a", "dense": True}, {"rerank": "a", "dense": False}), ("rerank", "dense"))
    assert said == ("dense=true, rerank=a", "dense=false")
    assert len(calls) == 2


def test_a_warm_up_that_fails_is_told_and_raises_nothing():
    assert warmed(arms({"rerank": "broken"}), ("rerank",))[0] == ("rerank=broken (failed: OSError: no weights)",)


def test_a_warm_up_that_exits_ends_nothing():
    assert warmed(arms({"rerank": "exits"}), ("rerank",))[0] == ("rerank=exits (failed: SystemExit: 3)",)


def test_an_arm_that_does_not_search_is_not_warmed():
    assert warmed(arms({"rerank": "a"}, searches=False), ("rerank",)) == ((), [])
