"""Claims about the summary of a run. Rows are scripted; expected numbers are arithmetic shown beside them."""

from __future__ import annotations

import random

import pytest

from pytest_ragbench.analysis.summary import Plan, summarise
from pytest_ragbench.analysis.table import RowTable
from pytest_ragbench.canonical import dumps
from pytest_ragbench.configurations.model import Configuration, Experiment
from pytest_ragbench.contract import Chunk
from pytest_ragbench.execution.cell import measure
from pytest_ragbench.metrics.measures import metric_names, score
from pytest_ragbench.metrics.relevance import compile_gold, match
from pytest_ragbench.questions.model import GoldSource, Locator, Question

NAMES = metric_names(10)


def question(number: int, *gold: GoldSource, suite="lexical", **fields) -> Question:
    answerable = fields.pop("answerable", True)
    sources = gold or ((GoldSource(Locator(f"{number}.md")),) if answerable else ())
    return Question(f"q-{number:04d}", "?", suite, "T1", answerable=answerable, gold=sources, **fields)


def row(asked: Question, configuration: str, *chunks: Chunk, error: str | None = None, **fields) -> dict:
    """What a cell records for a ranking."""
    gold = compile_gold(asked.gold)
    matches, doc_matches = match(chunks, gold)
    metrics = dict.fromkeys(NAMES)
    if asked.answerable and error is None:
        metrics |= score(matches, doc_matches, gold)
    return {
        "question": asked.id, "configuration": configuration, "metrics": metrics, "error": error,
        "ranking": [
            {
                "rank": rank, "id": chunk.id, "file": chunk.file, "pages": chunk.pages and list(chunk.pages),
                "heading": list(chunk.heading), "score": chunk.score, "matches": list(one), "doc_matches": list(two),
            }
            for rank, (chunk, one, two) in enumerate(zip(chunks, matches, doc_matches, strict=True), start=1)
        ],
        **fields,
    }  # fmt: skip


def hit(asked: Question, configuration: str = "c", **fields) -> dict:
    return row(asked, configuration, Chunk(asked.gold[0].locator.file), **fields)


def miss(asked: Question, configuration: str = "c", **fields) -> dict:
    return row(asked, configuration, Chunk("elsewhere.md"), **fields)


def summary_of(rows, questions, *configurations: Configuration, experiments=(), **settings) -> dict:
    table = RowTable(NAMES)
    for one in rows:
        table.add(one)
    arms = configurations or (Configuration("c", "c"),)
    plan = Plan(tuple(questions), arms, tuple(experiments), **{"resamples": 500, **settings})
    return summarise(table, plan, complete=True)


A, B = Configuration("a", "a"), Configuration("b", "b", pairs=("a",))


def test_met_09_an_empty_ranking_stays_in_the_denominator():
    one, two = question(1), question(2)
    found = summary_of([hit(one), row(two, "c")], [one, two])["results"]["c"]
    means = {name: found["overall"][name]["mean"] for name in ("ndcg@10", "mrr@10", "p@5")}
    assert means == {"ndcg@10": 0.5, "mrr@10": 0.5, "p@5": 0.1}
    assert found["overall"]["ndcg@10"]["n"] == found["rows"]["scored"] == 2


def test_met_10_unanswerable_questions_stay_out_of_means_and_are_counted_apart():
    questions = [question(1), question(2), question(3, answerable=False), question(4, answerable=False)]
    rows = [hit(questions[0]), miss(questions[1]), *(row(q, "c", Chunk("x.md")) for q in questions[2:])]
    found = summary_of(rows, questions)["results"]["c"]
    assert (found["overall"]["hit@1"]["mean"], found["overall"]["hit@1"]["n"]) == (0.5, 2)
    assert (found["unanswerable"], found["rows"]) == (2, {"scored": 2, "errored": 0, "not_run": 0})


def test_met_10_even_a_row_that_scores_an_unanswerable_question_stays_out():
    asked = [question(1), question(2, answerable=False)]
    scored = row(asked[1], "c") | {"metrics": dict.fromkeys(NAMES, 1.0)}
    found = summary_of([miss(asked[0]), scored], asked)["results"]["c"]
    assert (found["overall"]["hit@1"]["mean"], found["unanswerable"]) == (0.0, 1)


