"""What a report says, checked against the summary and rows it is made from."""

import json
import re
from itertools import pairwise

import pytest

from pytest_ragbench.configurations.model import Configuration
from pytest_ragbench.records.record import RunRecord
from pytest_ragbench.reports.build import build
from pytest_ragbench.reports.commands import question_report, render_record, report_of
from pytest_ragbench.reports.markdown import render_markdown
from pytest_ragbench.reports.model import Bullets, Estimate, Sentences, Table
from pytest_ragbench.reports.terminal import render_terminal


def words(report):
    """Every sentence and bullet, in order."""
    for section in report.sections:
        for block in section.blocks:
            match block:
                case Sentences():
                    yield block.text
                case Bullets():
                    yield from block.items
                case Table():
                    pass


def section(report, title):
    return next(section for section in report.sections if section.title.startswith(title))


def table(report, title):
    """A section's table as rows of column title -> cell."""
    found = next(block for block in section(report, title).blocks if isinstance(block, Table))
    titles = [column.title for column in found.columns]
    return [dict(zip(titles, row, strict=True)) for row in found.rows]


def test_the_opening_says_what_ran_on_what_and_how_often_the_test_split_was_opened(recorded):
    lines = list(words(report_of(recorded())))
    assert lines[0] == (
        "Run 20260901T120000Z-aaaaaaa, commit aaaaaaaaaaaa, with changes, started 2026-09-01T12:00:00.000Z."
    )
    assert lines[1] == "Split dev, 40 questions, question set dddddddddddd, 3 configurations, rankings cut at 10."
    assert lines[2] == "Complete: every planned cell has a row."
    assert lines[3] == "Test split opened 2 times."


RESUMED = "--rag-resume=20260901T120000Z-aaaaaaa completes it."


@pytest.mark.parametrize(
    ("changes", "status", "expected"),
    [
        ({"partial": True, "complete": False}, "done", "Partial: the selection left planned cells out"),
        ({"complete": False}, "done", f"Incomplete: 0 planned cells without a row; {RESUMED}"),
        ({"reason": "interrupted"}, "failed", "Broke off: interrupted"),
        ({}, "aborted", "This run was aborted: run.json says that it runs, but its process is gone"),
        ({}, "running", "Still running"),
    ],
)
def test_the_opening_says_how_far_the_run_got(recorded, changes, status, expected):
    record = recorded()
    lines = list(words(build({**record.run, **changes}, record.summary(), status=status)))
    assert lines[2].startswith(expected)


@pytest.mark.parametrize("limit", [40, 1_000])
def test_the_limit_stands_beside_the_number_of_questions_that_it_left(recorded, limit):
    record = recorded()
    run = {**record.run, "limit": limit}
    assert list(words(build(run, record.summary())))[1].startswith(
        f"Split dev, 40 questions (limited to {limit:,}), question "
    )
    assert list(words(build(run, None)))[1].startswith(f"Split dev, questions limited to {limit:,}, question set ")


def test_one_opening_is_singular_and_left_out_questions_and_notes_are_told(recorded):
    run = {
        **recorded().run,
        "ledger": {"count": 1},
        "left_out": {"rejected": 3, "unsplit": 0},
        "notes": ["Runs as dev."],
    }
    lines = list(words(build(run, None)))
    assert "Test split opened 1 time." in lines
    assert "Left out of the set: 3 rejected." in lines
    assert "Runs as dev." in lines


def test_met_15_errors_come_before_any_number_with_scored_of_planned_beside_the_mean(recorded):
    fails = {(f"lex-00{number:02}", 0.3): f"no index\n| {number}" for number in (1, 2, 4, 5, 9)}
    record = recorded(fails=fails)
    report = report_of(record)
    assert [section.title for section in report.sections][:3] == ["What ran", "Errors", "In words"]
    lines = [line for line in words(report) if line.startswith("R0-bm25")]
    assert lines[0] == "R0-bm25: 5 failed."
    assert lines[1] == "R0-bm25, lex-0001: ValueError: no index\n| 1"
    results = {row["configuration"]: row for row in table(report, "Results")}
    assert (results["R0-bm25"]["scored/planned"].part, results["R0-bm25"]["scored/planned"].whole) == (25, 30)
    assert "| R0-bm25 | 25/30 |" in (record.folder / "report.md").read_text()


