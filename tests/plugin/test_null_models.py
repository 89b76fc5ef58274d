"""Self-tests of the bench: retrievers that know nothing score what arithmetic says, and a worse one is called worse.

Sixty questions over forty files, some asked about more often than others; each retriever is a configuration of one real
session. Expected numbers come from counting and from combinations, none from a metric of the product.
"""

from __future__ import annotations

import random
from collections import Counter
from math import comb, log2, sqrt
from types import SimpleNamespace

import pytest
from plugin_support import Project, question, summary

FILES = [f"f{number:02d}.md" for number in range(40)]
QUESTIONS = 60
SHUFFLED = [f"shuffled{number}" for number in range(20)]
CONSTANT = FILES[20:30]


def gold_of(number):
    """Two files; the first of the list are asked about more often."""
    generator = random.Random(number)
    first = min(generator.choices(FILES, k=2))
    return [first, generator.choice([file for file in FILES if file != first])]


GOLD = {f"question {number}": gold_of(number) for number in range(1, QUESTIONS + 1)}
ASKED = Counter(file for files in GOLD.values() for file in files)
POPULAR = sorted(FILES, key=lambda file: (-ASKED[file], file))[:10]


def shuffled(name):
    generator = random.Random(name)
    return {query: generator.sample(FILES, 10) for query in GOLD}


def good(query):
    """One source mostly at rank 1, else at 2 or 3; the other somewhere below."""
    generator = random.Random(query)
    first, second = GOLD[query]
    found = generator.sample([file for file in FILES if file not in GOLD[query]], 8)
    found.insert(generator.choice([0, 0, 0, 1, 2]), first)
    found.insert(generator.randrange(3, 10), second)
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """`results` of the session."""
    project = Project(SimpleNamespace(path=tmp_path_factory.mktemp("null_models")))
    rankings = {query: good(query) for query in GOLD}
    lists = {
        "constant": {"*": CONSTANT},
        "popular": {"*": POPULAR},
        "good": rankings,
        "again": rankings,
        "swapped": {query: [*files[3:6], *files[:3], *files[6:]] for query, files in rankings.items()},
        "cut": {query: files[1:] for query, files in rankings.items()},
        **{name: shuffled(name) for name in SHUFFLED},
    }
    against = dict.fromkeys(("again", "swapped", "cut", "popular"), "good")
    against |= dict(zip(SHUFFLED[1::2], SHUFFLED[::2], strict=True))
    configurations = {
        name: {"overrides": {"list": name}, **({"paired": against[name]} if name in against else {})} for name in lists
    }
    golden = {query: [{"file": file} for file in files] for query, files in GOLD.items()}
    records = [question(number, gold=gold) for number, gold in enumerate(golden.values(), start=1)]
    project.write(records, lists, configs={"defaults": {"list": "good"}, "configurations": configurations})
    process = project.start("-q", f"--rag-configs={','.join(lists)}")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return summary(project.runs[0])["results"]


def mean(results, configuration, metric):
    entry = results[configuration]["overall"][metric]
    assert entry["n"] == QUESTIONS
    return entry["mean"]


def share(held):
    return sum(held) / QUESTIONS


@pytest.mark.parametrize(("configuration", "ranking"), [("constant", CONSTANT), ("popular", POPULAR)])
def test_a_fixed_list_scores_the_share_of_questions_whose_gold_is_in_it(results, configuration, ranking):
    for k in (1, 5, 10):
        found = [len({*ranking[:k]} & {*gold}) for gold in GOLD.values()]
        assert mean(results, configuration, f"hit@{k}") == pytest.approx(share(map(bool, found)), abs=1e-12)
    assert mean(results, configuration, "recall@10") == pytest.approx(share(found) / 2, abs=1e-12)
    assert mean(results, configuration, "complete@10") == pytest.approx(share(n == 2 for n in found), abs=1e-12)
    first = [
        next((1 / rank for rank, file in enumerate(ranking, start=1) if file in gold), 0) for gold in GOLD.values()
    ]
    assert mean(results, configuration, "mrr@10") == pytest.approx(share(first), abs=1e-12)