def test_met_15_errored_rows_are_outside_the_mean_and_counted():
    questions = [question(number) for number in range(10)]
    rows = [hit(q) for q in questions[:5]] + [row(q, "c", error="RuntimeError: boom") for q in questions[5:]]
    found = summary_of(rows, questions)["results"]["c"]
    assert (found["overall"]["hit@1"]["mean"], found["overall"]["hit@1"]["n"]) == (1.0, 5)
    assert found["rows"] == {"scored": 5, "errored": 5, "not_run": 0}


def test_met_16_recall_by_hop_shows_which_step_failed():
    asked = question(
        1, GoldSource(Locator("a.pdf", (1, 1)), hop=1), GoldSource(Locator("b.md", None, ("Proof",)), hop=2)
    )
    found = summary_of([row(asked, "c", Chunk("x.md"), Chunk("y.md"), Chunk("b.md", heading=("Proof",)))], [asked])
    by_hop = found["results"]["c"]["by_hop"]
    assert {hop: values["recall@10"]["mean"] for hop, values in by_hop.items()} == {"1": 0.0, "2": 1.0}
    assert by_hop["2"]["recall@10"]["n"] == 1


def test_recall_by_hop_shares_a_hop_among_its_required_sources_and_leaves_out_questions_without_it():
    two = [GoldSource(Locator(f"{name}.md"), hop=1) for name in "ab"]
    one = question(1, *two, GoldSource(Locator("c.md"), required=False, hop=3))
    found = summary_of([row(one, "c", Chunk("a.md")), hit(question(2))], [one, question(2)])
    assert found["results"]["c"]["by_hop"]["1"]["recall@10"] | {"low": 0, "high": 0} == {
        "mean": 0.5, "low": 0, "high": 0, "n": 1,
    }  # fmt: skip
    assert set(found["results"]["c"]["by_hop"]) == {"1"}


def test_sta_01_two_names_of_one_configuration_show_no_difference_and_are_inert():
    questions = [question(number) for number in range(20)]
    rows = [(hit if number % 2 else miss)(q, arm) for arm in "ab" for number, q in enumerate(questions)]
    found = summary_of(rows, questions, A, B)["results"]
    paired = found["b"]["paired"]["a"]["hit@1"]
    assert (paired["delta"], paired["p_mcnemar"], paired["p_sign_flip"]) == (0.0, 1.0, 1.0)
    assert (paired["verdict"], paired["gained"], paired["lost"]) == ("no difference", 0, 0)
    assert (found["b"]["inert"], found["a"]["inert"], found["a"]["paired"]) == (["a"], [], {})


def test_sta_04_all_miss_against_all_hit_is_indeterminate():
    questions = [question(number) for number in range(12)]
    found = summary_of([miss(q, "a") for q in questions] + [hit(q, "b") for q in questions], questions, A, B)["results"]
    assert found["b"]["overall"]["hit@5"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 12}
    paired = found["b"]["paired"]["a"]["hit@5"]
    assert (paired["delta"], paired["low"], paired["high"], paired["verdict"]) == (1.0, 1.0, 1.0, "indeterminate")


def test_sta_07_a_suite_of_one_question_is_a_diagnostic():
    asked = question(1)
    second = row(asked, "b", Chunk("x.md"), Chunk("1.md"))
    found = summary_of([miss(asked, "a"), second], [asked], A, B)["results"]["b"]
    assert found["by_suite"]["lexical"]["mrr@10"] == {"mean": 0.5, "low": 0.5, "high": 0.5, "n": 1}
    assert found["by_suite"]["lexical"]["_set"] == {"n": 1, "clusters": 1, "effective_n": 1.0, "diag": True}
    assert found["paired"]["a"]["mrr@10"]["verdict"] == "indeterminate"


@pytest.mark.parametrize(("scored", "diag"), [(29, True), (30, False)])
def test_a_suite_needs_thirty_scored_questions_to_be_a_result(scored, diag):
    questions = [question(number) for number in range(31)]
    rows = [hit(q) for q in questions[:scored]] + [row(q, "c", error="E: x") for q in questions[scored:]]
    assert summary_of(rows, questions)["results"]["c"]["by_suite"]["lexical"]["_set"]["diag"] is diag


def test_sta_13_cold_rows_are_counted_and_kept_out_of_the_percentiles():
    questions = [question(number) for number in range(12)]
    rows = [hit(q, timings={"search": 2000.0 if n < 4 else 10.0}, cold=n < 4) for n, q in enumerate(questions)]
    found = summary_of(rows, questions)["latency"]["c"]
    assert found == {
        "search": {"p50": 10.0, "p95": 10.0, "p99": 10.0, "n": 8},
        "_rows": {"warm": 8, "cold": 4, "cached": 0},
    }