def test_the_main_table_shows_the_summary_s_means_and_intervals(recorded):
    record = recorded()
    summary = record.summary()
    for row in table(report_of(record), "Results"):
        overall = summary["results"][row["configuration"]]["overall"]
        for metric in ("ndcg@10", "recall@10", "hit@1", "mrr@10", "complete@10", "doc_recall@10"):
            entry = overall[metric]
            assert row[metric] == Estimate(entry["mean"], entry["low"], entry["high"])


@pytest.mark.parametrize(
    ("clusters", "questions", "said"),
    [
        (1, 40, "All are of one cluster, from which no interval can be told"),
        (3, 40, "3 clusters are few: intervals from so few are too narrow"),
        (24, 40, "24 clusters are few"),
        (25, 40, ""),
        (24, 24, ""),  # every question is a cluster
        (1, 1, ""),
    ],
)
def test_intervals_from_few_files_are_called_too_narrow(clusters, questions, said):
    text = intervals_of({"A": {"n": questions, "clusters": clusters, "effective_n": 1.0}})
    assert said in text
    assert ("few" in text or "no interval" in text) is bool(said)


def test_met_15_the_questions_that_are_named_below_the_means_are_those_of_the_arm_that_scored_most():
    sizes = {"A": {"n": 0, "clusters": 0, "effective_n": 0.0}, "B": {"n": 8, "clusters": 6, "effective_n": 4.57}}
    said = [intervals_of({"A": sizes["A"], "B": sizes["B"]}), intervals_of({"B": sizes["B"]}), intervals_of({})]
    assert "; at most 8 questions in 6 clusters, worth at least 4.6 independent ones. " in said[0]
    assert "; 8 questions in 6 clusters, worth at least 4.6 independent ones. " in said[1]
    assert said[2].startswith("In brackets: intervals. ")
    assert "6 clusters are few" in said[0]
    nothing = intervals_of({"A": sizes["A"]})
    assert "; 0 questions in 0 clusters. " in nothing


def intervals_of(sizes):
    """The sentence below the means of arms of these sizes."""
    results = {name: {"overall": {"ndcg@10": {"mean": 0.5, "n": 8}}, "set": size} for name, size in sizes.items()}
    run = {"run_id": "r", "status": "done", "started_at": "t", "k": 10}
    report = build(run, {"results": results or {"A": {"overall": {"ndcg@10": {"mean": 0.5, "n": 8}}}}})
    return next(block.text for block in section(report, "Results").blocks if isinstance(block, Sentences))


class Elsewhere:
    """Ranks files that no gold names; finds one of them all where it is told to."""

    def __init__(self, luck=()):
        self._luck = luck

    def search(self, query, share):
        return [f"/srv/{query}.md", *(["f0.pdf"] if share in self._luck else [])]


def test_where_no_search_finds_any_gold_file_the_names_are_suspected(recorded_in, tmp_path):
    for folder, luck, suspected in (("none", (), 1), ("some", (0.3,), 0)):
        record = recorded_in(tmp_path / folder, pipeline=Elsewhere(luck))
        said = [line for line in words(report_of(record)) if line.startswith("No search found any gold file")]
        assert len(said) == suspected, folder
        assert all(f"`ragbench show {record.run['run_id']} --question ID`" in line for line in said)