def test_the_popular_list_scores_how_often_its_files_are_asked_about(results):
    assert mean(results, "popular", "hit@1") == pytest.approx(max(ASKED.values()) / QUESTIONS, abs=1e-12)
    most = sum(count for _, count in ASKED.most_common(10))
    assert mean(results, "popular", "recall@10") == pytest.approx(most / (2 * QUESTIONS), abs=1e-12)
    assert mean(results, "popular", "recall@10") > mean(results, "constant", "recall@10")


N, G = len(FILES), 2
CHANCE = {
    # Of C(N, k) sets of k files, C(N - g, k) hold no gold, and C(N - g, k - g) all of it.
    **{f"hit@{k}": 1 - comb(N - G, k) / comb(N, k) for k in (1, 5, 10)},
    "complete@10": comb(N - G, 10 - G) / comb(N, 10),
    "recall@10": 10 / N,
    "p@5": G / N,
    # The first of g sources stands at rank r in C(N - r, g - 1) of C(N, g) cases.
    "mrr@10": sum(comb(N - r, G - 1) / comb(N, G) / r for r in range(1, 11)),
    # Every rank holds a source with probability g / N; ideal are ranks 1 and 2.
    "ndcg@10": sum(G / N / log2(r + 1) for r in range(1, 11)) / (1 + 1 / log2(3)),
}


@pytest.mark.parametrize("metric", CHANCE)
def test_shuffled_retrievers_score_what_combinations_say(results, metric):
    found = sum(mean(results, name, metric) for name in SHUFFLED) / len(SHUFFLED)
    expected = CHANCE[metric]
    # Values between 0 and 1 vary at most as those that are 0 or 1.
    error = sqrt(expected * (1 - expected) / (len(SHUFFLED) * QUESTIONS))
    assert found == pytest.approx(expected, abs=3 * error)
    assert error < 0.015


def binomial_bound(trials, rate, risk):
    """The count that so many trials exceed with at most that risk."""
    below = 0.0
    for count in range(trials + 1):
        below += comb(trials, count) * rate**count * (1 - rate) ** (trials - count)
        if 1 - below <= risk:
            return count
    return trials


@pytest.mark.parametrize("metric", ["hit@1", "hit@10", "recall@10", "mrr@10", "ndcg@10"])
def test_shuffled_against_shuffled_is_real_no_oftener_than_five_percent(results, metric):
    pairs = [results[name]["paired"][other][metric] for name, other in zip(SHUFFLED[1::2], SHUFFLED[::2], strict=True)]
    assert binomial_bound(len(pairs), 0.05, risk=0.002) == 3
    assert sum(pair["verdict"] == "real" for pair in pairs) <= 3


def test_the_same_retriever_twice_is_no_difference(results):
    pairs = {metric: pair for metric, pair in results["again"]["paired"]["good"].items() if pair["n"]}
    assert {"ndcg@10", "doc_hit@1"} < set(pairs)
    assert {pair["verdict"] for pair in pairs.values()} == {"no difference"}
    assert {(pair["p_sign_flip"], pair["delta"]) for pair in pairs.values()} == {(1.0, 0.0)}
    assert results["again"]["inert"] == ["good"]


def test_swapped_top_results_are_worse_where_ranks_count_and_no_different_where_they_do_not(results):
    pairs = results["swapped"]["paired"]["good"]
    for metric in ("hit@1", "mrr@10", "ndcg@10"):
        assert pairs[metric]["verdict"] == "real"
        assert pairs[metric]["high"] < 0
    assert {pairs[metric]["verdict"] for metric in ("hit@10", "recall@10", "complete@10")} == {"no difference"}


def test_a_lost_first_result_is_worse_even_where_depth_forgives(results):
    pairs = results["cut"]["paired"]["good"]
    lost = share(good(query)[0] == GOLD[query][0] for query in GOLD)
    assert pairs["recall@10"]["verdict"] == "real"
    assert pairs["recall@10"]["delta"] == pytest.approx(-lost / 2, abs=1e-12)


def test_a_list_of_popular_files_does_not_pass_for_a_retriever(results):
    pairs = results["popular"]["paired"]["good"]
    assert all(pairs[metric]["verdict"] == "real" and pairs[metric]["high"] < 0 for metric in ("hit@10", "ndcg@10"))
