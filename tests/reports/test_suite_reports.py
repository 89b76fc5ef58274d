"""What a component does to each suite: one line in words, and the table behind it."""

from __future__ import annotations

from pytest_ragbench.reports.build import build
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.suites import TOLD

RUN = {
    "run_id": "20260901T120000Z-abc", "started_at": "2026-09-01T12:00:00Z", "complete": True, "partial": False,
    "status": "done", "k": 10, "split": "dev", "git": {"sha": None, "dirty": False},
    "ledger": {"count": 0}, "bootstrap": {"seed": 1, "resamples": 10_000, "confidence": 0.95, "cluster": "file"},
    "configurations": [{"name": name, "marker": name, "factors": []} for name in ("base", "more")],
    "experiments": [{"name": "ladder", "arms": ["base", "more"]}],
}  # fmt: skip


def entry(delta, *, verdict="real", p=0.001, holm=0.004, n=40, changed=9):
    return {
        "delta": delta, "low": delta - 0.01, "high": delta + 0.01, "n": n, "gained": changed, "lost": 0, "differing": 9,
        "verdict": verdict, "p_sign_flip": p, "p_smallest": 0.001, "p_mcnemar": None, "p_holm": holm, "comparisons": 4,
        "mde": 0.02, "diag": n < 30,
    }  # fmt: skip


def report(suites):
    overall = {"ndcg@10": {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 100}}
    pair = {name: value for name, value in entry(0.1).items() if name != "diag"}
    base = {"overall": overall, "paired": {}, "inert": [], "rows": {"scored": 100, "errored": 0, "not_run": 0}}
    more = {**base, "paired": {"base": {"ndcg@10": pair}}}
    if suites:
        more["paired_by_suite"] = {"base": suites}
    return render_markdown(build(RUN, {"results": {"base": base, "more": more}}))


def line(suites):
    return [one.removeprefix("- ") for one in report(suites).splitlines() if one.startswith("- By suite")]


def test_what_is_real_once_adjusted_is_told_in_words_up_and_down_in_the_order_of_suites():
    suites = {
        "books": entry(0.05),
        "code": entry(-0.2),
        "lexical": entry(0.3, n=12),
        "multihop": entry(0.4, holm=0.06),
        "personal": entry(0.5, verdict="not resolved", p=0.2, holm=0.2),
    }
    assert line(suites) == [
        (
            "By suite, each adjusted for the suites of its comparison: more is higher than base in books +0.050 [+0.040, "
            "+0.060], lexical (diag) +0.300 [+0.290, +0.310]; more is lower than base in code -0.200 [-0.210, -0.190]."
        )
    ]


def test_where_no_suite_is_sure_nothing_is_said_in_words_and_the_table_stands():
    suites = {"books": entry(0.4, holm=0.06), "code": entry(0.0, verdict="no difference", changed=0, holm=1.0)}
    assert line(suites) == []
    text = report(suites)
    assert "| more | base | books | +0.400 [+0.390, +0.410] | real | 0.0010 | 0.0600 | 40 |" in text
    assert "In a suite that is not shown every question scored alike." in text
    assert (
        "2 comparisons within a suite, paired by question; of the 2 that could be called real, about 0.1 would be by chance"
        in text
    )


def test_of_many_suites_those_with_the_largest_differences_are_told_and_the_others_counted():
    (told,) = line({f"suite{n:02d}": entry(0.01 * n) for n in range(1, TOLD + 4)})
    assert told.endswith("; 3 more below.")
    assert [f"suite{n:02d} " in told for n in range(1, TOLD + 4)] == [False] * 3 + [True] * TOLD


def test_a_run_without_such_comparisons_has_neither():
    assert line(None) == []
    assert "Comparisons by suite" not in report(None)