def test_a_suite_of_which_nothing_was_scored_has_no_row(recorded, scripted_questions, scripted_arms):
    lost = [question.id for question in scripted_questions if question.suite == "code"]
    report = report_of(
        recorded(fails={(name, arm.overrides["share"]): "down" for name in lost for arm in scripted_arms})
    )
    assert [row["suite"].partition(" ")[0] for row in table(report, "By suite")] == ["lexical", "multihop"]


def test_the_start_of_a_text_fits_its_cell_and_no_mark_says_that_it_is_longer_than_it_is(recorded):
    record = recorded(pipeline=lambda _, **overrides: [{"file": "f0.pdf", "text": "word " * 40}] if overrides else [])
    report = question_report(record, "lex-0000")
    shown = render_terminal(report, 100)
    assert "…" in shown
    assert "[cut: 61 characters]" not in shown


def test_a_component_that_helps_is_said_in_words_with_its_cost(recorded):
    record = recorded()
    entry = record.summary()["results"]["R2-hybrid"]["paired"]["R0-bm25"]["ndcg@10"]
    assert entry["verdict"] == "real"
    line = next(line for line in words(report_of(record)) if line.startswith("dense helps"))
    assert line.startswith(f"dense helps: R2-hybrid against R0-bm25, ndcg@10 +{entry['delta']:.3f} [+")
    # 10 + 30 x 0.95 ms and 10 + 30 x 0.3 ms.
    assert line.endswith("; median search 38.5 ms instead of 19.0 ms.")


def test_a_component_left_out_is_judged_by_the_sign_of_its_absence(recorded):
    arms = (
        Configuration("full", "full", {"share": 0.95}, ("sparse", "dense")),
        Configuration("-dense", "no-dense", {"share": 0.3}, ("sparse",), ("full",)),
    )
    lines = list(words(report_of(recorded(arms=arms))))
    assert any(line.startswith("dense helps: -dense against full, ndcg@10 -0.") for line in lines)


def test_a_component_in_place_of_another_is_judged_and_arms_without_factors_beat_each_other_by_name(recorded):
    arms = (
        Configuration("R0", "R0", {"share": 0.95}, ("sparse",)),
        Configuration("R1", "R1", {"share": 0.3}, ("dense",), ("R0",)),
        Configuration("R2", "R2", {"share": 0.95}, ("dense",), ("R1",)),
    )
    lines = list(words(report_of(recorded(arms=arms))))
    assert any(line.startswith("dense in place of sparse makes it worse: R1 against R0, ndcg@10 -") for line in lines)
    assert any(line.startswith("R2 beats R1: ndcg@10 +") for line in lines)


def arms_of(means, paired=None, factors=None, latency=None):
    """The sentences of a report over arms with these (mean, n), one pair of which has this entry."""
    results = {
        name: {"overall": {"ndcg@10": {"mean": mean, "low": 0.0, "high": 1.0, "n": n}}, "paired": {}}
        for name, (mean, n) in means.items()
    }
    for (name, other), entry in (paired or {}).items():
        results[name]["paired"][other] = {"ndcg@10": {**PAIR, **entry}}
    configurations = [{"name": name, "factors": (factors or {}).get(name, [])} for name in means]
    run = {"run_id": "r", "status": "done", "started_at": "t", "configurations": configurations}
    return section(build(run, {"results": results, "latency": latency or {}}), "In words").blocks[0].items


PAIR = {
    "delta": 0.1, "low": 0.05, "high": 0.2, "n": 40, "verdict": "real", "p_sign_flip": 0.03, "p_smallest": 0.001,
    "p_mcnemar": None, "p_holm": 0.03, "mde": 0.04, "differing": 20, "comparisons": 1,
}  # fmt: skip