def test_errored_rows_have_no_latency_and_cached_rows_count_as_warm():
    questions = [question(number) for number in range(3)]
    rows = [
        hit(questions[0], timings={"search": 1.0, "rerank": 9.0}, cached=["rerank"]),
        hit(questions[1], timings={"search": 3.0}),
        row(questions[2], "c", error="E: x", timings={"search": 900.0}),
    ]
    found = summary_of(rows, questions)["latency"]["c"]
    assert found["search"] == {"p50": 2.0, "p95": 2.9, "p99": 2.98, "n": 2}
    assert (found["rerank"]["n"], found["_rows"]) == (1, {"warm": 2, "cold": 0, "cached": 1})


def ladder(arms: int, questions: list[Question], better_on: list[int]) -> dict:
    """Arm number i hits the first `better_on[i]` questions; each is paired with the one before."""
    configurations = [Configuration(f"r{i}", f"r{i}", pairs=(f"r{i - 1}",) if i else ()) for i in range(arms)]
    rows = [
        (hit if number < better_on[i] else miss)(q, f"r{i}") for i in range(arms) for number, q in enumerate(questions)
    ]
    return summary_of(
        rows, questions, *configurations, experiments=[Experiment("ladder", tuple(c.name for c in configurations))]
    )


def test_sta_14_holm_counts_the_steps_of_an_experiment_and_too_few_reads_unresolvable():
    found = ladder(4, [question(number) for number in range(40)], [10, 15, 21, 33])
    steps = [found["results"][f"r{i}"]["paired"][f"r{i - 1}"]["hit@1"] for i in (1, 2, 3)]
    # 5, 6 and 12 discordant questions, all one way: p = 2 ** (1 - b).
    assert [step["p_sign_flip"] for step in steps] == [2.0**-4, 2.0**-5, 2.0**-11]
    assert [step["p_smallest"] for step in steps] == [step["p_sign_flip"] for step in steps]
    assert [step["p_holm"] for step in steps] == pytest.approx([0.0625, 2 * 2.0**-5, 3 * 2.0**-11])
    assert [step["verdict"] for step in steps] == ["unresolvable", "real", "real"]
    assert {step["comparisons"] for step in steps} == {3}
    assert found["attribution"]["families"] == {"ladder": {"arms": ["r0", "r1", "r2", "r3"], "comparisons": 3}}


def test_a_step_that_shares_no_question_was_not_tested_and_does_not_count_in_the_family():
    """As after an arm that failed on every question: the family is then the one step that is left."""
    questions = [question(number) for number in range(8)]
    arms = [
        Configuration("r0", "r0"),
        Configuration("r1", "r1", pairs=("r0",)),
        Configuration("r2", "r2", pairs=("r1",)),
    ]
    rows = [miss(q, "r0") for q in questions] + [hit(q, "r1") for q in questions]
    rows += [row(q, "r2", error="E: x") for q in questions]
    found = summary_of(rows, questions, *arms, experiments=[Experiment("ladder", ("r0", "r1", "r2"))])["results"]
    tested, untested = found["r1"]["paired"]["r0"]["hit@1"], found["r2"]["paired"]["r1"]["hit@1"]
    assert (tested["p_holm"], tested["comparisons"]) == (2.0**-7, 1)  # eight clusters, all one way
    assert (untested["n"], untested["p_holm"], untested["comparisons"]) == (0, None, None)


def test_a_pair_of_no_experiment_has_no_adjusted_p():
    questions = [question(number) for number in range(8)]
    found = summary_of([miss(q, "a") for q in questions] + [hit(q, "b") for q in questions], questions, A, B)
    paired = found["results"]["b"]["paired"]["a"]["hit@1"]
    assert (paired["p_holm"], paired["comparisons"], found["attribution"]) == (None, None, {"families": {}})


@pytest.mark.parametrize("wide_first", [True, False])
def test_a_pair_of_two_experiments_carries_the_larger_adjusted_p_and_the_size_of_that_family(wide_first):
    questions = [question(number) for number in range(8)]
    arms = [A, B, Configuration("c", "c", pairs=("a", "b"))]
    rows = [(miss if arm == "a" else hit)(q, arm) for arm in "abc" for q in questions]
    experiments = [Experiment("wide", ("a", "b", "c")), Experiment("narrow", ("a", "b"))]
    found = summary_of(rows, questions, *arms, experiments=experiments[:: 1 if wide_first else -1])["results"]
    step = found["b"]["paired"]["a"]["hit@1"]
    # Three comparisons, p = 2 ** -7, 2 ** -7 and 1 (b against c); alone it would stay at 2 ** -7.
    assert (step["p_sign_flip"], step["p_holm"], step["comparisons"]) == (2.0**-7, 3 * 2.0**-7, 3)


