"""`hard_gates` in `thresholds.yaml`: rules, their scopes, and what is refused with its line."""

from __future__ import annotations

import pytest

from pytest_ragbench.configurations.hard_gates import GateRule
from pytest_ragbench.configurations.thresholds import Known, load_hard_gates, load_thresholds
from pytest_ragbench.errors import InputError
from pytest_ragbench.metrics.catalogue import metric_names


def known(k=10):
    return Known(k, metric_names(k), ("one", "two"), {"lexical", "books"}, {"networking"})


@pytest.fixture
def rules(tmp_path):
    def load(text, k=10):
        path = tmp_path / "thresholds.yaml"
        path.write_text(text, encoding="utf-8")
        return load_hard_gates(path, known(k), shown_as="thresholds.yaml")

    return load


def test_a_single_rule_needs_no_list(rules):
    text = "hard_gates:\n  recall@10: {min: 0.8, max_regression_delta: 0.02}\n"
    assert rules(text) == (GateRule("recall@10", floor=0.8, allowed=0.02),)


def test_rules_keep_the_order_of_the_file_and_their_scopes(rules):
    text = """\
hard_gates:
  ndcg@10:
    - {min: 0.5}
    - {min: 0.4, suite: books}
    - {max_regression_delta: 0, domain: networking, configuration: two, significant: true}
  faithfulness: {min: 0.3}
"""
    assert rules(text) == (
        GateRule("ndcg@10", floor=0.5),
        GateRule("ndcg@10", "suite:books", floor=0.4),
        GateRule("ndcg@10", "domain:networking", "two", allowed=0.0, significant=True),
        GateRule("faithfulness", floor=0.3),
    )


@pytest.mark.parametrize(("written", "k", "meant"), [("mrr", 10, "mrr@10"), ("mrr", 5, "mrr@5"), ("mrr@k", 5, "mrr@5")])
def test_a_deep_metric_may_be_written_without_its_cutoff(rules, written, k, meant):
    assert rules(f"hard_gates:\n  {written}: {{min: 0.5}}\n", k) == (GateRule(meant, floor=0.5),)


def test_what_another_suite_enforces_may_have_any_name(rules):
    text = "hard_gates:\n  access_leaks: {enforced_by: access suite}\n"
    assert rules(text) == (GateRule("access_leaks", enforced_by="access suite"),)


def test_gat_03_a_misspelt_metric_is_refused_by_name_with_the_nearest_one(rules):
    with pytest.raises(InputError) as caught:
        rules("hard_gates:\n  recall@10: {min: 0.5}\n  ndgc@10: {min: 0.5}\n")
    assert str(caught.value) == (
        "thresholds.yaml:3: hard_gates.ndgc@10: no metric of a run with rankings cut at 10 is called `ndgc@10`; did you "
        "mean `ndcg@10`? [unknown-metric]"
    )


def test_a_metric_of_another_depth_is_none_of_this_run(rules):
    with pytest.raises(InputError, match=r"cut at 5 is called `recall@10`; did you mean `recall@5`\?"):
        rules("hard_gates:\n  recall@10: {min: 0.5}\n", k=5)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{}", "thresholds.yaml:2: hard_gates.mrr: judges nothing; write `min`"),
        ("{significant: true, min: 0.5}", "write `max_regression_delta` with it"),
        ("{min: 0.5, suite: books, domain: networking}", "one suite or one domain"),
        ("{enforced_by: others, min: 0.5}", "`enforced_by` stands alone: who enforces it judges it; remove min"),
        ("{min: 1.5}", r"thresholds.yaml:2: hard_gates.mrr.min: must be a number from 0 to 1, found 1.5"),
        ("{min: .nan}", "thresholds.yaml:2: hard_gates.mrr.min: "),
        ("{min: }", "hard_gates.mrr.min: nothing stands here; write a value, or leave the key out"),
        ("{min: '0.5'}", "hard_gates.mrr.min: must be a number, without quotes, found the text '0.5'"),
        ("{mim: 0.5}", "hard_gates.mrr.mim: unknown field; did you mean `min`?"),
        ("{min: 0.5, suite: book}", "hard_gates.mrr.suite: there is no suite `book`; did you mean `books`?"),
        (
            "{min: 0.5, configuration: three}",
            "hard_gates.mrr.configuration: there is no configuration `three`; known are",
        ),
        ("{min: 0.5, domain: network}", "there is no domain `network`; did you mean `networking`?"),
        ("0.5", "hard_gates.mrr: must be a rule, as `min: 0.8`, or a list of rules, found a number"),
        ("[]", "hard_gates.mrr: must not be empty"),
        (
            "[{min: 0.5}, {max_regression_delta: 2}]",
            r"hard_gates.mrr\[1\].max_regression_delta: must be a number from 0",
        ),
        (
            "[{min: 0.5}, {min: 0.6}]",
            r"hard_gates.mrr\[1\]: two rules for mrr@10 of the same scope, the first on line 2",
        ),
    ],
)
def test_a_rule_that_says_nothing_or_too_much_is_refused(rules, rule, said):
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        rules(f"hard_gates:\n  mrr: {rule}\n")


def test_one_metric_under_two_spellings_is_one_metric(rules):
    with pytest.raises(InputError, match=r":3: hard_gates.mrr@10: two rules for mrr@10 of the same scope.*on line 2"):
        rules("hard_gates:\n  mrr: {min: 0.5}\n  mrr@10: {min: 0.6}\n")


def test_precision_at_a_depth_never_gates(rules):
    with pytest.raises(InputError, match=r"`p@5` rises with every repeat of one source, so it never gates"):
        rules("hard_gates:\n  p@5: {min: 0.1}\n")


def test_all_mistakes_are_told_at_once(rules):
    with pytest.raises(InputError) as caught:
        rules("hard_gates:\n  ndgc@10: {min: 0.5}\n  mrr: {min: 0.5, suite: nowhere}\n")
    assert [problem.line for problem in caught.value.problems] == [2, 3]


def test_names_are_checked_for_a_gate_alone(tmp_path):
    path = tmp_path / "thresholds.yaml"
    path.write_text("max_suite_regression: 0.1\nhard_gates:\n  ndgc@10: {min: 0.5}\n", encoding="utf-8")
    assert load_thresholds(path).max_suite_regression == 0.1