def test_the_highest_mean_is_told_with_what_is_known_of_its_lead():
    means = {"A": (0.5, 40), "B": (0.7, 40), "C": (0.6, 40)}
    assert arms_of(means) == (
        "Highest ndcg@10: B, 0.700 [0.000, 1.000]; next C, 0.600 [0.000, 1.000] (the two were not compared).",
        "No arm is paired with another, so no difference was tested.",
    )
    for pair in (("B", "C"), ("C", "B")):
        first = arms_of(means, {pair: {"verdict": "not resolved"}})[0]
        assert first.endswith("next C, 0.600 [0.000, 1.000] (the difference: not resolved).")
    assert arms_of({"A": (0.7, 40), "B": (0.7, 40)})[0] == "Highest ndcg@10: A, B, 0.700 [0.000, 1.000]."
    assert arms_of({"A": (0.7, 40)}) == ("A: ndcg@10 0.700 [0.000, 1.000]; nothing to compare it with.",)


def test_met_15_means_over_different_questions_are_called_incomparable():
    assert arms_of({"A": (0.5, 40), "B": (0.7, 25)}, {("B", "A"): {}})[1] == (
        "The arms scored different questions (25 to 40), so their means cannot be compared; the comparisons take only "
        "questions that both scored."
    )


@pytest.mark.parametrize(
    ("delta", "factors", "expected"),
    [
        (0.1, {"B": ["rerank"]}, "rerank seems to help (not once adjusted): B against A, ndcg@10 +0.100"),
        (-0.1, {"B": ["rerank"]}, "rerank seems to make it worse (not once adjusted): B against A, ndcg@10 -0.100"),
        (0.1, {}, "B seems to beat (not once adjusted) A: ndcg@10 +0.100"),
    ],
)
def test_sta_14_a_difference_that_does_not_survive_the_adjustment_only_seems_to_be_there(delta, factors, expected):
    entry = {"delta": delta, "p_holm": 0.06, "comparisons": 2}
    line = arms_of({"A": (0.5, 40), "B": (0.6, 40)}, {("B", "A"): entry}, factors)[1]
    assert line.startswith(expected)
    assert "p 0.0300, 0.0600 adjusted for 2 comparisons" in line


def test_sta_14_of_very_many_comparisons_the_real_ones_are_told_and_the_rest_counted():
    means = {f"F{number}": (number / 100, 40) for number in range(20)}
    pairs = {(f"F{n}", "F0"): {"verdict": "real" if n > 16 else "not resolved"} for n in range(1, 20)}
    lines = arms_of(means, pairs)
    assert [line.split()[0] for line in lines[1:4]] == ["F17", "F18", "F19"]
    assert lines[-1] == "7 more comparisons stand below and in summary.json."


def test_sta_14_a_single_comparison_is_adjusted_for_nothing():
    line = arms_of({"A": (0.5, 40), "B": (0.6, 40)}, {("B", "A"): {}})[1]
    assert "p 0.0300" in line
    assert "adjusted" not in line


def test_what_may_go_unseen_is_told_of_what_is_not_real_alone(recorded):
    means = {"A": (0.5, 40), "B": (0.6, 40)}
    unseen = "a difference below 0.040 may go unseen"
    assert unseen not in arms_of(means, {("B", "A"): {}})[1]
    assert unseen in arms_of(means, {("B", "A"): {"verdict": "not resolved"}})[1]
    rows = table(report_of(recorded()), "Comparisons")
    assert [row["detectable"] for row in rows if row["verdict"] == "real"] == [None, None, None]


@pytest.mark.parametrize(("arms", "shown", "metrics"), [(30, 60, 2), (31, 31, 1), (63, 60, 1)])
def test_a_table_of_more_than_sixty_rows_keeps_the_main_metric_and_then_the_first_comparisons(arms, shown, metrics):
    entry = {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 40}
    both = {"ndcg@10": PAIR, "recall@10": PAIR}
    overall = {"ndcg@10": entry, "recall@10": entry}
    results = {f"A{at:02d}": {"overall": overall, "paired": {"base": both}} for at in range(arms)}
    run = {"run_id": "r", "status": "done", "started_at": "t"}
    report = build(run, {"results": {**results, "base": {"overall": overall, "paired": {}}}})
    rows = table(report, "Comparisons")
    assert (len(rows), len({row["metric"] for row in rows})) == (shown, metrics)
    assert rows[-1]["configuration"] == f"A{min(arms, 60) - 1:02d}"
    assert ("3 more comparisons stand in summary.json." in words(report)) is (arms == 63)