def test_a_pair_named_from_both_sides_is_one_comparison():
    questions = [question(number) for number in range(8)]
    arms = [Configuration("a", "a", pairs=("b",)), B]
    rows = [(miss if arm == "a" or number else hit)(q, arm) for arm in "ab" for number, q in enumerate(questions)]
    found = summary_of(rows, questions, *arms, experiments=[Experiment("x", ("a", "b"))])["results"]
    one, two = found["a"]["paired"]["b"]["hit@1"], found["b"]["paired"]["a"]["hit@1"]
    assert (one["comparisons"], one["p_holm"], one["delta"]) == (1, two["p_holm"], -two["delta"])


def test_arms_are_compared_over_the_questions_that_both_scored():
    questions = [question(number) for number in range(10)]
    rows = [miss(q, "a") for q in questions] + [hit(q, "b") for q in questions[:7]]
    rows[2] = row(questions[2], "a", error="E: x")
    paired = summary_of(rows, questions, A, B)["results"]["b"]["paired"]["a"]["hit@1"]
    assert (paired["n"], paired["delta"], paired["gained"]) == (6, 1.0, 6)


def test_arms_without_a_common_question_say_that_there_is_nothing_to_tell():
    questions = [question(1), question(2)]
    paired = summary_of([hit(questions[0], "a"), hit(questions[1], "b")], questions, A, B)["results"]["b"]["paired"][
        "a"
    ]
    assert (paired["hit@1"]["n"], paired["hit@1"]["delta"], paired["hit@1"]["verdict"]) == (0, None, "unresolvable")


def test_a_partner_outside_the_run_is_left_out():
    asked = question(1)
    assert summary_of([hit(asked, "b")], [asked], B)["results"]["b"]["paired"] == {}


def test_questions_cluster_by_the_file_of_their_first_required_source():
    optional = GoldSource(Locator("shared.md"), required=False)
    questions = [
        question(1, optional, GoldSource(Locator("Notes\\A.md"))),
        question(2, GoldSource(Locator("notes/a.md")), GoldSource(Locator("b.md"))),
        question(3, GoldSource(Locator("b.md"))),
    ]
    rows = [miss(q) for q in questions]
    by_file = summary_of(rows, questions)["results"]["c"]["set"]
    assert by_file == {"n": 3, "clusters": 2, "effective_n": 1.8}  # (2 + 1)^2 / (2^2 + 1^2)
    assert summary_of(rows, questions, cluster="none")["results"]["c"]["set"]["clusters"] == 3


def test_cells_without_a_row_are_not_run_and_rows_without_a_cell_are_ignored():
    questions = [question(1), question(2)]
    stray = [hit(question(9)), hit(questions[0], "unplanned")]
    found = summary_of([hit(questions[0]), *stray], questions)["results"]
    assert found["c"]["rows"] == {"scored": 1, "errored": 0, "not_run": 1}
    assert set(found) == {"c"}


def test_an_empty_run_is_summarised_with_nulls():
    found = summary_of([], [question(1)], A, B)["results"]["b"]
    assert found["overall"]["hit@1"] == {"mean": None, "low": None, "high": None, "n": 0}
    assert found["rows"] == {"scored": 0, "errored": 0, "not_run": 1}
    assert found["set"] == {"n": 0, "clusters": 0, "effective_n": 0.0}
    assert found["page_span"] == {"median": None, "max": None}


def test_loc_05_the_page_span_of_matched_chunks_is_reported():
    asked = question(1, GoldSource(Locator("book.pdf", (212, 213))))
    chunks = [Chunk("book.pdf", (1, 500)), Chunk("book.pdf", (212, 213)), Chunk("book.pdf", (7, 90))]
    found = summary_of([row(asked, "c", *chunks)], [asked])["results"]["c"]
    assert found["overall"]["recall@10"]["mean"] == 1.0
    assert found["page_span"] == {"median": 251.0, "max": 500}


def test_groups_are_sorted_and_hold_only_questions_that_can_be_scored():
    questions = [
        question(1, suite="paraphrase", domain="num", difficulty="hard", strategy="fact"),
        question(2, suite="lexical", domain="alg"),
        question(3, suite="unanswerable", answerable=False),
    ]
    found = summary_of([hit(questions[0]), miss(questions[1]), row(questions[2], "c")], questions)["results"]["c"]
    assert list(found["by_suite"]) == ["lexical", "paraphrase"]
    assert list(found["by_domain"]) == ["alg", "num"]
    assert (list(found["by_tier"]), list(found["by_difficulty"]), list(found["by_strategy"])) == (
        ["T1"],
        ["hard"],
        ["fact"],
    )
    assert (found["by_suite"]["paraphrase"]["hit@1"]["mean"], found["by_domain"]["alg"]["hit@1"]["mean"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("one", "two", "inert"),
    [
        ([Chunk("x.md", score=1.0)], [Chunk("x.md", score=0.9)], ["a"]),
        ([Chunk("x.md"), Chunk("y.md")], [Chunk("y.md"), Chunk("x.md")], []),
    ],
)
def test_an_arm_is_inert_when_its_ranking_equals_its_partners_on_every_question(one, two, inert):
    questions = [question(1), question(2)]
    rows = [
        miss(questions[0], "a"),
        miss(questions[0], "b"),
        row(questions[1], "a", *one),
        row(questions[1], "b", *two),
    ]
    assert summary_of(rows, questions, A, B)["results"]["b"]["inert"] == inert


def test_an_arm_that_returns_other_texts_of_the_same_chunks_is_not_inert():
    rows, asked = RowTable(NAMES), question(1)
    arms = (
        Configuration("short", "short", {"long": False}),
        Configuration("long", "long", {"long": True}, pairs=("short",)),
    )

    def search(query, long):
        return [Chunk("a.md", id="1", text="a passage" + " and its window" * long)]

    for arm in arms:
        rows.add(measure(search, asked, arm, k=10).row)
    found = summarise(rows, Plan((asked,), arms, resamples=10), complete=True)["results"]["long"]
    assert found["inert"] == []


def test_an_arm_that_does_not_search_or_never_answered_is_not_called_inert():
    asked = question(1)
    silent = Configuration("b", "b", pairs=("a",), searches=False)
    assert summary_of([row(asked, "a"), row(asked, "b")], [asked], A, silent)["results"]["b"]["inert"] == []
    failed = [row(asked, arm, error="E: x") for arm in "ab"]
    assert summary_of(failed, [asked], A, B)["results"]["b"]["inert"] == []


def varied_rows() -> tuple[list[dict], list[Question]]:
    """Rows with everything in them: misses, errors, gaps, ties, unanswerable questions, shared files."""
    generator = random.Random(7)
    questions = [
        question(n, GoldSource(Locator(f"{n % 9}.md")), suite="ab"[n % 2], domain="xyz"[n % 3])
        if n % 11
        else question(n, answerable=False)
        for n in range(60)
    ]
    rows = []
    for arm in "ab":
        for asked in questions:
            files = generator.sample([f"{n}.md" for n in range(12)], 10)
            error = "E: x" if generator.random() < 0.05 else None
            rows.append(
                row(
                    asked,
                    arm,
                    *([] if error else map(Chunk, files)),
                    error=error,
                    timings={"search": generator.random()},
                )
            )
    return rows[:-2], questions


def test_the_same_rows_in_any_order_give_the_same_bytes():
    rows, questions = varied_rows()
    expected = dumps(summary_of(rows, questions, A, B))
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        random.Random(seed).shuffle(questions)
        assert dumps(summary_of(rows, questions, A, B)) == expected


def test_a_row_that_was_replaced_leaves_no_trace():
    rows, questions = varied_rows()
    expected = dumps(summary_of(rows, questions, A, B))
    first_attempts = [one | {"error": "E: first attempt", "timings": {"other": 1.0}} for one in rows]
    assert dumps(summary_of(first_attempts + rows, questions, A, B)) == expected


def test_every_planned_cell_is_counted_once():
    rows, questions = varied_rows()
    for found in summary_of(rows, questions, A, B)["results"].values():
        assert sum(found["rows"].values()) + found["unanswerable"] == len(questions)


def test_a_summary_states_its_versions_and_whether_the_run_is_whole():
    found = summary_of([], [])
    assert (found["schema_version"], found["metrics_version"], found["complete"]) == (1, 1, True)
    assert set(found) == {"schema_version", "metrics_version", "complete", "results", "attribution", "latency"}