def test_a_cost_that_was_not_measured_is_called_unknown():
    latency = {"A": {"_rows": {"warm": 0, "cold": 1}}, "B": {"search": {"p50": 3.0}, "_rows": {}}}
    line = arms_of({"A": (0.5, 40), "B": (0.6, 40)}, {("B", "A"): {}}, latency=latency)[1]
    assert line.endswith("; its cost cannot be told, for want of warm searches.")


def test_an_inert_arm_is_named_as_such(recorded):
    lines = list(words(report_of(recorded())))
    assert any(line.startswith("rerank is inert: R5-rerank ranked exactly as R2-hybrid") for line in lines)
    assert "Inert: R5-rerank ranked exactly as R2-hybrid on every question." in lines


def test_sta_14_the_number_of_comparisons_and_the_smallest_attainable_p_stand_beside_the_verdicts(recorded):
    report = report_of(recorded())
    assert any(line.startswith("2 comparisons, paired by question") for line in words(report))
    rows = table(report, "Comparisons: ladder")
    assert [row["metric"] for row in rows[:3]] == ["ndcg@10", "recall@10", "hit@1"]
    assert all(row["smallest p"] is not None and row["p Holm"] is not None for row in rows)
    assert [row["p McNemar"] is None for row in rows[:3]] == [True, True, False]


def test_sta_14_a_pair_that_could_not_reach_the_level_reads_too_few_to_tell():
    entry = {
        "delta": 0.1, "low": 0.0, "high": 0.2, "n": 12, "verdict": "unresolvable", "p_sign_flip": 0.0625,
        "p_smallest": 0.0625, "p_mcnemar": None, "p_holm": 0.0625, "mde": 0.14, "differing": 5, "comparisons": 1,
    }  # fmt: skip
    results = {
        "A": {"overall": {"ndcg@10": {"mean": 0.1, "low": 0.0, "high": 0.2, "n": 12}}, "paired": {}},
        "B": {
            "overall": {"ndcg@10": {"mean": 0.2, "low": 0.0, "high": 0.2, "n": 12}},
            "paired": {"A": {"ndcg@10": entry}},
        },
    }
    run = {"run_id": "r", "status": "done", "started_at": "t", "configurations": [{"name": "A"}, {"name": "B"}]}
    text = render_markdown(build(run, {"results": results}))
    assert (
        "B against A, too few to tell: ndcg@10 +0.100 [0.000, +0.200], 5 clusters with a difference, and fewer than 6 cannot reach p 0.05"
        in text
    )
    assert "no difference" not in text
    assert "Comparisons: outside experiments" in text


def test_small_suites_are_marked_as_diagnostics_and_whole_file_suites_explained(recorded):
    report = report_of(recorded())
    assert [row["suite"] for row in table(report, "By suite")] == [
        "code (n 10, diag)", "lexical (n 10, diag)", "multihop (n 10, diag)",
    ]  # fmt: skip
    lines = list(words(report))
    assert any(line.startswith("diag: fewer than 30 scored questions") for line in lines)
    assert any(
        line.startswith("code: a heading locator in code, a notebook or a canvas matches the whole file")
        for line in lines
    )
    assert "10 unanswerable questions ran, out of every mean." in lines


def test_many_configurations_turn_the_table_by_group():
    names = [f"F{number}" for number in range(8)]
    overall = {"ndcg@10": {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 3}}
    results = {name: {"overall": overall, "by_tier": {"T1": overall, "T2": overall}} for name in names}
    run = {"run_id": "r", "status": "done", "started_at": "t", "configurations": [{"name": name} for name in names]}
    rows = table(build(run, {"results": results}), "By tier")
    assert [row["configuration"] for row in rows] == names
    assert rows[0]["T1 (n 3)"] == Estimate(0.5, 0.4, 0.6)


def test_met_16_recall_by_hop_and_twins_and_page_spans(recorded):
    record = recorded()
    summary, report = record.summary(), report_of(record)
    row = table(report, "Recall by hop")[1]
    assert row["hop 2, recall@10"].mean == summary["results"]["R2-hybrid"]["by_hop"]["2"]["recall@10"]["mean"]
    twins = table(report, "Chunk and document level")[0]
    assert {"ndcg@10", "doc_ndcg@10", "recall@10", "doc_recall@10", "pages, median"} <= twins.keys()
    assert twins["pages, max"].value == 3  # every scripted chunk covers pages 2 to 4


def test_sta_12_latency_names_its_definition_and_counts_cold_rows(recorded):
    report = report_of(recorded())
    (row, *_) = table(report, "Latency")
    assert (row["configuration"], row["p50 ms"].value, row["warm"], row["cold"]) == ("R0-bm25", 19.0, 40, 0)
    stages = [(row["configuration"], row["stage"], row["p50 ms"].value) for row in table(report, "Latency by stage")]
    assert stages[:2] == [("R0-bm25", "search", 19.0), ("R0-bm25", "sparse", 2.0)]
    assert any("linear interpolation over warm rows" in line for line in words(report))


def test_what_is_absent_has_no_section():
    run = {"run_id": "r", "status": "done", "started_at": "t"}
    report = build(run, {"results": {"A": {"overall": {"map@10": {"mean": 0.5, "low": 0.4, "high": 0.6, "n": 3}}}}})
    assert [section.title for section in report.sections] == ["What ran", "In words", "Results"]
    assert "map@10" in render_markdown(report)  # REC-02: a metric that this version does not know


def test_rpt_02_hostile_question_ids_never_break_report_md(recorded):
    fails = {("lex-0001", 0.3): "a | b || c\n`x` \u202e", ("lex-0002", 0.3): "y" * 20_000}
    text = (recorded(fails=fails).folder / "report.md").read_text(encoding="utf-8")
    assert r"a \| b \|\| c␊\`x\` ⟨U+202E⟩" in text
    assert "… [cut: " in text
    for before, line in pairwise(text.splitlines()):
        if before.startswith("|") and line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", before))


def test_report_md_is_made_again_byte_for_byte(recorded):
    record = recorded(fails={("lex-0001", 0.3): "boom"}, status="failed", reason="interrupted")
    written = (record.folder / "report.md").read_bytes()
    assert render_record(RunRecord.load(record.folder)).encode() == written


def test_rec_02_a_damaged_record_renders_what_is_there_and_says_what_is_missing(recorded):
    folder = recorded().folder
    (folder / "summary.json").unlink()
    rows = folder / "per_query.jsonl"
    rows.write_bytes(rows.read_bytes()[:-20])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    text = render_record(RunRecord.load(folder))
    assert "Missing: summary.json is missing" in text
    assert "Missing: the last line of per_query.jsonl" in text
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_rec_02_an_aborted_run_shows_its_rows_and_the_errors_of_last_attempts(recorded):
    writer = recorded(finish=False, fails={("lex-0001", 0.3): "boom", ("lex-0003", 0.3): "gone"})
    row = {"question": "lex-0003", "configuration": "R0-bm25", "error": None, "ranking": [], "metrics": {}}
    writer.add(json.dumps(row))
    path = writer.folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "process_started": "gone"}))
    text = render_record(RunRecord.load(writer.folder))
    assert f"its process is gone; 120 rows kept; {RESUMED}" in text
    assert "lex-0001: ValueError: boom" in text
    assert "lex-0003" not in text
